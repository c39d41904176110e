/* What a policy says about the places below a granted root. */
#include <string.h>

#include "common/base/buf.h"
#include "common/base/sha256.h"
#include "win/grant_internal.h"

#include "common/base/banned.h"

/* ---- decisions ----------------------------------------------------------------------------- */

enum sbx_access sbx_grant_access(const struct sbx_policy *policy, struct sbx_path path,
                                 bool is_directory)
{
    struct sbx_decision decision = sbx_policy_decide(NULL, policy, path);
    if (decision.rule != NULL && decision.rule->kind != SBX_RULE_HOST) {
        return SBX_ACCESS_NONE;
    }
    if (decision.maybe_writable && is_directory) {
        return SBX_ACCESS_WRITE;
    }
    return decision.access;
}

bool sbx_grant_is_root(const struct sbx_policy *policy, const struct sbx_rule *rule)
{
    if (rule->is_glob || rule->kind != SBX_RULE_HOST || rule->access == SBX_ACCESS_NONE) {
        return false;
    }
    if (sbx_path_is_root(rule->path)) {
        return true;
    }
    return rule->access > sbx_grant_access(policy, sbx_path_up(rule->path), true);
}

/* ---- names that matter --------------------------------------------------------------------- */

static struct sbx_str last_name(struct sbx_str path)
{
    size_t at = path.len;
    while (at > 0 && path.ptr[at - 1] != '/' && path.ptr[at - 1] != '\\') {
        at--;
    }
    return (struct sbx_str){path.ptr + at, path.len - at};
}

static enum sbx_code add_name(struct sbx_arena *arena, struct sbx_grant_view *view,
                              struct sbx_str name, struct sbx_err *err)
{
    if (sbx_str_is(name, "**")) {
        view->minds_all = true;
        return SBX_OK;
    }
    const char *text = sbx_arena_printf(arena, "C:\\%.*s", SBX_STR_ARG(name));
    struct sbx_path *slot =
        text == NULL ? NULL
                     : (struct sbx_path *)sbx_arena_push(arena, &view->names, &view->count,
                                                         &view->capacity, sizeof *slot);
    if (slot == NULL) {
        return sbx_err_nomem(err);
    }
    *slot = (struct sbx_path){text, strlen(text), SBX_PATH_WINDOWS};
    return SBX_OK;
}

static enum sbx_code add_inner(struct sbx_arena *arena, struct sbx_grant_view *view,
                               const struct sbx_rule *rule, struct sbx_err *err)
{
    const struct sbx_rule **slot = (const struct sbx_rule **)sbx_arena_push(
        arena, &view->inner, &view->inner_count, &view->inner_capacity, sizeof(void *));
    if (slot == NULL) {
        return sbx_err_nomem(err);
    }
    *slot = rule;
    return SBX_OK;
}

bool sbx_grant_view_holds(const struct sbx_grant_view *view, struct sbx_path path)
{
    for (size_t i = 0; i < view->inner_count; i++) {
        if (sbx_path_contains(view->inner[i]->path, path)) {
            return false;
        }
    }
    return sbx_path_contains(view->rule->path, path);
}

/* Can the rule say something about a place below the root? */
static bool concerns(const struct sbx_rule *root, const struct sbx_rule *rule)
{
    if (!rule->is_glob) {
        return sbx_path_contains(root->path, rule->path) && !sbx_path_eq(root->path, rule->path);
    }
    struct sbx_path base = sbx_glob_base(rule->path);
    return sbx_path_contains(root->path, base) || sbx_path_contains(base, root->path);
}

enum sbx_code sbx_grant_view_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                                  const struct sbx_rule *rule, struct sbx_grant_view *out,
                                  struct sbx_err *err)
{
    struct sbx_grant_view view = {.policy = policy, .rule = rule};
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < policy->rules.count && code == SBX_OK; i++) {
        const struct sbx_rule *below = &policy->rules.items[i];
        if (!concerns(rule, below)) {
            continue;
        }
        code = add_name(arena, &view, sbx_path_name(below->path), err);
        if (code == SBX_OK && sbx_grant_is_root(policy, below)) {
            code = add_inner(arena, &view, below, err);
        }
    }
    bool is_write = rule->access == SBX_ACCESS_WRITE;
    for (size_t i = 0; is_write && i < policy->protect_count && code == SBX_OK; i++) {
        code = add_name(arena, &view, last_name(sbx_str(policy->protect[i].pattern)), err);
    }
    if (code == SBX_OK) {
        *out = view;
    }
    return code;
}

bool sbx_grant_view_minds(const struct sbx_grant_view *view, struct sbx_path name)
{
    for (size_t i = 0; i < view->count; i++) {
        if (sbx_path_glob_match(view->names[i], name)) {
            return true;
        }
    }
    return view->minds_all;
}

/* ---- the capability's name ----------------------------------------------------------------- */

static void add_rule(struct sbx_buf *text, const struct sbx_rule *root, const struct sbx_rule *rule)
{
    size_t from = rule->is_glob ? 0 : root->path.len;
    bool is_admins = rule->by == SBX_BY_ADMINISTRATOR;
    sbx_buf_printf(text, "%s %s %s%s ", rule->is_glob ? "glob" : "rule",
                   sbx_name_text(sbx_rule_kind_names, (int)rule->kind),
                   sbx_name_text(sbx_access_names, (int)rule->access), is_admins ? " !" : "");
    sbx_buf_add(text, rule->path.text + from, rule->path.len - from);
    sbx_buf_add_char(text, '\n');
}

const char *sbx_grant_name(struct sbx_arena *arena, const struct sbx_grant_view *view,
                           const char *user, const struct sbx_pin *pin)
{
    const struct sbx_policy *policy = view->policy;
    bool is_write = view->rule->access == SBX_ACCESS_WRITE;
    char digest[SBX_SHA256_HEX];
    AUTO_BUF text;
    sbx_buf_init(&text, (size_t)64 << 20);
    sbx_buf_printf(&text, "sbx root 1\nuser %s\nvolume %016llx\nfile ", user,
                   (unsigned long long)pin->volume);
    for (size_t i = 0; i < sizeof pin->id.Identifier; i++) {
        sbx_buf_printf(&text, "%02x", pin->id.Identifier[i]);
    }
    sbx_buf_printf(&text, "\naccess %s\n",
                   sbx_name_text(sbx_access_names, (int)view->rule->access));
    for (size_t i = 0; i < policy->rules.count; i++) {
        if (concerns(view->rule, &policy->rules.items[i])) {
            add_rule(&text, view->rule, &policy->rules.items[i]);
        }
    }
    for (size_t i = 0; is_write && i < policy->protect_count; i++) {
        sbx_buf_printf(&text, "protect %s%s\n", policy->protect[i].file_only ? "file " : "",
                       policy->protect[i].pattern);
    }
    if (text.failed) {
        return NULL;
    }
    sbx_sha256_hex(sbx_buf_text(&text), text.len, digest);
    return sbx_arena_printf(arena, "sbx.root.%.16s.%s", digest, is_write ? "rw" : "ro");
}

/* ---- what cannot be granted ---------------------------------------------------------------- */

enum sbx_code sbx_grant_check_globs(const struct sbx_policy *policy, struct sbx_err *err)
{
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (!rule->is_glob || rule->access == SBX_ACCESS_NONE ||
            sbx_grant_access(policy, sbx_glob_base(rule->path), true) != SBX_ACCESS_NONE) {
            continue;
        }
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                          "the glob \"%s\" opens files in a place that is closed; Windows has no "
                          "access entries for patterns",
                          rule->path.text);
        return sbx_err_hint(err, "name the files, or the directory they are in");
    }
    return SBX_OK;
}

static enum sbx_code refuse(struct sbx_err *err, struct sbx_path path, const char *why,
                            const char *remedy)
{
    (void)sbx_err_set(err, SBX_E_INVALID, "\"%s\" cannot be granted: %s", path.text, why);
    return sbx_err_hint(err, "%s", remedy);
}

static bool is_below_home(struct sbx_path home, struct sbx_path path, const char *name)
{
    char text[1024];
    if (home.len == 0 || home.len + strlen(name) + 2 > sizeof text) {
        return false;
    }
    sbx_text_format(text, sizeof text, "%s\\%s", home.text, name);
    return sbx_path_eq((struct sbx_path){text, strlen(text), home.rules}, path);
}

static bool is_other_profile(struct sbx_path home, struct sbx_path path)
{
    struct sbx_path users = sbx_path_up(home);
    if (home.len == 0 || sbx_path_is_root(users) || !sbx_path_contains(users, path) ||
        sbx_path_contains(home, path) || sbx_path_eq(users, path)) {
        return false;
    }
    return !sbx_str_is_nocase(sbx_path_component(path, sbx_path_depth(users)), "Public");
}

enum sbx_code sbx_grant_check_place(const struct sbx_context *context, struct sbx_path path,
                                    bool is_write, struct sbx_err *err)
{
    static const char *const data[] = {"AppData", "AppData\\Local", "AppData\\LocalLow",
                                       "AppData\\Roaming"};
    static const char narrow[] = "grant the directory in it that the command needs";
    if (sbx_path_is_root(path)) {
        return refuse(err, path, "it is a whole drive", narrow);
    }
    if (context->home.len > 0 && sbx_path_contains(path, context->home)) {
        return refuse(err, path, "it holds your whole profile, with keys and start-up programs",
                      narrow);
    }
    if (context->tmp.len > 0 && sbx_path_eq(path, context->tmp)) {
        return refuse(err, path, "it is the temporary directory of every program",
                      "the box has one of its own: TEMP and TMP name it");
    }
    for (size_t i = 0; i < SBX_COUNT(data); i++) {
        if (is_below_home(context->home, path, data[i])) {
            return refuse(err, path, "it holds the data of every program", narrow);
        }
    }
    if (is_other_profile(context->home, path)) {
        return refuse(err, path, "it belongs to the profile of another user",
                      "copy what the command needs to a directory of your own");
    }
    const struct sbx_path systems[] = {context->system_root, context->program_files};
    for (size_t i = 0; is_write && i < SBX_COUNT(systems); i++) {
        if (systems[i].len > 0 &&
            (sbx_path_contains(path, systems[i]) || sbx_path_contains(systems[i], path))) {
            return refuse(err, path, "programs that run with more rights are in it",
                          "write to a directory of your own");
        }
    }
    return SBX_OK;
}
