/* Findings: everything that is wrong with a manifest, all at once, with stable codes. */
#include "common/policy/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/utf8.h"

#include "common/base/banned.h"

#define TEXT_MAX_BYTES ((size_t)2048)

const struct sbx_name sbx_finding_code_names[] = {
    {SBX_F_FILE_UNREADABLE, "file-unreadable"},
    {SBX_F_FILE_TOO_LARGE, "file-too-large"},
    {SBX_F_SYNTAX, "syntax"},
    {SBX_F_UNKNOWN_KEY, "unknown-key"},
    {SBX_F_WRONG_TYPE, "wrong-type"},
    {SBX_F_BAD_VALUE, "bad-value"},
    {SBX_F_OUT_OF_RANGE, "out-of-range"},
    {SBX_F_CONFLICT, "conflict"},
    {SBX_F_PATH_EMPTY, "path-empty"},
    {SBX_F_PATH_NOT_ABSOLUTE, "path-not-absolute"},
    {SBX_F_PATH_HAS_CONTROL, "path-has-control"},
    {SBX_F_PATH_NOT_UTF8, "path-not-utf8"},
    {SBX_F_PATH_DOTDOT, "path-dotdot"},
    {SBX_F_PATH_TOO_LONG, "path-too-long"},
    {SBX_F_PATH_FORBIDDEN, "path-forbidden"},
    {SBX_F_PATH_MISSING, "path-missing"},
    {SBX_F_PATH_DUPLICATE, "path-duplicate"},
    {SBX_F_HOST_PATTERN_INVALID, "host-pattern-invalid"},
    {SBX_F_SHARED_PLATFORM_APEX, "shared-platform-apex"},
    {SBX_F_RAW_ARGS_GATE_OFF, "raw-args-gate-off"},
    {SBX_F_RAW_ARGS_UNSAFE, "raw-args-unsafe"},
    {SBX_F_CEILING_EXCEEDED, "ceiling-exceeded"},
    {SBX_F_USER_UNTRUSTED, "user-untrusted"},
    {SBX_F_MANIFEST_UNTRUSTED, "manifest-untrusted"},
    {SBX_F_POLICY_UNSUPPORTED, "policy-unsupported"},
    {SBX_F_BACKEND_MISSING, "backend-missing"},
    {SBX_F_PLATFORM_UNSUPPORTED, "platform-unsupported"},
    {SBX_F_REQUIRE_UNMET, "require-unmet"},
    {SBX_F_ENV_NAME_INVALID, "env-name-invalid"},
    {SBX_F_ENV_DUPLICATE, "env-duplicate"},
    {SBX_F_ENV_LOADER, "env-loader-variable"},
    {SBX_F_SOCKET_ROOT_EQUIVALENT, "socket-root-equivalent"},
    {SBX_F_PROTECTION_REMOVED, "protection-removed"},
    {SBX_F_LIMIT_TOO_SMALL, "limit-too-small"},
    {SBX_F_RULE_REDUNDANT, "rule-redundant"},
    {SBX_F_REQUIRE_UNUSED, "require-unused"},
    {0, NULL}};

const struct sbx_name sbx_level_names[] = {{SBX_LEVEL_NOTE, "note"},
                                           {SBX_LEVEL_WARNING, "warning"},
                                           {SBX_LEVEL_ERROR, "error"},
                                           {0, NULL}};

#define E SBX_LEVEL_ERROR
#define W SBX_LEVEL_WARNING
#define N SBX_LEVEL_NOTE
static const struct sbx_finding_row rows[] = {
    {SBX_F_FILE_UNREADABLE, E, "the file cannot be read, or is not a regular file",
     "name a regular file that you may read"},
    {SBX_F_FILE_TOO_LARGE, E, "the file is larger than a manifest may be",
     "a manifest is a few lines; name another file"},
    {SBX_F_SYNTAX, E, "the text is not TOML 1.0, or not JSON", "mend the text at the place shown"},
    {SBX_F_UNKNOWN_KEY, E, "no such key", "`sbx schema` and sbx.toml(5) list the keys"},
    {SBX_F_WRONG_TYPE, E, "the value has another type than the key takes",
     "sbx.toml(5) shows how each key is written"},
    {SBX_F_BAD_VALUE, E, "the value is not one the key knows",
     "sbx.toml(5) lists what the key takes"},
    {SBX_F_OUT_OF_RANGE, E, "the number is too small or too large",
     "write a value inside the range that sbx.toml(5) gives"},
    {SBX_F_CONFLICT, E, "two statements contradict each other", "keep one of the two"},
    {SBX_F_PATH_EMPTY, E, "a path is empty", "write the path, or remove the entry"},
    {SBX_F_PATH_NOT_ABSOLUTE, E, "a path is neither absolute nor starts with a place such as :cwd",
     "write the full path"},
    {SBX_F_PATH_HAS_CONTROL, E, "a path has a NUL, a newline or another control character",
     "remove the control character"},
    {SBX_F_PATH_NOT_UTF8, E, "a path is not valid UTF-8", "rename the file to valid UTF-8"},
    {SBX_F_PATH_DOTDOT, E, "a path has a \"..\" component", "write the path without \"..\""},
    {SBX_F_PATH_TOO_LONG, E, "a path or one of its names is longer than the system takes",
     "grant a directory closer to the root"},
    {SBX_F_PATH_FORBIDDEN, E,
     "a path that may not be granted: /proc, /dev, /sys; device, UNC, stream, short and "
     "reserved names on Windows",
     "grant another path"},
    {SBX_F_PATH_MISSING, E, "nothing exists at the path", "create it first, or remove the entry"},
    {SBX_F_PATH_DUPLICATE, N, "the same path is listed twice; the first counts", NULL},
    {SBX_F_HOST_PATTERN_INVALID, E, "a host entry is not a host, wildcard, address or group",
     "write a host such as \"api.example.com\""},
    {SBX_F_SHARED_PLATFORM_APEX, E,
     "a platform that anyone can publish on can only be allowed by exact host",
     "write the exact host"},
    {SBX_F_RAW_ARGS_GATE_OFF, E, "raw_args needs the administrator's allow_raw_bwrap",
     "ask the administrator, or remove raw_args"},
    {SBX_F_RAW_ARGS_UNSAFE, E, "a raw argument would undo a layer of the box",
     "remove the argument"},
    {SBX_F_CEILING_EXCEEDED, E, "the manifest asks for more than the administrator's policy allows",
     "ask for less, or ask the administrator"},
    {SBX_F_USER_UNTRUSTED, E, "the file belongs to another user, or others may change it",
     "make the file yours, and writable by you alone"},
    {SBX_F_MANIFEST_UNTRUSTED, E, "a discovered manifest widens access and was not trusted yet",
     "read it, then accept it with `sbx trust`"},
    {SBX_F_POLICY_UNSUPPORTED, E, "the backend cannot represent this entry",
     "use another backend, or change this entry"},
    {SBX_F_BACKEND_MISSING, E, "the backend is not available on this machine",
     "`sbx doctor` says how to get it"},
    {SBX_F_PLATFORM_UNSUPPORTED, E, "the key does not exist on this platform",
     "remove the key on this platform"},
    {SBX_F_REQUIRE_UNMET, E, "a required dimension would not be enforced",
     "`sbx doctor` says how to get it enforced"},
    {SBX_F_ENV_NAME_INVALID, E, "a variable's name is empty or has '=' or a control character",
     "a name is not empty and has no '='"},
    {SBX_F_ENV_DUPLICATE, N, "the same variable is listed twice; the first counts", NULL},
    {SBX_F_ENV_LOADER, W, "the variable makes loaders or interpreters run other code in the box",
     NULL},
    {SBX_F_SOCKET_ROOT_EQUIVALENT, W, "whoever reaches this socket can act outside the box", NULL},
    {SBX_F_PROTECTION_REMOVED, W, "a path that is protected by default is made writable", NULL},
    {SBX_F_LIMIT_TOO_SMALL, W, "common programs do not start under this limit", NULL},
    {SBX_F_RULE_REDUNDANT, N, "a broader entry says the same already", NULL},
    {SBX_F_REQUIRE_UNUSED, N, "a required dimension is not restricted by this manifest", NULL},
};
#undef E
#undef W
#undef N

const struct sbx_finding_row *sbx_finding_row(enum sbx_finding_code code)
{
    for (size_t i = 0; i < SBX_COUNT(rows); i++)
        if (rows[i].code == code) return &rows[i];
    return &rows[0];
}

void sbx_findings_init(struct sbx_findings *findings, struct sbx_arena *arena)
{
    *findings = (struct sbx_findings){.arena = arena};
}

/* Values come from files nobody has vouched for: cut, and safe for a terminal. */
static const char *value_copy(struct sbx_findings *findings, struct sbx_str value)
{
    if (value.ptr == NULL) return NULL;
    AUTO_BUF shown;
    sbx_buf_init(&shown, 4096);
    const size_t limit = 120;
    struct sbx_str head = {value.ptr, value.len};
    if (head.len > limit) head.len = sbx_utf8_cut(head.ptr, limit);
    sbx_buf_add_visible(&shown, head, false);
    if (value.len > limit) sbx_buf_add_text(&shown, "…");
    return sbx_arena_copy(findings->arena, sbx_buf_text(&shown), shown.len);
}

static const char *visible_copy(struct sbx_findings *findings, const char *text)
{
    AUTO_BUF shown;
    sbx_buf_init(&shown, 8 * TEXT_MAX_BYTES);
    sbx_buf_add_visible(&shown, sbx_str(text), false);
    return sbx_arena_copy(findings->arena, sbx_buf_text(&shown), shown.len);
}

/* A name or path of any length may be quoted in it: what does not fit is cut, never dropped. */
static const char *format_text(struct sbx_findings *findings, const char *format, va_list args)
    SBX_PRINTF(2, 0);
static const char *format_text(struct sbx_findings *findings, const char *format, va_list args)
{
    char text[TEXT_MAX_BYTES];
    sbx_text_vformat(text, sizeof text, format, args);
    return visible_copy(findings, text);
}

static void count_level(struct sbx_findings *findings, enum sbx_level level)
{
    size_t *counters[] = {
        [SBX_LEVEL_NOTE] = &findings->notes,
        [SBX_LEVEL_WARNING] = &findings->warnings,
        [SBX_LEVEL_ERROR] = &findings->errors,
    };
    ++*counters[level];
}

struct sbx_finding *sbx_findings_add(struct sbx_findings *findings, enum sbx_finding_code code,
                                     const struct sbx_origin *at, const char *key_path,
                                     struct sbx_str value, const char *text, ...)
{
    const struct sbx_finding_row *row = sbx_finding_row(code);
    count_level(findings, row->level);
    if (findings->count >= SBX_FINDINGS_MAX) return NULL;
    struct sbx_finding *finding = (struct sbx_finding *)sbx_arena_push(
        findings->arena, &findings->items, &findings->count, &findings->capacity, sizeof *finding);
    if (finding == NULL) {
        findings->out_of_memory = true;
        return NULL;
    }
    finding->code = code;
    finding->level = row->level;
    finding->unit = findings->unit;
    finding->key_path = visible_copy(findings, key_path == NULL ? "" : key_path);
    finding->value = value_copy(findings, value);
    finding->hint = row->remedy;
    if (at != NULL) finding->at = *at;
    va_list args;
    va_start(args, text);
    finding->text = format_text(findings, text, args);
    va_end(args);
    if (finding->text == NULL || finding->key_path == NULL) {
        findings->out_of_memory = true;
        finding->text = "out of memory";
        finding->key_path = "";
    }
    return finding;
}

void sbx_finding_hint(struct sbx_findings *findings, struct sbx_finding *finding,
                      const char *format, ...)
{
    if (finding == NULL) return;
    va_list args;
    va_start(args, format);
    const char *hint = format_text(findings, format, args);
    va_end(args);
    if (hint != NULL) finding->hint = hint;
}

bool sbx_findings_ok(const struct sbx_findings *findings)
{
    return findings->errors == 0 && !findings->out_of_memory;
}

static int compare_text(const char *a, const char *b)
{
    if (a == NULL || b == NULL) return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

static int compare_findings(const struct sbx_finding *a, const struct sbx_finding *b)
{
    int order = compare_text(a->unit, b->unit);
    if (order != 0) return order;
    if (a->at.place.line != b->at.place.line) return a->at.place.line < b->at.place.line ? -1 : 1;
    if (a->at.place.column != b->at.place.column)
        return a->at.place.column < b->at.place.column ? -1 : 1;
    return 0;
}

/* Insertion sort: stable, and the lists are short or nearly sorted already. */
void sbx_findings_sort(struct sbx_findings *findings)
{
    for (size_t i = 1; i < findings->count; i++) {
        struct sbx_finding moved = findings->items[i];
        size_t j = i;
        while (j > 0 && compare_findings(&moved, &findings->items[j - 1]) < 0) {
            findings->items[j] = findings->items[j - 1];
            j--;
        }
        findings->items[j] = moved;
    }
}
