/* What the files of the self-test on POSIX share. */
#ifndef SBX_POSIX_SELFTEST_H
#define SBX_POSIX_SELFTEST_H

#include "common/run/selftest.h"

struct sbx_selftest_posix {
    int listener;
    int secret; /* inherited by every process that this one starts */
};

/* Removes a directory and all below it, without following links. */
void sbx_selftest_remove(const char *directory);

#endif
