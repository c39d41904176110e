/* Names of groups, and what dead sbx left behind. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/linux_process.h"
#include "posix/fd.h"
#include "posix/linux_cgroup_internal.h"

#include "common/base/banned.h"

/* ---- names ------------------------------------------------------------------------------------- */

#define PREFIX "sbx-"

bool sbx_cgroup_name_next(char out[SBX_CGROUP_NAME_MAX])
{
    static atomic_uint sequence;
    uint64_t start = 0;
    if (!sbx_process_start(getpid(), &start)) {
        return false;
    }
    (void)snprintf(out, SBX_CGROUP_NAME_MAX, PREFIX "%d-%" PRIu64 "-%u", (int)getpid(), start,
                   atomic_fetch_add(&sequence, 1));
    return true;
}

struct owner {
    pid_t pid;
    uint64_t start;
};

/* Exactly what name_next writes, or it is not ours. */
static bool parse_name(const char *name, struct owner *out)
{
    uint64_t pid = 0;
    uint64_t start = 0;
    uint64_t number = 0;
    struct sbx_str text = sbx_str(name);
    struct sbx_str field = {NULL, 0};
    char again[SBX_CGROUP_NAME_MAX];
    if (!sbx_str_starts(text, PREFIX)) {
        return false;
    }
    text.ptr += sizeof PREFIX - 1;
    text.len -= sizeof PREFIX - 1;
    if (!sbx_str_split(text, '-', &field, &text) || !sbx_str_to_u64(field, &pid) ||
        !sbx_str_split(text, '-', &field, &text) || !sbx_str_to_u64(field, &start) ||
        !sbx_str_to_u64(text, &number) || pid == 0 || pid > INT32_MAX || start == 0) {
        return false;
    }
    (void)snprintf(again, sizeof again, PREFIX "%" PRIu64 "-%" PRIu64 "-%" PRIu64, pid, start,
                   number);
    *out = (struct owner){(pid_t)pid, start};
    return strcmp(name, again) == 0;
}

/* ---- recovery ---------------------------------------------------------------------------------- */

enum { LOOK_AT_MOST = 4096, RECOVER_AT_MOST = 16, RECOVER_MS = 3000 };

struct work {
    const struct sbx_cgroup *found;
    unsigned looked_at;
    unsigned recovered;
    uint64_t begin_ms;
};

static bool is_over(const struct work *work)
{
    return work->looked_at >= LOOK_AT_MOST || work->recovered >= RECOVER_AT_MOST ||
           sbx_cgroup_clock_ms() - work->begin_ms >= RECOVER_MS;
}

static bool is_ours(int parent_fd, const char *name)
{
    struct stat about = {0};
    return fstatat(parent_fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(about.st_mode) &&
           about.st_uid == geteuid();
}

/* Takes the parts of the group that are there. Only its lock makes it ours: another sbx may be
 * recovering it, or a process that its owner left in charge of it. */
static void recover(struct work *work, const char *name)
{
    struct sbx_cgroup group = *work->found;
    (void)snprintf(group.name, sizeof group.name, "%s", name);
    group.place_count = 0;
    bool is_taken = true;
    for (size_t i = 0; is_taken && i < work->found->place_count; i++) {
        struct sbx_cgroup_place place = work->found->place[i];
        if (!is_ours(place.parent_fd, name)) {
            continue;
        }
        is_taken = sbx_cgroup_open_part(&group, &place, 0);
        if (is_taken) {
            group.place[group.place_count++] = place;
        }
    }
    if (is_taken && group.place_count > 0) {
        (void)sbx_cgroup_kill(&group);
        (void)sbx_cgroup_remove(&group);
        work->recovered++;
    }
    for (size_t i = 0; i < group.place_count; i++) {
        group.place[i].parent_fd = -1; /* the finder's */
    }
    sbx_cgroup_release(&group);
}

static void recover_place(struct work *work, const struct sbx_cgroup_place *place)
{
    /* Another open description, so that its position is our own. */
    AUTO_FD dir = sbx_cgroup_file_open(place->parent_fd, ".", O_RDONLY | O_DIRECTORY);
    /* getdents64 rather than readdir, which allocates. Offsets: the kernel's struct linux_dirent64. */
    enum { LENGTH_AT = 16, NAME_AT = 19 };
    char block[8192];
    long got;
    while (dir >= 0 && !is_over(work) &&
           (got = syscall(SYS_getdents64, dir, block, sizeof block)) > 0) {
        unsigned short length;
        for (long at = 0; at < got && !is_over(work); at += length) {
            struct owner owner = {0};
            const char *name = block + at + NAME_AT;
            memcpy(&length, block + at + LENGTH_AT, sizeof length);
            work->looked_at++;
            if (parse_name(name, &owner) && is_ours(place->parent_fd, name) &&
                sbx_process_is_dead(owner.pid, owner.start)) {
                recover(work, name);
            }
        }
    }
}

void sbx_cgroup_recover_at(const struct sbx_cgroup *found)
{
    struct work work = {.found = found, .begin_ms = sbx_cgroup_clock_ms()};
    for (size_t i = 0; i < found->place_count; i++) {
        recover_place(&work, &found->place[i]);
    }
}

void sbx_cgroup_recover(void)
{
    AUTO_CGROUP found = {0};
    sbx_cgroup_find(&sbx_cgroup_real, SBX_CGROUP_NEED, &found);
    sbx_cgroup_recover_at(&found);
}
