/* Security identifiers: their text both ways, the known ones against the system's, the groups that administer. */
#include <windows.h>

#include <sddl.h>
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/random.h"
#include "win/sid.h"
#include "win/wide.h"

#include "common/base/banned.h"

static const struct {
    enum sbx_known_sid known;
    const char *text;
    int type; /* -1: the system has no number for it */
} rows[] = {
    {SBX_SID_EVERYONE, "S-1-1-0", WinWorldSid},
    {SBX_SID_SYSTEM, "S-1-5-18", WinLocalSystemSid},
    {SBX_SID_ADMINISTRATORS, "S-1-5-32-544", WinBuiltinAdministratorsSid},
    {SBX_SID_TRUSTED_INSTALLER, "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
     -1},
    {SBX_SID_NETWORK, "S-1-5-2", WinNetworkSid},
    {SBX_SID_INTERACTIVE, "S-1-5-4", WinInteractiveSid},
    {SBX_SID_ANONYMOUS, "S-1-5-7", WinAnonymousSid},
    {SBX_SID_LOCAL_SERVICE, "S-1-5-19", WinLocalServiceSid},
    {SBX_SID_NETWORK_SERVICE, "S-1-5-20", WinNetworkServiceSid},
    {SBX_SID_GUESTS, "S-1-5-32-546", WinBuiltinGuestsSid},
    {SBX_SID_USERS, "S-1-5-32-545", WinBuiltinUsersSid},
    {SBX_SID_AUTHENTICATED_USERS, "S-1-5-11", WinAuthenticatedUserSid},
    {SBX_SID_OWNER_RIGHTS, "S-1-3-4", WinCreatorOwnerRightsSid},
    {SBX_SID_ALL_PACKAGES, "S-1-15-2-1", WinBuiltinAnyPackageSid},
    {SBX_SID_ALL_RESTRICTED_PACKAGES, "S-1-15-2-2", -1},
    {SBX_SID_INTERNET_CLIENT, "S-1-15-3-1", WinCapabilityInternetClientSid},
    {SBX_SID_PRIVATE_NETWORK, "S-1-15-3-3", WinCapabilityPrivateNetworkClientServerSid},
    {SBX_SID_LOW_INTEGRITY, "S-1-16-4096", WinLowLabelSid},
};

static void known_ones_have_their_text(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    CHECK_U64(SBX_COUNT(rows), SBX_SID_KNOWN_COUNT);
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        PSID sid = sbx_sid_known(rows[i].known);
        struct sbx_sid parsed;
        CHECK_TEXT(sbx_sid_text(&arena, sid), rows[i].text);
        CHECK(IsValidSid(sid));
        CHECK(sbx_sid_parse(rows[i].text, &parsed));
        CHECK(sbx_sid_eq(sid, parsed.bytes));
        CHECK(EqualSid(sid, parsed.bytes));
        for (size_t other = 0; other < SBX_COUNT(rows); other++) {
            CHECK(sbx_sid_is(sid, rows[other].known) == (i == other));
        }
    }
}

/* Wine lacks the capabilities (87); what it has must agree. */
static void known_ones_are_the_systems(void)
{
    size_t compared = 0;
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        struct sbx_sid system;
        DWORD size = sizeof system.bytes;
        if (rows[i].type >= 0 &&
            CreateWellKnownSid((WELL_KNOWN_SID_TYPE)rows[i].type, NULL, system.bytes, &size)) {
            CHECK(EqualSid(sbx_sid_known(rows[i].known), system.bytes));
            compared++;
        }
    }
    CHECK(compared >= 8);
}

static void text_is_the_systems(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 16 << 20);
    uint64_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        struct sbx_sid sid = {.bytes = {1, (BYTE)(1 + random_below(&seed, 15))}};
        /* Wine prints larger ones with a sign, and Windows from 2^32 on in another notation. */
        DWORD authority = (DWORD)random_below(&seed, 0x7FFFFFFF);
        for (size_t i = 0; i < 4; i++) {
            sid.bytes[4 + i] = (BYTE)(authority >> (24 - 8 * i));
        }
        for (size_t i = 0; i < sid.bytes[1]; i++) {
            DWORD part = (DWORD)random_below(&seed, UINT64_C(0x100000000));
            memcpy(&sid.bytes[8 + 4 * i], &part, sizeof part);
        }
        wchar_t *wide = NULL;
        const char *text = "";
        PSID back = NULL;
        struct sbx_sid parsed = {.bytes = {0}};
        CHECK(ConvertSidToStringSidW(sid.bytes, &wide));
        CHECK_INT(sbx_wide_to(&arena, wide, &text, NULL), SBX_OK);
        CHECK_TEXT(sbx_sid_text(&arena, sid.bytes), text);
        CHECK(sbx_sid_parse(text, &parsed) && EqualSid(parsed.bytes, sid.bytes));
        CHECK(ConvertStringSidToSidW(wide, &back) && EqualSid(back, parsed.bytes));
        (void)LocalFree(back);
        (void)LocalFree(wide);
    }
}

static void only_the_plain_text_is_read(void)
{
    static const char *const bad[] = {
        "",
        "S",
        "S-1",
        "S-1-",
        "S-1-5",
        "S-1-5-",
        "s-1-5-18",
        "S-2-5-18",
        "S-1-5-18-",
        "S-1--5-18",
        "S-1-5--18",
        " S-1-5-18",
        "S-1-5-18 ",
        "S-1-5-+18",
        "S-1-5--18",
        "S-1-5-018",
        "S-1-05-18",
        "S-1-5-0x12",
        "S-1-0x5-18",
        "S-1-5-4294967296",
        "S-1-281474976710656-1",
        "S-1-5-99999999999999999999",
        "S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16",
        "BA",
        "S-1-5-18\n",
    };
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        struct sbx_sid sid;
        memset(&sid, 0x5a, sizeof sid);
        struct sbx_sid before = sid;
        if (!CHECK(!sbx_sid_parse(bad[i], &sid))) {
            printf("# was read: \"%s\"\n", bad[i]);
        }
        CHECK_MEM(&sid, sizeof sid, &before, sizeof before);
    }
    struct sbx_sid sid;
    CHECK(sbx_sid_parse("S-1-281474976710655-4294967295", &sid));
    CHECK(sbx_sid_parse("S-1-0-0", &sid));
    CHECK(sbx_sid_parse("S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15", &sid));
    CHECK_U64(GetLengthSid(sid.bytes), 8 + 15 * 4);
}

static void is_admin(const char *text, bool want)
{
    struct sbx_sid sid;
    if (!CHECK(sbx_sid_parse(text, &sid)) || !CHECK(sbx_sid_is_admin_group(sid.bytes) == want)) {
        printf("# %s\n", text);
    }
}

static void administering_groups_are_known(void)
{
    static const DWORD aliases[] = {544, 547, 548, 549, 550, 551, 552, 556, 569, 578, 580};
    static const DWORD groups[] = {512, 516, 517, 518, 519, 520, 526, 527};
    for (DWORD number = 500; number < 600; number++) {
        char text[64];
        bool is_alias = false;
        bool is_group = false;
        for (size_t i = 0; i < SBX_COUNT(aliases); i++) {
            is_alias |= aliases[i] == number;
        }
        for (size_t i = 0; i < SBX_COUNT(groups); i++) {
            is_group |= groups[i] == number;
        }
        (void)snprintf(text, sizeof text, "S-1-5-32-%lu", number);
        is_admin(text, is_alias);
        (void)snprintf(text, sizeof text, "S-1-5-21-1-2-3-%lu", number);
        is_admin(text, is_group);
        (void)snprintf(text, sizeof text, "S-1-5-21-1-2-%lu", number); /* no group of a domain */
        is_admin(text, false);
        (void)snprintf(text, sizeof text, "S-1-15-32-%lu", number); /* another authority */
        is_admin(text, false);
        (void)snprintf(text, sizeof text, "S-1-5-32-%lu-1", number);
        is_admin(text, false);
    }
    is_admin("S-1-5-114", true);
    is_admin("S-1-5-113", false);
    is_admin("S-1-1-0", false);
    is_admin("S-1-5-18", false);
    is_admin("S-1-5-11", false);
    CHECK(!sbx_sid_is_admin_group(NULL));
}

static void copies_and_levels(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    PSID copy = sbx_sid_copy(&arena, sbx_sid_known(SBX_SID_TRUSTED_INSTALLER));
    CHECK(copy != NULL && copy != sbx_sid_known(SBX_SID_TRUSTED_INSTALLER));
    CHECK(sbx_sid_is(copy, SBX_SID_TRUSTED_INSTALLER));
    CHECK_U64(sbx_sid_last(copy), 2271478464);
    CHECK_U64(sbx_sid_last(sbx_sid_known(SBX_SID_LOW_INTEGRITY)), 0x1000);
    struct sbx_sid none = {.bytes = {1, 0, 0, 0, 0, 0, 0, 5}};
    CHECK_U64(sbx_sid_last(none.bytes), 0);
}

static void what_is_no_sid_equals_nothing(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_sid revision = {.bytes = {2, 1}};
    struct sbx_sid count = {.bytes = {1, 16}};
    PSID bad[] = {NULL, revision.bytes, count.bytes};
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        CHECK(!sbx_sid_eq(bad[i], bad[i]));
        CHECK(!sbx_sid_is(bad[i], SBX_SID_EVERYONE));
        CHECK(sbx_sid_copy(&arena, bad[i]) == NULL);
        CHECK_TEXT(sbx_sid_text(&arena, bad[i]), "?");
        CHECK_U64(sbx_sid_last(bad[i]), 0);
        CHECK(!sbx_sid_is_admin_group(bad[i]));
    }
}

static void without_memory_there_is_a_text(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 8);
    CHECK_TEXT(sbx_sid_text(&arena, sbx_sid_known(SBX_SID_ADMINISTRATORS)), "?");
    CHECK(sbx_sid_copy(&arena, sbx_sid_known(SBX_SID_ADMINISTRATORS)) == NULL);
}

static const struct sbx_test tests[] = {
    {"known identifiers have their text and differ", known_ones_have_their_text},
    {"known identifiers are the system's", known_ones_are_the_systems},
    {"two thousand random identifiers have the system's text, and it reads back",
     text_is_the_systems},
    {"only the plain decimal text is read, and anything else changes nothing",
     only_the_plain_text_is_read},
    {"groups that administer a machine or a domain are known, their neighbours are not",
     administering_groups_are_known},
    {"a copy is equal, and the last part is the level", copies_and_levels},
    {"what is no identifier equals nothing, not even itself", what_is_no_sid_equals_nothing},
    {"without memory there is still a text", without_memory_there_is_a_text},
};

SBX_TEST_MAIN("identifiers", tests)
