/* What the machine and the caller of the self-test are. */
#include "common/os.h"
#include "win/handle.h"
#include "win/selftest.h"
#include "win/sid.h"
#include "win/system.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define FACTS_MAX 16
#define CURRENT_VERSION L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"

struct facts {
    struct sbx_arena *arena;
    struct sbx_selftest_fact *rows;
    size_t count;
};

static void add_text(struct facts *facts, const char *name, const char *text)
{
    if (facts->count < FACTS_MAX) {
        facts->rows[facts->count++] =
            (struct sbx_selftest_fact){.name = name, .text = text == NULL ? "unknown" : text};
    }
}

static void add_flag(struct facts *facts, const char *name, bool flag)
{
    if (facts->count < FACTS_MAX) {
        facts->rows[facts->count++] = (struct sbx_selftest_fact){.name = name, .flag = flag};
    }
}

static const char *registry_text(struct sbx_arena *arena, const wchar_t *name)
{
    wchar_t value[256];
    DWORD size = sizeof value;
    const char *text = NULL;
    if (RegGetValueW(HKEY_LOCAL_MACHINE, CURRENT_VERSION, name, RRF_RT_REG_SZ, NULL, value,
                     &size) != ERROR_SUCCESS ||
        sbx_wide_to(arena, value, &text, NULL) != SBX_OK) {
        return NULL;
    }
    return text;
}

static DWORD registry_number(const wchar_t *name)
{
    DWORD value = 0;
    DWORD size = sizeof value;
    return RegGetValueW(HKEY_LOCAL_MACHINE, CURRENT_VERSION, name, RRF_RT_REG_DWORD, NULL, &value,
                        &size) == ERROR_SUCCESS
               ? value
               : 0;
}

static void add_system(struct facts *facts)
{
    RTL_OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    SYSTEM_INFO machine;
    (void)RtlGetVersion(&version);
    GetNativeSystemInfo(&machine);
    add_text(facts, "system", "Windows");
    add_text(facts, "product", registry_text(facts->arena, L"ProductName"));
    add_text(facts, "release", registry_text(facts->arena, L"DisplayVersion"));
    add_text(
        facts, "version",
        sbx_arena_printf(facts->arena, "%lu.%lu", version.dwMajorVersion, version.dwMinorVersion));
    add_text(
        facts, "build",
        sbx_arena_printf(facts->arena, "%lu.%lu", version.dwBuildNumber, registry_number(L"UBR")));
    WORD processor = machine.wProcessorArchitecture;
    add_text(facts, "architecture",
             processor == PROCESSOR_ARCHITECTURE_AMD64   ? "x86_64"
             : processor == PROCESSOR_ARCHITECTURE_ARM64 ? "arm64"
                                                         : "other");
}

static void add_station(struct facts *facts)
{
    wchar_t name[128] = L"";
    const char *text = NULL;
    DWORD len;
    HWINSTA(WINAPI * station)(void) = SBX_LATE(L"user32.dll", GetProcessWindowStation);
    BOOL(WINAPI * tell)
    (HANDLE, int, PVOID, DWORD, LPDWORD) = SBX_LATE(L"user32.dll", GetUserObjectInformationW);
    if (station != NULL && tell != NULL && tell(station(), UOI_NAME, name, sizeof name, &len)) {
        (void)!sbx_wide_to(facts->arena, name, &text, NULL);
    }
    add_text(facts, "window_station", text);
}

static DWORD integrity(void)
{
    union {
        BYTE bytes[128];
        TOKEN_MANDATORY_LABEL label;
    } block;
    AUTO_HANDLE token = NULL;
    DWORD len;
    return OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) &&
                   GetTokenInformation(token, TokenIntegrityLevel, &block, sizeof block, &len)
               ? sbx_sid_last(block.label.Label.Sid)
               : 0;
}

static void add_caller(struct facts *facts)
{
    DWORD session = 0;
    BOOL is_in_job = FALSE;
    (void)ProcessIdToSessionId(GetCurrentProcessId(), &session);
    (void)IsProcessInJob(GetCurrentProcess(), NULL, &is_in_job);
    add_flag(facts, "elevated", sbx_system_is_elevated());
    add_text(facts, "integrity", sbx_arena_printf(facts->arena, "0x%lx", integrity()));
    add_text(facts, "session", sbx_arena_printf(facts->arena, "%lu", session));
    add_station(facts);
    add_flag(facts, "in_job", is_in_job != FALSE);
    add_flag(facts, "console", GetConsoleCP() != 0);
}

static void add_volume(struct facts *facts)
{
    wchar_t name[64] = L"";
    wchar_t place[MAX_PATH + 1];
    wchar_t root[MAX_PATH + 1];
    DWORD flags = 0;
    const char *text = NULL;
    DWORD len = GetTempPathW(SBX_COUNT(place), place);
    if (len > 0 && len <= MAX_PATH && GetVolumePathNameW(place, root, SBX_COUNT(root)) &&
        GetVolumeInformationW(root, NULL, 0, NULL, NULL, &flags, name, SBX_COUNT(name))) {
        (void)!sbx_wide_to(facts->arena, name, &text, NULL);
    }
    add_text(facts, "volume", text);
    add_flag(facts, "volume_has_lists", (flags & FILE_PERSISTENT_ACLS) != 0);
}

size_t sbx_selftest_machine(struct sbx_arena *arena, const struct sbx_selftest_fact **out)
{
    struct facts facts = {.arena = arena,
                          .rows = SBX_NEW_ARRAY(arena, struct sbx_selftest_fact, FACTS_MAX)};
    if (facts.rows == NULL) {
        return 0;
    }
    add_system(&facts);
    add_caller(&facts);
    add_volume(&facts);
    *out = facts.rows;
    return facts.count;
}
