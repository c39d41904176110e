/* How well each backend holds each dimension, and the layers it does it with. */
#include <stdio.h>

#include "common/policy/backends.h"

#include "common/base/banned.h"

#define ENFORCED SBX_TIER_ENFORCED
#define BEST SBX_TIER_BEST_EFFORT
#define NONE SBX_TIER_NONE

/* What holds whatever the machine; dimensions that depend on facts are filled in afterwards. */
struct fixed {
    enum sbx_tier tier;
    const char *mechanism, *reason;
};

static const struct fixed fixed_rows[SBX_BACKEND_COUNT][SBX_DIM_COUNT] = {
    [SBX_BACKEND_NATIVE] =
        {
            [SBX_DIM_FILESYSTEM] = {ENFORCED, "mount namespace, Landlock", NULL},
            [SBX_DIM_NETWORK] = {ENFORCED, "network namespace with loopback only", NULL},
            [SBX_DIM_SYSCALLS] = {ENFORCED, "seccomp allowlist", NULL},
            [SBX_DIM_ENVIRONMENT] = {ENFORCED, "only the declared variables", NULL},
            [SBX_DIM_HANDLES] = {ENFORCED, "descriptors from 3 up closed", NULL},
            [SBX_DIM_TERMINAL] = {ENFORCED, "own session, terminal injection refused by seccomp",
                                  NULL},
        },
    [SBX_BACKEND_BWRAP] =
        {
            [SBX_DIM_FILESYSTEM] = {ENFORCED, "mount namespace, Landlock", NULL},
            [SBX_DIM_NETWORK] = {ENFORCED, "network namespace with loopback only", NULL},
            [SBX_DIM_SYSCALLS] = {ENFORCED, "seccomp allowlist", NULL},
            [SBX_DIM_ENVIRONMENT] = {ENFORCED,
                                     "only the declared variables; bwrap starts with none", NULL},
            [SBX_DIM_HANDLES] = {ENFORCED, "descriptors from 3 up closed", NULL},
            [SBX_DIM_TERMINAL] = {ENFORCED, "own session, terminal injection refused by seccomp",
                                  NULL},
        },
    [SBX_BACKEND_LANDLOCK] =
        {
            [SBX_DIM_FILESYSTEM] = {ENFORCED, "Landlock, seccomp for metadata changes", NULL},
            [SBX_DIM_NETWORK] = {ENFORCED, "seccomp refuses network sockets", NULL},
            [SBX_DIM_SYSCALLS] = {ENFORCED, "seccomp allowlist", NULL},
            [SBX_DIM_ENVIRONMENT] = {ENFORCED, "only the declared variables", NULL},
            [SBX_DIM_HANDLES] = {ENFORCED, "descriptors from 3 up closed", NULL},
            [SBX_DIM_TERMINAL] = {ENFORCED, "own session, terminal injection refused by seccomp",
                                  NULL},
        },
    [SBX_BACKEND_APPCONTAINER] =
        {
            [SBX_DIM_FILESYSTEM] = {ENFORCED, "AppContainer SID and access entries, Low integrity",
                                    NULL},
            [SBX_DIM_NETWORK] = {ENFORCED, "AppContainer without network capability", NULL},
            [SBX_DIM_SYSCALLS] = {BEST, "process mitigation policies",
                                  "Windows has no system call allowlist"},
            [SBX_DIM_MEMORY] = {ENFORCED, "job object", NULL},
            [SBX_DIM_CPU] = {ENFORCED, "job object", NULL},
            [SBX_DIM_PROCESSES] = {ENFORCED, "job object", NULL},
            [SBX_DIM_ENVIRONMENT] = {ENFORCED, "environment block from the manifest", NULL},
            [SBX_DIM_HANDLES] = {ENFORCED, "handle list", NULL},
            [SBX_DIM_TERMINAL] = {ENFORCED, "own pseudo console, job UI limits", NULL},
        },
    [SBX_BACKEND_SEATBELT] =
        {
            [SBX_DIM_FILESYSTEM] = {ENFORCED, "Seatbelt profile, deny by default", NULL},
            [SBX_DIM_NETWORK] = {ENFORCED, "Seatbelt profile without a network rule", NULL},
            [SBX_DIM_SYSCALLS] = {NONE, "-", "macOS has no supported system call filter"},
            [SBX_DIM_MEMORY] = {BEST,
                                "footprint of the tree watched, 4 times a second; jetsam limit on "
                                "the first process",
                                "macOS has no limit for a tree of processes"},
            [SBX_DIM_CPU] = {BEST, "RLIMIT_CPU", "each process counts alone"},
            [SBX_DIM_PROCESSES] = {BEST, "process tree watched",
                                   "RLIMIT_NPROC counts all processes of the user"},
            [SBX_DIM_ENVIRONMENT] = {ENFORCED, "only the declared variables", NULL},
            [SBX_DIM_HANDLES] = {ENFORCED, "descriptors closed by default at spawn", NULL},
            [SBX_DIM_TERMINAL] = {ENFORCED,
                                  "own session, terminal injection refused by the profile", NULL},
        },
    [SBX_BACKEND_DOCKER] =
        {
            [SBX_DIM_FILESYSTEM] = {ENFORCED, "container binds, read-only root", NULL},
            [SBX_DIM_NETWORK] = {ENFORCED, "container network none", NULL},
            [SBX_DIM_SYSCALLS] = {BEST, "engine's default seccomp profile",
                                  "wider than sbx's strict list"},
            [SBX_DIM_MEMORY] = {ENFORCED, "container cgroup", NULL},
            [SBX_DIM_CPU] = {BEST, "RLIMIT_CPU in the container", "each process counts alone"},
            [SBX_DIM_PROCESSES] = {ENFORCED, "container cgroup", NULL},
            [SBX_DIM_ENVIRONMENT] = {ENFORCED, "container environment", NULL},
            [SBX_DIM_HANDLES] = {ENFORCED, "streams only", NULL},
            [SBX_DIM_TERMINAL] = {ENFORCED, "streams only", NULL},
        },
    [SBX_BACKEND_EXTERNAL] =
        {
            [SBX_DIM_FILESYSTEM] = {BEST, "the external engine", "sbx cannot read it back"},
            [SBX_DIM_NETWORK] = {BEST, "the external engine", "sbx cannot read it back"},
            [SBX_DIM_SYSCALLS] = {BEST, "the external engine", "sbx cannot read it back"},
            [SBX_DIM_MEMORY] = {BEST, "the external engine", "sbx cannot read it back"},
            [SBX_DIM_CPU] = {BEST, "the external engine", "sbx cannot read it back"},
            [SBX_DIM_PROCESSES] = {BEST, "the external engine", "sbx cannot read it back"},
            [SBX_DIM_ENVIRONMENT] = {ENFORCED, "only the declared variables are sent", NULL},
            [SBX_DIM_HANDLES] = {ENFORCED, "streams only", NULL},
            [SBX_DIM_TERMINAL] = {ENFORCED, "streams only", NULL},
        },
    [SBX_BACKEND_NONE] =
        {
            [SBX_DIM_FILESYSTEM] = {NONE, "-", "no sandbox"},
            [SBX_DIM_NETWORK] = {NONE, "-", "no sandbox"},
            [SBX_DIM_SYSCALLS] = {NONE, "-", "no sandbox"},
            [SBX_DIM_MEMORY] = {NONE, "-", "no sandbox"},
            [SBX_DIM_CPU] = {NONE, "-", "no sandbox"},
            [SBX_DIM_PROCESSES] = {NONE, "-", "no sandbox"},
            [SBX_DIM_ENVIRONMENT] = {ENFORCED, "only the declared variables", NULL},
            [SBX_DIM_HANDLES] = {ENFORCED, "only the standard streams are inherited", NULL},
            [SBX_DIM_TERMINAL] = {NONE, "-", "no sandbox"},
        },
    [SBX_BACKEND_FAIL_CLOSED] =
        {
            [SBX_DIM_FILESYSTEM] = {ENFORCED, "nothing is started", NULL},
            [SBX_DIM_NETWORK] = {ENFORCED, "nothing is started", NULL},
            [SBX_DIM_SYSCALLS] = {ENFORCED, "nothing is started", NULL},
            [SBX_DIM_MEMORY] = {ENFORCED, "nothing is started", NULL},
            [SBX_DIM_CPU] = {ENFORCED, "nothing is started", NULL},
            [SBX_DIM_PROCESSES] = {ENFORCED, "nothing is started", NULL},
            [SBX_DIM_ENVIRONMENT] = {ENFORCED, "nothing is started", NULL},
            [SBX_DIM_HANDLES] = {ENFORCED, "nothing is started", NULL},
            [SBX_DIM_TERMINAL] = {ENFORCED, "nothing is started", NULL},
        },
};

static bool is_linux_box(enum sbx_backend_id id)
{
    return id == SBX_BACKEND_NATIVE || id == SBX_BACKEND_BWRAP || id == SBX_BACKEND_LANDLOCK;
}

/* cgroups enforce; rlimits are best effort. */
static void linux_limits(const struct sbx_facts *facts, struct sbx_tier_entry *out)
{
    static const struct fixed with_v2[] = {{ENFORCED, "cgroup v2 memory.max", NULL},
                                           {ENFORCED, "cgroup v2 cpu usage watched", NULL},
                                           {ENFORCED, "cgroup v2 pids.max", NULL}};
    static const struct fixed with_v1[] = {{ENFORCED, "cgroup v1 memory limit", NULL},
                                           {ENFORCED, "cgroup v1 cpu usage watched", NULL},
                                           {ENFORCED, "cgroup v1 pids limit", NULL}};
    static const struct fixed without[] = {
        {BEST, "RLIMIT_DATA", "no cgroup can be made here; each process counts alone"},
        {BEST, "RLIMIT_CPU", "no cgroup can be made here; each process counts alone"},
        {BEST, "RLIMIT_NPROC", "no cgroup can be made here; it counts all processes of the user"}};
    static const struct fixed root_processes = {
        NONE, "-", "no cgroup can be made here, and RLIMIT_NPROC does not bind root"};
    static const struct fixed *const tables[] = {
        [SBX_CGROUP_NONE] = without, [SBX_CGROUP_V1] = with_v1, [SBX_CGROUP_V2] = with_v2};
    static const enum sbx_dimension dimensions[] = {SBX_DIM_MEMORY, SBX_DIM_CPU, SBX_DIM_PROCESSES};
    for (size_t i = 0; i < SBX_COUNT(dimensions); i++) {
        const struct fixed *row = &tables[facts->cgroup][i];
        bool unbound = dimensions[i] == SBX_DIM_PROCESSES && facts->is_root &&
                       facts->cgroup == SBX_CGROUP_NONE;
        if (unbound) row = &root_processes;
        out[dimensions[i]].tier = row->tier;
        out[dimensions[i]].mechanism = row->mechanism;
        out[dimensions[i]].reason = row->reason;
    }
}

static void linux_layers_missing(enum sbx_backend_id id, const struct sbx_facts *facts,
                                 struct sbx_tier_entry *out)
{
    bool is_alone = id == SBX_BACKEND_LANDLOCK;
    if (facts->landlock_abi == 0) {
        out[SBX_DIM_FILESYSTEM].tier = is_alone ? NONE : ENFORCED;
        out[SBX_DIM_FILESYSTEM].mechanism = is_alone ? "-" : "mount namespace";
        out[SBX_DIM_FILESYSTEM].reason = is_alone ? "this kernel has no Landlock"
                                                  : "this kernel has no Landlock: one layer less";
    }
    if (is_alone && !facts->has_seccomp) {
        /* Without namespaces it is seccomp that refuses sockets and metadata changes. */
        out[SBX_DIM_FILESYSTEM].tier = facts->landlock_abi == 0 ? NONE : BEST;
        out[SBX_DIM_FILESYSTEM].reason = "this kernel has no seccomp filters";
        out[SBX_DIM_NETWORK].tier = NONE;
        out[SBX_DIM_NETWORK].mechanism = "-";
        out[SBX_DIM_NETWORK].reason = "this kernel has no seccomp filters";
    }
    if (!facts->has_seccomp) {
        out[SBX_DIM_SYSCALLS] = (struct sbx_tier_entry){NONE, out[SBX_DIM_SYSCALLS].is_asked, "-",
                                                        "this kernel has no seccomp filters"};
        out[SBX_DIM_TERMINAL].tier = BEST;
        out[SBX_DIM_TERMINAL].mechanism = "own session";
        out[SBX_DIM_TERMINAL].reason = "this kernel has no seccomp filters";
    }
}

static void network_entry(const struct sbx_policy *policy, struct sbx_tier_entry *entry)
{
    if (policy->network == SBX_NET_INHERIT) {
        entry->mechanism = "-";
        entry->reason = "the host's network is asked for";
        entry->tier = NONE;
    } else if (policy->network == SBX_NET_ALLOW_HOSTS && entry->tier == ENFORCED) {
        entry->mechanism = "no network but the egress gate";
    }
}

static void syscalls_entry(enum sbx_backend_id id, const struct sbx_policy *policy,
                           const struct sbx_facts *facts, struct sbx_tier_entry *entry)
{
    if (policy->syscalls == SBX_SYSCALLS_STRICT) return;
    if (is_linux_box(id) && facts->has_seccomp) {
        entry->tier = ENFORCED;
        entry->mechanism = "seccomp denylist of known escapes";
    } else {
        *entry = (struct sbx_tier_entry){NONE, false, "-", "not asked for"};
    }
}

void sbx_backend_tiers(enum sbx_backend_id id, const struct sbx_policy *policy,
                       const struct sbx_facts *facts, struct sbx_tier_entry out[SBX_DIM_COUNT])
{
    const struct sbx_limits *limits = &policy->limits;
    bool asked[SBX_DIM_COUNT] = {
        [SBX_DIM_FILESYSTEM] = true,
        [SBX_DIM_NETWORK] = policy->network != SBX_NET_INHERIT,
        [SBX_DIM_SYSCALLS] = policy->syscalls == SBX_SYSCALLS_STRICT,
        [SBX_DIM_MEMORY] = limits->memory_bytes != 0 || id == SBX_BACKEND_APPCONTAINER,
        [SBX_DIM_CPU] = limits->cpu_secs != 0,
        [SBX_DIM_PROCESSES] = limits->processes != 0,
        [SBX_DIM_ENVIRONMENT] = true,
        [SBX_DIM_HANDLES] = true,
        [SBX_DIM_TERMINAL] = true,
    };
    for (int i = 0; i < SBX_DIM_COUNT; i++) {
        const struct fixed *row = &fixed_rows[id][i];
        out[i] = (struct sbx_tier_entry){row->tier, asked[i], row->mechanism, row->reason};
    }
    if (is_linux_box(id)) {
        linux_limits(facts, out);
        linux_layers_missing(id, facts, out);
    }
    network_entry(policy, &out[SBX_DIM_NETWORK]);
    syscalls_entry(id, policy, facts, &out[SBX_DIM_SYSCALLS]);
    static const enum sbx_dimension limit_dimensions[] = {SBX_DIM_MEMORY, SBX_DIM_CPU,
                                                          SBX_DIM_PROCESSES};
    for (size_t i = 0; i < SBX_COUNT(limit_dimensions); i++) {
        struct sbx_tier_entry *entry = &out[limit_dimensions[i]];
        if (!entry->is_asked) *entry = (struct sbx_tier_entry){NONE, false, "-", "no limit is set"};
    }
}

/* ---- layers ---- */

struct layer_list {
    struct sbx_arena *arena;
    const char **items;
    size_t count, capacity;
    bool failed;
};

static void add_layer(struct layer_list *list, const char *text)
{
    const char **slot = (const char **)sbx_arena_push(list->arena, &list->items, &list->count,
                                                      &list->capacity, sizeof *slot);
    if (slot == NULL || text == NULL)
        list->failed = true;
    else
        *slot = text;
}

static const char *limit_layer(const struct sbx_facts *facts)
{
    static const char *const texts[] = {
        [SBX_CGROUP_NONE] = "limits: rlimits only (no cgroup can be made here)",
        [SBX_CGROUP_V1] = "limits: cgroup v1, rlimits",
        [SBX_CGROUP_V2] = "limits: cgroup v2, rlimits",
    };
    return texts[facts->cgroup];
}

static void linux_layers(struct layer_list *list, enum sbx_backend_id id,
                         const struct sbx_policy *policy, const struct sbx_facts *facts)
{
    add_layer(list, "hardening: sbx is not dumpable, core files off");
    if (id != SBX_BACKEND_LANDLOCK)
        add_layer(list, policy->network == SBX_NET_INHERIT
                            ? "namespaces: user mount pid ipc uts cgroup"
                            : "namespaces: user mount pid network ipc uts cgroup");
    add_layer(list, "capabilities: none, no-new-privs, no further user namespaces");
    add_layer(list, limit_layer(facts));
    add_layer(list, facts->landlock_abi == 0
                        ? "landlock: not available on this kernel"
                        : sbx_arena_printf(list->arena, "landlock: every right on files of ABI %u",
                                           facts->landlock_abi));
    if (!facts->has_seccomp)
        add_layer(list, "seccomp: not available on this kernel");
    else if (policy->syscalls == SBX_SYSCALLS_STRICT)
        add_layer(list, "seccomp: allowlist, anything else ends the process");
    else
        add_layer(list, "seccomp: denylist of known escapes");
    if (policy->network != SBX_NET_INHERIT && facts->has_seccomp)
        add_layer(list, "seccomp: no new unix sockets to the host");
}

static void windows_layers(struct layer_list *list, const struct sbx_policy *policy)
{
    add_layer(list, "appcontainer: own profile and SID");
    add_layer(list, policy->network == SBX_NET_INHERIT
                        ? "capabilities: internetClient, privateNetworkClientServer"
                        : "capabilities: no network");
    add_layer(list, "token: no privileges, administrator groups deny-only, Low integrity");
    add_layer(list, "job: kill on close, no breakaway, limits, UI limits, below-normal priority");
    add_layer(list, "handles: only the standard streams; a pseudo console of its own");
    if (policy->syscalls == SBX_SYSCALLS_STRICT) add_layer(list, "mitigations: strict set");
}

static void macos_layers(struct layer_list *list)
{
    add_layer(list, "seatbelt: deny by default");
    add_layer(list, "session: own session and process group");
    add_layer(list, "limits: rlimits, footprint watched");
    add_layer(list, "temporary files: private TMPDIR");
}

const char **sbx_backend_layers(struct sbx_arena *arena, enum sbx_backend_id id,
                                const struct sbx_policy *policy, const struct sbx_facts *facts,
                                size_t *count)
{
    struct layer_list list = {.arena = arena};
    if (is_linux_box(id))
        linux_layers(&list, id, policy, facts);
    else if (id == SBX_BACKEND_APPCONTAINER)
        windows_layers(&list, policy);
    else if (id == SBX_BACKEND_SEATBELT)
        macos_layers(&list);
    else
        add_layer(&list, sbx_backend_row(id)->summary);
    *count = list.count;
    return list.failed ? NULL : list.items;
}
