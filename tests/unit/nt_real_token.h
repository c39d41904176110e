/* Tokens of the system that runs the test, and what they hold as the model's structure. */
#ifndef SBX_TESTS_UNIT_NT_REAL_TOKEN_H
#define SBX_TESTS_UNIT_NT_REAL_TOKEN_H

#include "tests/ntmodel/access_tokens.h"

/* An impersonation token of the process that is what the row's token is, as far as the system can express it.
 * NULL with the reason in `why`. The caller closes it. */
HANDLE nt_real_token_open(enum access_token which, const char **why);

/* Reads it by GetTokenInformation. */
bool nt_real_token_read(HANDLE token, struct nt_token *out);

#endif
