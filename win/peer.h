/* A client of the pipe, identified by impersonation: what its token says, and a copy of it to act with. */
#ifndef SBX_WIN_PEER_H
#define SBX_WIN_PEER_H

#include "common/base/sha256.h"
#include "win/peer_rules.h"
#include "win/winapi.h"

enum { SBX_PEER_USER_TEXT = 192 };

struct sbx_peer {
    struct sbx_peer_facts facts;
    char user[SBX_PEER_USER_TEXT]; /* its SID as text, "?" when not known */
    DWORD process;                 /* a hint for people: ids are used again; 0 when not known */
    HANDLE token; /* a primary token with just the client's rights; NULL unless it is welcome */
    /* Over everything that says what the token may do: user, logon, session, level, every group with its state, every
     * privilege. Clients with the same digest may share a process; an elevated one and a plain one of the same user
     * never have the same. */
    unsigned char rights[SBX_SHA256_BYTES];
};

/* Something must have been read from the pipe before: Windows knows the client's identity only then. Facts that
 * the system does not tell stay unknown; a failure of the call that gives the identity back ends this process, which
 * must not go on as somebody else. Only when nothing at all could be asked this fails. */
enum sbx_code sbx_peer_identify(HANDLE pipe, struct sbx_peer *out,
                                struct sbx_err *err) SBX_MUST_USE;

/* NULL is allowed. */
void sbx_peer_release(struct sbx_peer *peer);

/* The facts and the digest of any token (for identify, and for tests). */
void sbx_peer_look(HANDLE token, struct sbx_peer *out);

#endif
