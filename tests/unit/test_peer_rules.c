/* Who may use the service of Windows (win/peer_rules.h): pure, so it is asked on every system. */
#include "win/peer_rules.h"

#include "tests/check.h"

#include "common/base/banned.h"

/* An ordinary user who sits at the machine. */
static const struct sbx_peer_facts person = {
    .knows_level = true,
    .knows_integrity = true,
    .knows_container = true,
    .knows_restricted = true,
    .knows_groups = true,
    .knows_session = true,
    .level = SBX_LEVEL_IMPERSONATION,
    .integrity = SBX_INTEGRITY_MEDIUM,
    .session = 1,
    .is_interactive = true,
};

static void a_person_at_the_machine_is_welcome(void)
{
    struct sbx_peer_facts elevated = person;
    elevated.integrity = 0x3000;
    elevated.session = 7;
    CHECK_INT(sbx_peer_judge(&person), SBX_PEER_WELCOME);
    CHECK_INT(sbx_peer_judge(&elevated), SBX_PEER_WELCOME);
}

static void a_client_of_whom_nothing_is_known_is_refused(void)
{
    CHECK_INT(sbx_peer_judge(&(struct sbx_peer_facts){0}), SBX_PEER_UNKNOWN);
}

static void each_fact_that_is_not_known_is_a_refusal(void)
{
    struct sbx_peer_facts facts = person;
    bool *const known[] = {&facts.knows_level,      &facts.knows_integrity, &facts.knows_container,
                           &facts.knows_restricted, &facts.knows_groups,    &facts.knows_session};
    for (size_t i = 0; i < SBX_COUNT(known); i++) {
        *known[i] = false;
        CHECK_INT(sbx_peer_judge(&facts), SBX_PEER_UNKNOWN);
        *known[i] = true;
    }
    CHECK_INT(sbx_peer_judge(&facts), SBX_PEER_WELCOME);
}

static void check(enum sbx_peer_verdict want, const struct sbx_peer_facts *facts)
{
    CHECK_INT(sbx_peer_judge(facts), want);
    CHECK(sbx_peer_reason(want) != NULL &&
          !sbx_text_eq(sbx_peer_reason(want), sbx_peer_reason(SBX_PEER_WELCOME)));
    CHECK(!sbx_text_eq(sbx_name_text(sbx_peer_verdict_names, (int)want), "unknown") ||
          want == SBX_PEER_UNKNOWN);
}

static void each_broken_rule_refuses_alone(void)
{
    struct sbx_peer_facts facts = person;
    struct {
        bool *fact;
        enum sbx_peer_verdict verdict;
    } const rows[] = {
        {&facts.is_anonymous, SBX_PEER_ANONYMOUS},   {&facts.is_appcontainer, SBX_PEER_BOXED},
        {&facts.is_restricted, SBX_PEER_RESTRICTED}, {&facts.is_service, SBX_PEER_SERVICE},
        {&facts.is_guest, SBX_PEER_GUEST},           {&facts.is_network, SBX_PEER_NETWORK},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        *rows[i].fact = true;
        check(rows[i].verdict, &facts);
        *rows[i].fact = false;
    }
    facts.is_interactive = false;
    check(SBX_PEER_AWAY, &facts);
}

static void levels_and_sessions_have_a_least_value(void)
{
    struct sbx_peer_facts facts = person;
    facts.level = SBX_LEVEL_ANONYMOUS;
    check(SBX_PEER_ANONYMOUS, &facts);
    facts.level = SBX_LEVEL_IDENTIFICATION;
    check(SBX_PEER_IDENTIFIED, &facts);
    facts = person;
    for (uint32_t level = 0; level < SBX_INTEGRITY_MEDIUM; level += 0x1000) {
        facts.integrity = level;
        check(SBX_PEER_LOW, &facts);
    }
    facts.integrity = SBX_INTEGRITY_MEDIUM - 1;
    check(SBX_PEER_LOW, &facts);
    facts = person;
    facts.session = 0;
    check(SBX_PEER_SERVICE, &facts);
}

static const struct sbx_test tests[] = {
    {"a person at the machine is welcome", a_person_at_the_machine_is_welcome},
    {"a client of whom nothing is known is refused", a_client_of_whom_nothing_is_known_is_refused},
    {"each fact that is not known is a refusal", each_fact_that_is_not_known_is_a_refusal},
    {"each broken rule refuses alone", each_broken_rule_refuses_alone},
    {"levels and sessions have a least value", levels_and_sessions_have_a_least_value},
};
SBX_TEST_MAIN("peer rules", tests)
