/* Deterministic random numbers for property tests: xorshift64*, same on every platform. */
#ifndef SBX_TESTS_UNIT_RANDOM_H
#define SBX_TESTS_UNIT_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"

SBX_UNUSED static uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* A number below `limit`; 0 for 0. */
SBX_UNUSED static size_t random_below(uint64_t *state, size_t limit)
{
    return limit == 0 ? 0 : (size_t)((random_next(state) >> 16) % limit);
}

#endif
