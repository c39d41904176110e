/* The service installed, controlled and removed on a manager and a registry that answer as Windows does, with every call
 * failing in turn. Proves how we react, not that Windows answers so. */
#include <string.h>
#include <wchar.h>

#include "common/run/manager.h"
#include "tests/check.h"
#include "tests/unit/service_world.h"
#include "win/service_data.h"

#include "common/base/banned.h"

enum { ROUNDS_MAX = 200 };

static struct sbx_err err;
static struct sbx_manager_report report;

static enum sbx_code change(enum sbx_manager_verb verb)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 4 << 20);
    err = (struct sbx_err){0};
    report = (struct sbx_manager_report){0};
    enum sbx_code code = sbx_manager_change(&arena, verb, &report, &err);
    CHECK_U64(service_world.open, 0);
    return code;
}

static bool is_clean(void)
{
    return !service_world.is_installed && !service_world.has_source && !service_world.has_mark;
}

static void check_whole(void)
{
    CHECK(service_world.is_installed && service_world.has_source && service_world.is_protected);
    CHECK_U64(service_world.source_values, 2);
    CHECK_U64(
        service_world.settings,
        1u << SERVICE_CONFIG_DESCRIPTION | 1u << SERVICE_CONFIG_FAILURE_ACTIONS |
            1u << SERVICE_CONFIG_DELAYED_AUTO_START_INFO |
            1u << SERVICE_CONFIG_FAILURE_ACTIONS_FLAG | 1u << SERVICE_CONFIG_SERVICE_SID_INFO |
            1u << SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO | 1u << SERVICE_CONFIG_PRESHUTDOWN_INFO);
}

static void an_installed_service_has_every_setting(void)
{
    service_world_reset();
    CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_OK, &err);
    check_whole();
    CHECK(wcscmp(service_world.image, L"\"C:\\Program Files\\sbx\\sbx.exe\" service run") == 0);
    CHECK_INT(report.state, SBX_MANAGER_STOPPED);
    CHECK_TEXT(report.start, "automatic (delayed)");
    CHECK(report.has_events && report.remark_count == 0);
}

static void the_service_keeps_four_privileges(void)
{
    static const wchar_t *const wanted[] = {L"SeAssignPrimaryTokenPrivilege",
                                            L"SeChangeNotifyPrivilege", L"SeImpersonatePrivilege",
                                            L"SeIncreaseQuotaPrivilege"};
    service_world_reset();
    CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_OK, &err);
    const wchar_t *at = service_world.privileges;
    for (size_t i = 0; i < SBX_COUNT(wanted); i++) {
        CHECK(wcscmp(at, wanted[i]) == 0);
        at += wcslen(at) + 1;
    }
    CHECK(*at == L'\0');
}

/* Each call of an installation fails with two codes in turn; the last round has no failure left. */
static void a_failed_installation_leaves_nothing(void)
{
    static const DWORD codes[] = {ERROR_ACCESS_DENIED, ERROR_NOT_ENOUGH_MEMORY};
    for (size_t k = 0; k < SBX_COUNT(codes); k++) {
        unsigned n = 0;
        bool is_over = false;
        while (!is_over && ++n < ROUNDS_MAX) {
            service_world_reset();
            service_world_fail(n, codes[k]);
            enum sbx_code code = change(SBX_MANAGER_INSTALL);
            is_over = service_world_failed() == NULL;
            if (code != SBX_OK) {
                CHECK(is_clean());
                CHECK_TEXT(err.call, service_world_failed());
                CHECK_INT(err.raw, codes[k]);
            } else {
                check_whole(); /* what failed was only a question about the result */
            }
        }
        CHECK(is_over && n > 12);
    }
}

static void an_installation_and_a_removal_leave_nothing(void)
{
    service_world_reset();
    CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_OK, &err);
    CHECK_CODE(change(SBX_MANAGER_UNINSTALL), SBX_OK, &err);
    CHECK(is_clean());
}

static void what_this_windows_does_not_know_is_told(void)
{
    service_world_reset();
    service_world.unknown_level = SERVICE_CONFIG_SERVICE_SID_INFO;
    CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_OK, &err);
    CHECK(service_world.is_installed);
    CHECK_U64(report.remark_count, 1);
    CHECK(report.remarks[0] != NULL && strstr(report.remarks[0], "service SID") != NULL);
}

static void a_second_installation_is_refused(void)
{
    service_world_reset();
    CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_OK, &err);
    CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_E_INVALID, &err);
    check_whole();
}

static void a_user_is_told_how_to_become_administrator(void)
{
    service_world_reset();
    service_world.is_user = true;
    CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_E_DENIED, &err);
    CHECK(strstr(err.hint, "administrator") != NULL);
    CHECK(is_clean());
}

static void a_running_service_is_stopped_and_removed(void)
{
    service_world_reset();
    CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_OK, &err);
    CHECK_CODE(change(SBX_MANAGER_START), SBX_OK, &err);
    CHECK_INT(report.state, SBX_MANAGER_RUNNING);
    CHECK_U64(report.pid, 4321);
    service_world.polls_to_stop = 5;
    service_world.has_mark = true;
    CHECK_CODE(change(SBX_MANAGER_UNINSTALL), SBX_OK, &err);
    CHECK(is_clean());
    CHECK_INT(report.state, SBX_MANAGER_ABSENT);
}

/* A removal that fails can be repeated, whatever was done already. */
static void a_failed_removal_is_finished_by_the_next(void)
{
    unsigned n = 0;
    bool is_over = false;
    while (!is_over && ++n < ROUNDS_MAX) {
        service_world_reset();
        CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_OK, &err);
        CHECK_CODE(change(SBX_MANAGER_START), SBX_OK, &err);
        service_world_fail(n, ERROR_NOT_ENOUGH_MEMORY);
        enum sbx_code code = change(SBX_MANAGER_UNINSTALL);
        is_over = service_world_failed() == NULL;
        CHECK(code != SBX_OK || is_clean());
        service_world_fail(0, 0);
        CHECK_CODE(change(SBX_MANAGER_UNINSTALL), SBX_OK, &err);
        CHECK(is_clean());
    }
    CHECK(is_over && n > 6);
}

static void nothing_to_remove_is_no_error(void)
{
    service_world_reset();
    CHECK_CODE(change(SBX_MANAGER_UNINSTALL), SBX_OK, &err);
    CHECK_U64(report.remark_count, 1);
}

static void a_service_that_does_not_stop_is_not_waited_for_for_ever(void)
{
    service_world_reset();
    CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_OK, &err);
    CHECK_CODE(change(SBX_MANAGER_START), SBX_OK, &err);
    service_world.never_stops = true;
    CHECK_CODE(change(SBX_MANAGER_STOP), SBX_E_INVALID, &err);
    CHECK(service_world.now_ms < 120000);
}

static void a_service_that_ends_at_once_is_an_error_with_its_code(void)
{
    service_world_reset();
    CHECK_CODE(change(SBX_MANAGER_INSTALL), SBX_OK, &err);
    service_world.exit_code = ERROR_PIPE_BUSY;
    CHECK_CODE(change(SBX_MANAGER_START), SBX_E_UNAVAILABLE, &err);
    CHECK_INT(err.raw, ERROR_PIPE_BUSY);
}

static void starting_and_stopping_what_is_not_installed_says_so(void)
{
    service_world_reset();
    CHECK_CODE(change(SBX_MANAGER_START), SBX_E_NOT_FOUND, &err);
    CHECK_CODE(change(SBX_MANAGER_STOP), SBX_E_NOT_FOUND, &err);
    CHECK_TEXT(err.hint, "sbx service install");
}

static const struct sbx_test tests[] = {
    {"an installed service has every setting", an_installed_service_has_every_setting},
    {"the service keeps four privileges", the_service_keeps_four_privileges},
    {"a failed installation leaves nothing", a_failed_installation_leaves_nothing},
    {"an installation and a removal leave nothing", an_installation_and_a_removal_leave_nothing},
    {"what this Windows does not know is told", what_this_windows_does_not_know_is_told},
    {"a second installation is refused", a_second_installation_is_refused},
    {"a user is told how to become administrator", a_user_is_told_how_to_become_administrator},
    {"a running service is stopped and removed", a_running_service_is_stopped_and_removed},
    {"a failed removal is finished by the next", a_failed_removal_is_finished_by_the_next},
    {"nothing to remove is no error", nothing_to_remove_is_no_error},
    {"a service that does not stop is not waited for for ever",
     a_service_that_does_not_stop_is_not_waited_for_for_ever},
    {"a service that ends at once is an error with its code",
     a_service_that_ends_at_once_is_an_error_with_its_code},
    {"starting and stopping what is not installed says so",
     starting_and_stopping_what_is_not_installed_says_so},
};
SBX_TEST_MAIN("simulated service", tests)
