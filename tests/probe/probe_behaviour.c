/* Not attacks: what must go on working in a box, above all making files through the judge of names.
 * DONE means it works as it does outside. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/banned.h"

#define THREADS 32
#define PER_THREAD 20
#define SIGNALLED 300

static void enter(const char *name)
{
    const char *path = probe_path("work", name);
    probe_make_directory(path);
    if (chdir(path) != 0) probe_broken("chdir: %s", strerrorname_np(errno));
}

/* Ends the probe unless the statement holds; what was met is in the detail. */
static void must(bool held, const char *what)
{
    if (!held) probe_denied("%s", what);
}

static mode_t mode_of(const char *name)
{
    struct stat found = {0};
    must(lstat(name, &found) == 0, name);
    return found.st_mode & 07777u;
}

static void modes(void)
{
    static const mode_t masks[] = {0, 022, 027, 077, 0777};
    enter("b-modes");
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        mode_t mask = masks[i];
        (void)umask(mask);
        const char *file = probe_format("file-%03o", (unsigned)mask);
        const char *directory = probe_format("directory-%03o", (unsigned)mask);
        must(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) >= 0, "open");
        must(mode_of(file) == (0666u & ~mask), probe_format("mode of a file under %03o", mask));
        must(mkdir(directory, 0777) == 0, "mkdir");
        must(mode_of(directory) == (0777u & ~mask),
             probe_format("mode of a directory under %03o", mask));
    }
    (void)umask(0);
    must(open("odd", O_WRONLY | O_CREAT | O_CLOEXEC, 0421) >= 0 && mode_of("odd") == 0421, "odd");
    must(mkfifo("fifo", 0640) == 0 && mode_of("fifo") == 0640, "fifo");
    probe_done("modes and umask");
}

static void thread_umask_body(void)
{
    (void)umask(077);
    must(open("private", O_WRONLY | O_CREAT | O_CLOEXEC, 0666) >= 0, "open");
    must(mode_of("private") == 0600, "the umask of the moment");
    (void)umask(0);
    must(open("public", O_WRONLY | O_CREAT | O_CLOEXEC, 0666) >= 0, "open");
    must(mode_of("public") == 0666, "the umask of the moment");
}

static void changing_umask(void)
{
    enter("b-umask");
    thread_umask_body();
    probe_done("umask changes count at once");
}

static void owner(void)
{
    enter("b-owner");
    struct stat found = {0};
    must(open("mine", O_WRONLY | O_CREAT | O_CLOEXEC, 0644) >= 0, "open");
    must(stat("mine", &found) == 0 && found.st_uid == getuid() && found.st_gid == getgid(),
         "owner");
    must(mkdir("ours", 0755) == 0 && stat("ours", &found) == 0 && found.st_uid == getuid(),
         "owner");
    probe_done("new files belong to the command");
}

static void flags(void)
{
    enter("b-flags");
    int fd = open("f", O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    must(fd >= 0, "O_EXCL on a new file");
    must((fcntl(fd, F_GETFL) & (O_APPEND | O_ACCMODE)) == (O_APPEND | O_RDWR), "O_APPEND");
    must((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, "O_CLOEXEC");
    must(write(fd, "one", 3) == 3 && lseek(fd, 0, SEEK_SET) == 0 && write(fd, "two", 3) == 3 &&
             lseek(fd, 0, SEEK_END) == 6,
         "appended");
    must(open("f", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644) < 0 && errno == EEXIST, "EEXIST");
    int plain = open("g", O_WRONLY | O_CREAT, 0644); // NOLINT(android-cloexec-open)
    must(plain >= 0 && (fcntl(plain, F_GETFD) & FD_CLOEXEC) == 0, "without O_CLOEXEC");
    fd = open("f", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    must(fd >= 0 && lseek(fd, 0, SEEK_END) == 0, "O_TRUNC");
    fd = open("n", O_WRONLY | O_CREAT | O_NONBLOCK | O_DSYNC | O_CLOEXEC, 0644);
    must(fd >= 0 && (fcntl(fd, F_GETFL) & (O_NONBLOCK | O_DSYNC)) == (O_NONBLOCK | O_DSYNC),
         "other flags");
    probe_done("flags of open");
}

/* The lowest free descriptor is what POSIX promises, and shells depend on it. */
static void lowest_descriptor(void)
{
    enter("b-lowest");
    int lowest = dup(0);
    must(lowest > 0 && close(lowest) == 0, "dup");
    must(open("a", O_WRONLY | O_CREAT | O_CLOEXEC, 0644) == lowest, "the lowest free number");
    must(open("b", O_WRONLY | O_CREAT | O_CLOEXEC, 0644) > lowest, "another number");
    close(lowest);
    must(open("c", O_WRONLY | O_CREAT | O_CLOEXEC, 0644) == lowest, "the lowest free number again");
    probe_done("descriptors are the lowest free ones");
}

static void links(void)
{
    enter("b-links");
    probe_make("there");
    must(symlink("there", "to-there") == 0 && symlink("absent", "to-absent") == 0, "symlink");
    must(open("to-there", O_WRONLY | O_CREAT | O_CLOEXEC, 0644) >= 0, "through a link");
    must(open("to-absent", O_WRONLY | O_CREAT | O_CLOEXEC, 0644) >= 0 && probe_exists("absent"),
         "through a dangling link");
    must(open("to-there", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644) < 0 && errno == ELOOP,
         "O_NOFOLLOW");
    must(open("to-there", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644) < 0 && errno == EEXIST,
         "O_EXCL on a link");
    probe_done("links");
}

static void devices(void)
{
    static const char *const names[] = {"/dev/null", "/dev/zero", "/dev/full"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        must(open(names[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) >= 0, names[i]);
    }
    probe_done("devices open with O_CREAT");
}

static void streams(void)
{
    static const char *const names[] = {"/dev/stdout", "/dev/stderr", "/proc/self/fd/1",
                                        "/dev/fd/2"};
    int ends[2];
    must(pipe(ends) == 0 && dup2(ends[1], 1) == 1 && dup2(ends[1], 2) == 2, "pipe");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int fd = open(names[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        must(fd >= 0, names[i]);
        char byte = 0;
        must(write(fd, "x", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'x', names[i]);
        close(fd);
    }
    probe_done("streams by their names");
}

static void *read_later(void *unused)
{
    probe_sleep_ms(150);
    char text[10];
    (void)probe_slurp("pipe", text, sizeof(text));
    return unused;
}

static void fifo(void)
{
    enter("b-fifo");
    must(mkfifo("pipe", 0644) == 0, "mkfifo");
    pid_t writer = fork();
    if (writer == 0) {
        int fd = open("pipe", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        _exit(fd >= 0 && write(fd, "through", 7) == 7 ? 0 : 1);
    }
    /* While that one waits, others can make files. */
    probe_sleep_ms(50);
    must(waitpid(writer, NULL, WNOHANG) == 0, "the writer waits for a reader");
    must(open("meanwhile", O_WRONLY | O_CREAT | O_CLOEXEC, 0644) >= 0, "not held up by it");
    int reader = open("pipe", O_RDONLY | O_CLOEXEC);
    char text[10] = {0};
    int status = 1;
    must(reader >= 0 && read(reader, text, 7) == 7 && strcmp(text, "through") == 0,
         "what it wrote");
    (void)waitpid(writer, &status, 0);
    must(status == 0, "the writer");
    probe_done("a fifo blocks its writer and nobody else");
}

static void fifo_threads(void)
{
    enter("b-fifo-threads");
    must(mkfifo("pipe", 0644) == 0, "mkfifo");
    pthread_t thread;
    must(pthread_create(&thread, NULL, read_later, NULL) == 0, "thread");
    int fd = open("pipe", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    must(fd >= 0, "open for writing");
    probe_done("a fifo between threads");
}

static void fifo_alone(void)
{
    enter("b-fifo-alone");
    must(mkfifo("pipe", 0644) == 0, "mkfifo");
    must(open("pipe", O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0644) < 0 && errno == ENXIO,
         "ENXIO without a reader");
    must(open("pipe", O_RDWR | O_CREAT | O_CLOEXEC, 0644) >= 0, "both ways");
    probe_done("a fifo without a reader");
}

#define EXPECT(result, error, what) must((result) < 0 && errno == (error), what)

static void errors(void)
{
    enter("b-errors");
    static char longest[400];
    memset(longest, 'n', 300);
    probe_make("file");
    probe_make_directory("full");
    probe_make("full/x");
    must(symlink("loop", "loop") == 0, "symlink");
    EXPECT(open("absent/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), ENOENT, "ENOENT");
    EXPECT(open("", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), ENOENT, "ENOENT for no name");
    EXPECT(open("file/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), ENOTDIR, "ENOTDIR");
    EXPECT(open("full", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), EISDIR, "EISDIR");
    EXPECT(open("new/", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), EISDIR, "EISDIR for a slash");
    EXPECT(open(longest, O_WRONLY | O_CREAT | O_CLOEXEC, 0644), ENAMETOOLONG, "ENAMETOOLONG");
    EXPECT(open("loop", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), ELOOP, "ELOOP");
    EXPECT(syscall(SYS_openat, AT_FDCWD, 8, O_WRONLY | O_CREAT, 0644), EFAULT, "EFAULT");
    EXPECT(openat(999, "x", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), EBADF, "EBADF");
    EXPECT(mkdir("file", 0755), EEXIST, "EEXIST");
    EXPECT(mkdir("absent/x", 0755), ENOENT, "ENOENT of mkdir");
    EXPECT(syscall(SYS_mkdir, 8, 0755), EFAULT, "EFAULT of mkdir");
    EXPECT(rename("absent", "x"), ENOENT, "ENOENT of rename");
    EXPECT(rename("file", "full"), EISDIR, "EISDIR of rename");
    EXPECT(rename("full", "file"), ENOTDIR, "ENOTDIR of rename");
    EXPECT(rename("full", "full/below"), EINVAL, "EINVAL of rename");
    probe_make_directory("empty");
    EXPECT(rename("empty", "full"), ENOTEMPTY, "ENOTEMPTY of rename");
    EXPECT(link("absent", "x"), ENOENT, "ENOENT of link");
    EXPECT(link("file", "full"), EEXIST, "EEXIST of link");
    EXPECT(symlink("x", "file"), EEXIST, "EEXIST of symlink");
    EXPECT(symlink("", "x"), ENOENT, "ENOENT of symlink");
    EXPECT(mkfifo("file", 0644), EEXIST, "EEXIST of mkfifo");
    probe_done("errors are the kernel's own");
}

static void cross_device(void)
{
    enter("b-device");
    probe_make("file");
    const char *other = probe_path("scratch", "sbx-probe-other");
    if (rename("file", other) == 0) {
        (void)unlink(other);
        probe_done("one file system");
    }
    EXPECT(rename("file", other), EXDEV, "EXDEV of rename");
    EXPECT(link("file", other), EXDEV, "EXDEV of link");
    probe_done("EXDEV");
}

static atomic_int ticks;

static void tick(int number)
{
    (void)number;
    atomic_fetch_add(&ticks, 1);
}

static void under_signals(const char *name, int flags_of_action)
{
    enter(name);
    struct sigaction action = {.sa_handler = tick, .sa_flags = flags_of_action};
    struct itimerval timer = {.it_interval = {.tv_usec = 300}, .it_value = {.tv_usec = 300}};
    must(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
    must(setitimer(ITIMER_REAL, &timer, NULL) == 0, "setitimer");
    int interrupted = 0;
    for (int i = 0; i < SIGNALLED; i++) {
        const char *file = probe_format("f%d", i);
        int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        for (int again = 0; fd < 0 && errno == EINTR && again < 100; again++) {
            interrupted++;
            fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        }
        must(fd >= 0, probe_format("file %d of %d", i, SIGNALLED));
        close(fd);
    }
    timer = (struct itimerval){0};
    (void)setitimer(ITIMER_REAL, &timer, NULL);
    must((flags_of_action & SA_RESTART) == 0 || interrupted == 0, "EINTR in spite of SA_RESTART");
    must(atomic_load(&ticks) > 0, "signals arrived");
    probe_done("%d files, %d interruptions", SIGNALLED, interrupted);
}

static void signals_restart(void)
{
    under_signals("b-restart", SA_RESTART);
}

static void signals_interrupt(void)
{
    under_signals("b-interrupt", 0);
}

static atomic_int failed;

static void *make_many(void *number)
{
    for (int i = 0; i < PER_THREAD; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "t%ld-%d", (long)(intptr_t)number, i);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0 || close(fd) != 0) atomic_fetch_add(&failed, 1);
    }
    return NULL;
}

static void threads(void)
{
    enter("b-threads");
    pthread_t all[THREADS];
    for (long i = 0; i < THREADS; i++) {
        must(pthread_create(&all[i], NULL, make_many, (void *)(intptr_t)i) == 0, "thread");
    }
    for (int i = 0; i < THREADS; i++) (void)pthread_join(all[i], NULL);
    must(atomic_load(&failed) == 0, probe_format("%d failed", atomic_load(&failed)));
    probe_done("%d threads made %d files", THREADS, THREADS * PER_THREAD);
}

static void no_descriptor_left(void)
{
    enter("b-emfile");
    struct rlimit limit = {.rlim_cur = 32, .rlim_max = 32};
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    int last = 0;
    for (int i = 0; i < 64; i++) {
        if (open(probe_format("f%d", i), O_WRONLY | O_CREAT | O_CLOEXEC, 0644) >= 0) continue;
        last = errno;
        break;
    }
    errno = last;
    must(last == EMFILE, "EMFILE");
    probe_done("EMFILE at the limit");
}

static void temporary(void)
{
    enter("b-temporary");
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) probe_settle(-1, "O_TMPFILE");
    must(linkat(AT_FDCWD, probe_format("/proc/self/fd/%d", fd), AT_FDCWD, "named",
                AT_SYMLINK_FOLLOW) == 0 &&
             probe_exists("named"),
         "linkat");
    probe_done("O_TMPFILE and linkat to a plain name");
}

static void near_names(void)
{
    static const char *const names[] = {".gitx",  "git",        ".git2",          "x.git",
                                        "..git",  ".gitignore", ".envrc.example", "sbx.toml.bak",
                                        "my.ssh", ".npmrc2"};
    enter("b-near");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        must(probe_scribble(names[i]) == 0, names[i]);
    }
    probe_done("names that only look like protected ones");
}

static void large_tree(void)
{
    enter("b-tree");
    for (int i = 0; i < 200; i++) {
        const char *directory = probe_format("d%d", i);
        must(mkdir(directory, 0755) == 0, "mkdir");
        must(probe_scribble(probe_format("%s/f", directory)) == 0, "file");
        must(rename(probe_format("%s/f", directory), probe_format("%s/g", directory)) == 0,
             "rename");
        must(unlink(probe_format("%s/g", directory)) == 0 && rmdir(directory) == 0, "removal");
    }
    probe_done("200 directories made and removed");
}

static void readable(void)
{
    char text[64];
    must(probe_slurp(probe_path("ro", "file"), text, sizeof(text)) > 0, "a granted file");
    must(probe_slurp("/etc/passwd", text, sizeof(text)) > 0, "/etc/passwd");
    must(probe_slurp(probe_path("work", "repo/.git/config"), text, sizeof(text)) > 0,
         "a protected file can be read");
    must(probe_scribble(probe_path("work", "plain")) == 0, "write in the workspace");
    probe_done("what was granted");
}

const struct probe probe_behaviour[] = {
    {"B01", "granted files can be read and written", readable},
    {"B02", "mode bits and umask", modes},
    {"B03", "umask changes count at once", changing_umask},
    {"B04", "new files belong to the command", owner},
    {"B05", "O_EXCL, O_APPEND, O_CLOEXEC, O_TRUNC and others", flags},
    {"B06", "descriptors are the lowest free ones", lowest_descriptor},
    {"B07", "creation through links, O_NOFOLLOW", links},
    {"B08", "/dev/null and its like open with O_CREAT", devices},
    {"B09", "/dev/stdout, /dev/stderr, /proc/self/fd/1", streams},
    {"B10", "a fifo blocks its writer and nobody else", fifo},
    {"B11", "a fifo between threads", fifo_threads},
    {"B12", "a fifo without a reader", fifo_alone},
    {"B13", "errors are the kernel's own", errors},
    {"B14", "EXDEV between file systems", cross_device},
    {"B15", "signals during calls, SA_RESTART", signals_restart},
    {"B16", "signals during calls, no restart", signals_interrupt},
    {"B17", "32 threads make files at once", threads},
    {"B18", "EMFILE at RLIMIT_NOFILE", no_descriptor_left},
    {"B19", "O_TMPFILE and linkat to a plain name", temporary},
    {"B20", "names that only look like protected ones", near_names},
    {"B21", "many directories made, renamed and removed", large_tree},
    {NULL, NULL, NULL}};
