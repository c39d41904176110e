/* What the kernel says about a held process of macOS, next to what was planned. */
#ifndef SBX_POSIX_MACOS_EVIDENCE_H
#define SBX_POSIX_MACOS_EVIDENCE_H

#include <sys/types.h>

#include "common/policy/policy.h"
#include "common/run/evidence.h"
#include "posix/macos_profile.h"

struct sbx_macos_held {
    pid_t pid;
    const char *mark;
    const struct sbx_policy *policy;
    const struct sbx_macos_profile *profile;
    struct sbx_path scratch;
};

/* That it is under a profile, and that this is ours: questions whose answers the plan knows, of each kind some that must be
 * allowed and some that must be denied; its session, its group, its descriptors. */
void sbx_macos_evidence(struct sbx_evidence_list *list, const struct sbx_macos_held *held);

#endif
