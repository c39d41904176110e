/* Records on disk of what sbx changes on the host: leases of runs and granted workspaces, as text. One format with a
 * strict reader: lines in a fixed order, nothing missing, nothing twice, nothing more, and a digest at the end.
 * No call of any system: the reader is fuzzed wherever it builds. */
#ifndef SBX_WIN_RECORD_TEXT_H
#define SBX_WIN_RECORD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/names.h"

#define SBX_RECORD_BYTES_MAX ((size_t)1 << 20) /* of a whole record */
#define SBX_RECORD_VALUE_MAX ((size_t)98304)   /* of one value: the longest path in UTF-8 */
#define SBX_RECORD_ABOVE_MAX ((size_t)64)

enum sbx_record_kind { SBX_RECORD_LEASE, SBX_RECORD_WORKSPACE };

enum sbx_record_state {
    SBX_RECORD_PREPARED, /* a lease: written; what it names may or may not exist */
    SBX_RECORD_RUNNING,
    SBX_RECORD_EXITED,
    SBX_RECORD_ADDING, /* a workspace: some of its entries may be there, */
    SBX_RECORD_COMPLETE,
    SBX_RECORD_REMOVING, /* and some may be gone */
};
extern const struct sbx_name sbx_record_state_names[];

/* Which process wrote it. */
struct sbx_record_owner {
    uint32_t pid;
    uint64_t created;  /* FILETIME */
    const char *image; /* path of its program */
};

/* Objects of a tree, by what became of them. */
struct sbx_record_counts {
    uint64_t objects;    /* looked at */
    uint64_t narrowed;   /* closed or read-only places inside */
    uint64_t hard_links; /* files with several names: read-only */
    uint64_t own_lists;  /* that take nothing from above: left alone */
    uint64_t links;      /* reparse points: left alone */
    uint64_t refused;    /* that the user may not change: left alone */
};

struct sbx_record {
    enum sbx_record_kind kind;
    enum sbx_record_state state;
    struct sbx_record_owner owner;
    uint64_t since; /* seconds since 1970 */

    const char *profile; /* of a lease: the AppContainer's name */

    /* Of a workspace. */
    const char *capability;
    const char *sid; /* S-1-15-3-1024-… */
    bool is_write;
    bool is_directory;
    uint64_t volume;
    unsigned char file[16];
    const char *path;
    uint64_t journal; /* id of the volume's change journal, 0 without one, */
    uint64_t usn;     /* and how far it has been read */
    struct sbx_record_counts counts;
    const char **above; /* directories above that got an entry to look at them */
    size_t above_count;
};

/* SBX_E_SYNTAX, with the line, for anything but a record. Texts are in `arena`. */
enum sbx_code sbx_record_parse(struct sbx_arena *arena, struct sbx_str text, struct sbx_record *out,
                               struct sbx_err *err) SBX_MUST_USE;

/* Appends the record. What it appends is read back as the same. */
void sbx_record_print(const struct sbx_record *record, struct sbx_buf *out);

/* Is it a name that sbx gives to profiles: "sbx." and up to 46 letters, digits and dots? */
bool sbx_record_is_profile(const char *name);

#endif
