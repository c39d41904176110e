/* Changes of mode, owner and times on behalf of the box, where Landlock decides about files: it does not look at them.
 * They are carried out here for what lies in a writable place, and refused elsewhere. */
#include <linux/fcntl.h>
#include <linux/time_types.h>
#include <stddef.h>

#include "posix/init/broker.h"
#include "posix/init/change.h"
#include "posix/init/sys.h"
#include "posix/init/text.h"

#include "common/base/banned.h"

enum { NOT_PERMITTED = -1, FAULT = -14, INVALID = -22 };

/* Holds the file that a path or a number of the asking process means; a negative errno. */
static long hold(const struct call *call, int32_t base, uint64_t path, uint64_t flags)
{
    static char text[PATH_BYTES];
    static struct spot spot;
    if (path == 0) { /* a descriptor alone */
        return call_hold_descriptor(call, base);
    }
    long answer = call_read_text(call, path, text);
    if (answer < 0) {
        return answer;
    }
    if (text[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) {
        return call_hold_descriptor(call, base);
    }
    answer = call_find(call, base, text, &spot);
    if (answer < 0) {
        return answer;
    }
    uint64_t stays = (flags & AT_SYMLINK_NOFOLLOW) != 0 ? (uint64_t)O_NOFOLLOW : 0;
    answer = SYS4(openat, spot.directory, spot.last, O_PATH | O_CLOEXEC | stays, 0);
    (void)SYS1(close, spot.directory);
    return answer;
}

/* Its name decides: everything below a writable place may be changed. */
static long check(const struct call *call, int fd, int32_t what)
{
    static char path[PATH_BYTES];
    long answer = call_name(fd, path);
    if (answer >= 0 && !init_is_writable(call->init, path)) {
        init_say(SBX_SAID_REFUSED, what, 1, path);
        return NOT_PERMITTED;
    }
    return answer < 0 ? NOT_PERMITTED : 0;
}

static void own_name(int fd, char *out, size_t size)
{
    out[0] = '\0';
    (void)text_add(out, size, "/proc/self/fd/");
    (void)text_add_number(out, size, (unsigned long)fd);
}

static long set_mode(const struct call *call, int32_t base, uint64_t path, uint64_t mode)
{
    char entry[64];
    long fd = hold(call, base, path, 0);
    if (fd < 0) {
        return fd;
    }
    long answer = check(call, (int)fd, SBX_CHANGES_MODE);
    if (answer >= 0) {
        own_name((int)fd, entry, sizeof entry);
        answer = SYS3(fchmodat, AT_FDCWD, entry, mode);
    }
    (void)SYS1(close, fd);
    return answer;
}

static long set_times(const struct call *call, int32_t base, uint64_t path,
                      const struct __kernel_timespec *times, uint64_t flags)
{
    if ((flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0) {
        return INVALID;
    }
    long fd = hold(call, base, path, flags);
    if (fd < 0) {
        return fd;
    }
    long answer = check(call, (int)fd, SBX_CHANGES_TIMES);
    if (answer >= 0) {
        answer = SYS4(utimensat, fd, "", times, AT_EMPTY_PATH);
    }
    (void)SYS1(close, fd);
    return answer;
}

/* Without capabilities that is only to a group of one's own, or to what it is. */
static long set_owner(const struct call *call, int32_t base, uint64_t path, uint64_t user,
                      uint64_t group, uint64_t flags)
{
    if ((flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0) {
        return INVALID;
    }
    long fd = hold(call, base, path, flags);
    if (fd < 0) {
        return fd;
    }
    long answer = check(call, (int)fd, SBX_CHANGES_OWNER);
    if (answer >= 0) {
        answer = SYS5(fchownat, fd, "", user, group, AT_EMPTY_PATH);
    }
    (void)SYS1(close, fd);
    return answer;
}

static long read_longs(const struct call *call, uint64_t address, int64_t *out, long count)
{
    long bytes = count * (long)sizeof *out;
    return SYS4(pread64, call->memory_fd, out, bytes, address) == bytes ? 0 : FAULT;
}

/* The older calls count in seconds or microseconds. */
static long set_old_times(const struct call *call, int32_t base, uint64_t path, uint64_t address,
                          bool has_micros)
{
    int64_t value[4] = {0, 0, 0, 0};
    if (address == 0) {
        return set_times(call, base, path, 0, 0);
    }
    if (read_longs(call, address, value, has_micros ? 4 : 2) < 0) {
        return FAULT;
    }
    struct __kernel_timespec times[2];
    for (int i = 0; i < 2; i++) {
        times[i].tv_sec = has_micros ? value[i * 2] : value[i];
        times[i].tv_nsec = has_micros ? value[i * 2 + 1] * 1000 : 0;
        if (times[i].tv_nsec < 0 || times[i].tv_nsec >= 1000000000) {
            return INVALID;
        }
    }
    return set_times(call, base, path, times, 0);
}

static long set_new_times(const struct call *call, int32_t base, uint64_t path, uint64_t address,
                          uint64_t flags)
{
    struct __kernel_timespec times[2];
    int64_t value[4];
    if (address == 0) {
        return set_times(call, base, path, 0, flags);
    }
    if (read_longs(call, address, value, 4) < 0) {
        return FAULT;
    }
    for (int i = 0; i < 2; i++) {
        times[i].tv_sec = value[i * 2];
        times[i].tv_nsec = value[i * 2 + 1];
    }
    return set_times(call, base, path, times, flags);
}

bool call_change(const struct call *call, long *answer)
{
    const uint64_t *a = (const uint64_t *)call->request->data.args;
    switch (call->request->data.nr) {
    case SYS_fchmod:
        *answer = set_mode(call, (int32_t)a[0], 0, a[1]);
        return true;
    case SYS_fchmodat:
        *answer = set_mode(call, (int32_t)a[0], a[1], a[2]);
        return true;
    case SYS_fchown:
        *answer = set_owner(call, (int32_t)a[0], 0, a[1], a[2], 0);
        return true;
    case SYS_fchownat:
        *answer = set_owner(call, (int32_t)a[0], a[1], a[2], a[3], a[4]);
        return true;
    case SYS_utimensat:
        *answer = set_new_times(call, (int32_t)a[0], a[1], a[2], a[3]);
        return true;
#ifdef SYS_chmod /* the older calls of older processors */
    case SYS_chmod:
        *answer = set_mode(call, AT_FDCWD, a[0], a[1]);
        return true;
    case SYS_chown:
        *answer = set_owner(call, AT_FDCWD, a[0], a[1], a[2], 0);
        return true;
    case SYS_lchown:
        *answer = set_owner(call, AT_FDCWD, a[0], a[1], a[2], AT_SYMLINK_NOFOLLOW);
        return true;
    case SYS_utime:
        *answer = set_old_times(call, AT_FDCWD, a[0], a[1], false);
        return true;
    case SYS_utimes:
        *answer = set_old_times(call, AT_FDCWD, a[0], a[1], true);
        return true;
    case SYS_futimesat:
        *answer = set_old_times(call, (int32_t)a[0], a[1], a[2], true);
        return true;
#endif
    default:
        return false;
    }
}
