/* The mounts of a process as the kernel lists them. */
#include "posix/linux_mountinfo.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

enum { MOUNTINFO_FIRST = 16 << 10, MOUNTINFO_MAX = 4 << 20 };

/* "\040" and the like, in place. */
static void unescape(char *text)
{
    char *out = strchr(text, '\\');
    if (out == NULL) {
        return;
    }
    for (const char *in = out; *in != '\0';) {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] != '\0' && in[3] != '\0') {
            *out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out++ = *in++;
        }
    }
    *out = '\0';
}

/* The next word of a line, with a NUL behind it; NULL at its end. */
static char *next_word(char **rest)
{
    char *word = *rest;
    while (*word == ' ') {
        word++;
    }
    char *end = word;
    while (*end != ' ' && *end != '\0') {
        end++;
    }
    *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return end == word ? NULL : word;
}

static bool to_number(const char *text, char end, uint64_t most, uint64_t *out)
{
    uint64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && number <= most; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    *out = number;
    return at != text && *at == end && number <= most;
}

static bool to_device(const char *text, struct sbx_mountinfo *out)
{
    uint64_t major;
    uint64_t minor;
    const char *colon = strchr(text, ':');
    if (colon == NULL || !to_number(text, ':', UINT32_MAX, &major) ||
        !to_number(colon + 1, '\0', UINT32_MAX, &minor)) {
        return false;
    }
    out->major = (unsigned)major;
    out->minor = (unsigned)minor;
    return true;
}

enum option { READ_ONLY = 1, NO_SET_ID = 2, NO_DEVICES = 4 };

static unsigned read_options(const char *options)
{
    static const struct {
        const char *name;
        size_t len;
        enum option bit;
    } rows[] = {{"ro", 2, READ_ONLY}, {"nosuid", 6, NO_SET_ID}, {"nodev", 5, NO_DEVICES}};
    unsigned bits = 0;
    for (const char *end = options;; options = ++end) {
        while (*end != ',' && *end != '\0') {
            end++;
        }
        for (size_t i = 0; i < SBX_COUNT(rows); i++) {
            if ((size_t)(end - options) == rows[i].len &&
                memcmp(options, rows[i].name, rows[i].len) == 0) {
                bits |= rows[i].bit;
            }
        }
        if (*end == '\0') {
            return bits;
        }
    }
}

/* id parent device root PLACE OPTIONS optional… - KIND source super-options. A source may be empty: then two
 * spaces follow each other, so the super options are the last word. */
static bool parse(char *text, struct sbx_mountinfo *out)
{
    char *field[6];
    char *rest = text;
    for (size_t i = 0; i < SBX_COUNT(field); i++) {
        field[i] = next_word(&rest);
        if (field[i] == NULL) {
            return false;
        }
    }
    char *word;
    while ((word = next_word(&rest)) != NULL && strcmp(word, "-") != 0) {
        out->is_shared |= strncmp(word, "shared:", 7) == 0;
    }
    out->kind = word == NULL ? NULL : next_word(&rest);
    const char *super = NULL;
    while (out->kind != NULL && (word = next_word(&rest)) != NULL) {
        super = word;
    }
    if (out->kind == NULL || super == NULL || !to_number(field[0], '\0', UINT32_MAX, &out->id) ||
        !to_number(field[1], '\0', UINT32_MAX, &out->parent) || !to_device(field[2], out)) {
        return false;
    }
    unescape(field[3]);
    unescape(field[4]);
    out->root = field[3];
    out->place = field[4];
    unsigned options = read_options(field[5]);
    out->is_read_only = ((options | read_options(super)) & READ_ONLY) != 0;
    out->no_set_id = (options & NO_SET_ID) != 0;
    out->no_devices = (options & NO_DEVICES) != 0;
    return true;
}

bool sbx_mountinfo_parse(struct sbx_arena *arena, char *text, struct sbx_mountinfo_list *out)
{
    for (char *end; *text != '\0'; text = end) {
        end = strchr(text, '\n');
        if (end == NULL) {
            end = text + strlen(text);
        } else {
            *end++ = '\0';
        }
        if (*text == '\0') {
            continue;
        }
        struct sbx_mountinfo *line = (struct sbx_mountinfo *)sbx_arena_push(
            arena, &out->items, &out->count, &out->capacity, sizeof *line);
        if (line == NULL || !parse(text, line)) {
            return false;
        }
    }
    return out->count > 0;
}

/* All of it with a NUL behind it; NULL when that cannot be had. */
static char *read_whole(struct sbx_arena *arena, int fd)
{
    size_t size = MOUNTINFO_FIRST;
    size_t have = 0;
    char *text = SBX_NEW_ARRAY(arena, char, size);
    ssize_t got = 1;
    while (text != NULL && (got = sbx_fd_read(fd, text + have, size - 1 - have)) > 0) {
        have += (size_t)got;
        if (have == size - 1) { /* more than fits: a larger one, and the start again in it */
            char *larger = size >= MOUNTINFO_MAX ? NULL : SBX_NEW_ARRAY(arena, char, size * 4);
            if (larger != NULL) {
                memcpy(larger, text, have);
            }
            text = larger;
            size *= 4;
        }
    }
    if (text == NULL || got < 0) {
        return NULL;
    }
    text[have] = '\0';
    return text;
}

bool sbx_mountinfo_read(struct sbx_arena *arena, int proc_dir, struct sbx_mountinfo_list *out)
{
    AUTO_FD fd = proc_dir < 0 ? -1 : openat(proc_dir, "mountinfo", O_RDONLY | O_CLOEXEC);
    char *text = fd < 0 ? NULL : read_whole(arena, fd);
    return text != NULL && sbx_mountinfo_parse(arena, text, out);
}
