/* Small files of control groups and of /proc: no allocation, no symbolic link followed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_cgroup_internal.h"

#include "common/base/banned.h"

const struct sbx_controller_name sbx_controller_names[SBX_CGROUP_PLACES] = {
    {SBX_CONTROLLER_MEMORY, "memory", "memory"},
    {SBX_CONTROLLER_PIDS, "pids", "pids"},
    {SBX_CONTROLLER_CPU, "cpuacct", NULL},
    {SBX_CONTROLLER_FREEZER, "freezer", NULL},
};

int sbx_cgroup_file_open(int dir, const char *name, int flags)
{
    return openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

bool sbx_cgroup_file_read(int dir, const char *name, char *out, size_t size)
{
    AUTO_FD fd = sbx_cgroup_file_open(dir, name, O_RDONLY);
    if (fd < 0) {
        return false;
    }
    size_t len = 0;
    ssize_t got = 0;
    while (len < size && (got = sbx_fd_read(fd, out + len, size - len)) > 0) {
        len += (size_t)got;
    }
    if (got < 0 || len == size) {
        return false;
    }
    out[len > 0 && out[len - 1] == '\n' ? len - 1 : len] = '\0';
    return true;
}

bool sbx_cgroup_file_write(int dir, const char *name, const char *text)
{
    AUTO_FD fd = sbx_cgroup_file_open(dir, name, O_WRONLY | O_TRUNC);
    return fd >= 0 && sbx_fd_write_all(fd, text, strlen(text));
}

bool sbx_cgroup_file_number(int dir, const char *name, const char *key, uint64_t *out)
{
    char text[SBX_CGROUP_TEXT];
    if (!sbx_cgroup_file_read(dir, name, text, sizeof text)) {
        return false;
    }
    struct sbx_str lines = sbx_str(text);
    if (key == NULL) {
        return sbx_str_to_u64(lines, out);
    }
    while (lines.len > 0) {
        struct sbx_str line;
        struct sbx_str word;
        (void)sbx_str_split(lines, '\n', &line, &lines);
        if (sbx_str_split(line, ' ', &word, &line) && sbx_str_is(word, key)) {
            return sbx_str_to_u64(line, out);
        }
    }
    return false;
}

bool sbx_cgroup_has_word(struct sbx_str list, char separator, const char *word)
{
    while (list.len > 0) {
        struct sbx_str head;
        (void)sbx_str_split(list, separator, &head, &list);
        if (sbx_str_is(head, word)) {
            return true;
        }
    }
    return false;
}

bool sbx_cgroup_path_in(struct sbx_str lines, const char *controller, struct sbx_str *out)
{
    while (lines.len > 0) {
        struct sbx_str line;
        struct sbx_str id;
        struct sbx_str controllers;
        struct sbx_str path;
        (void)sbx_str_split(lines, '\n', &line, &lines);
        if (!sbx_str_split(line, ':', &id, &line) ||
            !sbx_str_split(line, ':', &controllers, &path)) {
            continue;
        }
        if (*controller == '\0' ? controllers.len == 0
                                : sbx_cgroup_has_word(controllers, ',', controller)) {
            *out = path;
            return true;
        }
    }
    return false;
}

/* Any controller of the place names its hierarchy. */
static const char *hierarchy_of(const struct sbx_cgroup *group,
                                const struct sbx_cgroup_place *place)
{
    for (size_t i = 0; group->version == SBX_CGROUP_V1 && i < SBX_COUNT(sbx_controller_names);
         i++) {
        if ((place->controllers & (unsigned)sbx_controller_names[i].bit) != 0) {
            return sbx_controller_names[i].v1;
        }
    }
    return "";
}

bool sbx_cgroup_place_holds(const struct sbx_cgroup *group, const struct sbx_cgroup_place *place,
                            pid_t pid)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/%d/cgroup", (int)pid);
    char text[4 * SBX_CGROUP_TEXT];
    struct sbx_str path = {NULL, 0};
    return sbx_cgroup_file_read(AT_FDCWD, name, text, sizeof text) &&
           sbx_cgroup_path_in(sbx_str(text), hierarchy_of(group, place), &path) &&
           sbx_str_is(path, place->path);
}

bool sbx_cgroup_holds(const struct sbx_cgroup *group, pid_t pid)
{
    for (size_t i = 0; i < group->place_count; i++) {
        if (!sbx_cgroup_place_holds(group, &group->place[i], pid)) {
            return false;
        }
    }
    return true;
}

void sbx_cgroup_pause(unsigned milliseconds)
{
    struct timespec left = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000L};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

uint64_t sbx_cgroup_clock_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}
