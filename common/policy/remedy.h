/* What would allow something: the line of the manifest, and the same as a flag. It is only offered when the
 * policy made with it really allows what was asked. */
#ifndef SBX_POLICY_REMEDY_H
#define SBX_POLICY_REMEDY_H

#include "common/policy/question.h"

/* What the policy was made from. */
struct sbx_remedy_input {
    const struct sbx_manifest *manifest; /* file and flags merged */
    const struct sbx_context *context;
    const struct sbx_ceiling *ceiling;
};

/* Line and flag, or the obstacle. */
struct sbx_remedy {
    const char *line;     /* the whole line, with what the key held already; NULL: none helps */
    const char *flag;     /* "-w /etc/x", quoted for a shell; NULL: none helps */
    const char *obstacle; /* why no line would; NULL when one does */
};

/* The narrowest change that helps. Texts in `arena`; false without memory, *out is then as it was. */
bool sbx_remedy_find(struct sbx_arena *arena, const struct sbx_remedy_input *input,
                     const struct sbx_question *question, struct sbx_remedy *out) SBX_MUST_USE;

#endif
