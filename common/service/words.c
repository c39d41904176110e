/* What a child is started with: words, and variables. */
#include <stdio.h>
#include <string.h>

#include "common/service/internal.h"

#include "common/base/banned.h"

void sbx_words_init(struct sbx_words *words)
{
    *words = (struct sbx_words){0};
    sbx_arena_init(&words->arena, SBX_WORDS_MAX);
}

void sbx_words_release(struct sbx_words *words)
{
    sbx_arena_release(&words->arena);
}

/* Always ends with NULL. */
static bool push(struct sbx_words *words, const char *word)
{
    const char **slot;
    if (word == NULL) return false;
    if (words->count == 0) {
        slot = (const char **)sbx_arena_push(&words->arena, &words->items, &words->count,
                                             &words->capacity, sizeof *slot);
        if (slot == NULL) return false;
    }
    slot = (const char **)sbx_arena_push(&words->arena, &words->items, &words->count,
                                         &words->capacity, sizeof *slot);
    if (slot == NULL) return false;
    words->items[words->count - 2] = word;
    return true;
}

bool sbx_words_add(struct sbx_words *words, const char *word)
{
    return push(words, sbx_arena_copy(&words->arena, word, strlen(word)));
}

bool sbx_words_attended(struct sbx_words *words, const struct sbx_service *service, int events,
                        int manifest, int network, const char *verb)
{
    const char *fds = sbx_arena_printf(&words->arena, "%d,%d,%d,%d", events, manifest, network,
                                       network < 0 ? -1 : network + 1);
    return sbx_words_add(words, service->program.text) && sbx_words_add(words, "attended") &&
           push(words, fds) && sbx_words_add(words, verb);
}

static bool add_option(struct sbx_words *words, const char *option, struct sbx_str value)
{
    if (value.ptr == NULL) return true;
    return push(words,
                sbx_arena_printf(&words->arena, "%s=%.*s", option, (int)value.len, value.ptr));
}

bool sbx_words_options(struct sbx_words *words, const struct sbx_wire_run_start *asked)
{
    char time[32];
    (void)snprintf(time, sizeof time, "%lldms", (long long)asked->timeout_ms);
    struct sbx_str none = {0};
    return add_option(words, "--manifest", asked->manifest_file) &&
           add_option(words, "--mode", asked->mode) &&
           add_option(words, "--profile", asked->profile) &&
           add_option(words, "--timeout", asked->timeout_ms > 0 ? sbx_str(time) : none) &&
           (asked->tty.rows == 0 || sbx_words_add(words, "--tty")) &&
           (!asked->evidence || sbx_words_add(words, "--evidence"));
}

bool sbx_words_command(struct sbx_words *words, const struct sbx_wire_run_start *asked)
{
    struct sbx_wire_texts argv = asked->argv;
    struct sbx_str word;
    bool ok = sbx_words_add(words, "--");
    while (ok && sbx_wire_next_text(&argv, &word)) ok = sbx_words_add(words, word.ptr);
    return ok;
}

static bool is_ours(const char *pair)
{
    return strncmp(pair, "SBX_SANDBOX=", 12) == 0 ||
           strncmp(pair, "SBX_ALLOW_NO_SANDBOX=", 21) == 0;
}

static bool add_pair(struct sbx_words *words, const char *name, const char *value, bool replaces)
{
    char *pair = sbx_arena_printf(&words->arena, "%s=%s", name, value);
    if (pair == NULL) return false;
    return (replaces && is_ours(pair)) || push(words, pair);
}

static bool add_own(struct sbx_words *words, bool replaces)
{
    uv_env_item_t *items = NULL;
    int count = 0;
    bool ok = uv_os_environ(&items, &count) == 0;
    for (int i = 0; ok && i < count; i++)
        ok = add_pair(words, items[i].name, items[i].value, replaces);
    uv_os_free_environ(items, count);
    return ok;
}

bool sbx_words_variables(struct sbx_words *words, const struct sbx_wire_run_start *asked)
{
    struct sbx_wire_texts env = asked->env;
    struct sbx_str name;
    struct sbx_str value;
    bool replaces = asked->sandbox.ptr != NULL || asked->allow_no_sandbox;
    bool ok = env.first != NULL || add_own(words, replaces);
    while (ok && sbx_wire_next_text(&env, &name) && sbx_wire_next_text(&env, &value))
        ok = add_pair(words, name.ptr, value.ptr, replaces);
    if (ok && asked->sandbox.ptr != NULL)
        ok = add_pair(words, "SBX_SANDBOX", asked->sandbox.ptr, false);
    if (ok && asked->allow_no_sandbox) ok = add_pair(words, "SBX_ALLOW_NO_SANDBOX", "1", false);
    if (ok && words->count == 0) { /* none at all is a list, too */
        ok = push(words, "");
        if (ok) words->items[0] = NULL;
    }
    return ok;
}
