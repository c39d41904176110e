/* The pipe of the service (win/door.h), its clients (win/peer.h) and its descriptors (win/service_data.h), on the real system. */
#include <windows.h>

#include <aclapi.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "win/door.h"
#include "win/handle.h"
#include "win/peer.h"
#include "win/service_data.h"
#include "win/sid.h"

#include "common/base/banned.h"

enum { PATIENCE_MS = 60000, CREATE_INSTANCE = 4 };

static struct sbx_err err;

/* ---- descriptors ------------------------------------------------------------------------------ */

static PSECURITY_DESCRIPTOR parse(const wchar_t *text)
{
    PSECURITY_DESCRIPTOR out = NULL;
    CHECK(ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1, &out, NULL));
    return out;
}

static PACL list_of(PSECURITY_DESCRIPTOR descriptor, bool is_label)
{
    PACL list = NULL;
    BOOL is_there = FALSE;
    BOOL is_default = FALSE;
    BOOL is_got = is_label ? GetSecurityDescriptorSacl(descriptor, &is_there, &list, &is_default)
                           : GetSecurityDescriptorDacl(descriptor, &is_there, &list, &is_default);
    return is_got && is_there ? list : NULL;
}

/* The mask of the entry of that kind for that SID; 0: there is none. */
static DWORD mask_of(PACL list, BYTE type, PSID sid)
{
    for (WORD i = 0; list != NULL && i < list->AceCount; i++) {
        ACCESS_ALLOWED_ACE *entry = NULL;
        if (GetAce(list, i, (void **)&entry) && entry->Header.AceType == type &&
            sbx_sid_eq(&entry->SidStart, sid)) {
            return entry->Mask;
        }
    }
    return 0;
}

static void people_may_use_the_pipe_and_not_make_another(void)
{
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = parse(sbx_service_pipe_sddl);
    SECURITY_DESCRIPTOR_CONTROL control = 0;
    DWORD revision = 0;
    PACL list = list_of(descriptor, false);
    DWORD people = mask_of(list, ACCESS_ALLOWED_ACE_TYPE, sbx_sid_known(SBX_SID_INTERACTIVE));
    CHECK(list != NULL && list->AceCount == 4);
    CHECK(GetSecurityDescriptorControl(descriptor, &control, &revision) &&
          (control & SE_DACL_PROTECTED) != 0);
    CHECK_U64(people, (FILE_GENERIC_READ | FILE_GENERIC_WRITE) & ~(DWORD)CREATE_INSTANCE);
    CHECK_U64(mask_of(list, ACCESS_ALLOWED_ACE_TYPE, sbx_sid_known(SBX_SID_SYSTEM)),
              FILE_ALL_ACCESS);
    CHECK_U64(mask_of(list, ACCESS_DENIED_ACE_TYPE, sbx_sid_known(SBX_SID_NETWORK)),
              FILE_ALL_ACCESS);
    CHECK_U64(mask_of(list, ACCESS_DENIED_ACE_TYPE, sbx_sid_known(SBX_SID_ANONYMOUS)),
              FILE_ALL_ACCESS);
}

static void low_processes_are_kept_out_by_a_label(void)
{
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = parse(sbx_service_pipe_sddl);
    struct sbx_sid medium;
    CHECK(sbx_sid_parse("S-1-16-8192", &medium));
    CHECK_U64(mask_of(list_of(descriptor, true), SYSTEM_MANDATORY_LABEL_ACE_TYPE, &medium),
              SYSTEM_MANDATORY_LABEL_NO_WRITE_UP | SYSTEM_MANDATORY_LABEL_NO_READ_UP);
}

static void no_package_and_no_everybody_is_named_anywhere(void)
{
    static const enum sbx_known_sid never[] = {SBX_SID_EVERYONE, SBX_SID_ALL_PACKAGES,
                                               SBX_SID_ALL_RESTRICTED_PACKAGES, SBX_SID_USERS};
    const wchar_t *const texts[] = {sbx_service_pipe_sddl, sbx_service_control_sddl,
                                    sbx_service_sddl};
    for (size_t i = 0; i < SBX_COUNT(texts); i++) {
        AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = parse(texts[i]);
        for (size_t k = 0; k < SBX_COUNT(never); k++) {
            CHECK_U64(mask_of(list_of(descriptor, false), ACCESS_ALLOWED_ACE_TYPE,
                              sbx_sid_known(never[k])),
                      0);
        }
    }
}

static void users_may_only_ask_how_the_service_is(void)
{
    AUTO_LOCAL PSECURITY_DESCRIPTOR descriptor = parse(sbx_service_sddl);
    DWORD users = mask_of(list_of(descriptor, false), ACCESS_ALLOWED_ACE_TYPE,
                          sbx_sid_known(SBX_SID_AUTHENTICATED_USERS));
    CHECK_U64(users, SERVICE_QUERY_CONFIG | SERVICE_QUERY_STATUS | SERVICE_ENUMERATE_DEPENDENTS |
                         SERVICE_INTERROGATE | READ_CONTROL);
    AUTO_LOCAL PSECURITY_DESCRIPTOR control = parse(sbx_service_control_sddl);
    CHECK(list_of(control, false) != NULL && list_of(control, false)->AceCount == 1);
}

/* ---- the door --------------------------------------------------------------------------------- */

static struct sbx_door door;

static HANDLE come(void)
{
    return CreateFileW(SBX_SERVICE_PIPE, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                       SECURITY_SQOS_PRESENT | SECURITY_IMPERSONATION, NULL);
}

/* Does what is due until a client has spoken; NULL after a long time. */
static struct sbx_door_place *spoken(void)
{
    ULONGLONG begin = GetTickCount64();
    while (GetTickCount64() - begin < PATIENCE_MS) {
        for (size_t i = 0; i < SBX_DOOR_PLACES; i++) {
            struct sbx_door_place *place = &door.places[i];
            if (place->state != SBX_DOOR_FREE &&
                WaitForSingleObject(place->event, 0) == WAIT_OBJECT_0 &&
                sbx_door_step(&door, place)) {
                return place;
            }
        }
        Sleep(1);
    }
    return NULL;
}

static size_t count(enum sbx_door_state state)
{
    size_t found = 0;
    for (size_t i = 0; i < SBX_DOOR_PLACES; i++) found += door.places[i].state == state ? 1 : 0;
    return found;
}

/* Does what is due. */
static void look(void)
{
    for (size_t i = 0; i < SBX_DOOR_PLACES; i++) {
        if (door.places[i].state != SBX_DOOR_FREE &&
            WaitForSingleObject(door.places[i].event, 0) == WAIT_OBJECT_0) {
            CHECK(!sbx_door_step(&door, &door.places[i]));
        }
    }
}

/* As clients do: a pipe that is busy is tried again. */
static HANDLE come_patiently(void)
{
    ULONGLONG begin = GetTickCount64();
    HANDLE client = come();
    while (!sbx_handle_is_open(client) && GetTickCount64() - begin < PATIENCE_MS) {
        look();
        client = come();
    }
    return client;
}

static void the_first_bytes_of_a_client_and_its_identity_are_known(void)
{
    struct sbx_peer peer = {0};
    DWORD moved = 0;
    CHECK_CODE(sbx_door_open(&door, &err), SBX_OK, &err);
    CHECK_U64(count(SBX_DOOR_LISTENS), SBX_DOOR_OPEN);
    AUTO_HANDLE client = come();
    CHECK(WriteFile(client, "hello", 5, &moved, NULL) && moved == 5);
    struct sbx_door_place *place = spoken();
    CHECK(place != NULL && place->size == 5 && memcmp(place->first, "hello", 5) == 0);
    if (place != NULL) {
        CHECK_CODE(sbx_peer_identify(place->pipe, &peer, &err), SBX_OK, &err);
        CHECK_U64(peer.process, GetCurrentProcessId());
        CHECK(strncmp(peer.user, "S-1-5-21-", 9) == 0);
        CHECK_INT(sbx_peer_judge(&peer.facts), SBX_PEER_WELCOME);
        CHECK(peer.token != NULL);
        sbx_door_say(place, "go\n", 3);
        sbx_door_leave(&door, place);
        char said[8] = "";
        CHECK(ReadFile(client, said, sizeof said, &moved, NULL) && moved == 3);
        CHECK(!ReadFile(client, said, sizeof said, &moved, NULL));
    }
    sbx_peer_release(&peer);
    CHECK_U64(count(SBX_DOOR_LISTENS), SBX_DOOR_OPEN);
    sbx_door_close(&door);
    AUTO_HANDLE late = come();
    CHECK(!sbx_handle_is_open(late));
}

static void silent_clients_make_room_for_others(void)
{
    HANDLE silent[SBX_DOOR_PLACES + 4] = {NULL};
    DWORD moved = 0;
    CHECK_CODE(sbx_door_open(&door, &err), SBX_OK, &err);
    for (size_t i = 0; i < SBX_COUNT(silent); i++) {
        silent[i] = come_patiently();
        CHECK(sbx_handle_is_open(silent[i]));
    }
    AUTO_HANDLE client = come_patiently();
    CHECK(WriteFile(client, "x", 1, &moved, NULL));
    struct sbx_door_place *place = spoken();
    CHECK(place != NULL && place->size == 1);
    for (size_t i = 0; i < SBX_COUNT(silent); i++) sbx_handle_close(&silent[i]);
    sbx_door_close(&door);
}

/* ---- rights ----------------------------------------------------------------------------------- */

/* The same user with fewer groups must never share a process with one who has them all. */
static void tokens_with_other_rights_have_another_digest(void)
{
    AUTO_HANDLE token = NULL;
    AUTO_HANDLE copy = NULL;
    AUTO_HANDLE less = NULL;
    struct sbx_peer whole = {0};
    struct sbx_peer same = {0};
    struct sbx_peer reduced = {0};
    SID_AND_ATTRIBUTES denied = {.Sid = sbx_sid_known(SBX_SID_ADMINISTRATORS)};
    CHECK(OpenProcessToken(GetCurrentProcess(), TOKEN_ALL_ACCESS, &token));
    CHECK(DuplicateTokenEx(token, TOKEN_ALL_ACCESS, NULL, SecurityImpersonation, TokenImpersonation,
                           &copy));
    CHECK(CreateRestrictedToken(token, 0, 1, &denied, 0, NULL, 0, NULL, &less));
    sbx_peer_look(token, &whole);
    sbx_peer_look(copy, &same);
    sbx_peer_look(less, &reduced);
    CHECK(memcmp(whole.rights, same.rights, sizeof whole.rights) == 0);
    CHECK(memcmp(whole.rights, reduced.rights, sizeof whole.rights) != 0);
    CHECK_TEXT(whole.user, reduced.user);
}

static const struct sbx_test tests[] = {
    {"people may use the pipe and not make another", people_may_use_the_pipe_and_not_make_another},
    {"Low processes are kept out by a label", low_processes_are_kept_out_by_a_label},
    {"no package and no everybody is named anywhere",
     no_package_and_no_everybody_is_named_anywhere},
    {"users may only ask how the service is", users_may_only_ask_how_the_service_is},
    {"the first bytes of a client and its identity are known",
     the_first_bytes_of_a_client_and_its_identity_are_known},
    {"silent clients make room for others", silent_clients_make_room_for_others},
    {"tokens with other rights have another digest", tokens_with_other_rights_have_another_digest},
};
SBX_TEST_MAIN("service pipe", tests)
