/* Ways to start a box that the machine may or may not take, strongest first. A real start decides (probe.c), the one
 * in use is evidence, and the weakest still has every wall. */
#ifndef SBX_WIN_RECIPE_H
#define SBX_WIN_RECIPE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/policy/context.h"
#include "common/policy/facts.h"
#include "win/token.h"

struct sbx_recipe {
    enum sbx_rung rung;
    bool has_console; /* a pseudo console of ours; else a hidden one that Windows makes for it */
};

extern const struct sbx_recipe sbx_recipes[];
extern const size_t sbx_recipe_count;

/* "token users-denied, own pseudo console". */
const char *sbx_recipe_text(struct sbx_recipe recipe);

/* The one to use: the last that passed in this process, else the one remembered for this build of Windows and of
 * sbx, else none (false). */
bool sbx_recipe_known(struct sbx_arena *arena, const struct sbx_context *context,
                      struct sbx_recipe *out);

/* That one started a box here. */
void sbx_recipe_remember(struct sbx_arena *arena, const struct sbx_context *context, size_t index);

/* The machine may have changed: the next run tries again. */
void sbx_recipe_forget(struct sbx_arena *arena, const struct sbx_context *context);

/* Tries the recipes by starting a real, empty box with each until one starts; remembers it. One try at a time on
 * this machine for this user; a stall is not tried again. */
void sbx_recipe_probe(struct sbx_arena *arena, const struct sbx_context *context,
                      struct sbx_probe *out);

#endif
