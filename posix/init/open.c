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
    NOT_FOUND = -2,
    NO_DEVICE = -6,
    AGAIN = -11,
    EXISTS = -17,
    IS_DIRECTORY = -21,
    INVALID = -22,
    TOO_MANY_LINKS = -40,
    LINKS = 40,
    CHILD = 17,
    TERMINAL_MAJOR = 5, /* /dev/tty is 5:0 */
    FIFO_BITS = 0010000,
    CHARACTER_BITS = 0020000,
    DIRECTORY_BITS = 0040000,
    LINK_BITS = 0120000,
    TYPE_BITS = 0170000,
};

struct opening {
    const struct call *call;
    uint64_t flags, mode;
    struct spot *spot;
    int pin; /* what is at the spot, held without being opened; -1: nothing yet */
};

/* Opens what the pin holds. Never a link, and what it was, it stays: nobody can put another file under the name
 * between the look and the opening. */
static long open_pinned(const struct opening *opening, bool waits)
{
    char entry[64] = "/proc/self/fd/";
    uint64_t flags = opening->flags & ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW);
    (void)text_add_number(entry, sizeof entry, (unsigned long)opening->pin);
    return SYS4(openat, AT_FDCWD, entry,
                flags | O_CLOEXEC | O_NOCTTY | (waits ? 0U : (uint64_t)O_NONBLOCK), 0);
}

/* Hands the file to the asking process, and with it the answer. Ours is closed before the process goes on: with one
 * more open, a FIFO would still have an end, a lock would still be held, and a program could not be executed. Where
 * a signal can interrupt the call meanwhile, the file would be open twice; there it is one step. */
static void hand_over(const struct opening *opening, int fd)
{
    bool is_one_step = !opening->call->init->is_killable;
    struct seccomp_notif_addfd add = {
        .id = opening->call->request->id,
        .flags = is_one_step ? SECCOMP_ADDFD_FLAG_SEND : 0,
        .srcfd = (uint32_t)fd,
        .newfd_flags = (uint32_t)(opening->flags & O_CLOEXEC),
    };
    long answer = SYS3(ioctl, opening->call->init->listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
    (void)SYS1(close, fd);
    if (answer < 0 || !is_one_step) {
        /* A negative one: no room in its table; or it is gone, and then nobody waits for it. */
        call_answer(opening->call, answer);
    }
}

static noreturn void wait_apart(const struct opening *opening)
{
    long fd = open_pinned(opening, true);
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

/* The number that follows `spaces` spaces; 0 where there is none. */
static unsigned number_after(const char *text, int spaces)
{
    unsigned number = 0;
    for (; spaces > 0 && *text != '\0'; text++) {
        spaces -= *text == ' ';
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (unsigned)(*text - '0');
    }
    return number;
}

/* "/dev/tty" means the asking process' terminal, which is not ours. Fields 6 and 7 of its stat name session and
 * terminal. */
static long open_terminal(const struct opening *opening)
{
    static char text[512];
    const struct init *init = opening->call->init;
    char name[64] = "/proc/";
    (void)text_add_number(name, sizeof name, opening->call->request->pid);
    (void)text_add(name, sizeof name, "/stat");
    long fd = SYS4(openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
    long got = fd < 0 ? fd : SYS3(read, fd, text, sizeof text - 1);
    if (fd >= 0) {
        (void)SYS1(close, fd);
    }
    long at = got > 0 ? got : 0;
    text[at] = '\0';
    while (at > 0 && text[at - 1] != ')') { /* the name before it may have any character */
        at--;
    }
    /* After ") ": state, parent, group, session, terminal. */
    unsigned session = number_after(text + at, 4);
    unsigned number = number_after(text + at, 5);
    unsigned major = (number >> 8) & 0xfff;
    unsigned minor = (number & 0xff) | ((number >> 12) & 0xfff00);
    if (major < 136 || major > 143) { /* the pseudo terminals */
        return NO_DEVICE;
    }
    uint64_t flags =
        (opening->flags | O_CLOEXEC | O_NOCTTY) & ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW);
    if ((init->plan->flags & SBX_INIT_HAS_TERMINAL) != 0 && session == (unsigned)init->child) {
        /* The box's own was made outside: in its /dev/pts there is none, or another one, of that number. */
        return SYS4(openat, AT_FDCWD, "/proc/self/fd/0", flags, 0);
    }
    char other[64] = "/dev/pts/";
    (void)text_add_number(other, sizeof other, (major - 136) * 256 + minor);
    return SYS4(openat, AT_FDCWD, other, flags, 0);
}

/* Answers with what the pin holds. */
static void open_existing(const struct opening *opening, const struct statx *info)
{
    uint32_t type = info->stx_mode & TYPE_BITS;
    bool wants_to_wait = (opening->flags & O_NONBLOCK) == 0;
    bool is_terminal = type == CHARACTER_BITS && info->stx_rdev_major == TERMINAL_MAJOR &&
                       info->stx_rdev_minor == 0;
    if (type == DIRECTORY_BITS) {
        call_answer(opening->call, IS_DIRECTORY);
        return;
    }
    /* A FIFO opened for reading without waiting is open at once, and closing it again would not be unseen: who
     * waits for a reader has had one. For writing it opens only when a reader is there. */
    if (wants_to_wait && type == FIFO_BITS && (opening->flags & O_ACCMODE) == O_RDONLY) {
        open_apart(opening);
        return;
    }
    long answer = is_terminal ? open_terminal(opening) : open_pinned(opening, false);
    if (wants_to_wait && !is_terminal && (answer == NO_DEVICE || answer == AGAIN)) {
        open_apart(opening);
    } else if (answer < 0) {
        call_answer(opening->call, call_told(SBX_MAKES_FILE, opening->spot, answer));
    } else {
        if (wants_to_wait) {
            long flags = SYS3(fcntl, answer, F_GETFL, 0);
            (void)SYS3(fcntl, answer, F_SETFL, flags & ~(long)O_NONBLOCK);
        }
        hand_over(opening, (int)answer);
    }
}

/* Makes the target of the pinned link the new spot. */
static long follow(const struct opening *opening)
{
    static char target[PATH_BYTES];
    struct spot *spot = opening->spot;
    long got = SYS4(readlinkat, opening->pin, "", target, PATH_BYTES - 1);
    if (got < 0) {
        return got;
    }
    target[got] = '\0';
    int from = spot->directory;
    long answer = call_find_from(opening->call, target[0] == '/' ? AT_FDCWD : from, target, spot);
    if (answer < 0) {
        spot->directory = from; /* still the caller's to close */
        return answer;
    }
    (void)SYS1(close, from);
    return 0;
}

/* A new file, if there is none: with O_EXCL, so that no link is followed. */
static long make_new(const struct opening *opening)
{
    const struct spot *spot = opening->spot;
    if (init_may_make(opening->call->init, spot->path, false) == INIT_REFUSED) {
        /* What exists may be opened, and its mount decides about writing; it is only not made. */
        return (opening->flags & O_EXCL) != 0 ? NOT_PERMITTED : EXISTS;
    }
    return SYS4(openat, spot->directory, spot->last,
                opening->flags | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, opening->mode);
}

enum step { ANSWERED, IS_LINK, WENT_AWAY };

/* What is at the spot, by name or by number. */
static long pin_spot(const struct opening *opening)
{
    const struct spot *spot = opening->spot;
    /* An entry of an fd directory is a kind of link that leads to an open file. */
    uint64_t flags = O_PATH | O_CLOEXEC | (spot->is_descriptor ? 0U : (uint64_t)O_NOFOLLOW);
    return SYS4(openat, spot->directory, spot->last, flags, 0);
}

/* One name of the chain. */
static enum step open_step(struct opening *opening)
{
    struct statx info = {0};
    const struct spot *spot = opening->spot;
    if (!spot->is_descriptor) {
        long made = make_new(opening);
        if (made >= 0) {
            hand_over(opening, (int)made);
            return ANSWERED;
        }
        if (made != EXISTS || (opening->flags & O_EXCL) != 0) {
            call_answer(opening->call, call_told(SBX_MAKES_FILE, spot, made));
            return ANSWERED;
        }
    }
    long pin = pin_spot(opening);
    if (pin == NOT_FOUND && init_may_make(opening->call->init, spot->path, false) != INIT_REFUSED) {
        return WENT_AWAY;
    }
    if (pin < 0) {
        long answer = pin == NOT_FOUND ? NOT_PERMITTED : pin;
        call_answer(opening->call, call_told(SBX_MAKES_FILE, spot, answer));
        return ANSWERED;
    }
    opening->pin = (int)pin;
    (void)SYS5(statx, pin, "", AT_EMPTY_PATH, STATX_TYPE, &info);
    bool is_link = (info.stx_mode & TYPE_BITS) == LINK_BITS;
    if (is_link && (opening->flags & O_NOFOLLOW) == 0) {
        return IS_LINK;
    }
    if (is_link) {
        call_answer(opening->call, TOO_MANY_LINKS);
    } else {
        open_existing(opening, &info);
    }
    return ANSWERED;
}

void call_open(const struct call *call, const struct open_wish *wish)
{
    static char text[PATH_BYTES];
    static struct spot spot;
    struct opening opening = {call, wish->flags, wish->mode, &spot, -1};
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
    enum step step = WENT_AWAY;
    for (int turn = 0; step != ANSWERED && answer >= 0; turn++) {
        step = open_step(&opening);
        if (step != ANSWERED) {
            answer = turn >= LINKS ? TOO_MANY_LINKS : step == IS_LINK ? follow(&opening) : 0;
        }
        if (opening.pin >= 0) {
            (void)SYS1(close, opening.pin);
            opening.pin = -1;
        }
    }
    if (step != ANSWERED) {
        call_answer(call, answer);
    }
    (void)SYS1(close, spot.directory);
}
