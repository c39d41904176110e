/* A kernel for the simulation of macOS boxes on Linux: a profile is a limit that processes inherit and that nobody else has, and
 * questions are answered as the policy of the running test decides. It confines nothing. */
#ifndef SBX_TESTS_MACOS_FAKE_KERNEL_H
#define SBX_TESTS_MACOS_FAKE_KERNEL_H

#include "common/policy/policy.h"

extern const struct sbx_policy *fake_policy; /* whose decisions are the answers */
extern unsigned fake_lie;   /* the answer of this number (from 1) is the opposite; 0: none is */
extern unsigned fake_asked; /* how many answers there were about held processes */
extern const char
    *fake_closed; /* nothing whose path has this in it is written; NULL: policy only */
#define FAKE_REFUSED "refuse-this-profile" /* a profile that has this in it is not accepted */

#endif
