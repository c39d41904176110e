/* Which discovered manifests the user accepted, by content. One line each: digest, space, path. */
#include "common/run/trust.h"

#include <string.h>

#include "common/base/buf.h"

#include "common/base/banned.h"

#define STORE_NAME "trust"
#define STORE_MAX_BYTES (4u << 20)

static enum sbx_code store_path(struct sbx_arena *arena, const struct sbx_context *context,
                                struct sbx_path *out, struct sbx_err *err)
{
    if (context->state_dir.len == 0) {
        (void)sbx_err_set(err, SBX_E_NOT_FOUND,
                          "the caller has no home directory for the trust store");
        return sbx_err_hint(err, "set HOME to a directory of yours");
    }
    enum sbx_path_problem problem =
        sbx_path_join(arena, context->state_dir, sbx_str(STORE_NAME), out);
    if (problem != SBX_PATH_OK)
        return sbx_err_set(err, SBX_E_INVALID, "the path of the trust store %s",
                           sbx_path_problem_text(problem));
    return SBX_OK;
}

static bool is_hex_digest(struct sbx_str text)
{
    if (text.len != SBX_SHA256_HEX - 1) return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!sbx_is_digit(c) && !(c >= 'a' && c <= 'f')) return false;
    }
    return true;
}

/* One line; false when it is not one of ours. */
static bool read_line(struct sbx_arena *arena, struct sbx_str line, struct sbx_trust_entry *out)
{
    struct sbx_str digest;
    struct sbx_str path;
    if (!sbx_str_split(line, ' ', &digest, &path) || !is_hex_digest(digest) || path.len == 0)
        return false;
    memcpy(out->digest, digest.ptr, digest.len);
    out->digest[digest.len] = '\0';
    out->path = sbx_arena_copy(arena, path.ptr, path.len);
    return out->path != NULL;
}

static enum sbx_code read_lines(struct sbx_arena *arena, struct sbx_str text,
                                struct sbx_trust_store *out, struct sbx_err *err)
{
    while (text.len > 0) {
        struct sbx_str line;
        bool is_whole = sbx_str_split(text, '\n', &line, &text);
        struct sbx_trust_entry entry;
        if (!is_whole || !read_line(arena, line, &entry)) {
            (void)sbx_err_set(err, SBX_E_SYNTAX, "the trust store \"%s\" is damaged",
                              out->file.text);
            return sbx_err_hint(err, "remove the file and trust the manifests again");
        }
        struct sbx_trust_entry *slot = (struct sbx_trust_entry *)sbx_arena_push(
            arena, &out->entries, &out->count, &out->capacity, sizeof *slot);
        if (slot == NULL) return sbx_err_nomem(err);
        *slot = entry;
    }
    return SBX_OK;
}

/* sbx never makes a link there, so somebody else did; its target may be anybody's word. The directories above
 * may be links: people move them. */
static bool is_link(struct sbx_arena *arena, const struct sbx_context *context,
                    struct sbx_path file)
{
    struct sbx_path real;
    struct sbx_path real_dir;
    struct sbx_path expected;
    struct sbx_err ignored;
    return sbx_os_real_path(arena, file.text, &real, &ignored) != SBX_OK ||
           sbx_os_real_path(arena, context->state_dir.text, &real_dir, &ignored) != SBX_OK ||
           sbx_path_join(arena, real_dir, sbx_str(STORE_NAME), &expected) != SBX_PATH_OK ||
           !sbx_path_eq(real, expected);
}

enum sbx_code sbx_trust_load(struct sbx_arena *arena, const struct sbx_context *context,
                             struct sbx_trust_store *out, struct sbx_err *err)
{
    *out = (struct sbx_trust_store){0};
    enum sbx_code code = store_path(arena, context, &out->file, err);
    if (code == SBX_E_NOT_FOUND) return SBX_OK; /* nobody to have trusted anything */
    if (code != SBX_OK) return code;
    struct sbx_str text;
    struct sbx_file_info info;
    struct sbx_err fault = {0};
    code = sbx_os_read_file(arena, out->file.text, STORE_MAX_BYTES, &text, &info, &fault);
    if (code == SBX_E_NOT_FOUND) return SBX_OK;
    if (code != SBX_OK) {
        if (err != NULL) *err = fault;
        return code;
    }
    if (!info.is_callers || info.others_may_write || is_link(arena, context, out->file)) {
        (void)sbx_err_set(err, SBX_E_UNTRUSTED,
                          "the trust store \"%s\" is a link, not yours, or others may change it",
                          out->file.text);
        return sbx_err_hint(err, "remove it, or make it yours and private");
    }
    return read_lines(arena, text, out, err);
}

bool sbx_trust_has(const struct sbx_trust_store *store, const char *path, const char *digest)
{
    for (size_t i = 0; i < store->count; i++)
        if (sbx_text_eq(store->entries[i].path, path) &&
            sbx_text_eq(store->entries[i].digest, digest))
            return true;
    return false;
}

struct change {
    const char *path, *digest;
    bool changed;
};

/* New content from old: every other line as it was, this path's line replaced. */
static enum sbx_code change_store(void *state, struct sbx_arena *arena, struct sbx_str old,
                                  struct sbx_str *out, struct sbx_err *err)
{
    struct change *change = (struct change *)state;
    struct sbx_trust_store store = {.file = {"trust", 5, SBX_PATH_POSIX}};
    enum sbx_code code = read_lines(arena, old, &store, err);
    if (code != SBX_OK) return code;
    AUTO_BUF text;
    sbx_buf_init(&text, STORE_MAX_BYTES);
    bool had = false;
    for (size_t i = 0; i < store.count; i++) {
        const struct sbx_trust_entry *entry = &store.entries[i];
        if (!sbx_text_eq(entry->path, change->path)) {
            sbx_buf_printf(&text, "%s %s\n", entry->digest, entry->path);
            continue;
        }
        had = change->digest == NULL || sbx_text_eq(entry->digest, change->digest);
    }
    if (change->digest != NULL) sbx_buf_printf(&text, "%s %s\n", change->digest, change->path);
    change->changed = change->digest == NULL ? had : !had;
    code = sbx_buf_check(&text, err);
    if (code != SBX_OK) return code;
    const char *copy = sbx_arena_copy(arena, sbx_buf_text(&text), text.len);
    if (copy == NULL) return sbx_err_nomem(err);
    *out = (struct sbx_str){copy, text.len};
    return SBX_OK;
}

enum sbx_code sbx_trust_change(struct sbx_arena *arena, const struct sbx_context *context,
                               const char *path, const char *digest, bool *changed,
                               struct sbx_err *err)
{
    struct sbx_path file = {.text = ""};
    struct sbx_trust_store store = {0};
    enum sbx_code code = store_path(arena, context, &file, err);
    if (code != SBX_OK) return code;
    /* A store that may not be believed is not made believable by writing it anew. */
    code = sbx_trust_load(arena, context, &store, err);
    if (code != SBX_OK) return code;
    struct change change = {path, digest, false};
    struct sbx_err fault = {0};
    code = sbx_os_update_file(arena, file.text, STORE_MAX_BYTES, change_store, &change, &fault);
    if (code != SBX_OK && fault.hint[0] == '\0' && file.rules == SBX_PATH_POSIX)
        code = sbx_err_hint(&fault, "make room and the right to write there, or name another "
                                    "directory with XDG_STATE_HOME");
    if (code != SBX_OK && err != NULL) *err = fault;
    if (code == SBX_OK && changed != NULL) *changed = change.changed;
    return code;
}
