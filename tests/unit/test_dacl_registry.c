/* Access lists on real objects: registry keys, whose lists Wine keeps and enforces, by the code that files get. */
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "win/dacl.h"
#include "win/grant_internal.h"
#include "win/handle.h"
#include "win/sid.h"

#include "common/base/banned.h"

static struct sbx_err err;
static struct sbx_dacl first, now, again;

#define NAME L"Software\\sbx-test-dacl"
#define OURS "S-1-15-3-1024-1-2-3-4-5-6-7-8"
#define THEIRS "S-1-15-3-1024-8-7-6-5-4-3-2-1"

static HKEY make_key(void)
{
    HKEY key = NULL;
    (void)RegDeleteKeyW(HKEY_CURRENT_USER, NAME);
    CHECK_INT(
        RegCreateKeyExW(HKEY_CURRENT_USER, NAME, 0, NULL, 0, KEY_ALL_ACCESS, NULL, &key, NULL),
        ERROR_SUCCESS);
    /* One with an explicit list: only such are enforced by Wine. */
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = NULL;
    CHECK(ConvertStringSecurityDescriptorToSecurityDescriptorW(
        L"D:(A;OICI;KA;;;SY)(A;OICI;KA;;;BA)(A;OICI;KA;;;WD)", SDDL_REVISION_1, &descriptor, NULL));
    CHECK_INT(RegSetKeySecurity(key, DACL_SECURITY_INFORMATION, descriptor), ERROR_SUCCESS);
    return key;
}

static void drop_key(HKEY key)
{
    (void)RegCloseKey(key);
    CHECK_INT(RegDeleteKeyW(HKEY_CURRENT_USER, NAME), ERROR_SUCCESS);
}

static PSID parsed(const char *text)
{
    static struct sbx_sid sids[2];
    struct sbx_sid *sid = &sids[strcmp(text, OURS) == 0];
    CHECK(sbx_sid_parse(text, sid));
    return sid->bytes;
}

static void entries_are_written_kept_and_taken_away(void)
{
    HKEY key = make_key();
    struct sbx_ace deny = {ACCESS_DENIED_ACE_TYPE, 0, SBX_GRANT_CHANGE, parsed(OURS)};
    struct sbx_ace allow = {ACCESS_ALLOWED_ACE_TYPE, 3, SBX_GRANT_READ, parsed(OURS)};
    CHECK_CODE(sbx_dacl_read(key, "key", &first, &err), SBX_OK, &err);
    CHECK(first.has_list);
    sbx_dacl_copy(&now, &first);
    CHECK(sbx_dacl_add(&now, &deny));
    CHECK(sbx_dacl_add(&now, &allow));
    CHECK_CODE(sbx_dacl_write(key, "key", &now, &again, &err), SBX_OK, &err);
    CHECK_CODE(sbx_dacl_read(key, "key", &again, &err), SBX_OK, &err);
    CHECK(sbx_dacl_has(&again, &deny));
    CHECK(sbx_dacl_has(&again, &allow));
    CHECK(sbx_dacl_remove(&again, &deny));
    CHECK(sbx_dacl_remove(&again, &allow));
    sbx_dacl_copy(&now, &again);
    CHECK_CODE(sbx_dacl_write(key, "key", &now, &again, &err), SBX_OK, &err);
    CHECK_CODE(sbx_dacl_read(key, "key", &again, &err), SBX_OK, &err);
    CHECK_MEM(again.bytes, sbx_dacl_size(&again), first.bytes, sbx_dacl_size(&first));
    drop_key(key);
}

static void a_written_refusal_is_enforced(void)
{
    HKEY key = make_key();
    HKEY opened = NULL;
    struct sbx_ace deny = {ACCESS_DENIED_ACE_TYPE, 0, KEY_SET_VALUE,
                           sbx_sid_known(SBX_SID_EVERYONE)};
    CHECK_INT(RegOpenKeyExW(HKEY_CURRENT_USER, NAME, 0, KEY_SET_VALUE, &opened), ERROR_SUCCESS);
    (void)RegCloseKey(opened);
    CHECK_CODE(sbx_dacl_read(key, "key", &first, &err), SBX_OK, &err);
    sbx_dacl_copy(&now, &first);
    CHECK(sbx_dacl_add(&now, &deny));
    CHECK_CODE(sbx_dacl_write(key, "key", &now, &again, &err), SBX_OK, &err);
    CHECK_INT(RegOpenKeyExW(HKEY_CURRENT_USER, NAME, 0, KEY_SET_VALUE, &opened),
              ERROR_ACCESS_DENIED);
    CHECK_INT(RegOpenKeyExW(HKEY_CURRENT_USER, NAME, 0, KEY_QUERY_VALUE, &opened), ERROR_SUCCESS);
    (void)RegCloseKey(opened);
    CHECK_CODE(sbx_dacl_write(key, "key", &first, &again, &err), SBX_OK, &err);
    CHECK_INT(RegOpenKeyExW(HKEY_CURRENT_USER, NAME, 0, KEY_SET_VALUE, &opened), ERROR_SUCCESS);
    (void)RegCloseKey(opened);
    drop_key(key);
}

static void a_handle_without_the_right_is_told_with_the_call(void)
{
    HKEY key = make_key();
    HKEY weak = NULL;
    CHECK_INT(RegOpenKeyExW(HKEY_CURRENT_USER, NAME, 0, KEY_QUERY_VALUE | READ_CONTROL, &weak),
              ERROR_SUCCESS);
    CHECK_CODE(sbx_dacl_read(weak, "that key", &first, &err), SBX_OK, &err);
    CHECK_CODE(sbx_dacl_write(weak, "that key", &first, &again, &err), SBX_E_DENIED, &err);
    CHECK_TEXT(err.call, "SetKernelObjectSecurity");
    CHECK_INT(err.raw, ERROR_ACCESS_DENIED);
    CHECK(strstr(err.text, "that key") != NULL);
    CHECK_CODE(sbx_dacl_read((HANDLE)(ULONG_PTR)0x7770, "nothing", &first, &err), SBX_E_INVALID,
               &err);
    CHECK_TEXT(err.call, "GetKernelObjectSecurity");
    CHECK_INT(err.raw, ERROR_INVALID_HANDLE);
    (void)RegCloseKey(weak);
    drop_key(key);
}

static void a_missing_list_is_never_written(void)
{
    HKEY key = make_key();
    CHECK(sbx_dacl_set(&now, NULL, 0));
    CHECK_CODE(sbx_dacl_write(key, "key", &now, &again, &err), SBX_E_INTERNAL, &err);
    CHECK_CODE(sbx_dacl_read(key, "key", &again, &err), SBX_OK, &err);
    CHECK(again.has_list);
    drop_key(key);
}

/* ---- a place's entries, through what a walk uses ------------------------------------------------- */

static enum sbx_grant_result apply(HKEY key, const char *sid, enum sbx_grant_place place,
                                   enum sbx_access access)
{
    AUTO_TOOL tool = {0};
    enum sbx_grant_result result = SBX_RESULT_REFUSED;
    struct sbx_grant_object object = {.handle = key, .path = "key", .is_directory = true};
    CHECK_CODE(sbx_grant_tool_open(parsed(sid), NULL, NULL, &tool, &err), SBX_OK, &err);
    CHECK_CODE(sbx_grant_apply(&tool, &object, place, access, &result, &err), SBX_OK, &err);
    CHECK_CODE(sbx_dacl_read(key, "key", &now, &err), SBX_OK, &err);
    return result;
}

static bool allows(const char *sid, ACCESS_MASK mask)
{
    struct sbx_ace here;
    for (size_t i = 0; i < sbx_dacl_count(&now); i++) {
        if (sbx_dacl_at(&now, i, &here) && here.type == ACCESS_ALLOWED_ACE_TYPE &&
            sbx_sid_eq(here.sid, parsed(sid)) && (here.mask & mask) != 0) {
            return true;
        }
    }
    return false;
}

static void a_place_is_closed_and_opened_again_without_a_trace(void)
{
    HKEY key = make_key();
    CHECK_CODE(sbx_dacl_read(key, "key", &first, &err), SBX_OK, &err);
    CHECK(!first.is_protected);
    CHECK_INT(apply(key, OURS, SBX_PLACE_FOLLOWS, SBX_ACCESS_WRITE), SBX_RESULT_DONE);
    CHECK(allows(OURS, FILE_WRITE_DATA));
    CHECK_INT(apply(key, OURS, SBX_PLACE_FOLLOWS, SBX_ACCESS_WRITE), SBX_RESULT_SAME);
    CHECK_INT(apply(key, OURS, SBX_PLACE_STARTS, SBX_ACCESS_READ), SBX_RESULT_DONE);
    CHECK(now.is_protected);
    CHECK(allows(OURS, FILE_READ_DATA));
    CHECK(!allows(OURS, SBX_GRANT_CHANGE));
    CHECK_INT(apply(key, OURS, SBX_PLACE_STARTS, SBX_ACCESS_NONE), SBX_RESULT_DONE);
    CHECK(now.is_protected);
    CHECK(!allows(OURS, ~(ACCESS_MASK)0));
    CHECK_INT(apply(key, OURS, SBX_PLACE_STARTS, SBX_ACCESS_NONE), SBX_RESULT_SAME);
    CHECK_INT(apply(key, OURS, SBX_PLACE_NOTHING, SBX_ACCESS_NONE), SBX_RESULT_DONE);
    CHECK(!now.is_protected);
    CHECK_MEM(now.bytes, sbx_dacl_size(&now), first.bytes, sbx_dacl_size(&first));
    drop_key(key);
}

static void two_capabilities_do_not_undo_each_other(void)
{
    HKEY key = make_key();
    CHECK_CODE(sbx_dacl_read(key, "key", &first, &err), SBX_OK, &err);
    CHECK_INT(apply(key, OURS, SBX_PLACE_STARTS, SBX_ACCESS_READ), SBX_RESULT_DONE);
    CHECK_INT(apply(key, THEIRS, SBX_PLACE_STARTS, SBX_ACCESS_NONE), SBX_RESULT_DONE);
    CHECK_INT(apply(key, OURS, SBX_PLACE_NOTHING, SBX_ACCESS_NONE), SBX_RESULT_DONE);
    CHECK(now.is_protected); /* still closed for the other one */
    CHECK_INT(apply(key, OURS, SBX_PLACE_FOLLOWS, SBX_ACCESS_WRITE), SBX_RESULT_DONE);
    CHECK(allows(OURS, FILE_WRITE_DATA));
    CHECK(!allows(THEIRS, ~(ACCESS_MASK)0));
    CHECK(now.is_protected);
    CHECK_INT(apply(key, THEIRS, SBX_PLACE_NOTHING, SBX_ACCESS_NONE), SBX_RESULT_DONE);
    CHECK(!now.is_protected);
    CHECK_INT(apply(key, OURS, SBX_PLACE_NOTHING, SBX_ACCESS_NONE), SBX_RESULT_DONE);
    CHECK_MEM(now.bytes, sbx_dacl_size(&now), first.bytes, sbx_dacl_size(&first));
    drop_key(key);
}

static void somebody_elses_protected_list_is_left_alone(void)
{
    HKEY key = make_key();
    CHECK_CODE(sbx_dacl_read(key, "key", &first, &err), SBX_OK, &err);
    first.is_protected = true;
    CHECK_CODE(sbx_dacl_write(key, "key", &first, &again, &err), SBX_OK, &err);
    CHECK_INT(apply(key, OURS, SBX_PLACE_FOLLOWS, SBX_ACCESS_WRITE), SBX_RESULT_OWN_LIST);
    CHECK(!allows(OURS, ~(ACCESS_MASK)0));
    CHECK_INT(apply(key, OURS, SBX_PLACE_STARTS, SBX_ACCESS_NONE), SBX_RESULT_SAME);
    CHECK_INT(apply(key, OURS, SBX_PLACE_STARTS, SBX_ACCESS_READ), SBX_RESULT_DONE);
    CHECK_INT(apply(key, OURS, SBX_PLACE_NOTHING, SBX_ACCESS_NONE), SBX_RESULT_DONE);
    CHECK(now.is_protected);
    CHECK_MEM(now.bytes, sbx_dacl_size(&now), first.bytes, sbx_dacl_size(&first));
    drop_key(key);
}

static void a_place_that_every_package_may_read_cannot_be_closed(void)
{
    HKEY key = make_key();
    AUTO_TOOL tool = {0};
    enum sbx_grant_result result;
    struct sbx_ace packages = {ACCESS_ALLOWED_ACE_TYPE, 3, SBX_GRANT_READ,
                               sbx_sid_known(SBX_SID_ALL_PACKAGES)};
    struct sbx_grant_object object = {.handle = key, .path = "that key", .is_directory = true};
    CHECK_CODE(sbx_dacl_read(key, "key", &now, &err), SBX_OK, &err);
    CHECK(sbx_dacl_add(&now, &packages));
    CHECK_CODE(sbx_dacl_write(key, "key", &now, &again, &err), SBX_OK, &err);
    CHECK_CODE(sbx_grant_tool_open(parsed(OURS), NULL, NULL, &tool, &err), SBX_OK, &err);
    CHECK_CODE(sbx_grant_apply(&tool, &object, SBX_PLACE_STARTS, SBX_ACCESS_NONE, &result, &err),
               SBX_E_UNSUPPORTED, &err);
    CHECK(strstr(err.text, "that key") != NULL);
    CHECK(strstr(err.hint, "ALL APPLICATION PACKAGES") != NULL);
    CHECK_CODE(sbx_grant_apply(&tool, &object, SBX_PLACE_STARTS, SBX_ACCESS_READ, &result, &err),
               SBX_OK, &err);
    drop_key(key);
}

static const struct sbx_test tests[] = {
    {"entries are written, kept and taken away", entries_are_written_kept_and_taken_away},
    {"a written refusal is enforced, and gone when it is taken away",
     a_written_refusal_is_enforced},
    {"a handle without the right is told with the call and the code",
     a_handle_without_the_right_is_told_with_the_call},
    {"a missing list is never written", a_missing_list_is_never_written},
    {"a place is closed and opened again without a trace",
     a_place_is_closed_and_opened_again_without_a_trace},
    {"two capabilities do not undo each other", two_capabilities_do_not_undo_each_other},
    {"somebody else's protected list is left alone", somebody_elses_protected_list_is_left_alone},
    {"a place that every package may read cannot be closed, and that is told",
     a_place_that_every_package_may_read_cannot_be_closed},
};
SBX_TEST_MAIN("dacl on registry keys", tests)
