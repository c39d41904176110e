/* The mounts of a process as the kernel lists them. */
#include "posix/linux_mountinfo.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "posix/fd.h"

#include "common/base/banned.h"

enum { MOUNTINFO_MAX = 4 << 20 };

/* "\040" and the like, in place. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in != '\0';) {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] != '\0' && in[3] != '\0') {
            *out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out++ = *in++;
        }
    }
    *out = '\0';
}

static bool has_option(const char *options, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = options; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0')) {
            return true;
        }
    }
    return false;
}

/* id parent device root PLACE OPTIONS optional… - KIND source super-options. A source may be empty: then two
 * spaces follow each other, so the super options are the last word. */
static bool parse(char *text, struct sbx_mountinfo *out)
{
    char *field[6];
    char *rest = NULL;
    char *word = strtok_r(text, " ", &rest);
    for (size_t i = 0; i < SBX_COUNT(field); i++) {
        if (word == NULL) {
            return false;
        }
        field[i] = word;
        word = strtok_r(NULL, " ", &rest);
    }
    *out = (struct sbx_mountinfo){0};
    while (word != NULL && strcmp(word, "-") != 0) {
        out->is_shared |= strncmp(word, "shared:", 7) == 0;
        word = strtok_r(NULL, " ", &rest);
    }
    out->kind = strtok_r(NULL, " ", &rest);
    const char *super = NULL;
    while (out->kind != NULL && (word = strtok_r(NULL, " ", &rest)) != NULL) {
        super = word;
    }
    char *minor = strchr(field[2], ':');
    if (out->kind == NULL || super == NULL || minor == NULL) {
        return false;
    }
    out->id = strtoul(field[0], NULL, 10);
    out->parent = strtoul(field[1], NULL, 10);
    out->major = (unsigned)strtoul(field[2], NULL, 10);
    out->minor = (unsigned)strtoul(minor + 1, NULL, 10);
    unescape(field[3]);
    unescape(field[4]);
    out->root = field[3];
    out->place = field[4];
    out->is_read_only = has_option(field[5], "ro") || has_option(super, "ro");
    out->no_set_id = has_option(field[5], "nosuid");
    out->no_devices = has_option(field[5], "nodev");
    return true;
}

bool sbx_mountinfo_parse(struct sbx_arena *arena, char *text, struct sbx_mountinfo_list *out)
{
    char *rest = NULL;
    for (char *row = strtok_r(text, "\n", &rest); row != NULL; row = strtok_r(NULL, "\n", &rest)) {
        struct sbx_mountinfo *line = (struct sbx_mountinfo *)sbx_arena_push(
            arena, &out->items, &out->count, &out->capacity, sizeof *line);
        if (line == NULL || !parse(row, line)) {
            return false;
        }
    }
    return out->count > 0;
}

bool sbx_mountinfo_read(struct sbx_arena *arena, pid_t pid, struct sbx_mountinfo_list *out)
{
    char path[64];
    AUTO_BUF text;
    sbx_buf_init(&text, MOUNTINFO_MAX);
    (void)snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)pid);
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    char block[16384];
    ssize_t got = fd < 0 ? -1 : 0;
    while (fd >= 0 && (got = sbx_fd_read(fd, block, sizeof block)) > 0) {
        sbx_buf_add(&text, block, (size_t)got);
    }
    char *copy =
        got < 0 || text.failed ? NULL : sbx_arena_copy(arena, sbx_buf_text(&text), text.len);
    return copy != NULL && sbx_mountinfo_parse(arena, copy, out);
}

struct sbx_mountinfo *sbx_mountinfo_at(const struct sbx_mountinfo_list *list, const char *place)
{
    for (size_t i = list->count; i-- > 0;) {
        if (strcmp(list->items[i].place, place) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

bool sbx_mountinfo_is_within(const char *outer, const char *inner)
{
    size_t len = strlen(outer);
    return len == 1 ||
           (strncmp(outer, inner, len) == 0 && (inner[len] == '/' || inner[len] == '\0'));
}

bool sbx_mountinfo_is_hidden(const struct sbx_mountinfo_list *list,
                             const struct sbx_mountinfo *line)
{
    enum { DEEPEST = 64 };
    const struct sbx_mountinfo *below = NULL;
    for (int depth = 0; depth < DEEPEST; depth++) {
        const struct sbx_mountinfo *parent = NULL;
        for (size_t i = 0; i < list->count; i++) {
            const struct sbx_mountinfo *other = &list->items[i];
            bool covers = other->parent == line->id && strcmp(other->place, line->place) == 0;
            bool is_between = other != line && other->parent == line->parent &&
                              sbx_mountinfo_is_within(other->place, line->place) &&
                              strcmp(other->place, "/") != 0;
            if (other->id != line->id && other != below && (covers || is_between)) {
                return true;
            }
            if (other->id == line->parent && other->id != line->id) {
                parent = other;
            }
        }
        if (parent == NULL) {
            return false;
        }
        /* What lies over the root of the parent is the way that was come, when it is stacked on it. */
        below = line;
        line = parent;
    }
    return false;
}
