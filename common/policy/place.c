/* Paths of a manifest: places such as :cwd, cleaning, and what may never be granted. */
#include <string.h>

#include "common/policy/policy.h"

#include "common/base/banned.h"

struct problem_row {
    enum sbx_path_problem problem;
    enum sbx_finding_code code;
    const char *hint;
};

static const struct problem_row problem_rows[] = {
    {SBX_PATH_EMPTY, SBX_F_PATH_EMPTY, "write the path, or remove the entry"},
    {SBX_PATH_NOT_ABSOLUTE, SBX_F_PATH_NOT_ABSOLUTE,
     "write the full path, or start it with :project, :cwd, :home or :tmp (\":project/out\")"},
    {SBX_PATH_HAS_CONTROL, SBX_F_PATH_HAS_CONTROL, "remove the control character"},
    {SBX_PATH_NOT_UTF8, SBX_F_PATH_NOT_UTF8, "rename the file to valid UTF-8"},
    {SBX_PATH_DOTDOT, SBX_F_PATH_DOTDOT, "write the path without \"..\""},
    {SBX_PATH_TOO_LONG, SBX_F_PATH_TOO_LONG, "grant a directory closer to the root"},
    {SBX_PATH_DEVICE, SBX_F_PATH_FORBIDDEN, "write an ordinary path such as C:\\code"},
    {SBX_PATH_UNC, SBX_F_PATH_FORBIDDEN, "network shares cannot be granted; copy the files first"},
    {SBX_PATH_STREAM, SBX_F_PATH_FORBIDDEN, "grant the file itself, not a stream of it"},
    {SBX_PATH_SHORT_NAME, SBX_F_PATH_FORBIDDEN, "write the long name"},
    {SBX_PATH_RESERVED_CHAR, SBX_F_PATH_FORBIDDEN,
     "remove the character; globs are for the filesystem table"},
    {SBX_PATH_TRAILING, SBX_F_PATH_FORBIDDEN, "Windows drops it; write the name without it"},
};

/* The words that stand for a place of caller or machine. */
struct place_row {
    const char *word;
    size_t offset;    /* of a struct sbx_path in struct sbx_context */
    bool for_presets; /* not offered in manifests */
    const char *what;
};
#define PLACE(field) offsetof(struct sbx_context, field)
static const struct place_row place_rows[] = {
    {":cwd", PLACE(cwd), false, "the caller's working directory"},
    {":home", PLACE(home), false, "the caller's home directory"},
    {":tmp", PLACE(tmp), false, "the host's temporary directory"},
    {":project", PLACE(project), false, "the directory of the manifest"},
    {":windows", PLACE(system_root), true, "the Windows directory"},
    {":program-files", PLACE(program_files), true, "the Program Files directory"},
    {":runtime", PLACE(runtime_dir), true, "XDG_RUNTIME_DIR"},
};

static enum sbx_path_problem make_path(struct sbx_arena *arena, enum sbx_path_rules rules,
                                       struct sbx_str text, bool is_glob, struct sbx_path *out)
{
    return is_glob ? sbx_path_make_glob(arena, rules, text, out)
                   : sbx_path_make(arena, rules, text, out);
}

/* macOS spells three directories twice; one spelling makes one rule. Asked of the clean path, without
 * case: "//TMP/x" is the same directory too. */
static enum sbx_path_problem macos_alias(struct sbx_arena *arena, bool is_glob,
                                         struct sbx_path *path)
{
    static const char *const aliases[] = {"tmp", "var", "etc"};
    struct sbx_str first = sbx_path_component(*path, 0);
    for (size_t i = 0; i < SBX_COUNT(aliases); i++) {
        if (!sbx_str_is_nocase(first, aliases[i])) continue;
        const char *rest = path->text + 1 + first.len;
        const char *real = sbx_arena_printf(arena, "/private/%s%s", aliases[i], rest);
        if (real == NULL) return SBX_PATH_NO_MEMORY;
        return make_path(arena, path->rules, sbx_str(real), is_glob, path);
    }
    return SBX_PATH_OK;
}

/* The one way from a text to a rule's path. */
static enum sbx_path_problem make_rule_path(struct sbx_arena *arena, enum sbx_path_rules rules,
                                            struct sbx_str text, bool is_glob, struct sbx_path *out)
{
    struct sbx_path path;
    enum sbx_path_problem problem = make_path(arena, rules, text, is_glob, &path);
    if (problem == SBX_PATH_OK && rules == SBX_PATH_MACOS)
        problem = macos_alias(arena, is_glob, &path);
    if (problem == SBX_PATH_OK) *out = path;
    return problem;
}

static enum sbx_code path_finding(const struct sbx_text *text, const char *key_path,
                                  enum sbx_path_problem problem, struct sbx_findings *findings)
{
    if (problem == SBX_PATH_NO_MEMORY) {
        findings->out_of_memory = true;
        return SBX_E_NOMEM;
    }
    const struct problem_row *row = &problem_rows[1];
    for (size_t i = 0; i < SBX_COUNT(problem_rows); i++)
        if (problem_rows[i].problem == problem) row = &problem_rows[i];
    struct sbx_finding *finding =
        sbx_findings_add(findings, row->code, &text->at, key_path, text->text, "\"%.*s\" %s",
                         SBX_STR_ARG(text->text), sbx_path_problem_text(problem));
    sbx_finding_hint(findings, finding, "%s", row->hint);
    return SBX_E_INVALID;
}

static enum sbx_code unknown_place(const struct sbx_text *text, const char *key_path,
                                   struct sbx_findings *findings)
{
    struct sbx_finding *finding =
        sbx_findings_add(findings, SBX_F_BAD_VALUE, &text->at, key_path, text->text,
                         "\"%.*s\" starts with a place sbx does not know", SBX_STR_ARG(text->text));
    sbx_finding_hint(findings, finding, "the places are :root, :cwd, :home, :tmp and :project");
    return SBX_E_INVALID;
}

static const struct place_row *find_place(struct sbx_str word, bool for_presets)
{
    for (size_t i = 0; i < SBX_COUNT(place_rows); i++)
        if (sbx_str_is(word, place_rows[i].word) && (for_presets || !place_rows[i].for_presets))
            return &place_rows[i];
    return NULL;
}

static enum sbx_code expand_root(struct sbx_arena *arena, const struct sbx_context *context,
                                 const struct sbx_text *text, const char *key_path,
                                 struct sbx_findings *findings, struct sbx_path *out)
{
    if (context->platform == SBX_WINDOWS) {
        struct sbx_finding *finding = sbx_findings_add(
            findings, SBX_F_POLICY_UNSUPPORTED, &text->at, key_path, text->text,
            "\":root\" cannot be granted on Windows: an entry would have to be written to every "
            "file of every drive");
        sbx_finding_hint(findings, finding, "list the directories the command needs");
        return SBX_E_INVALID;
    }
    enum sbx_path_problem problem =
        sbx_path_make(arena, sbx_platform_path_rules(context->platform), sbx_str("/"), out);
    return problem == SBX_PATH_OK ? SBX_OK : path_finding(text, key_path, problem, findings);
}

/* ":cwd" and "out/x" of ":cwd/out/x"; Windows has two separators. */
static void split_place(const struct sbx_context *context, struct sbx_str text,
                        struct sbx_str *word, struct sbx_str *rest)
{
    (void)sbx_str_split(text, '/', word, rest);
    struct sbx_str shorter;
    struct sbx_str ignored;
    if (context->platform != SBX_WINDOWS || !sbx_str_split(*word, '\\', &shorter, &ignored)) return;
    *word = shorter;
    *rest = (struct sbx_str){text.ptr + shorter.len + 1, text.len - shorter.len - 1};
}

static enum sbx_code glob_in_place(const struct sbx_text *text, const char *key_path,
                                   struct sbx_path base, struct sbx_findings *findings)
{
    struct sbx_finding *finding = sbx_findings_add(
        findings, SBX_F_BAD_VALUE, &text->at, key_path, text->text,
        "\"%s\" has '*' or '?' in its own name, so no glob can be put below it", base.text);
    sbx_finding_hint(findings, finding, "name the paths one by one, or rename the directory");
    return SBX_E_INVALID;
}

static enum sbx_code expand_place(struct sbx_arena *arena, const struct sbx_context *context,
                                  const struct sbx_text *text, const char *key_path,
                                  bool allow_glob, struct sbx_findings *findings,
                                  struct sbx_path *out)
{
    struct sbx_str word;
    struct sbx_str rest;
    split_place(context, text->text, &word, &rest);
    if (sbx_str_is(word, ":root") && rest.len == 0)
        return expand_root(arena, context, text, key_path, findings, out);
    /* Origins of presets have no place and no file: only sbx itself writes them. */
    bool is_preset = sbx_str_is(sbx_str(key_path), "preset");
    const struct place_row *row = find_place(word, is_preset);
    if (row == NULL) return unknown_place(text, key_path, findings);
    struct sbx_path base = *(const struct sbx_path *)((const char *)context + row->offset);
    if (base.len == 0) {
        if (is_preset) return SBX_E_NOT_FOUND;
        struct sbx_finding *finding = sbx_findings_add(
            findings, SBX_F_PATH_MISSING, &text->at, key_path, text->text,
            "\"%.*s\" is unknown here: the caller has no %s", SBX_STR_ARG(word), row->what);
        sbx_finding_hint(findings, finding, "write the full path");
        return SBX_E_INVALID;
    }
    if (allow_glob && sbx_path_is_glob((struct sbx_str){base.text, base.len}))
        return glob_in_place(text, key_path, base, findings);
    const char *joined =
        rest.len == 0 ? base.text
                      : sbx_arena_printf(arena, "%s%s%.*s", base.text,
                                         sbx_path_is_root(base) ? "" : "/", SBX_STR_ARG(rest));
    if (joined == NULL) return path_finding(text, key_path, SBX_PATH_NO_MEMORY, findings);
    enum sbx_path_problem problem =
        make_rule_path(arena, base.rules, sbx_str(joined), allow_glob, out);
    return problem == SBX_PATH_OK ? SBX_OK : path_finding(text, key_path, problem, findings);
}

/* ---- names that macOS has twice ---- */

struct alias {
    const char *from, *to;
};

/* The links at the root of every macOS, and the firmlinks of its data volume. */
static const struct alias aliases[] = {
    {"/tmp", "/private/tmp"},
    {"/var", "/private/var"},
    {"/etc", "/private/etc"},
    {"/System/Volumes/Data/Applications", "/Applications"},
    {"/System/Volumes/Data/Library", "/Library"},
    {"/System/Volumes/Data/Users", "/Users"},
    {"/System/Volumes/Data/Volumes", "/Volumes"},
    {"/System/Volumes/Data/cores", "/cores"},
    {"/System/Volumes/Data/opt", "/opt"},
    {"/System/Volumes/Data/private", "/private"},
    {"/System/Volumes/Data/usr/local", "/usr/local"},
};

bool sbx_place_unalias(struct sbx_arena *arena, struct sbx_path path, struct sbx_path *out)
{
    for (size_t i = 0; i < SBX_COUNT(aliases); i++) {
        struct sbx_path from = {aliases[i].from, strlen(aliases[i].from), path.rules};
        if (!sbx_path_contains(from, path)) continue;
        const char *text = sbx_arena_printf(arena, "%s%.*s", aliases[i].to,
                                            (int)(path.len - from.len), path.text + from.len);
        if (text == NULL) return false;
        *out = (struct sbx_path){text, strlen(text), path.rules};
        return true;
    }
    *out = path;
    return true;
}

enum sbx_code sbx_place_expand(struct sbx_arena *arena, const struct sbx_context *context,
                               const struct sbx_text *text, const char *key_path, bool allow_glob,
                               struct sbx_findings *findings, struct sbx_path *out)
{
    /* What is printed and joined below is a C string: nothing may hide behind a NUL. */
    if (text->text.len > 0 && memchr(text->text.ptr, 0, text->text.len) != NULL)
        return path_finding(text, key_path, SBX_PATH_HAS_CONTROL, findings);
    enum sbx_code code = SBX_OK;
    if (text->text.len > 0 && text->text.ptr[0] == ':') {
        code = expand_place(arena, context, text, key_path, allow_glob, findings, out);
    } else {
        enum sbx_path_problem problem = make_rule_path(
            arena, sbx_platform_path_rules(context->platform), text->text, allow_glob, out);
        if (problem != SBX_PATH_OK) code = path_finding(text, key_path, problem, findings);
    }
    if (code != SBX_OK) return code;
    /* One file under two names would be two rules that do not know of each other. */
    if (context->platform == SBX_MACOS && !sbx_place_unalias(arena, *out, out))
        return path_finding(text, key_path, SBX_PATH_NO_MEMORY, findings);
    return SBX_OK;
}
