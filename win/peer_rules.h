/* Who may use the service: a decision over facts, without any system. win/peer.h gathers them from a client's token. */
#ifndef SBX_WIN_PEER_RULES_H
#define SBX_WIN_PEER_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/names.h"

/* As Windows numbers them. */
enum { SBX_LEVEL_ANONYMOUS, SBX_LEVEL_IDENTIFICATION, SBX_LEVEL_IMPERSONATION };
enum { SBX_INTEGRITY_MEDIUM = 0x2000 };

/* What could not be asked is not known, and not known is refused: zero is a client of whom nothing is known. */
struct sbx_peer_facts {
    bool knows_level, knows_integrity, knows_container, knows_restricted, knows_groups,
        knows_session;
    uint32_t level;     /* of the impersonation */
    uint32_t integrity; /* RID of its label */
    uint32_t session;
    bool is_appcontainer;
    bool is_restricted; /* has restricting SIDs: a sandbox of another program */
    bool is_anonymous;
    bool is_guest;
    bool is_service;     /* SYSTEM, LOCAL SERVICE or NETWORK SERVICE */
    bool is_network;     /* logged on from another machine */
    bool is_interactive; /* a person at this machine, or by remote desktop */
};

enum sbx_peer_verdict {
    SBX_PEER_WELCOME,
    SBX_PEER_UNKNOWN,
    SBX_PEER_ANONYMOUS,
    SBX_PEER_IDENTIFIED, /* does not let the service act as it */
    SBX_PEER_BOXED,
    SBX_PEER_RESTRICTED,
    SBX_PEER_LOW,
    SBX_PEER_SERVICE,
    SBX_PEER_GUEST,
    SBX_PEER_NETWORK,
    SBX_PEER_AWAY, /* not interactive: a batch job, a service of another account */
};
extern const struct sbx_name sbx_peer_verdict_names[]; /* "welcome", "boxed", …: stable */

/* The first rule that is broken, in the order above; SBX_PEER_WELCOME when none is. */
enum sbx_peer_verdict sbx_peer_judge(const struct sbx_peer_facts *facts);

/* One sentence: why such a client is refused. */
const char *sbx_peer_reason(enum sbx_peer_verdict verdict);

#endif
