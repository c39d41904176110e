/* Tokens: what the system says of one. */
#include "win/fault.h"
#include "win/token.h"

#include "common/base/banned.h"

/* A token's groups are bounded by the system at about a thousand. */
enum { QUERY_MAX_BYTES = 1 << 20, QUERY_TRIES = 4 };

enum sbx_code sbx_token_query(struct sbx_arena *arena, HANDLE token, TOKEN_INFORMATION_CLASS which,
                              const char *what, void *out_pointer, struct sbx_err *err)
{
    DWORD size = 256;
    for (int i = 0; i < QUERY_TRIES && size <= QUERY_MAX_BYTES; i++) {
        void *room = sbx_arena_alloc(arena, 1, size);
        if (room == NULL) {
            return sbx_err_nomem(err);
        }
        DWORD needed = 0;
        if (sbx_win()->GetTokenInformation(token, which, room, size, &needed)) {
            *(void **)out_pointer = room;
            return SBX_OK;
        }
        DWORD raw = GetLastError();
        if (raw != ERROR_INSUFFICIENT_BUFFER && raw != ERROR_BAD_LENGTH) {
            return sbx_err_win32(err, raw, "GetTokenInformation", "cannot read the %s of a token",
                                 what);
        }
        size = needed > size ? needed : size * 2;
    }
    return sbx_err_set(err, SBX_E_LIMIT, "the %s of a token are too many to read", what);
}
