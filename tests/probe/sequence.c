/* sbx-sequence: the same pseudo-random operations on files wherever it runs, one line of result each.
 *
 *     sbx-sequence SEED COUNT DIRECTORY      operations; what differs between two places is a finding
 *     sbx-sequence --speed COUNT DIRECTORY   nanoseconds that making COUNT files took */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/banned.h"

#define NAMES 12
#define DEPTH 3
#define RENAME_NOREPLACE_FLAG 1u
#define RENAME_EXCHANGE_FLAG 2u

static uint64_t state;

/* xorshift64*: no library's generator, so that the sequence is the same everywhere. */
static unsigned next(unsigned bound)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (unsigned)((state * 2685821657736338717ull) >> 33) % bound;
}

/* A few names, so that operations meet. */
static const char *path(char *text, size_t size)
{
    static const char *const forms[] = {"", "./", "../here/", "a//", "b/./", "c/../"};
    static const char *const names[NAMES] = {
        "a", "b", "c", "d", "e", "link", "f", "gg", "h.x", "i-very-long-name", ".dot", "a b"};
    size_t used = (size_t)snprintf(text, size, "%s", forms[next(10) < 4 ? next(6) : 0]);
    unsigned depth = 1 + next(DEPTH);
    for (unsigned i = 0; i < depth && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : "/",
                                 names[next(NAMES)]);
    }
    if (next(12) == 0 && used < size) (void)snprintf(text + used, size - used, "/");
    return text;
}

static long open_one(const char *name)
{
    static const int flags[] = {
        O_WRONLY | O_CREAT, O_WRONLY | O_CREAT | O_TRUNC,  O_RDWR | O_CREAT | O_EXCL,
        O_RDONLY | O_CREAT, O_WRONLY | O_CREAT | O_APPEND, O_WRONLY | O_CREAT | O_NOFOLLOW,
        O_RDONLY,           O_RDONLY | O_DIRECTORY,        O_WRONLY | O_CREAT | O_DIRECTORY,
        O_PATH | O_CREAT};
    static const mode_t modes[] = {0644, 0600, 0777, 0444, 0200, 0};
    int flag = flags[next(10)] | O_CLOEXEC | O_NONBLOCK;
    int fd = open(name, flag, modes[next(6)]);
    if (fd < 0) return -1;
    long wrote = (flag & O_ACCMODE) != O_RDONLY ? write(fd, "text", 4) : 0;
    int got =
        fcntl(fd, F_GETFL) & ~O_NOFOLLOW; /* the broker follows no link, so it never sets it */
    close(fd);
    return wrote * 1000000 + got;
}

static long one(char *text, size_t size)
{
    char first[400];
    char second[400];
    unsigned kind = next(16);
    path(first, sizeof(first));
    path(second, sizeof(second));
    (void)snprintf(text, size, "%u %s %s", kind, first, second);
    switch (kind) {
    case 0:
    case 1:
    case 2:
    case 3:
        return open_one(first);
    case 4:
    case 5:
        return mkdir(first, next(2) == 0 ? 0755 : 0700);
    case 6:
        return syscall(SYS_mknodat, AT_FDCWD, first, S_IFREG | 0640, 0);
    case 7:
        return mkfifo(first, 0644);
    case 8:
        return symlink(second, first);
    case 9:
        return link(first, second);
    case 10:
        return rename(first, second);
    case 11:
        return syscall(SYS_renameat2, AT_FDCWD, first, AT_FDCWD, second,
                       next(2) == 0 ? RENAME_NOREPLACE_FLAG : RENAME_EXCHANGE_FLAG);
    case 12:
        return unlink(first);
    case 13:
        return rmdir(first);
    case 14:
        return chmod(first, next(2) == 0 ? 0600 : 0755);
    default:
        return linkat(AT_FDCWD, first, AT_FDCWD, second, AT_SYMLINK_FOLLOW);
    }
}

static int run(uint64_t seed, long count)
{
    state = seed * 2654435761u + 88172645463325252ull;
    for (long i = 0; i < count; i++) {
        char text[900];
        if (i % 50 == 0) (void)umask(next(2) == 0 ? 022 : 077);
        errno = 0;
        long result = one(text, sizeof(text));
        printf("%ld %s = %ld %s\n", i, text, result, result < 0 ? strerrorname_np(errno) : "");
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

static int speed(long count)
{
    struct timespec from;
    struct timespec to;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < count; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "f%ld", i);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0) return 1;
        close(fd);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%lld\n", (to.tv_sec - from.tv_sec) * 1000000000ll + (to.tv_nsec - from.tv_nsec));
    return fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc != 4 || chdir(argv[3]) != 0) {
        (void)fprintf(stderr, "usage: sbx-sequence SEED|--speed COUNT DIRECTORY\n");
        return 99;
    }
    long count = strtol(argv[2], NULL, 10);
    if (strcmp(argv[1], "--speed") == 0) return speed(count);
    return run(strtoull(argv[1], NULL, 10), count);
}
