/* Attacks that bring a protected name into being where it was absent, in every way a name can come
 * to be: each runs in a fresh directory of the workspace and looks afterwards whether it is there. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/banned.h"

#define RACE_MS 500
#define NAME ".git"
#define FILE_NAME ".envrc"

static char here[4200]; /* the fresh directory */

/* Races go on until they are won, but not for long. */
static bool race_goes_on(const char *name)
{
    static struct timespec began;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (began.tv_sec == 0) began = now;
    long ms = (now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000;
    return ms < RACE_MS && !probe_exists(name);
}

/* Makes the directory, goes there, and keeps its name. */
static void enter(const char *name)
{
    const char *path = probe_path("work", name);
    probe_make_directory(path);
    if (chdir(path) != 0) probe_broken("chdir: %s", strerrorname_np(errno));
    (void)snprintf(here, sizeof(here), "%s", path);
}

/* By what is there, not by what a call said. */
__attribute__((noreturn)) static void judge(const char *name, long result, const char *how)
{
    int error = errno;
    if (probe_exists(probe_format("%s/%s", here, name))) probe_done("%s made %s", how, name);
    errno = error;
    if (result >= 0) probe_absent("%s succeeded, and nothing is there", how);
    probe_denied("%s", how);
}

static int make(int directory, const char *name)
{
    return openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
}

static void by_open(void)
{
    enter("c-open");
    judge(FILE_NAME,
          open(probe_format("%s/" FILE_NAME, here), O_WRONLY | O_CREAT | O_CLOEXEC, 0644), "open");
}

static void by_old_open(void)
{
    enter("c-old-open");
    judge(FILE_NAME, syscall(SYS_open, FILE_NAME, O_WRONLY | O_CREAT, 0644), "open(2)");
}

static void by_creat(void)
{
    enter("c-creat");
    judge(FILE_NAME, syscall(SYS_creat, FILE_NAME, 0644), "creat");
}

static void by_exclusive(void)
{
    enter("c-exclusive");
    judge(FILE_NAME, openat(AT_FDCWD, FILE_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644),
          "O_EXCL");
}

static void by_read_only_create(void)
{
    enter("c-read-only");
    judge(FILE_NAME, openat(AT_FDCWD, FILE_NAME, O_RDONLY | O_CREAT | O_CLOEXEC, 0644),
          "O_RDONLY|O_CREAT");
}

static void by_directory_descriptor(void)
{
    enter("c-dirfd");
    int directory = open(here, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (chdir("/") != 0) probe_broken("chdir");
    judge(FILE_NAME, make(directory, FILE_NAME), "openat with a descriptor");
}

static void by_proc_cwd(void)
{
    enter("c-proc-cwd");
    judge(FILE_NAME, make(AT_FDCWD, "/proc/self/cwd/" FILE_NAME), "/proc/self/cwd");
}

static void by_proc_fd(void)
{
    enter("c-proc-fd");
    int directory = open(here, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    judge(NAME, mkdir(probe_format("/proc/self/fd/%d/" NAME, directory), 0755), "/proc/self/fd");
}

static void by_proc_thread_fd(void)
{
    enter("c-thread-fd");
    int directory = open(here, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    judge(NAME, mkdir(probe_format("/proc/thread-self/fd/%d/" NAME, directory), 0755),
          "/proc/thread-self/fd");
}

static void by_proc_root(void)
{
    enter("c-proc-root");
    judge(FILE_NAME, make(AT_FDCWD, probe_format("/proc/self/root%s/" FILE_NAME, here)),
          "/proc/self/root");
}

static void by_dev_fd(void)
{
    enter("c-dev-fd");
    int directory = open(here, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    judge(FILE_NAME, make(AT_FDCWD, probe_format("/dev/fd/%d/" FILE_NAME, directory)), "/dev/fd");
}

static void by_mkdir(void)
{
    enter("c-mkdir");
    judge(NAME, syscall(SYS_mkdir, NAME, 0755), "mkdir");
}

static void by_mkdirat(void)
{
    enter("c-mkdirat");
    judge(NAME, mkdirat(AT_FDCWD, NAME, 0755), "mkdirat");
}

static void by_slashes(void)
{
    enter("c-slashes");
    judge(NAME, mkdir(NAME "///", 0755), "trailing slashes");
}

static void by_dot(void)
{
    enter("c-dot");
    judge(NAME, mkdir("././/" NAME "/.", 0755) == 0 ? 0 : mkdir("././/" NAME, 0755), "./");
}

static void by_dotdot(void)
{
    enter("c-dotdot");
    probe_make_directory("x");
    judge(NAME, mkdir("x/../x/../" NAME, 0755), "../");
}

static void by_case(void)
{
    enter("c-case");
    judge(".GIT", mkdir(".GIT", 0755), "another case");
}

static void by_mixed_case(void)
{
    enter("c-mixed-case");
    judge(".EnvRC", make(AT_FDCWD, ".EnvRC"), "mixed case");
}

static void by_openat2(void)
{
    enter("c-openat2");
    unsigned long long how[3] = {O_WRONLY | O_CREAT | O_CLOEXEC, 0644, 0};
    judge(FILE_NAME, syscall(SYS_openat2, AT_FDCWD, FILE_NAME, how, sizeof(how)), "openat2");
}

static void by_mknod(void)
{
    enter("c-mknod");
    judge(FILE_NAME, syscall(SYS_mknod, FILE_NAME, S_IFREG | 0644, 0), "mknod");
}

static void by_mknodat(void)
{
    enter("c-mknodat");
    judge(FILE_NAME, mknodat(AT_FDCWD, FILE_NAME, S_IFREG | 0644, 0), "mknodat");
}

static void by_fifo(void)
{
    enter("c-fifo");
    judge(FILE_NAME, mkfifo(FILE_NAME, 0644), "mkfifo");
}

static void by_symlink(void)
{
    enter("c-symlink");
    judge(NAME, syscall(SYS_symlink, "elsewhere", NAME), "symlink");
}

static void by_symlinkat(void)
{
    enter("c-symlinkat");
    judge(NAME, symlinkat("elsewhere", AT_FDCWD, NAME), "symlinkat");
}

static void by_link(void)
{
    enter("c-link");
    probe_make("plain");
    judge(FILE_NAME, syscall(SYS_link, "plain", FILE_NAME), "link");
}

static void by_linkat(void)
{
    enter("c-linkat");
    probe_make("plain");
    judge(FILE_NAME, linkat(AT_FDCWD, "plain", AT_FDCWD, FILE_NAME, 0), "linkat");
}

static void by_tmpfile(void)
{
    enter("c-tmpfile");
    int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0) judge(FILE_NAME, -1, "O_TMPFILE");
    judge(FILE_NAME,
          linkat(AT_FDCWD, probe_format("/proc/self/fd/%d", fd), AT_FDCWD, FILE_NAME,
                 AT_SYMLINK_FOLLOW),
          "O_TMPFILE and linkat");
}

static void by_tmpfile_empty(void)
{
    enter("c-tmpfile-empty");
    int fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0) judge(FILE_NAME, -1, "O_TMPFILE");
    judge(FILE_NAME, linkat(fd, "", AT_FDCWD, FILE_NAME, AT_EMPTY_PATH), "linkat by descriptor");
}

static void by_rename(void)
{
    enter("c-rename");
    probe_make("plain");
    judge(FILE_NAME, syscall(SYS_rename, "plain", FILE_NAME), "rename of a file");
}

static void by_rename_directory(void)
{
    enter("c-rename-directory");
    probe_make_directory("plain");
    probe_make_directory("plain/hooks");
    judge(NAME, rename("plain", NAME), "rename of a directory");
}

static void by_renameat(void)
{
    enter("c-renameat");
    probe_make("plain");
    judge(FILE_NAME, syscall(SYS_renameat, AT_FDCWD, "plain", AT_FDCWD, FILE_NAME), "renameat");
}

static void rename_flags(const char *directory, unsigned flags, const char *how)
{
    enter(directory);
    probe_make("plain");
    judge(FILE_NAME, syscall(SYS_renameat2, AT_FDCWD, "plain", AT_FDCWD, FILE_NAME, flags), how);
}

static void by_no_replace(void)
{
    rename_flags("c-no-replace", RENAME_NOREPLACE, "RENAME_NOREPLACE");
}

static void by_whiteout(void)
{
    rename_flags("c-whiteout", RENAME_WHITEOUT, "RENAME_WHITEOUT");
}

/* A tree built under harmless names, then moved to where its parts get their meaning. */
static void by_renamed_parent(void)
{
    enter("c-parent");
    probe_make_directory("tree");
    probe_make_directory("tree/dot-git");
    judge("tree/" NAME, rename("tree/dot-git", "tree/" NAME), "rename below a new tree");
}

static void by_socket(void)
{
    enter("c-socket");
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = FILE_NAME};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) judge(FILE_NAME, -1, "socket");
        fd = pair[0];
    }
    judge(FILE_NAME, bind(fd, (struct sockaddr *)&address, sizeof(address)), "bind");
}

static void by_dangling_link(void)
{
    enter("c-dangling");
    if (symlink(FILE_NAME, "harmless") != 0) probe_settle(-1, "symlink");
    judge(FILE_NAME, make(AT_FDCWD, "harmless"), "open through a dangling link");
}

static void by_dangling_chain(void)
{
    enter("c-chain");
    probe_make_directory("d");
    if (symlink("../" FILE_NAME, "d/two") != 0 || symlink("d/two", "one") != 0) {
        probe_settle(-1, "symlink");
    }
    judge(FILE_NAME, make(AT_FDCWD, "one"), "open through a chain of links");
}

static void by_linked_directory(void)
{
    enter("c-linked");
    probe_make_directory("real");
    if (symlink("real", "alias") != 0) probe_settle(-1, "symlink");
    judge("real/" FILE_NAME, make(AT_FDCWD, "alias/" FILE_NAME), "open below a linked directory");
}

static void by_exec(void)
{
    enter("c-exec");
    const char *path = probe_format("%s/" FILE_NAME, here);
    pid_t child = fork();
    if (child == 0) {
        (void)execl(probe_self(), "sbx-probe", "--create", path, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    errno = EACCES; /* what the child met is not told */
    judge(FILE_NAME, status == 0 ? 0 : -1, "a program started by fork and exec");
}

static void *make_in_thread(void *result)
{
    *(int *)result = make(AT_FDCWD, FILE_NAME) < 0 ? errno : 0;
    return NULL;
}

static void by_thread(void)
{
    enter("c-thread");
    pthread_t thread;
    int error = 0;
    if (pthread_create(&thread, NULL, make_in_thread, &error) != 0) probe_broken("no thread");
    (void)pthread_join(thread, NULL);
    errno = error;
    judge(FILE_NAME, error == 0 ? 0 : -1, "a thread");
}

/* A thread may have a directory of its own: what its path means differs from the process's. */
static void *make_elsewhere(void *result)
{
    int error = 0;
    if (unshare(CLONE_FS) != 0 || chdir(here) != 0 || make(AT_FDCWD, FILE_NAME) < 0) error = errno;
    *(int *)result = error;
    return NULL;
}

static void by_thread_directory(void)
{
    enter("c-thread-directory");
    pthread_t thread;
    int error = 0;
    if (chdir("/") != 0) probe_broken("chdir");
    if (pthread_create(&thread, NULL, make_elsewhere, &error) != 0) probe_broken("no thread");
    (void)pthread_join(thread, NULL);
    errno = error;
    judge(FILE_NAME, error == 0 ? 0 : -1, "a thread with its own working directory");
}

static void by_hidden_process(void)
{
    enter("c-hidden");
    if (prctl(PR_SET_DUMPABLE, 0) != 0) probe_broken("prctl");
    judge(FILE_NAME, make(AT_FDCWD, FILE_NAME), "a process that is not dumpable");
}

static void by_hidden_mkdir(void)
{
    enter("c-hidden-mkdir");
    if (prctl(PR_SET_DUMPABLE, 0) != 0) probe_broken("prctl");
    judge(NAME, mkdir(NAME, 0755), "mkdir of a process that is not dumpable");
}

/* The text changes between the moment it is judged and the moment it is used. Equal lengths: it is
 * never anything but one of the two. */
static char flipped[64];
static atomic_int flip_end;

static void *flip(void *unused)
{
    while (!atomic_load(&flip_end)) {
        memcpy(flipped, "okname", 7);
        memcpy(flipped, FILE_NAME, 7);
    }
    return unused;
}

static void by_flipping(void)
{
    enter("c-flip");
    pthread_t thread;
    memcpy(flipped, "okname", 7);
    if (pthread_create(&thread, NULL, flip, NULL) != 0) probe_broken("no thread");
    int made = 0;
    int tried = 0;
    for (; race_goes_on(FILE_NAME); tried++) {
        int fd = make(AT_FDCWD, flipped);
        made += fd >= 0;
        if (fd >= 0) close(fd);
        (void)unlink("okname");
    }
    atomic_store(&flip_end, 1);
    (void)pthread_join(thread, NULL);
    errno = EACCES;
    judge(FILE_NAME, -1, probe_format("%d of %d creations under a changing name", made, tried));
}

/* The directory changes instead: a link that points to a harmless place, then here. */
static void *swing(void *unused)
{
    while (!atomic_load(&flip_end)) {
        (void)unlink("swing");
        (void)symlink("okname", "swing");
        (void)unlink("swing");
        (void)symlink(FILE_NAME, "swing");
    }
    return unused;
}

static void by_swinging(void)
{
    enter("c-swing");
    pthread_t thread;
    if (pthread_create(&thread, NULL, swing, NULL) != 0) probe_broken("no thread");
    while (race_goes_on(FILE_NAME)) {
        int fd = make(AT_FDCWD, "swing");
        if (fd >= 0) close(fd);
    }
    atomic_store(&flip_end, 1);
    (void)pthread_join(thread, NULL);
    errno = EACCES;
    judge(FILE_NAME, -1, "creations through a link that changes");
}

/* The descriptor changes: dup2 of another directory under the same number. */
static int swung_fd, ok_fd, own_fd;

static void *swap_fd(void *unused)
{
    while (!atomic_load(&flip_end)) {
        (void)dup2(ok_fd, swung_fd);
        (void)dup2(own_fd, swung_fd);
    }
    return unused;
}

static void by_swapped_descriptor(void)
{
    enter("c-swap-fd");
    probe_make_directory("ok");
    /* There "x" is a directory, here it is a link to the protected name. */
    probe_make_directory("ok/x");
    if (symlink(".envrc", "x") != 0) probe_settle(-1, "symlink");
    ok_fd = open("ok", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    own_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    swung_fd = dup(ok_fd);
    pthread_t thread;
    if (pthread_create(&thread, NULL, swap_fd, NULL) != 0) probe_broken("no thread");
    while (race_goes_on(FILE_NAME)) {
        int fd = make(swung_fd, "x");
        if (fd >= 0) close(fd);
    }
    atomic_store(&flip_end, 1);
    (void)pthread_join(thread, NULL);
    errno = EACCES;
    judge(FILE_NAME, -1, "creations at a descriptor that changes");
}

const struct probe probe_create[] = {
    {"C01", "open with O_CREAT", by_open},
    {"C02", "the old open call", by_old_open},
    {"C03", "creat", by_creat},
    {"C04", "O_EXCL", by_exclusive},
    {"C05", "O_RDONLY with O_CREAT", by_read_only_create},
    {"C06", "openat at a directory descriptor", by_directory_descriptor},
    {"C07", "through /proc/self/cwd", by_proc_cwd},
    {"C08", "through /proc/self/fd", by_proc_fd},
    {"C09", "through /proc/thread-self/fd", by_proc_thread_fd},
    {"C10", "through /proc/self/root", by_proc_root},
    {"C11", "through /dev/fd", by_dev_fd},
    {"C12", "mkdir", by_mkdir},
    {"C13", "mkdirat", by_mkdirat},
    {"C14", "trailing slashes", by_slashes},
    {"C15", "dots and double slashes", by_dot},
    {"C16", "dot-dot in the middle", by_dotdot},
    {"C17", "in capitals", by_case},
    {"C18", "in mixed case", by_mixed_case},
    {"C19", "openat2", by_openat2},
    {"C20", "mknod", by_mknod},
    {"C21", "mknodat", by_mknodat},
    {"C22", "mkfifo", by_fifo},
    {"C23", "symlink", by_symlink},
    {"C24", "symlinkat", by_symlinkat},
    {"C25", "link", by_link},
    {"C26", "linkat", by_linkat},
    {"C27", "O_TMPFILE and linkat by /proc", by_tmpfile},
    {"C28", "O_TMPFILE and linkat by descriptor", by_tmpfile_empty},
    {"C29", "rename of a file", by_rename},
    {"C30", "rename of a directory", by_rename_directory},
    {"C31", "renameat", by_renameat},
    {"C32", "RENAME_NOREPLACE", by_no_replace},
    {"C33", "RENAME_WHITEOUT", by_whiteout},
    {"C34", "rename inside a new tree", by_renamed_parent},
    {"C35", "bind of a unix socket", by_socket},
    {"C36", "O_CREAT through a dangling symlink", by_dangling_link},
    {"C37", "O_CREAT through a chain of symlinks", by_dangling_chain},
    {"C38", "below a symlinked directory", by_linked_directory},
    {"C39", "from a program started by fork and exec", by_exec},
    {"C40", "from a thread", by_thread},
    {"C41", "from a thread with its own working directory", by_thread_directory},
    {"C42", "from a process that is not dumpable", by_hidden_process},
    {"C43", "mkdir from a process that is not dumpable", by_hidden_mkdir},
    {"C44", "with a name that another thread changes", by_flipping},
    {"C45", "through a symlink that another thread changes", by_swinging},
    {"C46", "at a descriptor that another thread changes", by_swapped_descriptor},
    {NULL, NULL, NULL}};
