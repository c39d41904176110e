/* Writing to the standard streams: bytes to files and pipes, UTF-16 to a console. */
#include <windows.h>

#include <string.h>

#include "common/base/buf.h"
#include "common/base/utf8.h"
#include "common/os.h"
#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

#ifndef ENABLE_VIRTUAL_TERMINAL_PROCESSING
#define ENABLE_VIRTUAL_TERMINAL_PROCESSING 0x0004
#endif

static HANDLE handle_of(enum sbx_stream stream)
{
    switch (stream) {
    case SBX_STDIN:
        return GetStdHandle(STD_INPUT_HANDLE);
    case SBX_STDOUT:
        return GetStdHandle(STD_OUTPUT_HANDLE);
    case SBX_STDERR:
        return GetStdHandle(STD_ERROR_HANDLE);
    }
    return NULL;
}

bool sbx_os_is_terminal(enum sbx_stream stream)
{
    DWORD mode;
    HANDLE handle = handle_of(stream);
    return sbx_handle_is_open(handle) && GetConsoleMode(handle, &mode);
}

bool sbx_os_terminal_colours(enum sbx_stream stream)
{
    DWORD mode;
    HANDLE handle = handle_of(stream);
    return sbx_handle_is_open(handle) && GetConsoleMode(handle, &mode) &&
           ((mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0 ||
            SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING));
}

/* A console takes text, whatever its code page. Bytes that are no text show as U+FFFD. */
static bool write_console(HANDLE console, const char *bytes, size_t len)
{
    enum { BLOCK = 4096 };
    wchar_t block[BLOCK + 1];
    for (size_t at = 0; at < len;) {
        DWORD units = 0;
        while (at < len && units < BLOCK) {
            uint32_t character;
            size_t used = sbx_utf8_decode(bytes + at, len - at, &character);
            if (used == 0) {
                used = 1;
                character = 0xfffd;
            }
            at += used;
            if (character >= 0x10000) {
                character -= 0x10000;
                block[units++] = (wchar_t)(0xd800 + (character >> 10));
                character = 0xdc00 + (character & 0x3ff);
            }
            block[units++] = (wchar_t)character;
        }
        for (DWORD done = 0, put; done < units; done += put) {
            if (!WriteConsoleW(console, block + done, units - done, &put, NULL)) {
                return false;
            }
        }
    }
    return true;
}

static bool write_bytes(HANDLE file, const char *bytes, size_t len)
{
    while (len > 0) {
        DWORD part = len > 65536 ? 65536 : (DWORD)len;
        DWORD put;
        if (!WriteFile(file, bytes, part, &put, NULL)) {
            return false;
        }
        if (put == 0) {
            Sleep(1); /* a full pipe that somebody made non-blocking */
        }
        bytes += put;
        len -= put;
    }
    return true;
}

enum sbx_code sbx_os_write(enum sbx_stream stream, const char *bytes, size_t len,
                           struct sbx_err *err)
{
    HANDLE handle = handle_of(stream);
    if (!sbx_handle_is_open(handle)) {
        return sbx_err_set(err, SBX_E_INVALID, "standard stream %d is closed", (int)stream);
    }
    bool is_console = sbx_os_is_terminal(stream);
    if (is_console ? !write_console(handle, bytes, len) : !write_bytes(handle, bytes, len)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, is_console ? "WriteConsoleW" : "WriteFile",
                             "cannot write to standard stream %d", (int)stream);
    }
    return SBX_OK;
}

/* ---- inherited descriptors ------------------------------------------------------------------------ */

/* What a parent passes for its C runtime: a count, a byte of flags for each descriptor, then the handles. */
static HANDLE inherited(int fd)
{
    STARTUPINFOW info = {.cb = sizeof info};
    DWORD count = 0;
    HANDLE handle = NULL;
    GetStartupInfoW(&info);
    const BYTE *bytes = info.lpReserved2;
    if (bytes == NULL || info.cbReserved2 < sizeof count) {
        return NULL;
    }
    memcpy(&count, bytes, sizeof count);
    size_t each = 1 + sizeof handle;
    if (fd < 3 || (DWORD)fd >= count || count > (info.cbReserved2 - sizeof count) / each) {
        return NULL;
    }
    memcpy(&handle, bytes + sizeof count + count + (size_t)fd * sizeof handle, sizeof handle);
    return sbx_handle_is_open(handle) ? handle : NULL;
}

static enum sbx_code no_descriptor(int fd, struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "descriptor %d was not passed to sbx", fd);
    return sbx_err_hint(err, "use 1 or 2, or write to a file");
}

enum sbx_code sbx_os_write_fd(int fd, const char *bytes, size_t len, struct sbx_err *err)
{
    if (fd == 1 || fd == 2) {
        return sbx_os_write(fd == 1 ? SBX_STDOUT : SBX_STDERR, bytes, len, err);
    }
    HANDLE file = inherited(fd);
    if (file == NULL) {
        return no_descriptor(fd, err);
    }
    if (!write_bytes(file, bytes, len)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "WriteFile", "cannot write to descriptor %d", fd);
    }
    return SBX_OK;
}

enum sbx_code sbx_os_read_fd(struct sbx_arena *arena, int fd, size_t max_bytes, struct sbx_str *out,
                             struct sbx_err *err)
{
    AUTO_BUF all;
    char block[16384];
    DWORD got = 0;
    HANDLE file = inherited(fd);
    if (file == NULL) {
        return no_descriptor(fd, err);
    }
    sbx_buf_init(&all, max_bytes);
    while (ReadFile(file, block, sizeof block, &got, NULL) && got > 0) {
        sbx_buf_add(&all, block, got);
    }
    DWORD raw = GetLastError();
    if (got > 0 || (raw != ERROR_BROKEN_PIPE && raw != ERROR_HANDLE_EOF && raw != NO_ERROR)) {
        return sbx_err_win32(err, raw, "ReadFile", "cannot read from descriptor %d", fd);
    }
    enum sbx_code code = sbx_buf_check(&all, err);
    const char *copy = code == SBX_OK ? sbx_arena_copy(arena, sbx_buf_text(&all), all.len) : NULL;
    if (code != SBX_OK || copy == NULL) {
        return code != SBX_OK ? code : sbx_err_nomem(err);
    }
    *out = (struct sbx_str){copy, all.len};
    return SBX_OK;
}

/* ---- a parent that attends ------------------------------------------------------------------------ */

/* The parent's job ends this process when the parent does. */
bool sbx_os_end_with_parent(int fd)
{
    (void)fd;
    return true;
}

enum sbx_code sbx_os_share_network(int user_fd, int net_fd, struct sbx_err *err)
{
    (void)user_fd;
    (void)net_fd;
    return sbx_err_set(err, SBX_E_UNSUPPORTED, "boxes cannot share a network on Windows");
}
