/* Words of a shell's command line. */
#ifndef SBX_POLICY_WORD_H
#define SBX_POLICY_WORD_H

#include "common/base/buf.h"
#include "common/policy/platform.h"

/* Appends text as one word of a shell's command line, in quotes where it needs them: what is printed for people
 * to run must be safe to paste. */
void sbx_word_add(struct sbx_buf *buf, enum sbx_platform platform, const char *text);

#endif
