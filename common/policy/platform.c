/* The words that have one meaning everywhere: their texts. */
#include "common/policy/platform.h"

#include "common/policy/facts.h"

#include "common/base/banned.h"

const struct sbx_name sbx_platform_names[] = {
    {SBX_LINUX, "linux"}, {SBX_MACOS, "macos"}, {SBX_WINDOWS, "windows"}, {0, NULL}};

const struct sbx_name sbx_dimension_names[] = {{SBX_DIM_FILESYSTEM, "filesystem"},
                                               {SBX_DIM_NETWORK, "network"},
                                               {SBX_DIM_SYSCALLS, "syscalls"},
                                               {SBX_DIM_MEMORY, "memory"},
                                               {SBX_DIM_CPU, "cpu"},
                                               {SBX_DIM_PROCESSES, "processes"},
                                               {SBX_DIM_ENVIRONMENT, "environment"},
                                               {SBX_DIM_HANDLES, "handles"},
                                               {SBX_DIM_TERMINAL, "terminal"},
                                               {0, NULL}};

const struct sbx_name sbx_tier_names[] = {{SBX_TIER_NONE, "none"},
                                          {SBX_TIER_BEST_EFFORT, "best-effort"},
                                          {SBX_TIER_ENFORCED, "enforced"},
                                          {0, NULL}};

const struct sbx_name sbx_access_names[] = {
    {SBX_ACCESS_NONE, "none"}, {SBX_ACCESS_READ, "read"}, {SBX_ACCESS_WRITE, "write"}, {0, NULL}};

const struct sbx_name sbx_net_kind_names[] = {{SBX_NET_INHERIT, "inherit"},
                                              {SBX_NET_DENY, "deny"},
                                              {SBX_NET_ALLOW_HOSTS, "allow_hosts"},
                                              {0, NULL}};

const struct sbx_name sbx_syscalls_names[] = {
    {SBX_SYSCALLS_INHERIT, "inherit"}, {SBX_SYSCALLS_STRICT, "strict"}, {0, NULL}};

const struct sbx_name sbx_git_mode_names[] = {
    {SBX_GIT_READ_ONLY, "read-only"}, {SBX_GIT_COMMIT, "commit"}, {0, NULL}};

const struct sbx_name sbx_backend_names[] = {
    {SBX_BACKEND_NATIVE, "native"},           {SBX_BACKEND_BWRAP, "bwrap"},
    {SBX_BACKEND_LANDLOCK, "landlock"},       {SBX_BACKEND_APPCONTAINER, "appcontainer"},
    {SBX_BACKEND_SEATBELT, "seatbelt"},       {SBX_BACKEND_DOCKER, "docker"},
    {SBX_BACKEND_EXTERNAL, "external"},       {SBX_BACKEND_NONE, "none"},
    {SBX_BACKEND_FAIL_CLOSED, "fail-closed"}, {0, NULL}};

enum sbx_path_rules sbx_platform_path_rules(enum sbx_platform platform)
{
    static const enum sbx_path_rules rules[SBX_PLATFORM_COUNT] = {
        [SBX_LINUX] = SBX_PATH_POSIX,
        [SBX_MACOS] = SBX_PATH_MACOS,
        [SBX_WINDOWS] = SBX_PATH_WINDOWS,
    };
    return rules[platform];
}
