/* open(2) with O_CREAT on behalf of the box. Links are followed here, one at a time, because the name at the
 * end of a dangling link would be made too. */
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <stddef.h>

#include "posix/init/open.h"
#include "posix/init/sys.h"
#include "posix/init/text.h"

#include "common/base/banned.h"

enum {
    NOT_PERMITTED = -1,
    NO_DEVICE = -6,
    AGAIN = -11,
    INVALID = -22,
    TOO_MANY_LINKS = -40,
    LINKS = 40,
    CHILD = 17,
    TERMINAL_MAJOR = 5, /* /dev/tty is 5:0 */
    FIFO_BITS = 0010000,
    CHARACTER_BITS = 0020000,
    LINK_BITS = 0120000,
    TYPE_BITS = 0170000,
};

struct opening {
    const struct call *call;
    uint64_t flags, mode;
    struct spot *spot;
};

/* One step: the file, or a negative errno; TOO_MANY_LINKS means that the name is a link. Never waits. */
static long open_here(const struct opening *opening, bool waits)
{
    uint64_t flags = opening->flags | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW;
    const struct spot *spot = opening->spot;
    if (spot->is_descriptor) {
        flags &=
            ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW); /* it exists, and it is a kind of link */
    }
    if (!waits) {
        flags |= O_NONBLOCK;
    }
    return SYS4(openat, spot->directory, spot->last, flags, opening->mode);
}

static uint32_t type_of(const struct spot *spot, struct statx *info)
{
    *info = (struct statx){0};
    long answer = SYS5(statx, spot->directory, spot->last, AT_SYMLINK_NOFOLLOW, STATX_TYPE, info);
    return answer == 0 ? info->stx_mode & TYPE_BITS : 0;
}

/* Hands the file to the asking process, and with it the answer. */
static void hand_over(const struct opening *opening, int fd)
{
    struct seccomp_notif_addfd add = {
        .id = opening->call->request->id,
        .flags = SECCOMP_ADDFD_FLAG_SEND,
        .srcfd = (uint32_t)fd,
        .newfd_flags = (uint32_t)(opening->flags & O_CLOEXEC),
    };
    long answer = SYS3(ioctl, opening->call->init->listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
    if (answer < 0) {
        call_answer(opening->call,
                    answer); /* no room in its table; or it is gone, and this too fails */
    }
    (void)SYS1(close, fd);
}

static noreturn void wait_apart(const struct opening *opening)
{
    long fd = open_here(opening, true);
    if (fd < 0) {
        call_answer(opening->call, fd);
    } else {
        hand_over(opening, (int)fd);
    }
    for (;;) {
        (void)SYS1(exit_group, 0);
    }
}

/* A FIFO waits for its other end. That is done by a process of its own, so that the box goes on. */
static void open_apart(const struct opening *opening)
{
    long pid = SYS5(clone, CHILD, 0, 0, 0, 0);
    if (pid == 0) {
        wait_apart(opening);
    }
    if (pid < 0) {
        call_answer(opening->call, pid);
    }
}

/* "/dev/tty" means the asking process' terminal, which is not ours. Field 7 of its stat names it. */
static long open_terminal(const struct opening *opening)
{
    static char text[512];
    char entry[64] = "/proc/";
    (void)text_add_number(entry, sizeof entry, opening->call->request->pid);
    (void)text_add(entry, sizeof entry, "/stat");
    long fd = SYS4(openat, AT_FDCWD, entry, O_RDONLY | O_CLOEXEC, 0);
    long got = fd < 0 ? fd : SYS3(read, fd, text, sizeof text - 1);
    if (fd >= 0) {
        (void)SYS1(close, fd);
    }
    long at = got > 0 ? got : 0;
    while (at > 0 && text[at - 1] != ')') { /* the name before it may have any character */
        at--;
    }
    text[got > 0 ? got : 0] = '\0';
    /* After ") ": state, parent, group, session, terminal. */
    const char *field = text + at + 1;
    for (int i = 0; i < 4 && *field != '\0'; field++) {
        i += *field == ' ';
    }
    unsigned number = 0;
    for (; *field >= '0' && *field <= '9'; field++) {
        number = number * 10 + (unsigned)(*field - '0');
    }
    unsigned major = (number >> 8) & 0xfff;
    unsigned minor = (number & 0xff) | ((number >> 12) & 0xfff00);
    if (major < 136 || major > 143) { /* the pseudo terminals */
        return NO_DEVICE;
    }
    char name[64] = "/dev/pts/";
    (void)text_add_number(name, sizeof name, (major - 136) * 256 + minor);
    return SYS4(openat, AT_FDCWD, name,
                (opening->flags | O_CLOEXEC | O_NOCTTY) & ~(uint64_t)(O_CREAT | O_EXCL), 0);
}

/* The file was opened without waiting, which is undone where it makes a difference. */
static void finish(const struct opening *opening, int fd)
{
    struct statx info = {0};
    bool wants_to_wait = (opening->flags & O_NONBLOCK) == 0;
    (void)SYS5(statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &info);
    uint32_t type = info.stx_mode & TYPE_BITS;
    if (type == CHARACTER_BITS && info.stx_rdev_major == TERMINAL_MAJOR &&
        info.stx_rdev_minor == 0) {
        (void)SYS1(close, fd);
        long other = open_terminal(opening);
        if (other < 0) {
            call_answer(opening->call, other);
            return;
        }
        fd = (int)other;
    }
    if (wants_to_wait) {
        long flags = SYS3(fcntl, fd, F_GETFL, 0);
        (void)SYS3(fcntl, fd, F_SETFL, flags & ~(long)O_NONBLOCK);
    }
    hand_over(opening, fd);
}

/* Opening without waiting failed in a way that waiting would not. */
static bool would_wait(const struct opening *opening, long answer)
{
    return (opening->flags & O_NONBLOCK) == 0 && (answer == NO_DEVICE || answer == AGAIN);
}

static bool is_terminal(const struct spot *spot)
{
    struct statx info;
    return type_of(spot, &info) == CHARACTER_BITS && info.stx_rdev_major == TERMINAL_MAJOR &&
           info.stx_rdev_minor == 0;
}

/* A FIFO opened for reading without waiting is open at once, and closing it again would not be unseen: who waits
 * for a reader has had one. (For writing it opens only when a reader is there, and then nothing has to wait.) */
static bool waits_for_writer(const struct opening *opening)
{
    struct statx info;
    return (opening->flags & (O_ACCMODE | O_NONBLOCK | O_EXCL)) == O_RDONLY &&
           !opening->spot->is_descriptor && type_of(opening->spot, &info) == FIFO_BITS;
}

/* The spot is settled: no link in the last place. Answers the call. */
static void open_settled(const struct opening *opening, long answer)
{
    if (answer == NO_DEVICE && is_terminal(opening->spot)) {
        answer = open_terminal(opening); /* this process has no terminal; the asking one may */
        if (answer >= 0) {
            hand_over(opening, (int)answer);
            return;
        }
    } else if (answer < 0 && would_wait(opening, answer)) {
        open_apart(opening);
        return;
    }
    if (answer < 0) {
        call_answer(opening->call, call_told(SBX_MAKES_FILE, opening->spot, answer));
    } else {
        finish(opening, (int)answer);
    }
}

/* Makes the target of the link in the last place the new spot. */
static long follow(const struct call *call, struct spot *spot)
{
    static char target[PATH_BYTES];
    long got = SYS4(readlinkat, spot->directory, spot->last, target, PATH_BYTES - 1);
    if (got < 0) {
        return got;
    }
    target[got] = '\0';
    int from = spot->directory;
    long answer = call_find_from(call, target[0] == '/' ? AT_FDCWD : from, target, spot);
    if (answer < 0) {
        spot->directory = from; /* still the caller's to close */
        return answer;
    }
    (void)SYS1(close, from);
    return 0;
}

/* One name of the chain; true when the call was answered. */
static bool open_step(const struct opening *opening)
{
    struct spot *spot = opening->spot;
    struct statx info;
    bool stays = (opening->flags & (O_NOFOLLOW | O_EXCL)) != 0;
    if (!spot->is_descriptor &&
        init_may_make(opening->call->init, spot->path, false) == INIT_REFUSED) {
        /* What exists may be opened, and its mount decides about writing; it is only not made. */
        struct opening plain = *opening;
        plain.flags &= ~(uint64_t)(O_CREAT | O_EXCL);
        if ((opening->flags & O_EXCL) != 0 || type_of(spot, &info) == 0) {
            call_answer(opening->call, call_told(SBX_MAKES_FILE, spot, NOT_PERMITTED));
            return true;
        }
        if (waits_for_writer(&plain)) {
            open_apart(&plain);
            return true;
        }
        long answer = open_here(&plain, false);
        if (answer == TOO_MANY_LINKS && !stays && type_of(spot, &info) == LINK_BITS) {
            return false;
        }
        open_settled(&plain, answer);
        return true;
    }
    if (waits_for_writer(opening)) {
        open_apart(opening);
        return true;
    }
    long answer = open_here(opening, false);
    if (answer == TOO_MANY_LINKS && !stays && type_of(spot, &info) == LINK_BITS) {
        return false;
    }
    open_settled(opening, answer);
    return true;
}

void call_open(const struct call *call, const struct open_wish *wish)
{
    static char text[PATH_BYTES];
    static struct spot spot;
    struct opening opening = {call, wish->flags, wish->mode, &spot};
    /* The kernel looks at the flags before the path. */
    long answer = SYS4(openat, AT_FDCWD, "", wish->flags, wish->mode);
    answer = answer == INVALID ? INVALID : call_read_text(call, wish->path, text);
    if (answer >= 0) {
        answer = call_find(call, wish->base, text, &spot);
    }
    if (answer < 0) {
        call_answer(call, answer);
        return;
    }
    call_take_mask(call);
    bool is_done = false;
    for (int links = 0; !is_done && answer >= 0; links++) {
        is_done = open_step(&opening);
        if (!is_done) {
            answer = links < LINKS ? follow(call, &spot) : TOO_MANY_LINKS;
        }
    }
    if (!is_done) {
        call_answer(call, answer);
    }
    (void)SYS1(close, spot.directory);
}
