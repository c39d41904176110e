/* Access lists as bytes: what is added and taken away again, and everything that must stay as it is. */
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "win/dacl.h"
#include "win/grant.h"
#include "win/sid.h"

#include "common/base/banned.h"

/* ---- lists ---------------------------------------------------------------------------------- */

static struct sbx_dacl list, before, other;

static PSID sid_of(const char *text)
{
    static struct sbx_sid sids[16];
    static size_t next;
    struct sbx_sid *sid = &sids[next++ % SBX_COUNT(sids)];
    CHECK(sbx_sid_parse(text, sid));
    return sid->bytes;
}

#define OURS "S-1-15-3-1024-1-2-3-4-5-6-7-8"
#define THEIRS "S-1-15-3-1024-9-9-9-9-9-9-9-9"
#define USER "S-1-5-21-1-2-3-1001"

/* An ACL of these entries, as the test writes them, and `spare` bytes behind them. */
struct builder {
    BYTE bytes[SBX_DACL_BYTES_MAX];
    size_t len;
    WORD count;
};
static struct builder builder;

static void begin(void)
{
    memset(&builder, 0, sizeof builder);
    builder.len = sizeof(ACL);
}

static void put(BYTE type, BYTE flags, ACCESS_MASK mask, const char *text)
{
    PSID sid = sid_of(text);
    DWORD size = GetLengthSid(sid);
    ACE_HEADER header = {type, flags, (WORD)(8 + size)};
    memcpy(builder.bytes + builder.len, &header, sizeof header);
    memcpy(builder.bytes + builder.len + 4, &mask, sizeof mask);
    memcpy(builder.bytes + builder.len + 8, sid, size);
    builder.len += 8 + size;
    builder.count++;
}

static void put_bytes(const void *bytes, size_t len)
{
    memcpy(builder.bytes + builder.len, bytes, len);
    builder.len += len;
    builder.count++;
}

static bool end(size_t spare)
{
    memset(builder.bytes + builder.len, 0xA5, spare);
    ACL head = {ACL_REVISION, 0, (WORD)(builder.len + spare), builder.count, 0};
    memcpy(builder.bytes, &head, sizeof head);
    list.is_protected = false;
    list.auto_inherited = false;
    return sbx_dacl_set(&list, (const ACL *)(const void *)builder.bytes, builder.len + spare);
}

static struct sbx_ace ace(BYTE type, BYTE flags, ACCESS_MASK mask, const char *sid)
{
    return (struct sbx_ace){type, flags, mask, sid_of(sid)};
}

#define A ACCESS_ALLOWED_ACE_TYPE
#define D ACCESS_DENIED_ACE_TYPE

/* "D A a d": kinds in order, small letters for inherited ones, * around ours. */
static const char *order(void)
{
    static char text[256];
    size_t len = 0;
    struct sbx_ace here;
    for (size_t i = 0; i < sbx_dacl_count(&list) && len < sizeof text - 4; i++) {
        if (!sbx_dacl_at(&list, i, &here)) {
            text[len++] = '?';
            continue;
        }
        char kind = here.type == A ? 'A' : 'D';
        bool ours = sbx_sid_eq(here.sid, sid_of(OURS));
        text[len++] = (here.flags & INHERITED_ACE) != 0 ? sbx_to_lower(kind) : kind;
        if (ours) {
            text[len++] = '*';
        }
    }
    text[len] = '\0';
    return text;
}

static void ordinary(void)
{
    begin();
    put(D, 0, 0x2, USER);
    put(A, 3, 0x1F01FF, USER);
    put(A, 0x13, 0x1F01FF, "S-1-5-18");
    put(A, 0x13, 0x1F01FF, "S-1-5-32-544");
    CHECK(end(0));
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void a_list_without_entries_is_not_a_missing_list(void)
{
    begin();
    CHECK(end(0));
    CHECK(list.has_list);
    CHECK_U64(sbx_dacl_count(&list), 0);
    struct sbx_ace ours = ace(A, 0, 1, OURS);
    CHECK(sbx_dacl_add(&list, &ours));
    CHECK_U64(sbx_dacl_count(&list), 1);
    CHECK(sbx_dacl_set(&list, NULL, 0));
    CHECK(!list.has_list);
    CHECK(sbx_dacl_acl(&list) == NULL);
    CHECK(!sbx_dacl_add(&list, &ours));
    CHECK(!sbx_dacl_conform(&list, ours.sid, &ours, 1));
    CHECK(!list.has_list);
}

static void entries_go_to_their_canonical_place(void)
{
    struct sbx_ace deny = ace(D, 0, 1, OURS);
    struct sbx_ace allow = ace(A, 3, 1, OURS);
    struct sbx_ace inherited = ace(A, 0x13, 1, OURS);
    ordinary();
    CHECK_TEXT(order(), "DAaa");
    CHECK(sbx_dacl_add(&list, &allow));
    CHECK_TEXT(order(), "DAA*aa");
    CHECK(sbx_dacl_add(&list, &deny));
    CHECK_TEXT(order(), "DD*AA*aa");
    CHECK(sbx_dacl_add(&list, &inherited));
    CHECK_TEXT(order(), "DD*AA*a*aa");
}

static void exactly_the_named_entry_is_taken_away(void)
{
    struct sbx_ace allow = ace(A, 3, 1, OURS);
    struct sbx_ace deny = ace(D, 3, 1, OURS);
    struct sbx_ace mask = ace(A, 3, 3, OURS);
    struct sbx_ace flags = ace(A, 2, 1, OURS);
    struct sbx_ace sid = ace(A, 3, 1, THEIRS);
    const struct sbx_ace *all[] = {&allow, &deny, &mask, &flags, &sid};
    ordinary();
    for (size_t i = 0; i < SBX_COUNT(all); i++) {
        CHECK(sbx_dacl_add(&list, all[i]));
    }
    for (size_t i = 0; i < SBX_COUNT(all); i++) {
        size_t count = sbx_dacl_count(&list);
        CHECK(sbx_dacl_has(&list, all[i]));
        CHECK(sbx_dacl_remove(&list, all[i]));
        CHECK(!sbx_dacl_has(&list, all[i]));
        CHECK_U64(sbx_dacl_count(&list), count - 1);
        for (size_t k = i + 1; k < SBX_COUNT(all); k++) {
            CHECK(sbx_dacl_has(&list, all[k]));
        }
    }
    CHECK(!sbx_dacl_remove(&list, &deny));
    CHECK_TEXT(order(), "DAaa");
}

static void what_is_added_and_taken_away_leaves_the_same_bytes(void)
{
    struct sbx_ace deny = ace(D, 0, SBX_GRANT_CHANGE, OURS);
    struct sbx_ace allow = ace(A, 0x13, SBX_GRANT_WRITE, OURS);
    static const size_t spares[] = {0, 4, 64};
    for (size_t i = 0; i < SBX_COUNT(spares); i++) {
        ordinary();
        CHECK(end(spares[i]));
        sbx_dacl_copy(&before, &list);
        CHECK(sbx_dacl_add(&list, &deny));
        CHECK(sbx_dacl_add(&list, &allow));
        CHECK(!sbx_dacl_eq(&before, &list));
        CHECK(IsValidAcl((PACL)(ULONG_PTR)sbx_dacl_acl(&list)));
        CHECK(sbx_dacl_remove(&list, &deny));
        CHECK(sbx_dacl_remove(&list, &allow));
        CHECK(sbx_dacl_eq(&before, &list));
        CHECK_MEM(list.bytes, sbx_dacl_size(&list), before.bytes, sbx_dacl_size(&before));
    }
}

/* An object entry, a callback with a condition, and a kind that does not exist yet. */
static void unknown_kinds_stay_as_they_are(void)
{
    BYTE object[36] = {ACCESS_ALLOWED_OBJECT_ACE_TYPE, 0, 36, 0, 1, 0, 0, 0};
    BYTE callback[28] = {ACCESS_ALLOWED_CALLBACK_ACE_TYPE, 0x10, 28, 0, 1};
    BYTE future[12] = {0x42, 0xFF, 12, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    struct sbx_ace allow = ace(A, 0, 1, OURS);
    struct sbx_ace here;
    begin();
    put_bytes(object, sizeof object);
    put(A, 0, 1, USER);
    put_bytes(callback, sizeof callback);
    put_bytes(future, sizeof future);
    CHECK(end(0));
    sbx_dacl_copy(&before, &list);
    CHECK_TEXT(order(), "?A??");
    CHECK(!sbx_dacl_at(&list, 0, &here));
    CHECK(sbx_dacl_add(&list, &allow));
    CHECK_TEXT(order(), "?AA*??");
    CHECK(sbx_dacl_conform(&list, allow.sid, NULL, 0));
    CHECK(sbx_dacl_eq(&before, &list));
}

static void a_list_in_another_order_stays_in_it(void)
{
    struct sbx_ace deny = ace(D, 0, 1, OURS);
    struct sbx_ace allow = ace(A, 0, 1, OURS);
    begin();
    put(A, 0, 1, USER);
    put(D, 0, 1, USER);
    put(A, 0x10, 1, "S-1-5-18");
    put(A, 0, 2, USER);
    CHECK(end(0));
    sbx_dacl_copy(&before, &list);
    CHECK_TEXT(order(), "ADaA");
    CHECK(sbx_dacl_add(&list, &deny));
    CHECK_TEXT(order(), "D*ADaA");
    CHECK(sbx_dacl_add(&list, &allow));
    CHECK_TEXT(order(), "D*ADA*aA");
    CHECK(sbx_dacl_conform(&list, deny.sid, NULL, 0));
    CHECK(sbx_dacl_eq(&before, &list));
}

static void a_list_is_made_to_say_what_is_wanted_of_one_sid(void)
{
    struct sbx_ace rw = ace(A, 0x13, SBX_GRANT_WRITE, OURS);
    struct sbx_ace wanted[] = {ace(D, 0, SBX_GRANT_CHANGE, OURS), ace(A, 3, SBX_GRANT_READ, OURS)};
    struct sbx_ace theirs = ace(A, 3, SBX_GRANT_WRITE, THEIRS);
    ordinary();
    CHECK(sbx_dacl_add(&list, &theirs));
    sbx_dacl_copy(&before, &list);
    CHECK(sbx_dacl_add(&list, &rw));
    CHECK(sbx_dacl_add(&list, &wanted[1]));
    CHECK(sbx_dacl_add(&list, &wanted[1])); /* twice */
    CHECK(sbx_dacl_conform(&list, rw.sid, wanted, 2));
    CHECK_U64(sbx_dacl_count_of(&list, rw.sid), 2);
    CHECK(sbx_dacl_has(&list, &wanted[0]));
    CHECK(sbx_dacl_has(&list, &wanted[1]));
    CHECK(sbx_dacl_has(&list, &theirs));
    sbx_dacl_copy(&other, &list);
    CHECK(sbx_dacl_conform(&list, rw.sid, wanted, 2)); /* nothing to do */
    CHECK(sbx_dacl_eq(&other, &list));
    CHECK(sbx_dacl_conform(&list, rw.sid, NULL, 0));
    CHECK(sbx_dacl_eq(&before, &list));
}

static void a_full_list_takes_no_more(void)
{
    struct sbx_ace allow = ace(A, 0, 1, OURS);
    ACCESS_MASK mask = 1;
    begin();
    CHECK(end(0));
    while (sbx_dacl_add(&list, &allow)) {
        allow.mask = ++mask;
    }
    CHECK(sbx_dacl_size(&list) <= SBX_DACL_BYTES_MAX);
    CHECK(sbx_dacl_size(&list) + 8 + GetLengthSid(allow.sid) > SBX_DACL_BYTES_MAX);
    CHECK(IsValidAcl((PACL)(ULONG_PTR)sbx_dacl_acl(&list)));
    sbx_dacl_copy(&before, &list);
    struct sbx_ace wanted = ace(A, 0, 7, THEIRS);
    CHECK(!sbx_dacl_conform(&list, wanted.sid, &wanted, 1));
    CHECK(sbx_dacl_eq(&before, &list));
    allow.mask = 1;
    CHECK(sbx_dacl_remove(&list, &allow));
    CHECK(sbx_dacl_conform(&list, wanted.sid, &wanted, 1));
}

static void damaged_lists_are_refused(void)
{
    ordinary();
    for (size_t at = 0; at < builder.len; at++) {
        for (unsigned value = 0; value < 256; value += 5) {
            BYTE saved = builder.bytes[at];
            builder.bytes[at] = (BYTE)value;
            /* Whatever it says, nothing outside of it is read: sbx_dacl_count and the rest stay inside. */
            if (sbx_dacl_set(&list, (const ACL *)(const void *)builder.bytes, builder.len)) {
                struct sbx_ace here;
                size_t plain = 0;
                for (size_t i = 0; i < sbx_dacl_count(&list); i++) {
                    plain += sbx_dacl_at(&list, i, &here) && IsValidSid(here.sid) ? 1 : 0;
                }
                CHECK(plain <= sbx_dacl_count(&list));
            }
            builder.bytes[at] = saved;
        }
    }
    const ACL *acl = (const ACL *)(const void *)builder.bytes;
    for (size_t len = 0; len < builder.len; len++) {
        CHECK(!sbx_dacl_set(&list, acl, len));
    }
    CHECK(sbx_dacl_set(&list, acl, builder.len));
}

static void the_protected_bit_belongs_to_the_list(void)
{
    ordinary();
    sbx_dacl_copy(&before, &list);
    before.is_protected = true;
    CHECK(!sbx_dacl_eq(&before, &list));
    sbx_dacl_copy(&list, &before);
    CHECK(sbx_dacl_eq(&before, &list));
}

static void what_every_package_may_do_is_read_from_the_list(void)
{
    /* C:\Windows: read and execute here; generic rights for what is below. */
    begin();
    put(A, 0, 0x1F01FF, USER);
    put(A, 0, 0x1200A9, "S-1-15-2-1");
    put(A, OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE | INHERIT_ONLY_ACE,
        GENERIC_READ | GENERIC_EXECUTE, "S-1-15-2-1");
    CHECK(end(0));
    CHECK_U64(sbx_dacl_packages(&list, false), 0x1200A9);
    CHECK_U64(sbx_dacl_packages(&list, true), SBX_GRANT_READ);
    /* Only files below: directories do not get it. */
    begin();
    put(A, OBJECT_INHERIT_ACE, 0x1200A9, "S-1-15-2-2");
    CHECK(end(0));
    CHECK_U64(sbx_dacl_packages(&list, false), 0x1200A9);
    CHECK_U64(sbx_dacl_packages(&list, true), 0);
    /* One package's entry is not everybody's, and a refusal takes nothing away. */
    begin();
    put(D, 3, 0x1F01FF, "S-1-15-2-1");
    put(A, 3, 0x1F01FF, "S-1-15-2-1-2-3-4-5-6-7");
    put(A, 3, 1, "S-1-15-2-1");
    CHECK(end(0));
    CHECK_U64(sbx_dacl_packages(&list, false), 1);
}

/* ---- random lists --------------------------------------------------------------------------- */

static uint64_t seed = UINT64_C(0x5851F42D4C957F2D);

static unsigned pick(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below == 0 ? 0 : (unsigned)(seed >> 33) % below;
}

static void random_list(void)
{
    static const char *const sids[] = {USER, "S-1-5-18", "S-1-1-0", THEIRS, "S-1-15-2-1"};
    begin();
    unsigned count = pick(12);
    for (unsigned i = 0; i < count; i++) {
        BYTE odd[16] = {0, (BYTE)pick(256), 16, 0};
        odd[0] = (BYTE)(2 + pick(60));
        if (pick(5) == 0) {
            put_bytes(odd, sizeof odd);
        } else {
            put(pick(4) == 0 ? D : A, (BYTE)pick(32), pick(0x200000), sids[pick(5)]);
        }
    }
    CHECK(end(4 * (size_t)pick(3)));
}

static void random_lists_come_back_byte_for_byte(void)
{
    for (int round = 0; round < 3000; round++) {
        struct sbx_ace mine[6] = {{0}};
        size_t count = 1 + pick(6);
        random_list();
        sbx_dacl_copy(&before, &list);
        for (size_t i = 0; i < count; i++) {
            mine[i] = ace(pick(2) == 0 ? A : D, (BYTE)pick(32), 1 + pick(0xFFFF), OURS);
            CHECK(sbx_dacl_add(&list, &mine[i]));
        }
        CHECK_U64(sbx_dacl_count_of(&list, mine[0].sid), count);
        /* In another order than they came. */
        size_t from = pick((unsigned)count);
        for (size_t i = 0; i < count; i++) {
            CHECK(sbx_dacl_remove(&list, &mine[(from + i) % count]));
        }
        if (!sbx_dacl_eq(&before, &list)) {
            CHECK_MEM(list.bytes, sbx_dacl_size(&list), before.bytes, sbx_dacl_size(&before));
            return;
        }
    }
    CHECK(true);
}

static const struct sbx_test tests[] = {
    {"a list without entries is not a missing list", a_list_without_entries_is_not_a_missing_list},
    {"entries go to their canonical place", entries_go_to_their_canonical_place},
    {"exactly the named entry is taken away, a refusal too", exactly_the_named_entry_is_taken_away},
    {"what is added and taken away leaves the same bytes",
     what_is_added_and_taken_away_leaves_the_same_bytes},
    {"entries of unknown kinds stay as they are", unknown_kinds_stay_as_they_are},
    {"a list in another order stays in it", a_list_in_another_order_stays_in_it},
    {"a list is made to say what is wanted of one SID",
     a_list_is_made_to_say_what_is_wanted_of_one_sid},
    {"a full list takes no more, and is not changed", a_full_list_takes_no_more},
    {"damaged lists are refused", damaged_lists_are_refused},
    {"the protected bit belongs to the list", the_protected_bit_belongs_to_the_list},
    {"what every package may do is read from the list",
     what_every_package_may_do_is_read_from_the_list},
    {"random lists come back byte for byte", random_lists_come_back_byte_for_byte},
};
SBX_TEST_MAIN("dacl", tests)
