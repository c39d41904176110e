/* Manifests and the administrator's policy from disk. */
#include "common/run/load.h"

#include <string.h>

#include "common/policy/json_read.h"
#include "common/policy/toml.h"

#include "common/base/banned.h"

static void unreadable(struct sbx_findings *findings, const char *shown, const struct sbx_err *err)
{
    struct sbx_origin at = {.source = shown};
    bool is_large = err->code == SBX_E_LIMIT;
    struct sbx_finding *finding =
        sbx_findings_add(findings, is_large ? SBX_F_FILE_TOO_LARGE : SBX_F_FILE_UNREADABLE, &at, "",
                         (struct sbx_str){0}, "%s", err->text);
    if (is_large)
        sbx_finding_hint(findings, finding, "a manifest has at most 1 MiB");
    else if (err->hint[0] != '\0')
        sbx_finding_hint(findings, finding, "%s", err->hint);
}

/* The readers put "NAME:LINE:COLUMN: " first; a finding carries that in its own fields. */
static const char *without_place(const char *text, struct sbx_place place)
{
    AUTO_BUF mark;
    sbx_buf_init(&mark, 64);
    sbx_buf_printf(&mark, ":%u:%u: ", (unsigned)place.line, (unsigned)place.column);
    const char *found = place.line == 0 ? NULL : strstr(text, sbx_buf_text(&mark));
    return found == NULL ? text : found + mark.len;
}

static void syntax(struct sbx_findings *findings, const char *shown, struct sbx_place place,
                   const struct sbx_err *err)
{
    struct sbx_origin at = {shown, place};
    struct sbx_finding *finding =
        sbx_findings_add(findings, SBX_F_SYNTAX, &at, "", (struct sbx_str){0}, "%s",
                         without_place(err->text, place));
    /* The hint is the offending line and a caret; it was made safe and keeps its newline. */
    if (finding != NULL && err->hint[0] != '\0')
        finding->hint = sbx_arena_copy(findings->arena, err->hint, strlen(err->hint));
}

/* The JSON reader says the place in its text only. */
static struct sbx_place place_in(const char *text, const char *shown)
{
    struct sbx_str rest = sbx_str(text);
    struct sbx_str line;
    struct sbx_str column;
    uint64_t numbers[2];
    if (!sbx_str_starts(rest, shown) || text[strlen(shown)] != ':') return (struct sbx_place){0};
    rest = sbx_str(text + strlen(shown) + 1);
    if (!sbx_str_split(rest, ':', &line, &rest) || !sbx_str_split(rest, ':', &column, &rest) ||
        !sbx_str_to_u64(line, &numbers[0]) || !sbx_str_to_u64(column, &numbers[1]) ||
        numbers[0] > UINT32_MAX || numbers[1] > UINT32_MAX)
        return (struct sbx_place){0};
    return (struct sbx_place){(uint32_t)numbers[0], (uint32_t)numbers[1]};
}

static bool parse(struct sbx_arena *arena, const char *shown, struct sbx_str text,
                  struct sbx_findings *findings, struct sbx_value *out)
{
    struct sbx_err err = {0};
    struct sbx_toml_fault fault = {0};
    bool is_json = sbx_str_ends(sbx_str(shown), ".json");
    enum sbx_code code = is_json ? sbx_json_read(arena, shown, text, out, &err)
                                 : sbx_toml_read(arena, shown, text, NULL, out, &fault, &err);
    if (code == SBX_OK) return true;
    if (code == SBX_E_NOMEM) findings->out_of_memory = true;
    if (is_json) fault.place = place_in(err.text, shown);
    syntax(findings, shown, fault.place, &err);
    return false;
}

bool sbx_load_text(struct sbx_arena *arena, struct sbx_str text, const char *shown,
                   struct sbx_findings *findings, struct sbx_loaded *out)
{
    sbx_sha256_hex(text.ptr, text.len, out->digest);
    struct sbx_value root;
    if (!parse(arena, shown, text, findings, &root)) return false;
    sbx_document_read(arena, shown, &root, findings, &out->document);
    return true;
}

bool sbx_load_document(struct sbx_arena *arena, const char *path, const char *shown,
                       struct sbx_findings *findings, struct sbx_loaded *out)
{
    struct sbx_err err = {0};
    struct sbx_str text;
    *out = (struct sbx_loaded){0};
    if (sbx_os_read_file(arena, path, SBX_MANIFEST_MAX_BYTES, &text, &out->info, &err) != SBX_OK) {
        unreadable(findings, shown, &err);
        return false;
    }
    return sbx_load_text(arena, text, shown, findings, out);
}

bool sbx_load_ceiling(struct sbx_arena *arena, struct sbx_findings *findings,
                      struct sbx_ceiling *out)
{
    struct sbx_err err = {0};
    struct sbx_path dir;
    struct sbx_path path;
    sbx_ceiling_init(out);
    if (sbx_os_policy_dir(arena, &dir, &err) != SBX_OK ||
        sbx_path_join(arena, dir, sbx_str("policy.toml"), &path) != SBX_PATH_OK) {
        unreadable(findings, "policy.toml", &err);
        return false;
    }
    struct sbx_str text;
    struct sbx_file_info info;
    enum sbx_code code =
        sbx_os_read_file(arena, path.text, SBX_MANIFEST_MAX_BYTES, &text, &info, &err);
    if (code == SBX_E_NOT_FOUND) return true;
    if (code != SBX_OK) {
        unreadable(findings, path.text, &err);
        return false;
    }
    struct sbx_origin at = {.source = path.text};
    if (!info.is_admins || info.others_may_write) {
        struct sbx_finding *finding =
            sbx_findings_add(findings, SBX_F_USER_UNTRUSTED, &at, "", (struct sbx_str){0},
                             "the administrator's policy is not owned by the administrator, or "
                             "others may change it");
        sbx_finding_hint(findings, finding,
                         "make it owned by root (SYSTEM on Windows) and writable by no one else");
        return false;
    }
    struct sbx_value root;
    size_t before = findings->errors;
    if (!parse(arena, path.text, text, findings, &root)) return false;
    sbx_ceiling_read(arena, path.text, &root, findings, out);
    return findings->errors == before && !findings->out_of_memory;
}
