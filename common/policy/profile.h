/* Profiles and modes: one registry, data only. The same input gives the same plan, byte for byte. */
#ifndef SBX_POLICY_PROFILE_H
#define SBX_POLICY_PROFILE_H

#include "common/policy/manifest.h"
#include "common/policy/platform.h"

/* How a rule's path is backed in the box. */
enum sbx_rule_kind {
    SBX_RULE_HOST,   /* the host's own file or directory */
    SBX_RULE_TMPFS,  /* private, empty, gone afterwards */
    SBX_RULE_SOCKET, /* a host socket that may be connected to */
};
extern const struct sbx_name sbx_rule_kind_names[];

struct sbx_preset_rule {
    unsigned platforms; /* bit (1 << enum sbx_platform) */
    const char *path;   /* absolute, or a place such as ":cwd"; a glob is allowed with none */
    enum sbx_access access;
    enum sbx_rule_kind kind;
    bool is_optional; /* left out silently when nothing is there */
};

struct sbx_preset_row {
    enum sbx_preset preset;
    const char *name; /* "strict", "workspace-write" */
    const char *word; /* "profile" or "mode" */
    const char *help; /* one sentence */
    bool needs_two_keys;
    bool is_external;
    const struct sbx_preset_rule *const *rules; /* groups of rules, each ends with path NULL */
    enum sbx_net_kind network;
    enum sbx_syscalls syscalls;
    uint64_t processes;          /* 0: none */
    uint64_t windows_processes;  /* Windows always has a limit */
    const char *const *env_pass; /* ends with NULL */
};

extern const struct sbx_preset_row sbx_preset_rows[SBX_PRESET_COUNT];

/* The preset a manifest names, else the one for manifests that declare everything themselves. (Where there
 * is no manifest at all, the caller sets mode workspace-write.) */
const struct sbx_preset_row *sbx_preset_of(const struct sbx_manifest *manifest);

/* "profile strict" */
const char *sbx_preset_source(enum sbx_preset preset);

#endif
