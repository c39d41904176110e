/* The Seatbelt profile of a box: deny by default, and what the policy allows. Pure: the same input gives the same text,
 * on every system.
 *
 * Apple does not document which rule of a profile wins, and the public accounts differ. So no rule here depends on it: what
 * is taken back is taken back inside the allow (require-not), and where an operation is both allowed and denied the two
 * filters share no path. tests/macos evaluates every golden profile under each account. */
#ifndef SBX_POSIX_MACOS_PROFILE_H
#define SBX_POSIX_MACOS_PROFILE_H

#include "common/policy/policy.h"
#include "posix/macos_rules.h"

#define SBX_MACOS_JOB_BYTES 17 /* 16 hexadecimal digits */
#define SBX_MACOS_MARK "sbx.job."
#define SBX_MACOS_TAG "sbx-box-"

struct sbx_macos_box {
    const struct sbx_policy *policy;
    const struct sbx_macos_host *host; /* NULL: names are taken as they are */
    const char *job;                   /* of this run alone; digits and letters */
    struct sbx_path scratch;           /* its private directory, under its real name */
    const char *own_terminal;          /* "/dev/ttys003": the box's own; NULL: none */
    const char *const
        *lent_terminals; /* of the caller, open as a stream of the command; ends with NULL */
    unsigned proxy_port; /* with allow_hosts; 0: none, and then nothing is reached */
};

struct sbx_macos_profile {
    const char *text; /* ASCII, in the arena */
    size_t len;
    const char *const *parameters; /* the value of "P0", "P1" …; any bytes but NUL and newline */
    size_t parameter_count;
    struct sbx_macos_rules rules; /* what it was made of, for the evidence */
};

enum sbx_code sbx_macos_profile_make(struct sbx_arena *arena, const struct sbx_macos_box *box,
                                     struct sbx_macos_profile *out,
                                     struct sbx_err *err) SBX_MUST_USE;

#endif
