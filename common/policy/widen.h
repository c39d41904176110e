/* Does a policy allow more than another? A manifest that was only found, not named, may tighten the
 * default but not widen it, unless its content was trusted. */
#ifndef SBX_POLICY_WIDEN_H
#define SBX_POLICY_WIDEN_H

#include "common/policy/policy.h"

/* Each way in which `other` allows more than `base` (same context), one sentence each; the arena holds
 * them. *count is 0 when it does not. False without memory: then treat it as widening. */
bool sbx_policy_widens(struct sbx_arena *arena, const struct sbx_policy *base,
                       const struct sbx_policy *other, const char ***reasons,
                       size_t *count) SBX_MUST_USE;

#endif
