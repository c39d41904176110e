/* Attempts on the network. */
#include <windows.h>

#include <winhttp.h>

#include <stdio.h>

#include "win/handle.h"
#include "win/selftest.h"

#include "common/base/banned.h"

#define LATE(name) SBX_LATE(L"winhttp.dll", name)
#define CONNECT_MS 4000
#define HTTPS_MS 15000

static void settle(struct sbx_reply *reply, int raw, const char *what, const char *subject)
{
    if (raw == 0) {
        sbx_reply(reply, SBX_ANSWER_DONE, "%s %s", what, subject);
    } else {
        sbx_reply_win32(reply, (DWORD)raw, what, subject);
    }
}

static void try_connect(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    settle(reply, sbx_socket_connect((uint16_t)sbx_attempt_number(arguments[0]), CONNECT_MS),
           "connect to loopback port", arguments[0]);
}

static void try_connect_to(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    settle(
        reply,
        sbx_socket_connect_to(arguments[0], (uint16_t)sbx_attempt_number(arguments[1]), CONNECT_MS),
        "connect to", arguments[0]);
}

static void try_resolve(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    char address[64] = "";
    int raw = sbx_socket_resolve(arguments[0], address, sizeof address);
    if (raw == 0) {
        sbx_reply(reply, SBX_ANSWER_DONE, "%s is %s", arguments[0], address);
    } else {
        sbx_reply_win32(reply, (DWORD)raw, "getaddrinfo", arguments[0]);
    }
}

/* Listens, writes its port into FILE, and waits for somebody. */
static void try_serve(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    uint64_t listener = SBX_NO_SOCKET;
    uint16_t port = 0;
    char text[16];
    DWORD put;
    int raw = sbx_socket_listen(&listener, &port);
    if (raw != 0) {
        sbx_reply_win32(reply, (DWORD)raw, "listen", "");
        return;
    }
    int len = snprintf(text, sizeof text, "%u", (unsigned)port);
    HANDLE file = CreateFileW(sbx_attempt_wide(arguments[0]), GENERIC_WRITE, FILE_SHARE_READ, NULL,
                              CREATE_ALWAYS, 0, NULL);
    if (!sbx_handle_is_open(file) || !WriteFile(file, text, (DWORD)len, &put, NULL)) {
        raw = (int)GetLastError();
        sbx_reply_win32(reply, (DWORD)raw, "write", arguments[0]);
        return;
    }
    sbx_handle_close(&file);
    raw = sbx_socket_accept(listener, (unsigned)sbx_attempt_number(arguments[1]));
    sbx_socket_close(listener);
    settle(reply, raw, "accept on port", text);
}

/* A server and a client, both of them in here. */
static void try_each_other(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)arguments;
    (void)count;
    uint64_t listener = SBX_NO_SOCKET;
    uint16_t port = 0;
    wchar_t words[32];
    PROCESS_INFORMATION child = {0};
    DWORD status = 1;
    int raw = sbx_socket_listen(&listener, &port);
    if (raw != 0) {
        sbx_reply_win32(reply, (DWORD)raw, "listen", "");
        return;
    }
    (void)_snwprintf(words, SBX_COUNT(words), L"connect %u", (unsigned)port);
    if (!sbx_attempt_start(words, 0, &child)) {
        raw = (int)GetLastError();
        sbx_reply_win32(reply, (DWORD)raw, "CreateProcessW", "");
        return;
    }
    (void)WaitForSingleObject(child.hProcess, 2 * CONNECT_MS);
    (void)GetExitCodeProcess(child.hProcess, &status);
    sbx_socket_close(listener);
    sbx_handle_close(&child.hThread);
    sbx_handle_close(&child.hProcess);
    sbx_reply(reply, status == 0 ? SBX_ANSWER_DONE : SBX_ANSWER_DENIED,
              "a second process of the box connects: status %lu", status);
}

/* ---- TLS ---- */

static DWORD ask_for_page(HINTERNET session, const wchar_t *host)
{
    HINTERNET connection = LATE(WinHttpConnect)(session, host, INTERNET_DEFAULT_HTTPS_PORT, 0);
    HINTERNET request =
        connection == NULL
            ? NULL
            : LATE(WinHttpOpenRequest)(connection, L"HEAD", L"/", NULL, WINHTTP_NO_REFERER,
                                       WINHTTP_DEFAULT_ACCEPT_TYPES, WINHTTP_FLAG_SECURE);
    if (request == NULL ||
        !LATE(WinHttpSendRequest)(request, WINHTTP_NO_ADDITIONAL_HEADERS, 0,
                                  WINHTTP_NO_REQUEST_DATA, 0, 0, 0) ||
        !LATE(WinHttpReceiveResponse)(request, NULL)) {
        return GetLastError();
    }
    return ERROR_SUCCESS;
}

static void try_https(const char *const *arguments, size_t count, struct sbx_reply *reply)
{
    (void)count;
    if (LATE(WinHttpOpen) == NULL) {
        sbx_reply(reply, SBX_ANSWER_ABSENT, "this system has no WinHTTP");
        return;
    }
    HINTERNET session = LATE(WinHttpOpen)(L"sbx-selftest", WINHTTP_ACCESS_TYPE_DEFAULT_PROXY,
                                          WINHTTP_NO_PROXY_NAME, WINHTTP_NO_PROXY_BYPASS, 0);
    if (session != NULL) {
        (void)LATE(WinHttpSetTimeouts)(session, HTTPS_MS, HTTPS_MS, HTTPS_MS, HTTPS_MS);
    }
    DWORD raw =
        session == NULL ? GetLastError() : ask_for_page(session, sbx_attempt_wide(arguments[0]));
    settle(reply, (int)raw, "https", arguments[0]);
}

const struct sbx_attempt sbx_attempts_network[] = {
    {"connect", "PORT", "connects to a port on loopback", 1, try_connect},
    {"connect-to", "HOST PORT", "connects to a host", 2, try_connect_to},
    {"resolve", "HOST", "asks for the address of a name", 1, try_resolve},
    {"serve", "FILE MS", "listens on loopback, writes its port to FILE", 2, try_serve},
    {"each-other", "", "connects two processes on loopback", 0, try_each_other},
    {"https", "HOST", "asks for a page by TLS", 1, try_https},
    SBX_SELFTEST_ALONE,
};
