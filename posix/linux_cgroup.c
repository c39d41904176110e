/* Making a group, its limits and what is read from it. */
#include "posix/linux_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_cgroup_internal.h"

#include "common/base/banned.h"

/* ---- limits ------------------------------------------------------------------------------------ */

enum value { VALUE_MEMORY, VALUE_PROCESSES, VALUE_MEMORY_ZERO, VALUE_MEMORY_ONE };

/* The order matters: memory with swap may not be less than memory without. */
static const struct limit_row {
    enum sbx_cgroup_version version;
    enum sbx_cgroup_controller controller;
    const char *file;
    const char *key; /* of the line to read back; NULL: the whole file */
    enum value value;
    bool may_miss;          /* kernels without swap, or older than the file */
    const char *instead_of; /* only where this file is missing */
} limit_rows[] = {
    {SBX_CGROUP_V2, SBX_CONTROLLER_MEMORY, "memory.max", NULL, VALUE_MEMORY, false, NULL},
    {SBX_CGROUP_V2, SBX_CONTROLLER_MEMORY, "memory.swap.max", NULL, VALUE_MEMORY_ZERO, true, NULL},
    {SBX_CGROUP_V2, SBX_CONTROLLER_MEMORY, "memory.oom.group", NULL, VALUE_MEMORY_ONE, true, NULL},
    {SBX_CGROUP_V2, SBX_CONTROLLER_PIDS, "pids.max", NULL, VALUE_PROCESSES, false, NULL},
    {SBX_CGROUP_V1, SBX_CONTROLLER_MEMORY, "memory.limit_in_bytes", NULL, VALUE_MEMORY, false,
     NULL},
    {SBX_CGROUP_V1, SBX_CONTROLLER_MEMORY, "memory.memsw.limit_in_bytes", NULL, VALUE_MEMORY, true,
     NULL},
    /* In a group 0 means: no swapping, not even when memory is short. */
    {SBX_CGROUP_V1, SBX_CONTROLLER_MEMORY, "memory.swappiness", NULL, VALUE_MEMORY_ZERO, true,
     "memory.memsw.limit_in_bytes"},
    /* Inherited from the group above; a tree that waits for memory instead of dying hangs. */
    {SBX_CGROUP_V1, SBX_CONTROLLER_MEMORY, "memory.oom_control", "oom_kill_disable",
     VALUE_MEMORY_ZERO, true, NULL},
    {SBX_CGROUP_V1, SBX_CONTROLLER_PIDS, "pids.max", NULL, VALUE_PROCESSES, false, NULL},
};

/* The kernel rounds memory down to whole pages, and refuses more processes than it can number. */
static uint64_t memory_value(const struct sbx_cgroup_limits *limits)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t whole = limits->memory_bytes - limits->memory_bytes % page;
    return whole > 0 ? whole : page;
}

static uint64_t process_value(const struct sbx_cgroup_limits *limits)
{
    const uint64_t most = UINT64_C(4) << 20;
    return limits->processes >= most - limits->own_processes
               ? most
               : limits->processes + limits->own_processes;
}

/* False when the row is of a limit that is not asked for. */
static bool row_value(const struct limit_row *row, const struct sbx_cgroup_limits *limits,
                      uint64_t *out)
{
    if (row->value == VALUE_PROCESSES) {
        *out = process_value(limits);
        return limits->processes != 0;
    }
    *out = row->value == VALUE_MEMORY ? memory_value(limits) : row->value == VALUE_MEMORY_ONE;
    return limits->memory_bytes != 0;
}

static const struct sbx_cgroup_place *place_of(const struct sbx_cgroup *group, unsigned controller)
{
    for (size_t i = 0; i < group->place_count; i++) {
        if ((group->place[i].controllers & controller) != 0) {
            return &group->place[i];
        }
    }
    return NULL;
}

static bool is_missing(int dir, const char *name)
{
    return faccessat(dir, name, F_OK, 0) != 0 && errno == ENOENT;
}

/* The place a row is about, or NULL when it is not for this group; the wanted number as text. */
static const struct sbx_cgroup_place *row_place(const struct sbx_cgroup *group,
                                                const struct limit_row *row, char wanted[24])
{
    uint64_t value = 0;
    const struct sbx_cgroup_place *place = place_of(group, (unsigned)row->controller);
    if (row->version != group->version || place == NULL ||
        !row_value(row, &group->limits, &value) ||
        (row->may_miss && is_missing(place->group_fd, row->file)) ||
        (row->instead_of != NULL && !is_missing(place->group_fd, row->instead_of))) {
        return NULL;
    }
    (void)snprintf(wanted, 24, "%" PRIu64, value);
    return place;
}

static void read_row(const struct sbx_cgroup_place *place, const struct limit_row *row,
                     char got[24])
{
    char text[256];
    uint64_t number = 0;
    got[0] = '\0';
    if (row->key != NULL) {
        if (sbx_cgroup_file_number(place->group_fd, row->file, row->key, &number)) {
            (void)snprintf(got, 24, "%" PRIu64, number);
        }
    } else if (sbx_cgroup_file_read(place->group_fd, row->file, text, sizeof text)) {
        (void)snprintf(got, 24, "%.23s", text);
    }
}

bool sbx_cgroup_evidence(const struct sbx_cgroup *group, size_t number, struct sbx_cgroup_item *out)
{
    for (size_t i = 0; i < SBX_COUNT(limit_rows); i++) {
        struct sbx_cgroup_item item = {.file = limit_rows[i].file};
        const struct sbx_cgroup_place *place = row_place(group, &limit_rows[i], item.wanted);
        if (place != NULL && number-- == 0) {
            read_row(place, &limit_rows[i], item.got);
            item.is_equal = strcmp(item.wanted, item.got) == 0;
            *out = item;
            return true;
        }
    }
    return false;
}

static enum sbx_code apply_row(const struct sbx_cgroup *group, const struct limit_row *row,
                               struct sbx_err *err)
{
    char wanted[24];
    char got[24];
    const struct sbx_cgroup_place *place = row_place(group, row, wanted);
    if (place == NULL) {
        return SBX_OK;
    }
    read_row(place, row, got);
    if (strcmp(got, wanted) == 0) {
        return SBX_OK;
    }
    if (!sbx_cgroup_file_write(place->group_fd, row->file, wanted)) {
        int raw = errno;
        return sbx_err_os(err, SBX_E_UNSUPPORTED, SBX_OS_ERRNO, raw, "write",
                          "the control group does not take %s in \"%s\": %s", wanted, row->file,
                          sbx_errno_text(raw));
    }
    read_row(place, row, got);
    if (strcmp(got, wanted) != 0) {
        return sbx_err_set(err, SBX_E_VERIFY, "\"%s\" of the control group is \"%s\", not \"%s\"",
                           row->file, got, wanted);
    }
    return SBX_OK;
}

/* ---- making ------------------------------------------------------------------------------------ */

static void append_name(struct sbx_cgroup_place *place, const char *name)
{
    size_t len = strlen(place->path);
    (void)snprintf(place->path + len, sizeof place->path - len, "%s%s", len == 1 ? "" : "/", name);
}

static void cut_name(struct sbx_cgroup_place *place)
{
    char *slash = strrchr(place->path, '/');
    if (slash != NULL) {
        slash[slash == place->path ? 1 : 0] = '\0';
    }
}

/* A recovering sbx may hold the lock for a moment before it sees that we live. */
static bool lock_for(int fd, unsigned tries)
{
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (tries-- == 0) {
            return false;
        }
        sbx_cgroup_pause(1);
    }
    return true;
}

bool sbx_cgroup_open_part(const struct sbx_cgroup *group, struct sbx_cgroup_place *place,
                          unsigned lock_tries)
{
    AUTO_FD dir = sbx_cgroup_file_open(place->parent_fd, group->name, O_RDONLY | O_DIRECTORY);
    if (dir < 0) {
        return false;
    }
    AUTO_FD procs = sbx_cgroup_file_open(dir, "cgroup.procs", O_WRONLY);
    if (procs < 0 || !lock_for(dir, lock_tries)) {
        return false;
    }
    place->group_fd = SBX_TAKE(dir, -1);
    place->procs_fd = SBX_TAKE(procs, -1);
    append_name(place, group->name);
    return true;
}

static void close_part(struct sbx_cgroup_place *place)
{
    if (place->group_fd >= 0) {
        cut_name(place);
    }
    sbx_fd_close(&place->procs_fd);
    sbx_fd_close(&place->group_fd);
}

static enum sbx_code refused(struct sbx_err *err, int raw, const char *call, const char *path)
{
    return sbx_err_os(err, SBX_E_UNSUPPORTED, SBX_OS_ERRNO, raw, call,
                      "no control group can be made in \"%s\": %s", path, sbx_errno_text(raw));
}

/* Makes the directories of group->name; `*made` of them are there afterwards, also on failure. */
static enum sbx_code make_parts(struct sbx_cgroup *group, size_t *made, struct sbx_err *err)
{
    enum { LOCK_TRIES = 100 };
    for (*made = 0; *made < group->place_count; ++*made) {
        struct sbx_cgroup_place *place = &group->place[*made];
        if (group->kernel->make_dir(place->parent_fd, group->name) != 0) {
            return refused(err, errno, "mkdir", place->path);
        }
        if (!sbx_cgroup_open_part(group, place, LOCK_TRIES)) {
            int raw = errno;
            (void)group->kernel->remove_dir(place->parent_fd, group->name);
            return refused(err, raw, "open", place->path);
        }
    }
    return SBX_OK;
}

static void undo_parts(struct sbx_cgroup *group, size_t made)
{
    for (size_t i = 0; i < made; i++) {
        (void)group->kernel->remove_dir(group->place[i].parent_fd, group->name);
        close_part(&group->place[i]);
    }
    group->name[0] = '\0';
}

enum sbx_code sbx_cgroup_make_at(struct sbx_cgroup *found, const struct sbx_cgroup_limits *limits,
                                 struct sbx_err *err)
{
    enum { NAME_TRIES = 64 };
    if (found->version == SBX_CGROUP_V2 && !sbx_cgroup_hand_down(&found->place[0])) {
        return refused(err, errno, "write", found->place[0].path);
    }
    struct sbx_err failure = {0};
    size_t made = 0;
    enum sbx_code code = SBX_E_INTERNAL;
    /* A name may be taken: by a process of this number in another namespace. */
    for (int i = 0; i < NAME_TRIES; i++) {
        if (!sbx_cgroup_name_next(found->name)) {
            return sbx_err_set(err, SBX_E_UNSUPPORTED,
                               "no control group can be made: /proc does not tell when this "
                               "process was started");
        }
        code = make_parts(found, &made, &failure);
        if (code == SBX_OK || failure.raw != EEXIST) {
            break;
        }
        undo_parts(found, made);
        made = 0;
    }
    found->limits = *limits;
    for (size_t i = 0; code == SBX_OK && i < SBX_COUNT(limit_rows); i++) {
        code = apply_row(found, &limit_rows[i], &failure);
    }
    if (code != SBX_OK) {
        undo_parts(found, made);
        if (err != NULL) {
            *err = failure;
        }
    }
    return code;
}

enum sbx_code sbx_cgroup_make(const struct sbx_cgroup_limits *limits, struct sbx_cgroup *out,
                              struct sbx_err *err)
{
    if (limits->memory_bytes == 0 && limits->processes == 0 && !limits->counts_cpu) {
        *out = (struct sbx_cgroup){0};
        return SBX_OK;
    }
    AUTO_CGROUP found = {0};
    sbx_cgroup_find(&sbx_cgroup_real, SBX_CGROUP_NEED, &found);
    if (found.version == SBX_CGROUP_NONE) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                          "no control group can be made: this session has none that it may divide");
        (void)sbx_err_hint(err, "start a session with delegated controllers: "
                                "systemd-run --user --scope -p Delegate=yes");
        return SBX_E_UNSUPPORTED;
    }
    enum sbx_code code = sbx_cgroup_make_at(&found, limits, err);
    if (code == SBX_OK) {
        *out = SBX_TAKE(found, (struct sbx_cgroup){0});
    }
    return code;
}

/* ---- processes into it ------------------------------------------------------------------------- */

int sbx_cgroup_clone_fd(const struct sbx_cgroup *group)
{
    return group->version == SBX_CGROUP_V2 ? group->place[0].group_fd : -1;
}

bool sbx_cgroup_enter_self(const struct sbx_cgroup *group)
{
    for (size_t i = 0; i < group->place_count; i++) {
        if (!sbx_fd_write_all(group->place[i].procs_fd, "0", 1)) {
            return false;
        }
    }
    return true;
}

/* ---- usage ------------------------------------------------------------------------------------- */

/* Rows of the same field are added up. */
static const struct usage_row {
    enum sbx_cgroup_version version;
    enum sbx_cgroup_controller controller;
    const char *file;
    const char *key;
    size_t field; /* its offset in struct sbx_cgroup_usage */
    uint64_t unit;
} usage_rows[] = {
#define FIELD(name) offsetof(struct sbx_cgroup_usage, name)
    {SBX_CGROUP_V2, SBX_CONTROLLER_CPU, "cpu.stat", "usage_usec", FIELD(cpu_ns), 1000},
    {SBX_CGROUP_V2, SBX_CONTROLLER_MEMORY, "memory.peak", NULL, FIELD(peak_memory_bytes), 1},
    {SBX_CGROUP_V2, SBX_CONTROLLER_MEMORY, "memory.events", "max", FIELD(memory_hits), 1},
    {SBX_CGROUP_V2, SBX_CONTROLLER_MEMORY, "memory.events", "oom_kill", FIELD(oom_kills), 1},
    {SBX_CGROUP_V2, SBX_CONTROLLER_PIDS, "pids.events", "max", FIELD(pids_refused), 1},
    {SBX_CGROUP_V2, SBX_CONTROLLER_PIDS, "pids.peak", NULL, FIELD(peak_processes), 1},
    {SBX_CGROUP_V1, SBX_CONTROLLER_CPU, "cpuacct.usage", NULL, FIELD(cpu_ns), 1},
    {SBX_CGROUP_V1, SBX_CONTROLLER_MEMORY, "memory.max_usage_in_bytes", NULL,
     FIELD(peak_memory_bytes), 1},
    {SBX_CGROUP_V1, SBX_CONTROLLER_MEMORY, "memory.failcnt", NULL, FIELD(memory_hits), 1},
    /* With equal limits it is the one with swap that is reached. */
    {SBX_CGROUP_V1, SBX_CONTROLLER_MEMORY, "memory.memsw.failcnt", NULL, FIELD(memory_hits), 1},
    {SBX_CGROUP_V1, SBX_CONTROLLER_MEMORY, "memory.oom_control", "oom_kill", FIELD(oom_kills), 1},
    {SBX_CGROUP_V1, SBX_CONTROLLER_PIDS, "pids.events", "max", FIELD(pids_refused), 1},
    {SBX_CGROUP_V1, SBX_CONTROLLER_PIDS, "pids.peak", NULL, FIELD(peak_processes), 1},
#undef FIELD
};

static uint64_t count_lines(int dir)
{
    enum { MOST = 1024 }; /* blocks: 4 MiB, more than the kernel has process numbers */
    AUTO_FD fd = sbx_cgroup_file_open(dir, "cgroup.procs", O_RDONLY);
    uint64_t lines = 0;
    char block[4096];
    ssize_t got = 0;
    for (int i = 0; fd >= 0 && i < MOST && (got = sbx_fd_read(fd, block, sizeof block)) > 0; i++) {
        for (ssize_t at = 0; at < got; at++) {
            lines += block[at] == '\n';
        }
    }
    return lines;
}

void sbx_cgroup_usage(const struct sbx_cgroup *group, struct sbx_cgroup_usage *out)
{
    struct sbx_cgroup_usage usage = {0};
    for (size_t i = 0; i < SBX_COUNT(usage_rows); i++) {
        const struct usage_row *row = &usage_rows[i];
        const struct sbx_cgroup_place *place = place_of(group, (unsigned)row->controller);
        uint64_t number = 0;
        if (row->version == group->version && place != NULL &&
            sbx_cgroup_file_number(place->group_fd, row->file, row->key, &number)) {
            uint64_t sum;
            memcpy(&sum, (const char *)&usage + row->field, sizeof sum);
            sum += number * row->unit;
            memcpy((char *)&usage + row->field, &sum, sizeof sum);
        }
    }
    if (group->place_count > 0) {
        usage.processes = count_lines(group->place[0].group_fd);
    }
    *out = usage;
}
