/* Where a plan is made for: the facts of caller and machine that paths and defaults depend on. */
#ifndef SBX_POLICY_CONTEXT_H
#define SBX_POLICY_CONTEXT_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/path.h"
#include "common/policy/platform.h"

/* Asks the host what stands at a path, following symbolic links. */
typedef enum sbx_node sbx_lookup(void *state, struct sbx_path path);

struct sbx_context {
    enum sbx_platform platform;
    bool is_assumed; /* made up for another platform; nothing is looked up */
    bool is_root;    /* root, or an elevated administrator */
    uint32_t uid;    /* 0 on Windows */
    const char *user_name;

    struct sbx_path cwd;
    struct sbx_path home;          /* empty text when the caller has none */
    struct sbx_path tmp;           /* the host's temporary directory */
    struct sbx_path project;       /* directory of the manifest; cwd without one */
    struct sbx_path system_root;   /* "/" or "C:\Windows" */
    struct sbx_path program_files; /* Windows only, else empty text */
    struct sbx_path runtime_dir;   /* XDG_RUNTIME_DIR or empty text */
    struct sbx_path state_dir;     /* sbx's own: trust store, leases. The box never writes there */
    struct sbx_path config_dir;    /* sbx's own configuration of this user */

    sbx_lookup *lookup; /* NULL: every path is SBX_NODE_UNKNOWN */
    void *lookup_state;
};

/* A context for another platform: fixed, documented paths (C:\Users\user\project …), no look-ups. */
enum sbx_code sbx_context_assume(struct sbx_arena *arena, enum sbx_platform platform,
                                 struct sbx_context *out, struct sbx_err *err) SBX_MUST_USE;

enum sbx_node sbx_context_lookup(const struct sbx_context *context, struct sbx_path path);

#endif
