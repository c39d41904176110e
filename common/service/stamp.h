/* What a plan was made from outside of its request: the files that were read, those that would have been if they existed, and
 * what stood at the paths that were asked about. As long as all of it is the same, so is the plan. */
#ifndef SBX_SERVICE_STAMP_H
#define SBX_SERVICE_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/policy/context.h"

struct sbx_stamp {
    const char *path;
    bool exists;
    uint64_t device, inode, size;
    int64_t changed_s, changed_ns, written_s, written_ns;
};

struct sbx_node_stamp {
    struct sbx_path path;
    enum sbx_node node;
};

struct sbx_stamps {
    struct sbx_arena arena;
    struct sbx_stamp *files;
    size_t file_count, file_capacity;
    struct sbx_node_stamp *nodes;
    size_t node_count, node_capacity;
    bool is_full; /* more than is kept: it cannot be told whether they are the same */
    sbx_lookup *lookup;
    void *lookup_state;
};

/* Takes the stamps of files: the machine's policy, the trust store, the named manifest or every place one is looked for. */
bool sbx_stamps_take(struct sbx_stamps *stamps, const struct sbx_context *context,
                     const char *manifest_file, bool is_given) SBX_MUST_USE;

/* From here to sbx_stamps_watched, what is looked up through the context is noted. */
void sbx_stamps_watch(struct sbx_stamps *stamps, struct sbx_context *context);
void sbx_stamps_watched(const struct sbx_stamps *stamps, struct sbx_context *context);

/* Is everything as it was? */
bool sbx_stamps_hold(const struct sbx_stamps *stamps);

void sbx_stamps_release(struct sbx_stamps *stamps);

#endif
