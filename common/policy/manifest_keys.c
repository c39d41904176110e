/* The one table of manifest keys. */
#include "common/policy/manifest_keys.h"

#include "common/base/banned.h"

#define FIELD(name) offsetof(struct sbx_manifest, name)
#define ALL ((1u << SBX_LINUX) | (1u << SBX_MACOS) | (1u << SBX_WINDOWS))
#define POSIX ((1u << SBX_LINUX) | (1u << SBX_MACOS))
#define TIB ((uint64_t)1 << 40)
#define DAY_NS ((uint64_t)86400 * 1000000000u)

const struct sbx_name sbx_profile_names[] = {{SBX_PROFILE_NONE, "none"},
                                             {SBX_PROFILE_STRICT, "strict"},
                                             {SBX_PROFILE_SERVICE, "service"},
                                             {SBX_PROFILE_DESKTOP, "desktop"},
                                             {0, NULL}};

const struct sbx_name sbx_mode_names[] = {{SBX_MODE_READ_ONLY, "read-only"},
                                          {SBX_MODE_WORKSPACE_WRITE, "workspace-write"},
                                          {SBX_MODE_DANGER_FULL_ACCESS, "danger-full-access"},
                                          {SBX_MODE_EXTERNAL_SANDBOX, "external-sandbox"},
                                          {0, NULL}};

const struct sbx_name sbx_unit_type_names[] = {
    {SBX_UNIT_SIMPLE, "simple"}, {SBX_UNIT_ONESHOT, "oneshot"}, {0, NULL}};

/* Only what a user can restrict may be required; the rest is always in force. */
static const struct sbx_name requirable_names[] = {{SBX_DIM_FILESYSTEM, "filesystem"},
                                                   {SBX_DIM_NETWORK, "network"},
                                                   {SBX_DIM_SYSCALLS, "syscalls"},
                                                   {SBX_DIM_MEMORY, "memory"},
                                                   {SBX_DIM_CPU, "cpu"},
                                                   {SBX_DIM_PROCESSES, "processes"},
                                                   {0, NULL}};

const struct sbx_key_row sbx_key_rows[SBX_KEY_COUNT] = {
    [SBX_KEY_PROFILE] = {SBX_KEY_PROFILE, "profile", SBX_KIND_CHOICE, FIELD(profile), 'p',
                         "profile", "NAME", sbx_profile_names, 0, 0, "absent",
                         "a named starting point; excludes mode", "\"strict\"", ALL},
    [SBX_KEY_MODE] = {SBX_KEY_MODE, "mode", SBX_KIND_CHOICE, FIELD(mode), 0, "mode", "MODE",
                      sbx_mode_names, 0, 0, "absent; workspace-write without a manifest",
                      "an agent preset; excludes profile", "\"read-only\"", ALL},
    [SBX_KEY_FS_READ_ALLOW] = {SBX_KEY_FS_READ_ALLOW, "fs_read_allow", SBX_KIND_PATHS,
                               FIELD(fs_read_allow), 'r', "read", "PATH", NULL, 0, 0, "empty",
                               "paths the box may read", "[\"/srv/data\"]", ALL},
    [SBX_KEY_FS_WRITE_ALLOW] = {SBX_KEY_FS_WRITE_ALLOW, "fs_write_allow", SBX_KIND_PATHS,
                                FIELD(fs_write_allow), 'w', "write", "PATH", NULL, 0, 0, "empty",
                                "paths the box may read and write", "[\":cwd/out\"]", ALL},
    [SBX_KEY_FILESYSTEM] = {SBX_KEY_FILESYSTEM, "filesystem", SBX_KIND_FILESYSTEM,
                            FIELD(filesystem), 0, "fs", "PATH=ACCESS", NULL, 0, 0, "empty",
                            "the split policy: path or glob to read, write or none; the narrower "
                            "entry wins",
                            "{ \":root\" = \"read\", \"/code\" = \"write\", \"/code/secrets\" = "
                            "\"none\" }",
                            ALL},
    [SBX_KEY_TMPFS] = {SBX_KEY_TMPFS, "tmpfs", SBX_KIND_PATHS, FIELD(tmpfs), 0, "tmpfs", "PATH",
                       NULL, 0, 0, "empty", "private, empty, writable directories, gone afterwards",
                       "[\"/var/cache\"]", ALL},
    [SBX_KEY_PROTECT] = {SBX_KEY_PROTECT, "protect", SBX_KIND_PROTECT, FIELD(protect), 0, "protect",
                         "NAME", NULL, 0, 0, "\"defaults\"",
                         "names kept read-only under every writable path, at any depth; "
                         "\"defaults\" stands for the built-in list",
                         "[\"defaults\", \".env\"]", ALL},
    [SBX_KEY_GIT] = {SBX_KEY_GIT, "git", SBX_KIND_CHOICE, FIELD(git), 0, "git", "MODE",
                     sbx_git_mode_names, 0, 0, "read-only",
                     "commit: index, objects and refs writable; hooks and configuration never",
                     "\"commit\"", ALL},
    [SBX_KEY_UNIX_SOCKETS] = {SBX_KEY_UNIX_SOCKETS, "unix_sockets", SBX_KIND_PATHS,
                              FIELD(unix_sockets), 0, "unix-socket", "PATH", NULL, 0, 0, "empty",
                              "host sockets the box may connect to",
                              "[\"/run/user/1000/ssh-agent.sock\"]", POSIX},
    [SBX_KEY_NETWORK] = {SBX_KEY_NETWORK, "network", SBX_KIND_NETWORK, FIELD(network), 'n', "net",
                         "deny|inherit|HOST[,HOST]", sbx_net_kind_names, 0, 0,
                         "that of the profile or mode, inherit without one",
                         "what of the network the box may reach",
                         "{ kind = \"allow_hosts\", hosts = [\"api.example.com\"], local = "
                         "[\"localhost:8080\"] }",
                         ALL},
    [SBX_KEY_SYSCALL_POLICY] = {SBX_KEY_SYSCALL_POLICY, "syscall_policy", SBX_KIND_CHOICE,
                                FIELD(syscall_policy), 0, "syscalls", "POLICY", sbx_syscalls_names,
                                0, 0, "that of the profile or mode, inherit without one",
                                "strict: only system calls everyday tools need (seccomp, process "
                                "mitigations)",
                                "\"strict\"", ALL},
    [SBX_KEY_TIMEOUT] = {SBX_KEY_TIMEOUT, "timeout", SBX_KIND_DURATION, FIELD(timeout_ns), 't',
                         "timeout", "TIME", NULL, 1000000, 365 * DAY_NS,
                         "30s on Linux and macOS, 60s on Windows and Docker",
                         "wall clock for the whole tree", "\"2m\"", ALL},
    [SBX_KEY_MAX_MEMORY_BYTES] = {SBX_KEY_MAX_MEMORY_BYTES, "max_memory_bytes", SBX_KIND_BYTES,
                                  FIELD(max_memory_bytes), 'm', "memory", "SIZE", NULL, 1u << 20,
                                  1024 * TIB, "none", "memory for the whole tree", "\"256MiB\"",
                                  ALL},
    [SBX_KEY_MAX_CPU_SECS] = {SBX_KEY_MAX_CPU_SECS, "max_cpu_secs", SBX_KIND_COUNTER,
                              FIELD(max_cpu_secs), 0, "cpu", "SECS", NULL, 1, 31536000, "none",
                              "processor time", "60", ALL},
    [SBX_KEY_MAX_PROCESSES] = {SBX_KEY_MAX_PROCESSES, "max_processes", SBX_KIND_COUNTER,
                               FIELD(max_processes), 0, "procs", "COUNT", NULL, 1, 4194304,
                               "64 with service and desktop; Windows: 1 with strict, else 64; "
                               "none otherwise",
                               "processes alive at the same time", "64", ALL},
    [SBX_KEY_MAX_OUTPUT_BYTES] = {SBX_KEY_MAX_OUTPUT_BYTES, "max_output_bytes", SBX_KIND_BYTES,
                                  FIELD(max_output_bytes), 0, "max-output", "SIZE", NULL, 1,
                                  1024 * TIB, "none; 64MiB in the service",
                                  "bytes per output stream; past it the run is ended", "\"10MiB\"",
                                  ALL},
    [SBX_KEY_ENV] = {SBX_KEY_ENV, "env", SBX_KIND_ENV, FIELD(env), 'e', "set-env", "NAME=VALUE",
                     NULL, 0, 0, "empty",
                     "variables of the box; the caller's environment is always dropped",
                     "[[\"LANG\", \"C.UTF-8\"]]", ALL},
    [SBX_KEY_ENV_PASS] = {SBX_KEY_ENV_PASS, "env_pass", SBX_KIND_TEXTS, FIELD(env_pass), 'E',
                          "pass-env", "NAME", NULL, 0, 0, "empty",
                          "variables copied from the caller's environment, by name",
                          "[\"PATH\", \"TERM\"]", ALL},
    [SBX_KEY_CWD] = {SBX_KEY_CWD, "cwd", SBX_KIND_PATH, FIELD(cwd), 'C', "cwd", "DIR", NULL, 0, 0,
                     "the caller's, when readable in the box, else the root",
                     "working directory of the command", "\"/code\"", ALL},
    [SBX_KEY_USER] = {SBX_KEY_USER, "user", SBX_KIND_IDENTITY, FIELD(user), 0, "user", "USER", NULL,
                      0, 4294967294u, "the caller's", "account the box runs as, by name or number",
                      "\"nobody\"", POSIX},
    [SBX_KEY_GROUP] = {SBX_KEY_GROUP, "group", SBX_KIND_IDENTITY, FIELD(group), 0, "group", "GROUP",
                       NULL, 0, 4294967294u, "the caller's",
                       "group the box runs as, by name or number", "1000", POSIX},
    [SBX_KEY_IMAGE] = {SBX_KEY_IMAGE, "image", SBX_KIND_TEXT, FIELD(image), 0, "image", "IMAGE",
                       NULL, 0, 0, "ghcr.io/sbx/base:1", "container image; Docker backend only",
                       "\"debian:12\"", ALL},
    [SBX_KEY_RAW_ARGS] = {SBX_KEY_RAW_ARGS, "raw_args", SBX_KIND_TEXTS, FIELD(raw_args), 0,
                          "raw-arg", "ARG", NULL, 0, 0, "empty",
                          "extra bwrap arguments; needs the administrator's allow_raw_bwrap",
                          "[\"--hostname\", \"box\"]", 1u << SBX_LINUX},
    [SBX_KEY_REQUIRE] = {SBX_KEY_REQUIRE, "require", SBX_KIND_DIMENSIONS, FIELD(require), 0,
                         "require", "DIMENSION[,…]", requirable_names, 0, 0, "filesystem, network",
                         "dimensions that must be enforced, else sbx refuses",
                         "[\"filesystem\", \"network\", \"memory\"]", ALL},
};

const struct sbx_flag_alias sbx_flag_aliases[] = {
    {"deny", 0, SBX_KEY_FILESYSTEM, "PATH", "", "=none",
     "neither names nor bytes of PATH (--fs PATH=none)"},
    {"local", 0, SBX_KEY_NETWORK, "HOST:PORT", "local=", "",
     "a loopback or private target the box may reach"},
    {"strict", 0, SBX_KEY_SYSCALL_POLICY, NULL, "strict", "", "same as --syscalls strict"},
    {NULL, 0, SBX_KEY_COUNT, NULL, NULL, NULL, NULL}};

const struct sbx_key_row *sbx_key_find(struct sbx_str name)
{
    for (size_t i = 0; i < SBX_KEY_COUNT; i++)
        if (sbx_str_is(name, sbx_key_rows[i].name)) return &sbx_key_rows[i];
    return NULL;
}

const char *sbx_key_name_at(const void *unused, size_t index)
{
    (void)unused;
    return index < SBX_KEY_COUNT ? sbx_key_rows[index].name : NULL;
}
