/* Lines of the system's log that tell of refusals. */
#include "posix/macos_denial.h"

#include <string.h>

#include "common/base/banned.h"

#define MESSAGE_MAX 4096

struct word {
    const char *operation;
    enum sbx_operation tried;
};

static const struct word words[] = {
    {"file-read-data", SBX_TRIED_READ},      {"file-read-metadata", SBX_TRIED_READ},
    {"file-read-xattr", SBX_TRIED_READ},     {"file-test-existence", SBX_TRIED_READ},
    {"file-write-data", SBX_TRIED_WRITE},    {"file-write-create", SBX_TRIED_CREATE},
    {"file-write-unlink", SBX_TRIED_REMOVE}, {"file-write-mode", SBX_TRIED_MODE},
    {"file-write-owner", SBX_TRIED_MODE},    {"file-write-times", SBX_TRIED_MODE},
    {"file-write-xattr", SBX_TRIED_MODE},    {"file-write-flags", SBX_TRIED_MODE},
    {"file-write-setugid", SBX_TRIED_MODE},  {"file-link", SBX_TRIED_LINK},
    {"process-exec", SBX_TRIED_EXECUTE},     {"process-exec*", SBX_TRIED_EXECUTE},
    {"network-outbound", SBX_TRIED_CONNECT},
};

/* What every program does at its start, and no one misses. */
static const char *const noise[] = {"/dev/dtracehelper", "/private/var/run/mDNSResponder"};

/* Where the value of a key begins; the key is searched as it is written, so not inside of a string: its quotes
 * would be escaped there. */
static const char *value_of(struct sbx_str line, const char *key)
{
    size_t len = strlen(key);
    for (size_t at = 0; at + len < line.len; at++) {
        if (memcmp(line.ptr + at, key, len) == 0) {
            return line.ptr + at + len;
        }
    }
    return NULL;
}

/* A JSON string without its quotes, unescaped as far as paths need; false when it does not end. */
static bool take_string(const char *at, const char *end, char *out, size_t size)
{
    size_t len = 0;
    for (; at < end && *at != '"'; at++) {
        char c = *at;
        if (c == '\\') {
            at++;
            if (at == end) {
                return false;
            }
            c = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at;
        }
        if (len + 1 < size) {
            out[len++] = c;
        }
    }
    out[len] = '\0';
    return at < end;
}

/* "Sandbox: name(123) deny(1) operation path": what follows the verdict. */
static const char *behind_verdict(const char *message)
{
    const char *verdict = strstr(message, ") deny(");
    const char *close = verdict == NULL ? NULL : strchr(verdict + 7, ')');
    return strncmp(message, "Sandbox: ", 9) != 0 || close == NULL || close[1] != ' ' ? NULL
                                                                                     : close + 2;
}

static bool is_noise(const char *path)
{
    for (size_t i = 0; i < SBX_COUNT(noise); i++) {
        if (strcmp(path, noise[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_event(const char *text, struct sbx_macos_denial *out)
{
    size_t word = strcspn(text, " \n");
    for (size_t i = 0; i < SBX_COUNT(words); i++) {
        if (strlen(words[i].operation) != word || memcmp(text, words[i].operation, word) != 0) {
            continue;
        }
        const char *path = text + word + (text[word] == ' ' ? 1 : 0);
        size_t len = strcspn(path, "\n");
        if (path[0] != '/' || len > SBX_DENIAL_PATH_MAX) {
            return false;
        }
        out->operation = words[i].tried;
        memcpy(out->path, path, len);
        out->path[len] = '\0';
        return !is_noise(out->path);
    }
    return false;
}

bool sbx_macos_denial_read(struct sbx_str line, const char *tag, struct sbx_macos_denial *out)
{
    char message[MESSAGE_MAX];
    const char *end = line.ptr + line.len;
    const char *process = value_of(line, "\"processID\":");
    const char *sender = value_of(line, "\"senderImagePath\":\"");
    const char *text = value_of(line, "\"eventMessage\":\"");
    char image[256];
    if (process == NULL || sender == NULL || text == NULL || process + 1 >= end ||
        process[0] != '0' || process[1] != ',' || !take_string(sender, end, image, sizeof image) ||
        strstr(image, "Sandbox") == NULL || !take_string(text, end, message, sizeof message) ||
        strstr(message, tag) == NULL) {
        return false;
    }
    const char *event = behind_verdict(message);
    struct sbx_macos_denial made = {0};
    if (event == NULL || !read_event(event, &made)) {
        return false;
    }
    *out = made;
    return true;
}
