/* Backends as data: what each can represent, its order, its steps. */
#include "common/policy/backends.h"

#include <string.h>

#include "common/base/banned.h"

#define SECOND ((uint64_t)1000000000)
#define L (1u << SBX_LINUX)
#define M (1u << SBX_MACOS)
#define X (1u << SBX_WINDOWS)

static const struct sbx_step_text native_steps[] = {
    {"harden sbx: not dumpable, no core files, descriptors closed on exec", NULL},
    {"open every granted path once, by descriptor", "close the descriptors"},
    {"make the cgroup and set its limits", "remove the cgroup"},
    {"clone with user, mount, pid, network, ipc, uts and cgroup namespaces", "kill the namespace"},
    {"in the box: private root, /proc, /dev, /tmp; grants in order; masks and protections", NULL},
    {"in the box: resource limits, no capabilities, no-new-privs, Landlock, seccomp", NULL},
    {"hold the command; read back namespaces, mounts, limits, filters, descriptors", NULL},
    {"release the command; carry streams and signals", "kill the tree"},
    {NULL, NULL}};

static const struct sbx_step_text bwrap_steps[] = {
    {"harden sbx: not dumpable, no core files, descriptors closed on exec", NULL},
    {"check bwrap: absolute path, owner, mode, version", NULL},
    {"open every granted path once, by descriptor", "close the descriptors"},
    {"make the cgroup and set its limits", "remove the cgroup"},
    {"start bwrap with an empty environment, all arguments over a descriptor",
     "kill the namespace"},
    {"in the box: sbx-init sets resource limits, Landlock, seccomp", NULL},
    {"hold the command; read back namespaces, mounts, limits, filters, descriptors", NULL},
    {"release the command; carry streams and signals", "kill the tree"},
    {NULL, NULL}};

static const struct sbx_step_text landlock_steps[] = {
    {"harden sbx: not dumpable, no core files, descriptors closed on exec", NULL},
    {"open every granted path once, by descriptor", "close the descriptors"},
    {"make the cgroup and set its limits", "remove the cgroup"},
    {"make a private temporary directory", "remove the directory"},
    {"in the child: resource limits, no-new-privs, Landlock, seccomp", NULL},
    {"hold the command; read back filters, limits, descriptors", NULL},
    {"release the command; carry streams and signals", "kill the tree"},
    {NULL, NULL}};

static const struct sbx_step_text appcontainer_steps[] = {
    {"start the wall-clock guard; recover leases of dead runs; refuse to nest", NULL},
    {"resolve program, working directory and granted roots to handles", "close the handles"},
    {"write the lease, then create the AppContainer profile it names",
     "delete the profile, then the lease"},
    {"select the capability of each granted root; the first time, journal and add its entries",
     "the entries stay: sbx workspace remove"},
    {"restricted token: no privileges, no administrator groups, Low integrity; read back",
     "close the token"},
    {"job object with limits, no breakaway, completion port; read back",
     "terminate and close the job"},
    {"private window station and desktop where the caller's would not admit the box", "close both"},
    {"own pseudo console, pipes, watch of protected names", "close all"},
    {"create the process suspended: security capabilities, job list, handle list, mitigations, "
     "exactly the declared environment",
     "terminate the job"},
    {"verify while suspended: integrity, AppContainer, capabilities, groups, privileges, job",
     NULL},
    {"resume; drain the streams; wait for end, limit or cancel", "terminate the job"},
    {NULL, NULL}};

static const struct sbx_step_text seatbelt_steps[] = {
    {"make a private temporary directory", "remove the directory"},
    {"resolve every granted path; write the deny-default profile in memory", NULL},
    {"start the child held, in its own session and process group", "kill the group and sweep"},
    {"in the child: resource limits, then the Seatbelt profile", NULL},
    {"hold the command; check denied and allowed probes against the kernel", NULL},
    {"release the command; carry streams and signals", "kill the group and sweep"},
    {NULL, NULL}};

static const struct sbx_step_text docker_steps[] = {
    {"negotiate the API version with the engine", NULL},
    {"create the container: binds, limits, no capabilities, read-only root",
     "remove the container"},
    {"attach, start, wait", "kill the container"},
    {NULL, NULL}};

static const struct sbx_step_text external_steps[] = {
    {"send the plan to the external engine", "delete the remote box"},
    {"stream its output; wait", "cancel the remote command"},
    {NULL, NULL}};

static const struct sbx_step_text none_steps[] = {
    {"warn that nothing is isolated", NULL},
    {"start the command with exactly the declared environment", "kill the tree"},
    {NULL, NULL}};

static const struct sbx_step_text fail_closed_steps[] = {{"refuse; nothing is started", NULL},
                                                         {NULL, NULL}};

#define LINUX_FULL                                                                                 \
    (SBX_CAN_MASK_READ | SBX_CAN_CARVE_WRITE | SBX_CAN_PROTECT | SBX_CAN_TMPFS | SBX_CAN_SOCKETS | \
     SBX_CAN_NET_DENY | SBX_CAN_ALLOW_HOSTS | SBX_CAN_IDENTITY | SBX_CAN_DEEP_GLOBS |              \
     SBX_CAN_TERMINAL)

static const struct sbx_backend_row rows[SBX_BACKEND_COUNT] = {
    [SBX_BACKEND_NATIVE] = {SBX_BACKEND_NATIVE, L, LINUX_FULL, true, 30 * SECOND,
                            "Linux namespaces, Landlock and seccomp, without a helper program",
                            "allow unprivileged user namespaces, or install bubblewrap",
                            native_steps},
    [SBX_BACKEND_BWRAP] = {SBX_BACKEND_BWRAP, L, LINUX_FULL | SBX_CAN_RAW_ARGS, true, 30 * SECOND,
                           "bubblewrap, with Landlock and seccomp inside",
                           "install bubblewrap: apt-get install bubblewrap, dnf install bubblewrap",
                           bwrap_steps},
    [SBX_BACKEND_LANDLOCK] = {SBX_BACKEND_LANDLOCK, L,
                              SBX_CAN_MASK_READ | SBX_CAN_NET_DENY | SBX_CAN_IDENTITY |
                                  SBX_CAN_TERMINAL,
                              true, 30 * SECOND, "Landlock and seccomp, without namespaces",
                              "use a kernel with Landlock (5.13 or newer, lsm=landlock)",
                              landlock_steps},
    [SBX_BACKEND_APPCONTAINER] = {SBX_BACKEND_APPCONTAINER, X,
                                  SBX_CAN_MASK_READ | SBX_CAN_CARVE_WRITE | SBX_CAN_PROTECT |
                                      SBX_CAN_NET_DENY | SBX_CAN_ALLOW_HOSTS | SBX_CAN_DEEP_GLOBS |
                                      SBX_CAN_TERMINAL,
                                  true, 60 * SECOND,
                                  "AppContainer, restricted Low-integrity token, job object",
                                  "use Windows 10 1809 or newer, not inside another AppContainer",
                                  appcontainer_steps},
    [SBX_BACKEND_SEATBELT] = {SBX_BACKEND_SEATBELT, M,
                              SBX_CAN_MASK_READ | SBX_CAN_CARVE_WRITE | SBX_CAN_PROTECT |
                                  SBX_CAN_SOCKETS | SBX_CAN_NET_DENY | SBX_CAN_ALLOW_HOSTS |
                                  SBX_CAN_IDENTITY | SBX_CAN_DEEP_GLOBS | SBX_CAN_TERMINAL,
                              true, 30 * SECOND, "Seatbelt, deny by default",
                              "run outside another Seatbelt sandbox, on macOS 13 or newer",
                              seatbelt_steps},
    [SBX_BACKEND_DOCKER] = {SBX_BACKEND_DOCKER, L | M | X,
                            SBX_CAN_MASK_READ | SBX_CAN_CARVE_WRITE | SBX_CAN_TMPFS |
                                SBX_CAN_SOCKETS | SBX_CAN_NET_DENY | SBX_CAN_IDENTITY |
                                SBX_CAN_IMAGE,
                            true, 60 * SECOND, "a container of the local Docker or Podman engine",
                            "start the engine, or set DOCKER_HOST", docker_steps},
    [SBX_BACKEND_EXTERNAL] = {SBX_BACKEND_EXTERNAL, L | M | X,
                              /* sbx itself decides which files go there and which come back. */
                              SBX_CAN_MASK_READ | SBX_CAN_CARVE_WRITE | SBX_CAN_PROTECT |
                                  SBX_CAN_DEEP_GLOBS | SBX_CAN_TMPFS | SBX_CAN_NET_DENY |
                                  SBX_CAN_ALLOW_HOSTS | SBX_CAN_IMAGE,
                              true, 60 * SECOND, "an external engine over HTTP",
                              "configure its address and key", external_steps},
    [SBX_BACKEND_NONE] = {SBX_BACKEND_NONE, L | M | X, ~0u ^ SBX_CAN_TERMINAL, false, 30 * SECOND,
                          "no isolation; the environment is still dropped", NULL, none_steps},
    [SBX_BACKEND_FAIL_CLOSED] = {SBX_BACKEND_FAIL_CLOSED, L | M | X, ~0u, false, 30 * SECOND,
                                 "refuses every run", NULL, fail_closed_steps},
};

const struct sbx_backend_row *sbx_backend_row(enum sbx_backend_id id)
{
    return &rows[id];
}

const enum sbx_backend_id *sbx_backend_order(enum sbx_platform platform)
{
    /* `native` holds the same attacks as `bwrap`, follows no planted link while it builds, and starts sooner;
     * `bwrap` stays for raw arguments and where only its own file may make user namespaces. */
    static const enum sbx_backend_id linux_order[] = {SBX_BACKEND_NATIVE, SBX_BACKEND_BWRAP,
                                                      SBX_BACKEND_LANDLOCK, SBX_BACKEND_COUNT};
    static const enum sbx_backend_id macos_order[] = {SBX_BACKEND_SEATBELT, SBX_BACKEND_COUNT};
    static const enum sbx_backend_id windows_order[] = {SBX_BACKEND_APPCONTAINER,
                                                        SBX_BACKEND_COUNT};
    static const enum sbx_backend_id *const orders[SBX_PLATFORM_COUNT] = {
        [SBX_LINUX] = linux_order, [SBX_MACOS] = macos_order, [SBX_WINDOWS] = windows_order};
    return orders[platform];
}

void sbx_facts_assume(enum sbx_platform platform, struct sbx_facts *out)
{
    static const char *const kernels[SBX_PLATFORM_COUNT] = {
        [SBX_LINUX] = "Linux with Landlock ABI 7",
        [SBX_MACOS] = "macOS 15",
        [SBX_WINDOWS] = "Windows 11",
    };
    *out = (struct sbx_facts){.platform = platform,
                              .is_assumed = true,
                              .landlock_abi = platform == SBX_LINUX ? 7 : 0,
                              .has_seccomp = platform == SBX_LINUX,
                              .cgroup = platform == SBX_LINUX ? SBX_CGROUP_V2 : SBX_CGROUP_NONE,
                              .kernel = kernels[platform]};
    for (int i = 0; i < SBX_BACKEND_COUNT; i++) {
        bool is_here = (rows[i].platforms & (1u << platform)) != 0;
        bool is_engine = i == SBX_BACKEND_DOCKER || i == SBX_BACKEND_EXTERNAL;
        out->probe[i].state = is_here && !is_engine ? SBX_PROBE_PASSED : SBX_PROBE_UNTRIED;
    }
}

/* ---- what a policy needs ---- */

struct need {
    unsigned can;
    const char *key_path;
    const char *what;
    const struct sbx_origin *at;
};

static void report(enum sbx_backend_id id, const struct need *need, struct sbx_findings *findings)
{
    if (findings == NULL) return;
    struct sbx_finding *finding = sbx_findings_add(
        findings, SBX_F_POLICY_UNSUPPORTED, need->at, need->key_path, (struct sbx_str){0},
        "backend %s cannot represent %s", sbx_name_text(sbx_backend_names, (int)id), need->what);
    sbx_finding_hint(findings, finding, "use another backend, or change this entry");
}

/* Can the glob match below a writable path of the host? */
static bool meets_writable(const struct sbx_policy *policy, const struct sbx_rule *glob)
{
    struct sbx_path base = sbx_glob_base(glob->path);
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        if (rule->is_glob || rule->kind != SBX_RULE_HOST || rule->access != SBX_ACCESS_WRITE)
            continue;
        if (sbx_path_contains(rule->path, base) || sbx_path_contains(base, rule->path)) return true;
    }
    return false;
}

static unsigned rule_needs(const struct sbx_policy *policy, size_t index)
{
    const struct sbx_rule *rule = &policy->rules.items[index];
    if (rule->kind == SBX_RULE_TMPFS) return rule->is_optional ? 0 : SBX_CAN_TMPFS;
    if (rule->kind == SBX_RULE_SOCKET) return rule->is_optional ? 0 : SBX_CAN_SOCKETS;
    if (rule->is_glob) {
        unsigned deep = strstr(rule->path.text, "**") != NULL ? SBX_CAN_DEEP_GLOBS : 0;
        unsigned carve = meets_writable(policy, rule) ? SBX_CAN_CARVE_WRITE : 0;
        return SBX_CAN_MASK_READ | deep | carve;
    }
    if (rule->above == 0) return 0;
    const struct sbx_rule *above = &policy->rules.items[rule->above - 1];
    /* In a private directory there is nothing to take back from: the rule is a grant like any other. */
    if (above->kind != SBX_RULE_HOST || above->access <= rule->access) return 0;
    return above->access == SBX_ACCESS_WRITE ? SBX_CAN_CARVE_WRITE : SBX_CAN_MASK_READ;
}

static bool rules_accepted(enum sbx_backend_id id, const struct sbx_policy *policy,
                           struct sbx_findings *findings)
{
    bool ok = true;
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        unsigned missing = rule_needs(policy, i) & ~rows[id].can;
        if (missing == 0) continue;
        AUTO_BUF what;
        sbx_buf_init(&what, 128u << 10); /* the longest path, in UTF-8 */
        const char *access = rule->kind == SBX_RULE_HOST
                                 ? sbx_name_text(sbx_access_names, (int)rule->access)
                                 : sbx_name_text(sbx_rule_kind_names, (int)rule->kind);
        sbx_buf_printf(&what, "\"%s\" = \"%s\"%s", rule->path.text, access,
                       missing & SBX_CAN_CARVE_WRITE ? " below a writable path" : "");
        struct need need = {missing, rule->key_path, sbx_buf_text(&what), &rule->at};
        report(id, &need, findings);
        ok = false;
    }
    return ok;
}

bool sbx_backend_accepts(enum sbx_backend_id id, const struct sbx_policy *policy,
                         const struct sbx_facts *facts, struct sbx_findings *findings)
{
    static const struct sbx_origin nowhere = {0};
    const struct sbx_backend_row *row = &rows[id];
    if (!row->is_sandbox) return true;
    bool hosts = policy->network == SBX_NET_ALLOW_HOSTS;
    bool no_gate = hosts && (row->can & SBX_CAN_ALLOW_HOSTS) &&
                   (!facts->has_egress || (id == SBX_BACKEND_APPCONTAINER && !facts->has_service));
    const struct {
        bool is_needed;
        struct need need;
    } needs[] = {
        {policy->protected_root_count > 0,
         {SBX_CAN_PROTECT, "protect", "protected names below a writable path", &nowhere}},
        {policy->network == SBX_NET_DENY,
         {SBX_CAN_NET_DENY, "network", "network \"deny\"", &nowhere}},
        {hosts, {SBX_CAN_ALLOW_HOSTS, "network", "network \"allow_hosts\"", &nowhere}},
        {policy->has_user || policy->has_group,
         {SBX_CAN_IDENTITY, "user", "another user or group", &nowhere}},
        {policy->raw_arg_count > 0,
         {SBX_CAN_RAW_ARGS, "raw_args", "raw bwrap arguments", &nowhere}},
    };
    bool ok = rules_accepted(id, policy, findings);
    for (size_t i = 0; i < SBX_COUNT(needs); i++) {
        if (!needs[i].is_needed || (needs[i].need.can & row->can)) continue;
        report(id, &needs[i].need, findings);
        ok = false;
    }
    if (no_gate) {
        struct need gate = {SBX_CAN_ALLOW_HOSTS, "network",
                            "network \"allow_hosts\" here: the egress gate is not available",
                            &nowhere};
        report(id, &gate, findings);
        ok = false;
    }
    return ok;
}
