/* Carries out the creating calls of the box, so that no protected name is ever made, also not one that is
 * absent when the box starts. The call is not let through after a look at its path: another thread could
 * change the path between the look and the use. It is done here, on a copy, in a directory that is held
 * open, with the rights of the box (same user, same mounts, same Landlock domain). */
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <stddef.h>

#include "posix/init/broker.h"
#include "posix/init/change.h"
#include "posix/init/open.h"
#include "posix/init/sys.h"
#include "posix/init/text.h"

#include "common/base/banned.h"

enum {
    NOT_PERMITTED = -1,
    NOT_FOUND = -2,
    INVALID = -22,
    NO_CALL = -38,
    IS_DIRECTORY_BITS = 0040000,
};

#define HERE AT_FDCWD

static void answer_with(const struct call *call, long answer)
{
    struct seccomp_notif_resp response = {
        .id = call->request->id,
        .val = answer >= 0 ? answer : 0,
        .error = answer < 0 ? (int32_t)answer : 0,
    };
    (void)SYS3(ioctl, call->init->listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static long refused(int32_t what, const struct spot *spot, long answer)
{
    init_say(SBX_SAID_REFUSED, what, (int32_t)-answer, spot->path);
    return answer;
}

/* What the kernel refused is told too: it is the exact reason why the command failed. */
static long told(int32_t what, const struct spot *spot, long answer)
{
    bool is_denial = answer == -1 || answer == -13 || answer == -30; /* EPERM EACCES EROFS */
    return is_denial ? refused(what, spot, answer) : answer;
}

/* ---- single names -------------------------------------------------------------------------------- */

struct place {
    struct spot spot;
    char text[PATH_BYTES];
};
static struct place first;
static struct place second;

static long read_place(const struct call *call, int32_t base, uint64_t path, struct place *out)
{
    long answer = call_read_text(call, path, out->text);
    return answer < 0 ? answer : call_find(call, base, out->text, &out->spot);
}

static long make_directory(const struct call *call, int32_t base, uint64_t path, uint64_t mode)
{
    long answer = read_place(call, base, path, &first);
    if (answer < 0) {
        return answer;
    }
    if (init_may_make(call->init, first.spot.path, true) == INIT_REFUSED) {
        answer = refused(SBX_MAKES_DIRECTORY, &first.spot, NOT_PERMITTED);
    } else {
        call_take_mask(call);
        answer = told(SBX_MAKES_DIRECTORY, &first.spot,
                      SYS3(mkdirat, first.spot.directory, first.spot.last, mode));
    }
    (void)SYS1(close, first.spot.directory);
    return answer;
}

static long make_node(const struct call *call, int32_t base, uint64_t path, uint64_t mode,
                      uint64_t device)
{
    /* The kernel looks at the kind of node before the path. */
    long answer = SYS4(mknodat, HERE, "", mode, device);
    answer = answer == NOT_FOUND ? read_place(call, base, path, &first) : answer;
    if (answer < 0) {
        return answer;
    }
    if (init_may_make(call->init, first.spot.path, false) == INIT_REFUSED) {
        answer = refused(SBX_MAKES_NODE, &first.spot, NOT_PERMITTED);
    } else {
        call_take_mask(call);
        answer = told(SBX_MAKES_NODE, &first.spot,
                      SYS4(mknodat, first.spot.directory, first.spot.last, mode, device));
    }
    (void)SYS1(close, first.spot.directory);
    return answer;
}

static long make_symlink(const struct call *call, uint64_t target, int32_t base, uint64_t path)
{
    long answer = call_read_text(call, target, second.text);
    if (answer >= 0) {
        answer = read_place(call, base, path, &first);
    }
    if (answer < 0) {
        return answer;
    }
    /* A link to a directory counts as one: what lies behind it would be found below this name. */
    if (init_may_link(call->init, first.spot.path) != INIT_ALLOWED) {
        answer = refused(SBX_MAKES_SYMLINK, &first.spot, NOT_PERMITTED);
    } else {
        answer = told(SBX_MAKES_SYMLINK, &first.spot,
                      SYS3(symlinkat, second.text, first.spot.directory, first.spot.last));
    }
    (void)SYS1(close, first.spot.directory);
    return answer;
}

/* ---- two names ----------------------------------------------------------------------------------- */

/* A link's source is looked at before the place of the link; what is renamed, after both places are found. */
static long find_two(const struct call *call, int32_t from_base, uint64_t from, int32_t to_base,
                     uint64_t to, const uint64_t *link_flags)
{
    long answer = read_place(call, from_base, from, &first);
    if (answer < 0) {
        return answer;
    }
    if (link_flags != 0) {
        struct statx info;
        bool follows = (*link_flags & AT_SYMLINK_FOLLOW) != 0;
        answer = SYS5(statx, first.spot.directory, first.spot.last,
                      follows ? 0 : AT_SYMLINK_NOFOLLOW, STATX_TYPE, &info);
    }
    if (answer >= 0) {
        answer = read_place(call, to_base, to, &second);
    }
    if (answer < 0) {
        (void)SYS1(close, first.spot.directory);
    }
    return answer;
}

static void close_two(void)
{
    (void)SYS1(close, first.spot.directory);
    (void)SYS1(close, second.spot.directory);
}

static long make_link(const struct call *call, int32_t from_base, uint64_t from, int32_t to_base,
                      uint64_t to, uint64_t flags)
{
    if ((flags & ~(uint64_t)(AT_EMPTY_PATH | AT_SYMLINK_FOLLOW)) != 0) {
        return INVALID;
    }
    if ((flags & AT_EMPTY_PATH) != 0) {
        return NOT_FOUND; /* as without the capability it needs */
    }
    long answer = find_two(call, from_base, from, to_base, to, &flags);
    if (answer < 0) {
        return answer;
    }
    if (init_may_make(call->init, second.spot.path, false) == INIT_REFUSED) {
        answer = refused(SBX_MAKES_LINK, &second.spot, NOT_PERMITTED);
    } else {
        answer = told(SBX_MAKES_LINK, &second.spot,
                      SYS5(linkat, first.spot.directory, first.spot.last, second.spot.directory,
                           second.spot.last, flags));
    }
    close_two();
    return answer;
}

static bool is_directory(const struct spot *spot)
{
    struct statx info = {0};
    return SYS5(statx, spot->directory, spot->last, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &info) == 0 &&
           ((info.stx_mode & 0170000) == IS_DIRECTORY_BITS ||
            (info.stx_mode & 0170000) == 0120000 /* a link may lead to one */);
}

/* May what is at `from` come to stand at `to`? */
static bool may_move(const struct call *call, const struct spot *from, const struct spot *to,
                     bool *must_check)
{
    bool may_directory = init_may_move_directory(call->init, from->path, to->path);
    *must_check = !may_directory;
    return is_directory(from) ? may_directory
                              : init_may_make(call->init, to->path, false) != INIT_REFUSED;
}

static long make_rename(const struct call *call, int32_t from_base, uint64_t from, int32_t to_base,
                        uint64_t to, uint64_t flags)
{
    bool check_to = false;
    bool check_from = false;
    bool exchanges = (flags & 2) != 0; /* RENAME_EXCHANGE */
    /* The kernel looks at the flags before the paths. */
    long answer = SYS5(renameat2, HERE, "", HERE, "", flags);
    answer = answer == INVALID ? INVALID : find_two(call, from_base, from, to_base, to, 0);
    if (answer < 0) {
        return answer;
    }
    struct spot *old = &first.spot;
    struct spot *new = &second.spot;
    if (!may_move(call, old, new, &check_to)) {
        answer = refused(SBX_MAKES_RENAME, new, NOT_PERMITTED);
    } else if (exchanges && !may_move(call, new, old, &check_from)) {
        answer = refused(SBX_MAKES_RENAME, old, NOT_PERMITTED);
    } else {
        answer = told(SBX_MAKES_RENAME, new,
                      SYS5(renameat2, old->directory, old->last, new->directory, new->last, flags));
        /* A file that was swapped for a directory meanwhile goes back at once. */
        if (answer >= 0 && ((check_to && is_directory(new)) || (check_from && is_directory(old)))) {
            (void)SYS5(renameat2, new->directory, new->last, old->directory, old->last, flags);
            answer = refused(SBX_MAKES_RENAME, new, NOT_PERMITTED);
        }
    }
    close_two();
    return answer;
}

/* ---- the calls ------------------------------------------------------------------------------------- */

static long carry_out(struct call *call)
{
    const uint64_t *a = (const uint64_t *)call->request->data.args;
    switch (call->request->data.nr) {
    case SYS_mkdirat:
        return make_directory(call, (int32_t)a[0], a[1], a[2]);
    case SYS_mknodat:
        return make_node(call, (int32_t)a[0], a[1], a[2], a[3]);
    case SYS_symlinkat:
        return make_symlink(call, a[0], (int32_t)a[1], a[2]);
    case SYS_linkat:
        return make_link(call, (int32_t)a[0], a[1], (int32_t)a[2], a[3], a[4]);
    case SYS_renameat2:
        return make_rename(call, (int32_t)a[0], a[1], (int32_t)a[2], a[3], a[4]);
#ifdef SYS_renameat
    case SYS_renameat:
        return make_rename(call, (int32_t)a[0], a[1], (int32_t)a[2], a[3], 0);
#endif
#ifdef SYS_mkdir /* the older calls of older processors */
    case SYS_mkdir:
        return make_directory(call, HERE, a[0], a[1]);
    case SYS_mknod:
        return make_node(call, HERE, a[0], a[1], a[2]);
    case SYS_symlink:
        return make_symlink(call, a[0], HERE, a[1]);
    case SYS_link:
        return make_link(call, HERE, a[0], HERE, a[1], 0);
    case SYS_rename:
        return make_rename(call, HERE, a[0], HERE, a[1], 0);
#endif
    default:
        return NO_CALL;
    }
}

static bool read_open(const struct call *call, struct open_wish *out)
{
    const uint64_t *a = (const uint64_t *)call->request->data.args;
    switch (call->request->data.nr) {
    case SYS_openat:
        *out = (struct open_wish){(int32_t)a[0], a[1], a[2], a[3]};
        return true;
#ifdef SYS_open
    case SYS_open:
        *out = (struct open_wish){HERE, a[0], a[1], a[2]};
        return true;
    case SYS_creat:
        *out = (struct open_wish){HERE, a[0], O_CREAT | O_WRONLY | O_TRUNC, a[1]};
        return true;
#endif
    default:
        return false;
    }
}

/* The process may have ended, and its number may be another's by now. */
static bool is_waiting(const struct call *call)
{
    return SYS3(ioctl, call->init->listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->request->id) ==
           0;
}

static int open_memory(const struct call *call)
{
    char entry[64] = "/proc/";
    (void)text_add_number(entry, sizeof entry, call->request->pid);
    (void)text_add(entry, sizeof entry, "/mem");
    return (int)SYS4(openat, AT_FDCWD, entry, O_RDONLY | O_CLOEXEC, 0);
}

void init_answer(struct init *init)
{
    static struct seccomp_notif request;
    request = (struct seccomp_notif){0};
    if (SYS3(ioctl, init->listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0) {
        return;
    }
    struct call call = {.init = init, .request = &request};
    struct open_wish wish;
    call.memory_fd = open_memory(&call);
    if (call.memory_fd < 0) {
        answer_with(&call,
                    NOT_PERMITTED); /* it hides its memory: nothing can be told about its path */
        return;
    }
    if (is_waiting(&call)) {
        long answer;
        if (read_open(&call, &wish)) {
            call_open(&call, &wish);
        } else if (call_change(&call, &answer)) {
            answer_with(&call, answer);
        } else {
            answer_with(&call, carry_out(&call));
        }
    }
    (void)SYS1(close, call.memory_fd);
}

void call_answer(const struct call *call, long answer)
{
    answer_with(call, answer);
}

long call_told(int32_t what, const struct spot *spot, long answer)
{
    return told(what, spot, answer);
}
