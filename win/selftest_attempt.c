/* Attempts of the self-test on Windows: what they share. */
#include "win/selftest.h"

#include "common/base/buf.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define ARGUMENTS_BYTES (4u << 20)
#define ATTEMPTS_MAX 96

FARPROC sbx_late(const wchar_t *dll, const char *name)
{
    HMODULE loaded = LoadLibraryExW(dll, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    return loaded == NULL ? NULL : GetProcAddress(loaded, name);
}

/* One attempt is one process: what it needs lives until that ends. */
static struct sbx_arena *own_arena(void)
{
    static struct sbx_arena arena;
    if (arena.max_bytes == 0) {
        sbx_arena_init(&arena, ARGUMENTS_BYTES);
    }
    return &arena;
}

wchar_t *sbx_attempt_wide(const char *text)
{
    static wchar_t nothing[1];
    wchar_t *wide = NULL;
    return sbx_wide_from(own_arena(), text, &wide, NULL) == SBX_OK ? wide : nothing;
}

const char *sbx_attempt_text(const wchar_t *wide)
{
    const char *text = NULL;
    return sbx_wide_to(own_arena(), wide, &text, NULL) == SBX_OK ? text : "?";
}

uint64_t sbx_attempt_number(const char *text)
{
    uint64_t value = 0;
    if (!sbx_str_starts(sbx_str(text), "0x")) {
        return sbx_str_to_u64(sbx_str(text), &value) ? value : 0;
    }
    for (const char *c = text + 2; *c != '\0'; c++) {
        char digit = sbx_to_lower(*c);
        if (!sbx_is_digit(digit) && (digit < 'a' || digit > 'f')) {
            return 0;
        }
        value = value << 4 | (uint64_t)(sbx_is_digit(digit) ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

/* ---- what a code says ---- */

static const DWORD absent_codes[] = {
    ERROR_INVALID_FUNCTION,
    ERROR_NOT_SUPPORTED,
    ERROR_CALL_NOT_IMPLEMENTED,
    ERROR_FILE_NOT_FOUND,
    ERROR_PATH_NOT_FOUND,
    ERROR_INVALID_HANDLE,
    ERROR_BAD_NETPATH,
    ERROR_BAD_NET_NAME,
    ERROR_ENVVAR_NOT_FOUND,
    ERROR_NOT_FOUND,
    ERROR_NO_MORE_FILES,
    ERROR_SERVICE_DISABLED,
    ERROR_NOT_READY,
    10061 /* WSAECONNREFUSED */,
    11001 /* WSAHOST_NOT_FOUND */,
    11002 /* WSATRY_AGAIN */,
    11004 /* WSANO_DATA */,
    12007 /* ERROR_WINHTTP_NAME_NOT_RESOLVED */,
};

/* The access-denied family, what job limits answer, and how a firewall drops. */
static const DWORD denied_codes[] = {
    ERROR_ACCESS_DENIED,
    ERROR_NOT_ENOUGH_MEMORY,
    ERROR_OUTOFMEMORY,
    ERROR_WRITE_PROTECT,
    ERROR_GEN_FAILURE,
    ERROR_NETWORK_ACCESS_DENIED,
    ERROR_NOACCESS,
    ERROR_ACCESS_DISABLED_BY_POLICY,
    ERROR_PRIVILEGE_NOT_HELD,
    ERROR_NO_SYSTEM_RESOURCES,
    ERROR_COMMITMENT_LIMIT,
    ERROR_NOT_ENOUGH_QUOTA,
    ERROR_SHARING_VIOLATION, /* a name that sbx holds */
    1722,                    /* RPC_S_SERVER_UNAVAILABLE */
    10013,                   /* WSAEACCES */
    10050,                   /* WSAENETDOWN */
    10051,                   /* WSAENETUNREACH */
    10060,                   /* WSAETIMEDOUT */
    10065,                   /* WSAEHOSTUNREACH */
    12029,                   /* ERROR_WINHTTP_CANNOT_CONNECT */
    12002,                   /* ERROR_WINHTTP_TIMEOUT */
};

static bool is_among(DWORD raw, const DWORD *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (codes[i] == raw) {
            return true;
        }
    }
    return false;
}

void sbx_reply_win32(struct sbx_reply *reply, DWORD raw, const char *call, const char *subject)
{
    enum sbx_answer answer = SBX_ANSWER_BROKEN;
    if (is_among(raw, absent_codes, SBX_COUNT(absent_codes))) {
        answer = SBX_ANSWER_ABSENT;
    } else if (is_among(raw, denied_codes, SBX_COUNT(denied_codes))) {
        answer = SBX_ANSWER_DENIED;
    }
    sbx_reply(reply, answer, "%s %s: %lu", call, subject, raw);
}

void sbx_reply_hresult(struct sbx_reply *reply, HRESULT raw, const char *call, const char *subject)
{
    enum sbx_answer answer = SBX_ANSWER_BROKEN;
    switch ((DWORD)raw) {
    case 0x80070005: /* E_ACCESSDENIED */
    case 0x80041003: /* WBEM_E_ACCESS_DENIED */
    case 0x800706ba: /* RPC_S_SERVER_UNAVAILABLE */
    case 0x80010002: /* RPC_E_CALL_CANCELED */
    case 0x80080005: /* CO_E_SERVER_EXEC_FAILURE */
        answer = SBX_ANSWER_DENIED;
        break;
    case 0x80040154: /* REGDB_E_CLASSNOTREG */
    case 0x80004002: /* E_NOINTERFACE */
    case 0x80004001: /* E_NOTIMPL */
    case 0x80070002:
        answer = SBX_ANSWER_ABSENT;
        break;
    default:
        break;
    }
    sbx_reply(reply, answer, "%s %s: 0x%08lx", call, subject, (DWORD)raw);
}

/* ---- this program again ---- */

bool sbx_attempt_start(const wchar_t *words, DWORD flags, PROCESS_INFORMATION *out)
{
    static wchar_t line[8192];
    STARTUPINFOW info = {.cb = sizeof info};
    DWORD len = GetModuleFileNameW(NULL, line + 1, 4096);
    if (len == 0 || len >= 4096) {
        return false;
    }
    static const wchar_t between[] = L"\" selftest --probe ";
    line[0] = L'"';
    size_t at = (size_t)len + 1;
    for (size_t i = 0; between[i] != 0; i++) {
        line[at++] = between[i];
    }
    for (size_t i = 0; words[i] != 0 && at < SBX_COUNT(line) - 1; i++) {
        line[at++] = words[i];
    }
    line[at] = 0;
    return CreateProcessW(NULL, line, NULL, NULL, FALSE, flags, NULL, NULL, &info, out);
}

/* ---- the table ---- */

const struct sbx_attempt *sbx_selftest_attempts(void)
{
    static const struct sbx_attempt *const tables[] = {
        sbx_attempts_file,     sbx_attempts_link,   sbx_attempts_process,
        sbx_attempts_resource, sbx_attempts_token,  sbx_attempts_desktop,
        sbx_attempts_console,  sbx_attempts_system, sbx_attempts_network,
    };
    static struct sbx_attempt all[ATTEMPTS_MAX + 1]; /* the last one stays empty */
    size_t count = 0;
    for (size_t i = 0; i < SBX_COUNT(tables); i++) {
        for (const struct sbx_attempt *row = tables[i]; row->name != NULL && count < ATTEMPTS_MAX;
             row++) {
            all[count++] = *row;
        }
    }
    return all;
}
