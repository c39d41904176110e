/* What the box denied, found after a run: from what the box saw itself, from how the command ended, and from
 * its standard error. A line counts only when it has an error text of the system together with something that
 * the plan really forbids: one word is never enough, and a problem of the host is not called the box's. */
#ifndef SBX_RUN_DENIAL_H
#define SBX_RUN_DENIAL_H

#include "common/policy/plan.h"
#include "common/run/record.h"

enum sbx_denial_kind {
    SBX_DENIED_FILE,
    SBX_DENIED_PROTECTED, /* a name of the protect table below a writable path */
    SBX_DENIED_CALL,
    SBX_DENIED_NETWORK,
    SBX_DENIED_SOCKET, /* a unix socket of the host */
};
extern const struct sbx_name sbx_denial_kind_names[];

struct sbx_denial {
    enum sbx_denial_kind kind;
    enum sbx_operation operation;
    bool is_exact;       /* the box or the kernel said so; else it was read from standard error */
    const char *subject; /* path (any bytes), host or system call; NULL: not known */
    const struct sbx_rule *rule;              /* that decided about a path, or NULL */
    const struct sbx_protect_row *protection; /* that did, or NULL */
    const char *by;         /* what decided, and where it was said, as `sbx why` has it */
    const char *because;    /* the same as part of a sentence */
    const char *allow_line; /* of the manifest, tried; NULL: none allows it, and `note` says why */
    const char *allow_flag; /* the same as a flag */
    const char *note;       /* what else to know or to do, or NULL */
};

#define SBX_DENIALS_MAX 16
struct sbx_denials {
    struct sbx_denial items[SBX_DENIALS_MAX]; /* most relevant first */
    size_t count;
    size_t left_out; /* found too */
};

/* May the caller do that outside the box? */
enum sbx_outside { SBX_OUTSIDE_UNKNOWN, SBX_OUTSIDE_NO, SBX_OUTSIDE_YES };
typedef enum sbx_outside sbx_outside_may(void *state, struct sbx_path path, bool is_write);

struct sbx_denial_input {
    const struct sbx_plan *plan;
    const struct sbx_run_record *record;
    /* What the plan's policy was made from, to find what would allow it. */
    const struct sbx_manifest *manifest;
    const struct sbx_ceiling *ceiling;
    sbx_outside_may
        *may; /* NULL: not known. What exists outside is asked of the policy's context. */
    void *may_state;
};

/* Pure but for those two. Texts live in `arena`; without memory fewer are found, for an explanation is not
 * worth failing a run that is over. Backend none denies nothing. */
void sbx_denials_find(struct sbx_arena *arena, const struct sbx_denial_input *input,
                      struct sbx_denials *out);

#endif
