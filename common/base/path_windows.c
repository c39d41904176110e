/* Windows path rules: which roots and names are refused because Windows reads them in another way
 * than they look. */
#include "common/base/path_internal.h"

#include "common/base/attr.h"
#include "common/base/utf8.h"

#include "common/base/banned.h"

#define SHORT_BASE_MAX 8
#define SHORT_EXTENSION_MAX 3

static bool is_separator(char c)
{
    return c == '\\' || c == '/';
}

static bool is_separator_at(struct sbx_str text, size_t at)
{
    return at < text.len && is_separator(text.ptr[at]);
}

/* "\\.\", "\\?\" and "\??\" reach the object manager, past every other rule of this file; "\\."
 * and "\\?" alone open the same door. Win32 takes either separator in all of them. */
static bool is_device_root(struct sbx_str text)
{
    if (text.len < 3 || !is_separator(text.ptr[0])) {
        return false;
    }
    bool ends = text.len == 3 || is_separator(text.ptr[3]);
    bool dot_or_mark = text.ptr[2] == '.' || text.ptr[2] == '?';
    if (is_separator(text.ptr[1])) {
        return dot_or_mark && ends;
    }
    return text.ptr[1] == '?' && text.ptr[2] == '?' && ends;
}

enum sbx_path_problem sbx_path_windows_root(struct sbx_str text)
{
    if (is_device_root(text)) {
        return SBX_PATH_DEVICE;
    }
    if (is_separator_at(text, 0) && is_separator_at(text, 1)) {
        return SBX_PATH_UNC;
    }
    /* Win32 takes any character before the colon as a drive; only letters are real ones. */
    if (text.len < 3 || !sbx_is_alpha(text.ptr[0]) || text.ptr[1] != ':' ||
        !is_separator(text.ptr[2])) {
        return SBX_PATH_NOT_ABSOLUTE;
    }
    return SBX_PATH_OK;
}

static enum sbx_path_problem check_characters(struct sbx_str name, bool is_glob)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (c == ':') {
            return SBX_PATH_STREAM;
        }
        /* < > and " are wildcards of the file system itself. */
        bool reserved = c == '<' || c == '>' || c == '"' || c == '|';
        if (reserved || (!is_glob && (c == '*' || c == '?'))) {
            return SBX_PATH_RESERVED_CHAR;
        }
    }
    return SBX_PATH_OK;
}

/* 0 to 9, and the superscripts 1 to 3, which Windows takes for digits here. */
static bool is_port_number(struct sbx_str text)
{
    return (text.len == 1 && sbx_is_digit(text.ptr[0])) || sbx_str_is(text, "\xc2\xb9") ||
           sbx_str_is(text, "\xc2\xb2") || sbx_str_is(text, "\xc2\xb3");
}

/* A device stays a device with any extension and with spaces before it: "nul .txt". Windows 11 lets
 * some of these through; older ones do not, and a plan is made for both. */
static bool is_device_name(struct sbx_str name)
{
    static const char *const devices[] = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"};

    struct sbx_str base;
    struct sbx_str extension;
    (void)sbx_str_split(name, '.', &base, &extension);
    while (base.len > 0 && base.ptr[base.len - 1] == ' ') {
        base.len--;
    }
    for (size_t i = 0; i < SBX_COUNT(devices); i++) {
        if (sbx_str_is_nocase(base, devices[i])) {
            return true;
        }
    }
    if (base.len < 4) {
        return false;
    }
    struct sbx_str port = {base.ptr, 3};
    struct sbx_str number = {base.ptr + 3, base.len - 3};
    return (sbx_str_is_nocase(port, "COM") || sbx_str_is_nocase(port, "LPT")) &&
           is_port_number(number);
}

/* Could it be the name NTFS or FAT made up for a longer one: PROGRA~1, A1B2~34.TXT? */
static bool is_short_name(struct sbx_str name)
{
    struct sbx_str base;
    struct sbx_str extension;
    (void)sbx_str_split(name, '.', &base, &extension);
    if (sbx_str_contains(extension, ".") || sbx_utf8_count(base.ptr, base.len) > SHORT_BASE_MAX ||
        sbx_utf8_count(extension.ptr, extension.len) > SHORT_EXTENSION_MAX) {
        return false;
    }
    size_t end = base.len;
    while (end > 0 && sbx_is_digit(base.ptr[end - 1])) {
        end--;
    }
    return end < base.len && end > 0 && base.ptr[end - 1] == '~';
}

enum sbx_path_problem sbx_path_windows_name(struct sbx_str name, bool is_first, bool is_glob)
{
    (void)is_first;
    enum sbx_path_problem problem = check_characters(name, is_glob);
    if (problem != SBX_PATH_OK) {
        return problem;
    }
    /* Win32 drops these, so that "secret." and "secret" are one file and "... " is "..". */
    char last = name.ptr[name.len - 1];
    if (last == '.' || last == ' ') {
        return SBX_PATH_TRAILING;
    }
    if (is_device_name(name)) {
        return SBX_PATH_DEVICE;
    }
    return is_short_name(name) ? SBX_PATH_SHORT_NAME : SBX_PATH_OK;
}
