/* Contexts for other platforms, and look-ups. */
#include "common/policy/context.h"

#include "common/base/banned.h"

/* What a plan for another platform assumes; printed by explain, so that nobody takes it for a fact. */
struct assumed {
    const char *cwd, *home, *tmp, *system_root, *program_files, *runtime_dir, *state_dir,
        *config_dir;
};

static const struct assumed assumptions[SBX_PLATFORM_COUNT] = {
    [SBX_LINUX] = {"/home/user/project", "/home/user", "/tmp", "/", NULL, "/run/user/1000",
                   "/home/user/.local/state/sbx", "/home/user/.config/sbx"},
    [SBX_MACOS] = {"/Users/user/project", "/Users/user", "/private/tmp", "/", NULL, NULL,
                   "/Users/user/Library/Application Support/sbx",
                   "/Users/user/Library/Application Support/sbx"},
    [SBX_WINDOWS] = {"C:\\Users\\user\\project", "C:\\Users\\user",
                     "C:\\Users\\user\\AppData\\Local\\Temp", "C:\\Windows", "C:\\Program Files",
                     NULL, "C:\\Users\\user\\AppData\\Local\\sbx",
                     "C:\\Users\\user\\AppData\\Local\\sbx"},
};

static bool make(struct sbx_arena *arena, enum sbx_path_rules rules, const char *text,
                 struct sbx_path *out)
{
    if (text == NULL) {
        *out = (struct sbx_path){"", 0, rules};
        return true;
    }
    return sbx_path_make(arena, rules, sbx_str(text), out) == SBX_PATH_OK;
}

enum sbx_code sbx_context_assume(struct sbx_arena *arena, enum sbx_platform platform,
                                 struct sbx_context *out, struct sbx_err *err)
{
    const struct assumed *row = &assumptions[platform];
    enum sbx_path_rules rules = sbx_platform_path_rules(platform);
    struct sbx_context context = {
        .platform = platform,
        .is_assumed = true,
        .uid = platform == SBX_WINDOWS ? 0 : 1000,
        .user_name = "user",
    };
    bool ok = make(arena, rules, row->cwd, &context.cwd) &&
              make(arena, rules, row->home, &context.home) &&
              make(arena, rules, row->tmp, &context.tmp) &&
              make(arena, rules, row->system_root, &context.system_root) &&
              make(arena, rules, row->program_files, &context.program_files) &&
              make(arena, rules, row->runtime_dir, &context.runtime_dir) &&
              make(arena, rules, row->state_dir, &context.state_dir) &&
              make(arena, rules, row->config_dir, &context.config_dir);
    if (!ok) return sbx_err_nomem(err);
    context.project = context.cwd;
    *out = context;
    return SBX_OK;
}

enum sbx_node sbx_context_lookup(const struct sbx_context *context, struct sbx_path path)
{
    if (context->lookup == NULL) return SBX_NODE_UNKNOWN;
    return context->lookup(context->lookup_state, path);
}
