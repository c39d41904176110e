/* Raw bwrap arguments: off unless the administrator allows them, and never against a layer. */
#include <string.h>

#include "common/policy/policy.h"

#include "common/base/banned.h"

/* An allowlist: an option bwrap grows tomorrow is refused until it is understood. */
struct raw_row {
    const char *option;
    unsigned values; /* how many arguments follow */
};
static const struct raw_row allowed[] = {
    {"--hostname", 1}, {"--dir", 1},     {"--perms", 1},  {"--size", 1},
    {"--tmpfs", 1},    {"--symlink", 2}, {"--mqueue", 1}, {"--as-pid-1", 0},
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

static const struct raw_row *find_allowed(struct sbx_str option) {
    for (size_t i = 0; i < SBX_COUNT(allowed); i++)
        if (sbx_str_is(option, allowed[i].option)) return &allowed[i];
    return NULL;
}

static const char *reason_against(struct sbx_str option) {
    for (size_t i = 0; i < SBX_COUNT(unsafe); i++)
        if (sbx_str_starts(option, unsafe[i].prefix)) return unsafe[i].reason;
    if (!sbx_str_starts(option, "-")) return "it would become the command";
    return "sbx does not know it";
}

/* A path given to --tmpfs, --dir and --symlink may not shadow what the box is built from. */
static bool value_is_safe(struct sbx_str value) {
    static const char *const kept[] = {"/proc", "/dev", "/sys"};
    if (value.len == 0 || memchr(value.ptr, 0, value.len) != NULL) return false;
    if (sbx_str_is(value, "/") || sbx_str_contains(value, "..")) return false;
    for (size_t i = 0; i < SBX_COUNT(kept); i++)
        if (sbx_str_starts(value, kept[i])) return false;
    return true;
}

static void refuse(struct sbx_findings *findings, const struct sbx_text *argument, size_t index,
                   const char *reason) {
    AUTO_BUF key;
    sbx_buf_init(&key, 64);
    sbx_buf_printf(&key, "raw_args[%zu]", index);
    struct sbx_finding *finding = sbx_findings_add(
        findings, SBX_F_RAW_ARGS_UNSAFE, &argument->at, sbx_buf_text(&key), argument->text,
        "raw argument \"%.*s\" is refused: %s", SBX_STR_ARG(argument->text), reason);
    sbx_finding_hint(findings, finding, "remove it");
}

void sbx_rawargs_check(const struct sbx_manifest *manifest, const struct sbx_ceiling *ceiling,
                       struct sbx_findings *findings) {
    const struct sbx_texts *list = &manifest->raw_args;
    if (list->count == 0) return;
    if (!ceiling->allow_raw_bwrap) {
        struct sbx_finding *finding = sbx_findings_add(
            findings, SBX_F_RAW_ARGS_GATE_OFF, &list->items[0].at, "raw_args", (struct sbx_str){0},
            "raw_args is off on this machine");
        sbx_finding_hint(findings, finding,
                         "the administrator can set allow_raw_bwrap = true in policy.toml");
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct raw_row *row = find_allowed(list->items[i].text);
        if (row == NULL) {
            refuse(findings, &list->items[i], i, reason_against(list->items[i].text));
            continue;
        }
        for (unsigned v = 0; v < row->values; v++) {
            i++;
            if (i >= list->count) {
                refuse(findings, &list->items[list->count - 1], list->count - 1,
                       "its value is missing");
                return;
            }
            if (!value_is_safe(list->items[i].text))
                refuse(findings, &list->items[i], i, "its value is not safe");
        }
    }
}
