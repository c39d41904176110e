/* The words that have one meaning everywhere: platforms, dimensions, tiers, kinds of access. */
#ifndef SBX_POLICY_PLATFORM_H
#define SBX_POLICY_PLATFORM_H

#include "common/base/names.h"
#include "common/base/path.h"

enum sbx_platform { SBX_LINUX, SBX_MACOS, SBX_WINDOWS, SBX_PLATFORM_COUNT };
extern const struct sbx_name sbx_platform_names[];

/* How paths are read on that platform. */
enum sbx_path_rules sbx_platform_path_rules(enum sbx_platform platform);

/* What a plan says something about. */
enum sbx_dimension {
    SBX_DIM_FILESYSTEM,
    SBX_DIM_NETWORK,
    SBX_DIM_SYSCALLS,
    SBX_DIM_MEMORY,
    SBX_DIM_CPU,
    SBX_DIM_PROCESSES,
    SBX_DIM_ENVIRONMENT,
    SBX_DIM_HANDLES,
    SBX_DIM_TERMINAL,
    SBX_DIM_COUNT
};
extern const struct sbx_name sbx_dimension_names[];

/* How well it is held. */
enum sbx_tier { SBX_TIER_NONE, SBX_TIER_BEST_EFFORT, SBX_TIER_ENFORCED };
extern const struct sbx_name sbx_tier_names[];

/* Ordered: a larger value allows more. */
enum sbx_access { SBX_ACCESS_NONE, SBX_ACCESS_READ, SBX_ACCESS_WRITE };
extern const struct sbx_name sbx_access_names[];

/* Ordered: a larger value allows more. */
enum sbx_net_kind { SBX_NET_DENY, SBX_NET_ALLOW_HOSTS, SBX_NET_INHERIT };
extern const struct sbx_name sbx_net_kind_names[];

enum sbx_syscalls { SBX_SYSCALLS_INHERIT, SBX_SYSCALLS_STRICT };
extern const struct sbx_name sbx_syscalls_names[];

enum sbx_git_mode { SBX_GIT_READ_ONLY, SBX_GIT_COMMIT };
extern const struct sbx_name sbx_git_mode_names[];

/* What stands at a path of the host. */
enum sbx_node {
    SBX_NODE_UNKNOWN, /* not looked up: the plan is for another machine */
    SBX_NODE_MISSING,
    SBX_NODE_FILE,
    SBX_NODE_DIRECTORY,
    SBX_NODE_SOCKET,
    SBX_NODE_OTHER,
    SBX_NODE_DENIED, /* we may not even look */
};

#endif
