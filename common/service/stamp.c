/* What a plan was made from outside of its request. */
#include "common/service/stamp.h"

#include <uv.h>

#include "common/os.h"

#include "common/base/banned.h"

enum { FILES_MAX = 256, NODES_MAX = 1024 };

/* ---- files ---- */

static void look(const char *path, struct sbx_stamp *out)
{
    uv_fs_t request;
    *out = (struct sbx_stamp){.path = path};
    if (uv_fs_stat(NULL, &request, path, NULL) == 0) {
        const uv_stat_t *stat = &request.statbuf;
        *out = (struct sbx_stamp){.path = path,
                                  .exists = true,
                                  .device = stat->st_dev,
                                  .inode = stat->st_ino,
                                  .size = stat->st_size,
                                  .changed_s = stat->st_ctim.tv_sec,
                                  .changed_ns = stat->st_ctim.tv_nsec,
                                  .written_s = stat->st_mtim.tv_sec,
                                  .written_ns = stat->st_mtim.tv_nsec};
    }
    uv_fs_req_cleanup(&request);
}

static bool is_same(const struct sbx_stamp *a, const struct sbx_stamp *b)
{
    return a->exists == b->exists && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && a->changed_s == b->changed_s && a->changed_ns == b->changed_ns &&
           a->written_s == b->written_s && a->written_ns == b->written_ns;
}

static bool add_file(struct sbx_stamps *stamps, struct sbx_path path)
{
    struct sbx_stamp *slot = (struct sbx_stamp *)sbx_arena_push(
        &stamps->arena, &stamps->files, &stamps->file_count, &stamps->file_capacity, sizeof *slot);
    const char *text = sbx_arena_copy(&stamps->arena, path.text, path.len);
    if (slot == NULL || text == NULL || stamps->file_count > FILES_MAX) return false;
    look(text, slot);
    return true;
}

static bool add_below(struct sbx_stamps *stamps, struct sbx_path dir, const char *name)
{
    struct sbx_path path;
    if (dir.len == 0) return true;
    return sbx_path_join(&stamps->arena, dir, sbx_str(name), &path) == SBX_PATH_OK &&
           add_file(stamps, path);
}

/* Every place from cwd upwards, as far as a manifest could be found. */
static bool add_places(struct sbx_stamps *stamps, struct sbx_path dir)
{
    bool ok = true;
    while (ok && dir.text != NULL) {
        ok = add_below(stamps, dir, "sbx.toml") && add_below(stamps, dir, ".git");
        if (sbx_path_is_root(dir)) break;
        dir = sbx_path_parent(&stamps->arena, dir);
    }
    return ok;
}

bool sbx_stamps_take(struct sbx_stamps *stamps, const struct sbx_context *context,
                     const char *manifest_file, bool is_given)
{
    struct sbx_err ignored = {0};
    struct sbx_path policy;
    sbx_arena_init(&stamps->arena, 1u << 20);
    if (sbx_os_policy_dir(&stamps->arena, &policy, &ignored) != SBX_OK ||
        !add_below(stamps, policy, "policy.toml") ||
        !add_below(stamps, context->state_dir, "trust"))
        return false;
    if (is_given) return true;
    if (manifest_file == NULL) return add_places(stamps, context->cwd);
    struct sbx_str name = sbx_str(manifest_file);
    return add_file(stamps, (struct sbx_path){name.ptr, name.len, context->cwd.rules});
}

/* ---- paths ---- */

static enum sbx_node note(void *state, struct sbx_path path)
{
    struct sbx_stamps *stamps = (struct sbx_stamps *)state;
    enum sbx_node node = stamps->lookup(stamps->lookup_state, path);
    struct sbx_node_stamp *slot = NULL;
    const char *text = NULL;
    if (stamps->node_count < NODES_MAX) {
        text = sbx_arena_copy(&stamps->arena, path.text, path.len);
        slot = (struct sbx_node_stamp *)sbx_arena_push(&stamps->arena, &stamps->nodes,
                                                       &stamps->node_count, &stamps->node_capacity,
                                                       sizeof *slot);
    }
    if (slot != NULL) *slot = (struct sbx_node_stamp){{text, path.len, path.rules}, node};
    stamps->is_full |= slot == NULL || text == NULL;
    return node;
}

void sbx_stamps_watch(struct sbx_stamps *stamps, struct sbx_context *context)
{
    stamps->lookup = context->lookup;
    stamps->lookup_state = context->lookup_state;
    context->lookup = note;
    context->lookup_state = stamps;
}

void sbx_stamps_watched(const struct sbx_stamps *stamps, struct sbx_context *context)
{
    context->lookup = stamps->lookup;
    context->lookup_state = stamps->lookup_state;
}

bool sbx_stamps_hold(const struct sbx_stamps *stamps)
{
    for (size_t i = 0; i < stamps->file_count; i++) {
        struct sbx_stamp now;
        look(stamps->files[i].path, &now);
        if (!is_same(&now, &stamps->files[i])) return false;
    }
    for (size_t i = 0; i < stamps->node_count; i++)
        if (stamps->lookup(stamps->lookup_state, stamps->nodes[i].path) != stamps->nodes[i].node)
            return false;
    return !stamps->is_full;
}

void sbx_stamps_release(struct sbx_stamps *stamps)
{
    sbx_arena_release(&stamps->arena);
    *stamps = (struct sbx_stamps){0};
}
