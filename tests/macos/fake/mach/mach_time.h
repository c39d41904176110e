/* Ticks that are nanoseconds. */
#ifndef SBX_TESTS_MACOS_FAKE_MACH_TIME_H
#define SBX_TESTS_MACOS_FAKE_MACH_TIME_H

#include <stdint.h>

typedef struct {
    uint32_t numer, denom;
} mach_timebase_info_data_t;

static inline int mach_timebase_info(mach_timebase_info_data_t *out)
{
    out->numer = out->denom = 1;
    return 0;
}

#endif
