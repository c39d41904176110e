/* What sbx-init is told about names, made by hand or by posix/linux_guard.c, for tests of posix/init/names.c. */
#ifndef SBX_TESTS_UNIT_GUARD_FIXTURE_H
#define SBX_TESTS_UNIT_GUARD_FIXTURE_H

#include "posix/init/init.h"
#include "posix/init_block.h"

/* Both lists end with a NULL text. */
struct guard_place {
    const char *path;
    uint64_t kind;
};
struct guard_pattern {
    const char *text;
    uint64_t flags;
};

struct guard {
    struct sbx_init_block block;
    struct init init;
};

void guard_make(struct guard *guard, const struct guard_place *places,
                const struct guard_pattern *patterns);
void guard_release(struct guard *guard);
#define AUTO_GUARD SBX_CLEANUP(guard_release) struct guard

/* The block as sbx-init sees it; `block` stays its owner. False when it is too large. */
bool guard_view(struct sbx_init_block *block, struct init *out);

#endif
