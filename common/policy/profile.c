/* Profiles and modes: the registry. */
#include "common/policy/profile.h"

#include "common/base/banned.h"

#define L (1u << SBX_LINUX)
#define M (1u << SBX_MACOS)
#define X (1u << SBX_WINDOWS)
#define END                                                                                        \
    {                                                                                              \
        0, NULL, SBX_ACCESS_NONE, SBX_RULE_HOST, false                                             \
    }

const struct sbx_name sbx_rule_kind_names[] = {
    {SBX_RULE_HOST, "host"}, {SBX_RULE_TMPFS, "tmpfs"}, {SBX_RULE_SOCKET, "socket"}, {0, NULL}};

/* What programs need to start at all. */
static const struct sbx_preset_rule system_read[] = {
    {L, "/usr", SBX_ACCESS_READ, SBX_RULE_HOST, true},
    {L, "/lib", SBX_ACCESS_READ, SBX_RULE_HOST, true},
    {L, "/lib64", SBX_ACCESS_READ, SBX_RULE_HOST, true},
    {L, "/bin", SBX_ACCESS_READ, SBX_RULE_HOST, true},
    {L, "/sbin", SBX_ACCESS_READ, SBX_RULE_HOST, true},
    {L, "/etc", SBX_ACCESS_READ, SBX_RULE_HOST, true},
    {M, "/usr", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    {M, "/bin", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    {M, "/sbin", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    {M, "/System", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    {M, "/Library", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    {M, "/private/etc", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    {M, "/private/var/db/dyld", SBX_ACCESS_READ, SBX_RULE_HOST, true},
    {M, "/private/var/select", SBX_ACCESS_READ, SBX_RULE_HOST, true},
    {X, ":windows", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    {X, ":program-files", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    END};

/* Readable to root and so to a box started by root, unless masked. */
static const struct sbx_preset_rule system_secrets[] = {
    {L, "/etc/shadow", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {L, "/etc/shadow-", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {L, "/etc/gshadow", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {L, "/etc/gshadow-", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {L, "/etc/sudoers", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {L, "/etc/sudoers.d", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {L, "/etc/ssh/ssh_host_*_key", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {L, "/etc/ssl/private", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {M, "/private/etc/master.passwd", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {M, "/private/etc/sudoers", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {M, "/private/etc/sudoers.d", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    {M, "/private/etc/ssh/ssh_host_*_key", SBX_ACCESS_NONE, SBX_RULE_HOST, true},
    END};

/* Optional: a backend without mounts gives a private TMPDIR instead and leaves /tmp closed. */
static const struct sbx_preset_rule private_tmp[] = {
    {L, "/tmp", SBX_ACCESS_WRITE, SBX_RULE_TMPFS, true}, END};

/* An AppContainer cannot be given the whole disk (an inheritable entry would have to be written to every
 * file), so on Windows these modes read the system and the working directory. */
static const struct sbx_preset_rule disk_read[] = {
    {L | M, ":root", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    {X, ":windows", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    {X, ":program-files", SBX_ACCESS_READ, SBX_RULE_HOST, false},
    END};

static const struct sbx_preset_rule windows_cwd_read[] = {
    {X, ":cwd", SBX_ACCESS_READ, SBX_RULE_HOST, false}, END};

static const struct sbx_preset_rule cwd_write[] = {
    {L | M | X, ":cwd", SBX_ACCESS_WRITE, SBX_RULE_HOST, false}, END};

static const struct sbx_preset_rule desktop_sockets[] = {
    {L, ":runtime/wayland-0", SBX_ACCESS_WRITE, SBX_RULE_SOCKET, true},
    {L, ":runtime/bus", SBX_ACCESS_WRITE, SBX_RULE_SOCKET, true},
    {L, ":runtime/pipewire-0", SBX_ACCESS_WRITE, SBX_RULE_SOCKET, true},
    {L, ":runtime/pulse/native", SBX_ACCESS_WRITE, SBX_RULE_SOCKET, true},
    {L, "/tmp/.X11-unix/X0", SBX_ACCESS_WRITE, SBX_RULE_SOCKET, true},
    END};

static const struct sbx_preset_rule *const no_rules[] = {NULL};
static const struct sbx_preset_rule *const strict_rules[] = {system_read, system_secrets,
                                                             private_tmp, NULL};
static const struct sbx_preset_rule *const desktop_rules[] = {system_read, system_secrets,
                                                              private_tmp, desktop_sockets, NULL};
static const struct sbx_preset_rule *const read_only_rules[] = {
    disk_read, system_secrets, private_tmp, windows_cwd_read, NULL};
static const struct sbx_preset_rule *const workspace_rules[] = {disk_read, system_secrets,
                                                                private_tmp, cwd_write, NULL};

static const char *const no_names[] = {NULL};
/* What a command of a developer cannot do without: "make" finds no compiler without PATH. Where things are and how text
 * looks, no secret. */
static const char *const mode_env[] = {"HOME", "LANG", "PATH", "TERM", NULL};
static const char *const desktop_env[] = {"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY",
                                          "XDG_RUNTIME_DIR", NULL};

const struct sbx_preset_row sbx_preset_rows[SBX_PRESET_COUNT] = {
    [SBX_PROFILE_NONE] = {SBX_PROFILE_NONE, "none", "profile",
                          "no sandbox; needs both keys (SBX_SANDBOX=none, SBX_ALLOW_NO_SANDBOX=1); "
                          "the environment is still dropped",
                          true, false, no_rules, SBX_NET_INHERIT, SBX_SYSCALLS_INHERIT, 0, 0,
                          no_names},
    [SBX_PROFILE_STRICT] = {SBX_PROFILE_STRICT, "strict", "profile",
                            "system directories read-only, private /tmp, no home, no network, "
                            "system calls strict",
                            false, false, strict_rules, SBX_NET_DENY, SBX_SYSCALLS_STRICT, 0, 1,
                            no_names},
    [SBX_PROFILE_SERVICE] = {SBX_PROFILE_SERVICE, "service", "profile",
                             "as strict, with the host's network and 64 processes; add the state "
                             "directory with fs_write_allow",
                             false, false, strict_rules, SBX_NET_INHERIT, SBX_SYSCALLS_INHERIT, 64,
                             64, no_names},
    [SBX_PROFILE_DESKTOP] = {SBX_PROFILE_DESKTOP, "desktop", "profile",
                             "as service, plus the display, bus and audio sockets that exist",
                             false, false, desktop_rules, SBX_NET_INHERIT, SBX_SYSCALLS_INHERIT, 64,
                             64, desktop_env},
    [SBX_MODE_READ_ONLY] = {SBX_MODE_READ_ONLY, "read-only", "mode",
                            "the disk read-only, private /tmp, no network; of the environment "
                            "HOME, LANG, PATH and TERM",
                            false, false, read_only_rules, SBX_NET_DENY, SBX_SYSCALLS_INHERIT, 0,
                            64, mode_env},
    [SBX_MODE_WORKSPACE_WRITE] = {SBX_MODE_WORKSPACE_WRITE, "workspace-write", "mode",
                                  "as read-only, and the working directory writable except what "
                                  "protect names; the default",
                                  false, false, workspace_rules, SBX_NET_DENY, SBX_SYSCALLS_INHERIT,
                                  0, 64, mode_env},
    [SBX_MODE_DANGER_FULL_ACCESS] = {SBX_MODE_DANGER_FULL_ACCESS, "danger-full-access", "mode",
                                     "no sandbox; needs both keys (SBX_SANDBOX=none, "
                                     "SBX_ALLOW_NO_SANDBOX=1)",
                                     true, false, no_rules, SBX_NET_INHERIT, SBX_SYSCALLS_INHERIT,
                                     0, 0, no_names},
    [SBX_MODE_EXTERNAL_SANDBOX] = {SBX_MODE_EXTERNAL_SANDBOX, "external-sandbox", "mode",
                                   "as workspace-write, handed to the external engine", false, true,
                                   workspace_rules, SBX_NET_DENY, SBX_SYSCALLS_INHERIT, 0, 64,
                                   no_names},
    [SBX_PRESET_DECLARED] = {SBX_PRESET_DECLARED, "declared", "manifest",
                             "system directories read-only, private /tmp, and exactly what the "
                             "manifest declares",
                             false, false, strict_rules, SBX_NET_INHERIT, SBX_SYSCALLS_INHERIT, 0,
                             64, no_names},
};

const struct sbx_preset_row *sbx_preset_of(const struct sbx_manifest *manifest)
{
    int preset = SBX_PRESET_DECLARED;
    if (sbx_manifest_has(manifest, SBX_KEY_PROFILE)) preset = manifest->profile;
    if (sbx_manifest_has(manifest, SBX_KEY_MODE)) preset = manifest->mode;
    return &sbx_preset_rows[preset];
}

const char *sbx_preset_source(enum sbx_preset preset)
{
    static const char *const sources[SBX_PRESET_COUNT] = {
        [SBX_PROFILE_NONE] = "profile none",
        [SBX_PROFILE_STRICT] = "profile strict",
        [SBX_PROFILE_SERVICE] = "profile service",
        [SBX_PROFILE_DESKTOP] = "profile desktop",
        [SBX_MODE_READ_ONLY] = "mode read-only",
        [SBX_MODE_WORKSPACE_WRITE] = "mode workspace-write",
        [SBX_MODE_DANGER_FULL_ACCESS] = "mode danger-full-access",
        [SBX_MODE_EXTERNAL_SANDBOX] = "mode external-sandbox",
        [SBX_PRESET_DECLARED] = "sbx",
    };
    return sources[preset];
}
