/* The environment of a box. */
#include "common/run/environment.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/sort.h"
#include "common/os.h"

#include "common/base/banned.h"

static int compare_entries(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum sbx_code sbx_environment_make(struct sbx_arena *arena, const struct sbx_policy *policy,
                                   const char *const **out, struct sbx_err *err)
{
    size_t most = policy->env_count + policy->env_pass_count + 1;
    const char **env = SBX_NEW_ARRAY(arena, const char *, most);
    if (env == NULL) return sbx_err_nomem(err);
    size_t count = 0;
    for (size_t i = 0; i < policy->env_count; i++) {
        const struct sbx_pair *pair = &policy->env[i];
        env[count] = sbx_arena_printf(arena, "%s=%s", pair->name, pair->value);
        if (env[count++] == NULL) return sbx_err_nomem(err);
    }
    for (size_t i = 0; i < policy->env_pass_count; i++) {
        const char *value = sbx_os_env(arena, policy->env_pass[i]);
        if (value == NULL) continue;
        env[count] = sbx_arena_printf(arena, "%s=%s", policy->env_pass[i], value);
        if (env[count++] == NULL) return sbx_err_nomem(err);
    }
    if (count > 1) sbx_sort(env, count, sizeof *env, compare_entries);
    *out = env;
    return SBX_OK;
}

enum sbx_code sbx_environment_add(struct sbx_arena *arena, const char *name, const char *value,
                                  const char *const **env, struct sbx_err *err)
{
    size_t len = strlen(name);
    size_t count = 0;
    for (; (*env)[count] != NULL; count++)
        if (strncmp((*env)[count], name, len) == 0 && (*env)[count][len] == '=') return SBX_OK;
    const char **more = SBX_NEW_ARRAY(arena, const char *, count + 2);
    const char *pair = sbx_arena_printf(arena, "%s=%s", name, value);
    if (more == NULL || pair == NULL) return sbx_err_nomem(err);
    memcpy(more, *env, count * sizeof more[0]);
    more[count] = pair;
    *env = more;
    return SBX_OK;
}
