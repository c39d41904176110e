/* Random policies over a fixture's tree, for properties of what a box is built from. */
#ifndef SBX_TESTS_UNIT_RANDOM_POLICY_H
#define SBX_TESTS_UNIT_RANDOM_POLICY_H

#include "tests/unit/names_fixture.h"

/* "/a/.git/b": a path below the fixture's root of so many names; with `is_glob` one that has stars in it. */
const char *random_policy_rest(uint64_t *seed, struct names_fixture *f, size_t depth, bool is_glob);

/* The root is writable, other rules say otherwise below it, in normal form. Writable paths exist, as a run would
 * demand; others need not. */
void random_policy_make(uint64_t *seed, struct names_fixture *f);
void random_policy_print(const struct names_fixture *f);

#endif
