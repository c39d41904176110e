/* Raw bwrap arguments: off unless the administrator allows them, and never against a layer. */
#include <string.h>

#include "common/policy/policy.h"

#include "common/base/banned.h"

/* What an argument after an option must be. */
enum raw_value {
    RAW_NOTHING, /* there is none */
    RAW_TEXT,    /* anything but empty */
    RAW_NUMBER,
    RAW_PLACE, /* a path that bwrap makes in the box, where nothing of the host is */
};

/* An allowlist: an option bwrap grows tomorrow is refused until it is understood. */
struct raw_row {
    const char *option;
    enum raw_value values[2];
    bool is_modifier; /* acts on the option after it, which may not be one of sbx */
};
static const struct raw_row allowed[] = {
    {"--hostname", {RAW_TEXT}, false}, {"--dir", {RAW_PLACE}, false},
    {"--perms", {RAW_NUMBER}, true},   {"--size", {RAW_NUMBER}, true},
    {"--tmpfs", {RAW_PLACE}, false},   {"--symlink", {RAW_TEXT, RAW_PLACE}, false},
    {"--mqueue", {RAW_PLACE}, false},  {"--as-pid-1", {RAW_NOTHING}, false},
};

/* Known ways round, each with its reason; everything else that is not allowed gets a plain one. */
struct unsafe_row {
    const char *prefix;
    const char *reason;
};
static const struct unsafe_row unsafe[] = {
    {"--share-", "it opens a namespace; what may be shared is said by the network key"},
    {"--unshare-", "namespaces are chosen by sbx; the -try forms fail open"},
    {"--userns", "it joins or changes the user namespace"},
    {"--pidns", "it joins another process namespace"},
    {"--disable-userns", "sbx sets it"},
    {"--assert-userns", "sbx sets it"},
    {"--cap-", "capabilities stay dropped"},
    {"--uid", "the identity is chosen by the user key"},
    {"--gid", "the identity is chosen by the group key"},
    {"--dev", "the box has its own /dev"},
    {"--proc", "the box has its own /proc"},
    {"--bind", "grants belong in the filesystem table, where they are checked"},
    {"--ro-bind", "grants belong in the filesystem table, where they are checked"},
    {"--overlay", "grants belong in the filesystem table, where they are checked"},
    {"--tmp-overlay", "grants belong in the filesystem table, where they are checked"},
    {"--ro-overlay", "grants belong in the filesystem table, where they are checked"},
    {"--remount-ro", "mount order is chosen by sbx"},
    {"--file", "it reads a descriptor of sbx"},
    {"--seccomp", "it replaces the system call filter"},
    {"--add-seccomp", "it changes the system call filter"},
    {"--args", "it would hide further arguments from this check"},
    {"--setenv", "variables belong in env"},
    {"--unsetenv", "variables belong in env"},
    {"--clearenv", "sbx sets it"},
    {"--chdir", "the directory belongs in cwd"},
    {"--lock-file", "it creates files on the host"},
    {"--sync-fd", "it reaches a descriptor of sbx"},
    {"--block-fd", "it reaches a descriptor of sbx"},
    {"--userns-block-fd", "it reaches a descriptor of sbx"},
    {"--info-fd", "it reaches a descriptor of sbx"},
    {"--json-status-fd", "it reaches a descriptor of sbx"},
    {"--die-with-parent", "sbx sets it"},
    {"--new-session", "sbx sets it"},
    {"--exec-label", "it changes the security label"},
    {"--file-label", "it changes the security label"},
    {"--argv0", "the command is chosen by the caller"},
    {"--chmod", "it changes modes of granted files"},
};

static const struct raw_row *find_allowed(struct sbx_str option)
{
    for (size_t i = 0; i < SBX_COUNT(allowed); i++)
        if (sbx_str_is(option, allowed[i].option)) return &allowed[i];
    return NULL;
}

static const char *reason_against(struct sbx_str option)
{
    for (size_t i = 0; i < SBX_COUNT(unsafe); i++)
        if (sbx_str_starts(option, unsafe[i].prefix)) return unsafe[i].reason;
    if (!sbx_str_starts(option, "-")) return "it would become the command";
    return "sbx does not know it";
}

/* bwrap makes these with the caller's rights and before the box is closed: inside a writable directory of the
 * host they would be made on the host, protected or not. So only where the box has nothing of the host. */
static const char *against_place(struct sbx_arena *arena, const struct sbx_policy *policy,
                                 struct sbx_str value)
{
    static const char *const kept[] = {"/proc", "/dev", "/sys"};
    struct sbx_path path;
    if (sbx_path_make(arena, SBX_PATH_POSIX, value, &path) != SBX_PATH_OK)
        return "its value is not a clean absolute path";
    if (sbx_path_is_root(path)) return "it would cover the whole box";
    for (size_t i = 0; i < SBX_COUNT(kept); i++) {
        struct sbx_path own;
        if (sbx_path_make(arena, SBX_PATH_POSIX, sbx_str(kept[i]), &own) != SBX_PATH_OK ||
            sbx_path_contains(own, path))
            return "the box has its own /proc, /dev and /sys";
    }
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        struct sbx_path reached = rule->is_glob ? sbx_glob_base(rule->path) : rule->path;
        if (sbx_path_contains(path, reached)) return "it would cover a rule of this manifest";
    }
    struct sbx_decision decision = sbx_policy_decide(arena, policy, path);
    bool is_free =
        decision.rule == NULL ? decision.protection == NULL : decision.rule->kind == SBX_RULE_TMPFS;
    return is_free ? NULL : "files of the host are there; use filesystem and tmpfs";
}

static const char *against_value(struct sbx_arena *arena, const struct sbx_policy *policy,
                                 enum raw_value kind, struct sbx_str value)
{
    if (value.len == 0 || memchr(value.ptr, 0, value.len) != NULL)
        return "its value is empty or has a NUL";
    if (kind == RAW_PLACE) return against_place(arena, policy, value);
    for (size_t i = 0; kind == RAW_NUMBER && i < value.len; i++)
        if (!sbx_is_digit(value.ptr[i])) return "its value is not a number";
    return NULL;
}

static void refuse(struct sbx_findings *findings, const struct sbx_text *argument, size_t index,
                   const char *reason)
{
    AUTO_BUF key;
    sbx_buf_init(&key, 64);
    sbx_buf_printf(&key, "raw_args[%zu]", index);
    struct sbx_finding *finding = sbx_findings_add(
        findings, SBX_F_RAW_ARGS_UNSAFE, &argument->at, sbx_buf_text(&key), argument->text,
        "raw argument \"%.*s\" is refused: %s", SBX_STR_ARG(argument->text), reason);
    sbx_finding_hint(findings, finding, "remove it");
}

/* A modifier acts on what makes a file, after further modifiers. */
static bool is_modified(const struct sbx_texts *list, size_t index)
{
    const struct raw_row *row = index < list->count ? find_allowed(list->items[index].text) : NULL;
    return row != NULL && (row->is_modifier || row->values[0] == RAW_PLACE);
}

/* One option with its values; how many arguments it took. */
static size_t check_option(struct sbx_arena *arena, const struct sbx_policy *policy,
                           const struct sbx_texts *list, size_t at, struct sbx_findings *findings)
{
    const struct raw_row *row = find_allowed(list->items[at].text);
    size_t taken = 1;
    if (row == NULL) {
        refuse(findings, &list->items[at], at, reason_against(list->items[at].text));
        return taken;
    }
    for (size_t v = 0; v < SBX_COUNT(row->values) && row->values[v] != RAW_NOTHING; v++) {
        size_t index = at + taken;
        if (index >= list->count) {
            refuse(findings, &list->items[at], at, "its value is missing");
            return taken;
        }
        const char *reason = against_value(arena, policy, row->values[v], list->items[index].text);
        if (reason != NULL) refuse(findings, &list->items[index], index, reason);
        taken++;
    }
    if (row->is_modifier && !is_modified(list, at + taken))
        refuse(findings, &list->items[at], at, "it must stand before --tmpfs or --dir");
    return taken;
}

void sbx_rawargs_check(struct sbx_arena *arena, const struct sbx_manifest *manifest,
                       const struct sbx_ceiling *ceiling, const struct sbx_policy *policy,
                       struct sbx_findings *findings)
{
    const struct sbx_texts *list = &manifest->raw_args;
    if (list->count == 0) return;
    if (!ceiling->allow_raw_bwrap) {
        struct sbx_finding *finding =
            sbx_findings_add(findings, SBX_F_RAW_ARGS_GATE_OFF, &list->items[0].at, "raw_args",
                             (struct sbx_str){0}, "raw_args is off on this machine");
        sbx_finding_hint(findings, finding,
                         "the administrator can set allow_raw_bwrap = true in policy.toml");
    }
    if (policy->context.platform != SBX_LINUX) return; /* said already: no such key there */
    size_t at = 0;
    while (at < list->count) at += check_option(arena, policy, list, at, findings);
}
