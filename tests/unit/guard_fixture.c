/* What sbx-init is told about names; see guard_fixture.h. */
#include "tests/unit/guard_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

enum { ROWS_MAX = 64 };

bool guard_view(struct sbx_init_block *block, struct init *out)
{
    if (block->bytes.failed) {
        return false;
    }
    memcpy(block->bytes.data, &block->plan, sizeof block->plan);
    *out = (struct init){.plan = (struct sbx_init_plan *)(void *)block->bytes.data};
    return true;
}

void guard_make(struct guard *guard, const struct guard_place *places,
                const struct guard_pattern *patterns)
{
    struct sbx_init_place place[ROWS_MAX];
    struct sbx_init_pattern pattern[ROWS_MAX];
    size_t place_count = 0;
    size_t pattern_count = 0;
    sbx_init_block_init(&guard->block);
    for (; place_count < ROWS_MAX && places[place_count].path != NULL; place_count++) {
        place[place_count] = (struct sbx_init_place){
            .path = sbx_init_block_text(&guard->block, places[place_count].path),
            .kind = places[place_count].kind};
    }
    for (; pattern_count < ROWS_MAX && patterns[pattern_count].text != NULL; pattern_count++) {
        pattern[pattern_count] = (struct sbx_init_pattern){
            .text = sbx_init_block_text(&guard->block, patterns[pattern_count].text),
            .flags = patterns[pattern_count].flags};
    }
    guard->block.plan.places =
        sbx_init_block_array(&guard->block, place, place_count, sizeof place[0]);
    guard->block.plan.patterns =
        sbx_init_block_array(&guard->block, pattern, pattern_count, sizeof pattern[0]);
    if (!guard_view(&guard->block, &guard->init)) {
        abort();
    }
}

void guard_release(struct guard *guard)
{
    sbx_init_block_release(&guard->block);
}
