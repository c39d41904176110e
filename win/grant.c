/* File grants: which roots a policy has, and the capabilities that select them. */
#include "win/grant.h"

#include <stdlib.h>
#include <string.h>

#include "win/acl.h"
#include "win/appcontainer.h"
#include "win/fault.h"
#include "win/grant_internal.h"
#include "win/handle.h"
#include "win/sid.h"
#include "win/token.h"

#include "common/base/banned.h"

struct roots {
    struct sbx_grant_root *items;
    size_t count, capacity;
    struct sbx_pin *pins; /* of closed places */
    size_t pin_count, pin_capacity;
};

static void close_roots(struct roots *roots)
{
    for (size_t i = 0; i < roots->count; i++) {
        sbx_pin_close(&roots->items[i].pin);
    }
    for (size_t i = 0; i < roots->pin_count; i++) {
        sbx_pin_close(&roots->pins[i]);
    }
}

/* ---- places that every package can read ---------------------------------------------------- */

/* Closes nothing: looks whether it is closed by itself. */
static enum sbx_code check_closed(struct sbx_arena *arena, struct sbx_grant_tool *tool,
                                  const struct sbx_rule *rule, struct sbx_err *err)
{
    SBX_CLEANUP(sbx_pin_close) struct sbx_pin pin = {0};
    enum sbx_code code = sbx_pin_open(arena, rule->path, SBX_PIN_ROOT, &pin, err);
    if (code == SBX_E_NOT_FOUND) {
        return SBX_OK;
    }
    if (code == SBX_OK) {
        code = sbx_dacl_read(pin.handle, pin.path.text, &tool->lists[0], err);
    }
    if (code != SBX_OK || (sbx_dacl_packages(&tool->lists[0], false) & FILE_READ_DATA) == 0) {
        return code;
    }
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                      "\"%s\" cannot be closed: Windows opens it to every application package",
                      rule->path.text);
    return sbx_err_hint(err, "remove the rule, or keep what must not be read somewhere else");
}

static enum sbx_code check_system(struct sbx_arena *arena, const struct sbx_grant_root *root,
                                  struct sbx_grant_tool *tool, struct sbx_err *err)
{
    const struct sbx_policy *policy = root->view.policy;
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < policy->rules.count && code == SBX_OK; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        struct sbx_path base = rule->is_glob ? sbx_glob_base(rule->path) : rule->path;
        if (rule->access != SBX_ACCESS_NONE || rule->kind != SBX_RULE_HOST) {
            continue;
        }
        if (rule->is_glob && (sbx_path_contains(root->rule->path, base) ||
                              sbx_path_contains(base, root->rule->path))) {
            (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                              "the glob \"%s\" closes files below \"%s\", which Windows opens to "
                              "every application package",
                              rule->path.text, root->rule->path.text);
            return sbx_err_hint(err, "remove the glob, or the rule for that directory");
        }
        if (!rule->is_glob && sbx_path_contains(root->rule->path, base)) {
            code = check_closed(arena, tool, rule, err);
        }
    }
    return code;
}

/* Does its list give every package what the rule gives, and no more? */
static enum sbx_code look_for_packages(struct sbx_arena *arena, struct sbx_grant_root *root,
                                       struct sbx_err *err)
{
    AUTO_TOOL tool = {0};
    if (root->rule->access != SBX_ACCESS_READ) {
        return SBX_OK;
    }
    enum sbx_code code = sbx_grant_tool_open(NULL, NULL, NULL, &tool, err);
    if (code == SBX_OK) {
        code = sbx_dacl_read(root->pin.handle, root->pin.path.text, &tool.lists[0], err);
    }
    if (code != SBX_OK) {
        return code;
    }
    ACCESS_MASK here = sbx_dacl_packages(&tool.lists[0], false);
    ACCESS_MASK below = sbx_dacl_packages(&tool.lists[0], true);
    root->is_system = (here & SBX_GRANT_READ) == SBX_GRANT_READ && (here & SBX_GRANT_CHANGE) == 0 &&
                      (!root->pin.is_directory || ((below & SBX_GRANT_READ) == SBX_GRANT_READ &&
                                                   (below & SBX_GRANT_CHANGE) == 0));
    return root->is_system ? check_system(arena, root, &tool, err) : SBX_OK;
}

/* ---- roots --------------------------------------------------------------------------------- */

static enum sbx_code name_root(struct sbx_grant_maker *maker, struct sbx_grant_root *root,
                               const char *user, struct sbx_err *err)
{
    const char *name = sbx_grant_name(maker->arena, &root->view, user, &root->pin);
    if (name == NULL) {
        return sbx_err_nomem(err);
    }
    root->capability.name = name;
    root->file =
        sbx_arena_printf(maker->arena, "%.16s" SBX_WORKSPACE_SUFFIX, name + strlen("sbx.root."));
    if (root->file == NULL) {
        return sbx_err_nomem(err);
    }
    return sbx_capability_sid(maker->arena, name, &root->capability.sid, err);
}

static enum sbx_code check_root(const struct sbx_grant_maker *maker,
                                const struct sbx_grant_root *root, struct sbx_err *err)
{
    bool is_write = root->rule->access == SBX_ACCESS_WRITE;
    enum sbx_code code =
        sbx_grant_check_place(&maker->policy->context, root->pin.path, is_write, err);
    if (code == SBX_OK && is_write && !root->pin.is_directory && root->pin.links > 1) {
        (void)sbx_err_set(
            err, SBX_E_UNSUPPORTED,
            "\"%s\" has %lu names, and what the box writes to it would be under all of "
            "them",
            root->pin.path.text, root->pin.links);
        return sbx_err_hint(err, "make a copy of it, or grant its directory");
    }
    return code;
}

/* What may be missing, sbx_policy_resolve has let pass. */
static bool may_be_missing(const struct sbx_rule *rule)
{
    return rule->is_optional || rule->node == SBX_NODE_MISSING || rule->by == SBX_BY_SBX;
}

static enum sbx_code add_root(struct sbx_grant_maker *maker, struct roots *roots,
                              const struct sbx_rule *rule, const char *user, struct sbx_err *err)
{
    struct sbx_pin pin = {0};
    enum sbx_code code = sbx_pin_open(maker->arena, rule->path, SBX_PIN_ROOT, &pin, err);
    if (code == SBX_E_NOT_FOUND && may_be_missing(rule)) {
        return SBX_OK;
    }
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_grant_root *root = (struct sbx_grant_root *)sbx_arena_push(
        maker->arena, &roots->items, &roots->count, &roots->capacity, sizeof *root);
    if (root == NULL) {
        sbx_pin_close(&pin);
        return sbx_err_nomem(err);
    }
    root->rule = rule;
    root->pin = pin;
    code = sbx_grant_view_make(maker->arena, maker->policy, rule, &root->view, err);
    if (code == SBX_OK) {
        code = look_for_packages(maker->arena, root, err);
    }
    if (code == SBX_OK && !root->is_system) {
        code = check_root(maker, root, err);
    }
    return code == SBX_OK && !root->is_system ? name_root(maker, root, user, err) : code;
}

static enum sbx_code find_roots(struct sbx_grant_maker *maker, struct roots *roots,
                                struct sbx_err *err)
{
    const struct sbx_rules *rules = &maker->policy->rules;
    PSID user = NULL;
    enum sbx_code code = sbx_token_user(maker->arena, &user, err);
    if (code != SBX_OK) {
        return code;
    }
    const char *name = sbx_sid_text(maker->arena, user);
    code = sbx_grant_check_globs(maker->policy, err);
    for (size_t i = 0; i < rules->count && code == SBX_OK; i++) {
        if (sbx_grant_is_root(maker->policy, &rules->items[i])) {
            code = add_root(maker, roots, &rules->items[i], name, err);
        }
    }
    return code;
}

/* ---- closed places are held ---------------------------------------------------------------- */

/* What cannot be held is closed all the same, by its list. */
static enum sbx_code pin_place(struct sbx_grant_maker *maker, struct roots *roots,
                               struct sbx_path path, struct sbx_err *err)
{
    struct sbx_pin pin = {0};
    struct sbx_err ignored = {0};
    if (sbx_pin_open(maker->arena, path, SBX_PIN_ROOT, &pin, &ignored) != SBX_OK) {
        return SBX_OK;
    }
    struct sbx_pin *slot = (struct sbx_pin *)sbx_arena_push(
        maker->arena, &roots->pins, &roots->pin_count, &roots->pin_capacity, sizeof *slot);
    if (slot == NULL) {
        sbx_pin_close(&pin);
        return sbx_err_nomem(err);
    }
    *slot = pin;
    return SBX_OK;
}

/* Protected names directly in a writable root. Deeper ones are many, and their lists hold them. */
static enum sbx_code pin_protected(struct sbx_grant_maker *maker, struct roots *roots,
                                   const struct sbx_grant_root *root, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    bool is_tree = root->rule->access == SBX_ACCESS_WRITE && root->pin.is_directory;
    for (size_t i = 0; is_tree && i < maker->policy->protect_count && code == SBX_OK; i++) {
        struct sbx_str pattern = sbx_str(maker->policy->protect[i].pattern);
        struct sbx_path path;
        if (sbx_path_is_glob(pattern) ||
            sbx_path_join(maker->arena, root->rule->path, pattern, &path) != SBX_PATH_OK ||
            sbx_grant_access(maker->policy, path, true) == SBX_ACCESS_WRITE) {
            continue;
        }
        code = pin_place(maker, roots, path, err);
    }
    return code;
}

static enum sbx_code pin_closed(struct sbx_grant_maker *maker, struct roots *roots,
                                struct sbx_err *err)
{
    const struct sbx_rules *rules = &maker->policy->rules;
    enum sbx_code code = SBX_OK;
    for (size_t i = 0; i < roots->count && code == SBX_OK; i++) {
        const struct sbx_grant_root *root = &roots->items[i];
        code = pin_protected(maker, roots, root, err);
        for (size_t k = 0; k < rules->count && code == SBX_OK; k++) {
            const struct sbx_rule *rule = &rules->items[k];
            bool is_closed = !rule->is_glob && rule->access < root->rule->access &&
                             rule != root->rule && rule->node != SBX_NODE_MISSING &&
                             sbx_grant_view_holds(&root->view, rule->path);
            code = is_closed ? pin_place(maker, roots, rule->path, err) : SBX_OK;
        }
    }
    return code;
}

/* ---- what dead runs left ------------------------------------------------------------------- */

static bool is_wanted(const struct roots *roots, const char *file)
{
    for (size_t i = 0; i < roots->count; i++) {
        if (sbx_text_eq(roots->items[i].file, file)) {
            return true;
        }
    }
    return false;
}

/* Grants that were not finished, or not taken away to the end, by a process that is gone. One that this run wants is
 * finished; the others are undone. */
static enum sbx_code recover(struct sbx_grant_maker *maker, const struct roots *roots,
                             const struct sbx_record_file *records, size_t count,
                             struct sbx_err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct sbx_record again;
        struct sbx_err why = {0};
        if (records[i].record.state == SBX_RECORD_COMPLETE || is_wanted(roots, records[i].file) ||
            sbx_owner_is_alive(&records[i].record.owner)) {
            continue;
        }
        enum sbx_code code = sbx_grant_lock(maker, err);
        if (code != SBX_OK) {
            return code;
        }
        code = sbx_state_read(maker->arena, &maker->state, records[i].file, &again, &why);
        if (code == SBX_OK && again.state != SBX_RECORD_COMPLETE) {
            code = sbx_grant_take_back(maker, records[i].file, &again, NULL, &why);
            sbx_grant_remark(maker, "access entries that an interrupted sbx left below \"%s\" %s%s",
                             again.path, code == SBX_OK ? "were removed" : "cannot be removed: ",
                             code == SBX_OK ? "" : why.text);
        }
        if (code == SBX_E_UNAVAILABLE) {
            return sbx_err_set(err, code, "%s", why.text);
        }
    }
    return SBX_OK;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static const struct sbx_record *record_of(const struct sbx_record_file *records, size_t count,
                                          const char *file)
{
    for (size_t i = 0; i < count; i++) {
        if (sbx_text_eq(records[i].file, file)) {
            return &records[i].record;
        }
    }
    return NULL;
}

static enum sbx_code hold_all(struct sbx_grant_maker *maker, struct roots *roots,
                              struct sbx_err *err)
{
    struct sbx_record_file *records = NULL;
    size_t count = 0;
    enum sbx_code code = sbx_grant_records(maker, &records, &count, err);
    if (code == SBX_OK) {
        code = recover(maker, roots, records, count, err);
    }
    for (size_t i = 0; i < roots->count && code == SBX_OK; i++) {
        struct sbx_grant_root *root = &roots->items[i];
        if (!root->is_system) {
            code = sbx_grant_hold(maker, root, record_of(records, count, root->file), err);
        }
    }
    return code == SBX_OK ? pin_closed(maker, roots, err) : code;
}

static int by_name(const void *left, const void *right)
{
    const struct sbx_capability *a = left;
    const struct sbx_capability *b = right;
    return strcmp(a->name, b->name);
}

/* The pins become the caller's. */
static enum sbx_code hand_over(struct sbx_grant_maker *maker, struct roots *roots,
                               struct sbx_grants *out, struct sbx_err *err)
{
    struct sbx_capability *capabilities =
        SBX_NEW_ARRAY(maker->arena, struct sbx_capability, roots->count);
    struct sbx_pin *pins =
        SBX_NEW_ARRAY(maker->arena, struct sbx_pin, roots->count + roots->pin_count);
    size_t count = 0;
    if (capabilities == NULL || pins == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; i < roots->count; i++) {
        pins[i] = roots->items[i].pin;
        if (!roots->items[i].is_system) {
            capabilities[count++] = roots->items[i].capability;
        }
    }
    for (size_t i = 0; i < roots->pin_count; i++) {
        pins[roots->count + i] = roots->pins[i];
    }
    if (count > 1) {
        qsort(capabilities, count, sizeof *capabilities, by_name);
    }
    *out = (struct sbx_grants){.capabilities = capabilities,
                               .count = count,
                               .pins = pins,
                               .pin_count = roots->count + roots->pin_count,
                               .remarks = maker->remarks,
                               .remark_count = maker->remark_count};
    *roots = (struct roots){0};
    return SBX_OK;
}

enum sbx_code sbx_grants_make(struct sbx_arena *arena, const struct sbx_grant_request *request,
                              struct sbx_grants *out, struct sbx_err *err)
{
    SBX_CLEANUP(close_roots) struct roots roots = {0};
    struct sbx_grant_maker maker = {.arena = arena,
                                    .policy = request->policy,
                                    .progress = request->progress,
                                    .guard = request->guard,
                                    .is_fresh_walk = request->walks_again};
    enum sbx_code code = find_roots(&maker, &roots, err);
    if (code == SBX_OK) {
        code = sbx_state_open(arena, request->state_dir, "workspaces", &maker.state, err);
    }
    if (code == SBX_OK) {
        code = hold_all(&maker, &roots, err);
    }
    sbx_handle_close(&maker.lock);
    sbx_state_close(&maker.state);
    return code == SBX_OK ? hand_over(&maker, &roots, out, err) : code;
}

void sbx_grants_close(struct sbx_grants *grants)
{
    for (size_t i = 0; i < grants->pin_count; i++) {
        sbx_pin_close(&grants->pins[i]);
    }
    grants->pin_count = 0;
}
