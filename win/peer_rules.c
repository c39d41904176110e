/* Who may use the service: the rules as a table. */
#include "win/peer_rules.h"

#include <stddef.h>

#include "common/base/attr.h"

#include "common/base/banned.h"

const struct sbx_name sbx_peer_verdict_names[] = {
    {SBX_PEER_WELCOME, "welcome"},      {SBX_PEER_UNKNOWN, "unknown"},
    {SBX_PEER_ANONYMOUS, "anonymous"},  {SBX_PEER_IDENTIFIED, "identified"},
    {SBX_PEER_BOXED, "boxed"},          {SBX_PEER_RESTRICTED, "restricted"},
    {SBX_PEER_LOW, "low-integrity"},    {SBX_PEER_SERVICE, "service-account"},
    {SBX_PEER_GUEST, "guest"},          {SBX_PEER_NETWORK, "network-logon"},
    {SBX_PEER_AWAY, "not-interactive"}, {0, NULL},
};

static bool is_unknown(const struct sbx_peer_facts *facts)
{
    return !facts->knows_level || !facts->knows_integrity || !facts->knows_container ||
           !facts->knows_restricted || !facts->knows_groups || !facts->knows_session;
}

static bool is_anonymous(const struct sbx_peer_facts *facts)
{
    return facts->is_anonymous || facts->level == SBX_LEVEL_ANONYMOUS;
}

/* Below Impersonation a process could not be started with its token; and it is what a client asks for that does not
 * want the service to act for it. */
static bool is_identified(const struct sbx_peer_facts *facts)
{
    return facts->level < SBX_LEVEL_IMPERSONATION;
}

static bool is_boxed(const struct sbx_peer_facts *facts)
{
    return facts->is_appcontainer;
}

static bool is_restricted(const struct sbx_peer_facts *facts)
{
    return facts->is_restricted;
}

static bool is_low(const struct sbx_peer_facts *facts)
{
    return facts->integrity < SBX_INTEGRITY_MEDIUM;
}

/* What runs in session 0 is a service, whatever its account. */
static bool is_service(const struct sbx_peer_facts *facts)
{
    return facts->is_service || facts->session == 0;
}

static bool is_guest(const struct sbx_peer_facts *facts)
{
    return facts->is_guest;
}

static bool is_network(const struct sbx_peer_facts *facts)
{
    return facts->is_network;
}

static bool is_away(const struct sbx_peer_facts *facts)
{
    return !facts->is_interactive;
}

static const struct rule {
    enum sbx_peer_verdict verdict;
    bool (*breaks)(const struct sbx_peer_facts *facts);
    const char *reason;
} rules[] = {
    {SBX_PEER_UNKNOWN, is_unknown, "the system does not say who it is"},
    {SBX_PEER_ANONYMOUS, is_anonymous, "it is anonymous"},
    {SBX_PEER_IDENTIFIED, is_identified, "it does not let the service act with its rights"},
    {SBX_PEER_BOXED, is_boxed, "it is in an AppContainer: a sandbox cannot ask for another"},
    {SBX_PEER_RESTRICTED, is_restricted, "its token is restricted: it is in a sandbox"},
    {SBX_PEER_LOW, is_low, "its integrity level is below Medium"},
    {SBX_PEER_SERVICE, is_service, "it is a service, and has no session of a person"},
    {SBX_PEER_GUEST, is_guest, "it is a guest"},
    {SBX_PEER_NETWORK, is_network, "its user is logged on over the network"},
    {SBX_PEER_AWAY, is_away, "its user is not logged on at this machine"},
};

enum sbx_peer_verdict sbx_peer_judge(const struct sbx_peer_facts *facts)
{
    for (size_t i = 0; i < SBX_COUNT(rules); i++) {
        if (rules[i].breaks(facts)) {
            return rules[i].verdict;
        }
    }
    return SBX_PEER_WELCOME;
}

const char *sbx_peer_reason(enum sbx_peer_verdict verdict)
{
    for (size_t i = 0; i < SBX_COUNT(rules); i++) {
        if (rules[i].verdict == verdict) {
            return rules[i].reason;
        }
    }
    return "nothing speaks against it";
}
