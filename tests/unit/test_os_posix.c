/* common/os.h on POSIX: odd files, owners and modes, the XDG rules, pipes that block or break. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/xattr.h>
#endif

#include "common/os.h"
#include "posix/fd.h"
#include "tests/check.h"
#include "tests/unit/os_actor.h"

#include "common/base/banned.h"

static struct sbx_err err;

/* ---- files --------------------------------------------------------------------------------- */

static enum sbx_code try_read(const char *path)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    struct sbx_str text;
    return sbx_os_read_file(&arena, path, 1 << 16, &text, NULL, &err);
}

static void odd_files_do_not_hang(void)
{
    uint64_t begin = sbx_os_monotonic_ns();
    const char *fifo = scratch("fifo");
    scratch("made");
    CHECK_INT(mkfifo(fifo, 0600), 0);
    CHECK_CODE(try_read(fifo), SBX_E_INVALID, &err);
    CHECK(strstr(err.text, "FIFO") != NULL);
    CHECK_CODE(try_read("/dev/zero"), SBX_E_INVALID, &err);
    CHECK(strstr(err.text, "device") != NULL);
    CHECK_CODE(try_read("/dev/tty"), SBX_E_INVALID, &err);

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", scratch("socket"));
    AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_INT(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    CHECK_CODE(try_read(address.sun_path), SBX_E_INVALID, &err);
    struct sbx_file_info info;
    sbx_os_file_info(address.sun_path, &info);
    CHECK_INT(info.node, SBX_NODE_SOCKET);
    sbx_os_file_info(fifo, &info);
    CHECK_INT(info.node, SBX_NODE_OTHER);
    CHECK(sbx_os_monotonic_ns() - begin < UINT64_C(2000000000));
}

static void size_zero_is_not_empty(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 20);
    struct sbx_str text;
    CHECK_CODE(sbx_os_read_file(&arena, "/proc/self/status", 1 << 16, &text, NULL, &err), SBX_OK,
               &err);
    CHECK(text.len > 100);
    CHECK_CODE(sbx_os_read_file(&arena, "/proc/self/status", 100, &text, NULL, &err), SBX_E_LIMIT,
               &err);
}

static struct sbx_file_info info_of(const char *path)
{
    struct sbx_file_info info;
    sbx_os_file_info(path, &info);
    return info;
}

/* 'y', 'n', or '?' when it is not known. */
static char may(const char *path, bool is_write)
{
    bool answer = false;
    if (!sbx_os_may(path, is_write, &answer)) {
        return '?';
    }
    return answer ? 'y' : 'n';
}

static void what_the_caller_may_is_known_before(void)
{
    /* Root may do what modes forbid. */
    const char closed = geteuid() == 0 ? 'y' : 'n';
    const char *path = scratch("may");
    actor_write(path, "x");
    CHECK_INT(may(path, false), 'y');
    CHECK_INT(may(path, true), 'y');
    CHECK_INT(chmod(path, 0400), 0);
    CHECK_INT(may(path, false), 'y');
    CHECK_INT(may(path, true), closed);
    CHECK_INT(chmod(path, 0), 0);
    CHECK_INT(may(path, false), closed);
    CHECK_INT(chmod(path, 0600), 0);
    CHECK_INT(may(scratch("may-be-made"), true), 'y');
    CHECK_INT(may(scratch("may-be-made"), false), '?');
    CHECK_INT(may(scratch("no-such/file"), true), '?');
    CHECK_INT(may(scratch("may/below-a-file"), true), '?');
}

static void writers_are_seen(void)
{
    const char *path = scratch("mode");
    actor_write(path, "x");
    CHECK_INT(chmod(path, 0644), 0);
    CHECK(!info_of(path).others_may_write);
    CHECK(info_of(path).is_callers);
    CHECK_INT(chmod(path, 0664), 0);
    CHECK(info_of(path).others_may_write);
    CHECK_INT(chmod(path, 0602), 0);
    CHECK(info_of(path).others_may_write);

    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_str text;
    struct sbx_file_info info;
    CHECK_CODE(sbx_os_read_file(&arena, path, 10, &text, &info, &err), SBX_OK, &err);
    CHECK(info.others_may_write);
}

static void owners_are_seen(void)
{
    const char *path = scratch("owner");
    actor_write(path, "x");
    CHECK(info_of("/").is_admins);
    if (geteuid() != 0) {
        CHECK(!info_of("/").is_callers);
        CHECK(!info_of(path).is_admins);
        return;
    }
    CHECK(info_of(path).is_admins);
    CHECK_INT(chown(path, 12345, 12345), 0);
    CHECK(!info_of(path).is_callers);
    CHECK(!info_of(path).is_admins);
}

#ifdef __linux__
/* Nobody (65534) may write; the bytes are the kernel's own form of an ACL, version 2. */
static void acl_writers_are_seen(void)
{
    static const unsigned char acl[] = {
        2,    0, 0, 0,                         /* version */
        0x01, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, /* owner: rw */
        0x02, 0, 6, 0, 0xfe, 0xff, 0,    0,    /* user 65534: rw */
        0x04, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, /* group: r */
        0x10, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, /* mask: rw */
        0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, /* others: none */
    };
    const char *path = scratch("acl");
    actor_write(path, "x");
    CHECK(!info_of(path).others_may_write);
    if (setxattr(path, "system.posix_acl_access", acl, sizeof acl, 0) != 0) {
        sbx_test_skip("acl", "the file system has no ACLs");
        return;
    }
    CHECK(info_of(path).others_may_write);
}
#endif

static void written_files_are_private(void)
{
    struct stat status;
    mode_t before = umask(0);
    actor_write(scratch("private/dir/file"), "x");
    CHECK_CODE(sbx_os_write_new(scratch("private/new"), sbx_str("x"), &err), SBX_OK, &err);
    (void)umask(before);
    CHECK_INT(stat(scratch("private/dir/file"), &status), 0);
    CHECK_INT(status.st_mode & 07777, 0600);
    CHECK_INT(stat(scratch("private/dir"), &status), 0);
    CHECK_INT(status.st_mode & 07777, 0700);
    CHECK_INT(stat(scratch("private/new"), &status), 0);
    CHECK_INT(status.st_mode & 07777, 0644);
}

static void leftovers_are_removed(void)
{
    pid_t dead = fork();
    if (dead == 0) {
        _exit(0);
    }
    (void)waitpid(dead, NULL, 0);
    char of_dead[64];
    char of_living[64];
    (void)snprintf(of_dead, sizeof of_dead, "left/.sbx-tmp-%ld-00", (long)dead);
    (void)snprintf(of_living, sizeof of_living, "left/.sbx-tmp-%ld-00", (long)getppid());
    actor_write(scratch("left/other"), "x");
    CHECK_CODE(sbx_os_write_new(scratch(of_dead), sbx_str("x"), &err), SBX_OK, &err);
    CHECK_CODE(sbx_os_write_new(scratch(of_living), sbx_str("x"), &err), SBX_OK, &err);
    CHECK_CODE(sbx_os_write_new(scratch("left/.sbx-tmp-x"), sbx_str("x"), &err), SBX_OK, &err);
    actor_write(scratch("left/file"), "x");
    CHECK_INT(info_of(scratch(of_dead)).node, SBX_NODE_MISSING);
    CHECK_INT(info_of(scratch(of_living)).node, SBX_NODE_FILE);
    CHECK_INT(info_of(scratch("left/.sbx-tmp-x")).node, SBX_NODE_FILE);
    CHECK_INT(info_of(scratch("left/other")).node, SBX_NODE_FILE);
}

static void links_are_followed_or_replaced(void)
{
    actor_write(scratch("links/target"), "target");
    CHECK_INT(symlink("target", scratch("links/link")), 0);
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_path real;
    CHECK_CODE(sbx_os_real_path(&arena, scratch("links/link"), &real, &err), SBX_OK, &err);
    CHECK_STR(sbx_path_name(real), "target");
    /* Writing through a link would write where somebody else points. */
    CHECK_CODE(sbx_os_write_new(scratch("links/link"), sbx_str("x"), &err), SBX_E_INVALID, &err);
    actor_write(scratch("links/link"), "own");
    CHECK_TEXT(actor_read(scratch("links/target")), "target");
    CHECK_TEXT(actor_read(scratch("links/link")), "own");
}

static void full_disk_leaves_nothing(void)
{
    if (access("/dev/full", W_OK) != 0) {
        sbx_test_skip("devfull", "no /dev/full");
        return;
    }
    CHECK_CODE(sbx_os_write_new("/dev/full", sbx_str("x"), &err), SBX_E_INVALID, &err);
    CHECK(sbx_os_write_atomic("/proc/sbx-test", sbx_str("x"), &err) != SBX_OK);
    CHECK(sbx_os_write_atomic("/proc/none/sbx-test", sbx_str("x"), &err) != SBX_OK);
}

static void stdin_is_bounded(void)
{
    int ends[2];
    int saved = dup(STDIN_FILENO);
    CHECK_INT(pipe(ends), 0);
    CHECK_INT(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    CHECK_INT(write(ends[1], "0123456789", 10), 10);
    CHECK_INT(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    pid_t closer = fork();
    if (closer == 0) {
        /* The reader finds the pipe empty, non-blocking and still open for a while. */
        actor_sleep_ms(100);
        _exit(0);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_str text;
    struct sbx_file_info info;
    CHECK_CODE(sbx_os_read_file(&arena, "-", 10, &text, &info, &err), SBX_OK, &err);
    CHECK_STR(text, "0123456789");
    CHECK(info.is_callers && !info.others_may_write);
    (void)waitpid(closer, NULL, 0);
    CHECK_INT(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    (void)close(saved);
}

/* ---- context ------------------------------------------------------------------------------- */

static bool context_now(struct sbx_arena *arena, struct sbx_context *out)
{
    return CHECK_CODE(sbx_os_context(arena, out, &err), SBX_OK, &err);
}

static void set(const char *name, const char *value)
{
    if (value == NULL) {
        (void)unsetenv(name);
    } else {
        (void)setenv(name, value, 1);
    }
}

static void relative_variables_are_ignored(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 18);
    struct sbx_context context;
    set("HOME", "/home/somebody");
    set("XDG_STATE_HOME", NULL);
    set("XDG_CONFIG_HOME", "relative");
    set("XDG_RUNTIME_DIR", "/run/user/1/");
    set("TMPDIR", "tmp");
    if (context_now(&arena, &context)) {
        CHECK_TEXT(context.home.text, "/home/somebody");
        CHECK_TEXT(context.state_dir.text, "/home/somebody/.local/state/sbx");
        CHECK_TEXT(context.config_dir.text, "/home/somebody/.config/sbx");
        CHECK_TEXT(context.runtime_dir.text, "/run/user/1");
        CHECK_TEXT(context.tmp.text, "/tmp");
    }
    set("XDG_STATE_HOME", "/state");
    set("XDG_CONFIG_HOME", "/config");
    set("XDG_RUNTIME_DIR", NULL);
    set("TMPDIR", "/var/tmp");
    if (context_now(&arena, &context)) {
        CHECK_TEXT(context.state_dir.text, "/state/sbx");
        CHECK_TEXT(context.config_dir.text, "/config/sbx");
        CHECK_TEXT(context.runtime_dir.text, "");
        CHECK_TEXT(context.tmp.text, "/var/tmp");
    }
    static const char *const bad[] = {NULL, "", "relative", "/a/../b", "/bad\xff", "/bad\n"};
    struct sbx_path homes[SBX_COUNT(bad)] = {{0}};
    for (size_t i = 0; i < SBX_COUNT(bad); i++) {
        set("HOME", bad[i]);
        if (context_now(&arena, &context)) {
            homes[i] = context.home;
            CHECK_TEXT(homes[i].text, homes[0].text);
        }
    }
    set("TMPDIR", NULL);
    set("XDG_STATE_HOME", NULL);
    set("XDG_CONFIG_HOME", NULL);
}

static void bad_text_counts_as_unset(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    set("SBX_TEST_TEXT", "gr\xc3\xbc\xc3\x9f");
    CHECK_TEXT(sbx_os_env(&arena, "SBX_TEST_TEXT"), "gr\xc3\xbc\xc3\x9f");
    set("SBX_TEST_TEXT", "\xff");
    CHECK(sbx_os_env(&arena, "SBX_TEST_TEXT") == NULL);
}

static void lost_directory_is_an_error(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 1 << 16);
    struct sbx_context context = {.uid = 77};
    AUTO_FD before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    actor_write(scratch("made"), "");
    CHECK_INT(mkdir(scratch("lost"), 0700), 0);
    CHECK_INT(chdir(scratch("lost")), 0);
    CHECK_INT(rmdir(scratch("lost")), 0);
    CHECK_CODE(sbx_os_context(&arena, &context, &err), SBX_E_NOT_FOUND, &err);
    CHECK(err.hint[0] != '\0');
    CHECK_INT(mkdir(scratch("bad\xff"), 0700), 0);
    CHECK_INT(chdir(scratch("bad\xff")), 0);
    CHECK_CODE(sbx_os_context(&arena, &context, &err), SBX_E_INVALID, &err);
    CHECK_U64(context.uid, 77);
    CHECK_INT(fchdir(before), 0);
}

/* ---- streams ------------------------------------------------------------------------------- */

static void closed_pipe_is_an_error(void)
{
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    (void)close(ends[0]);
    CHECK_CODE(sbx_os_write_fd(ends[1], "x", 1, &err), SBX_E_IO, &err);
    CHECK_INT(err.raw, EPIPE);
    (void)close(ends[1]);
    CHECK_CODE(sbx_os_write_fd(ends[1], "x", 1, &err), SBX_E_INVALID, &err);
}

static void *read_slowly(void *fd)
{
    static size_t total;
    char block[1000];
    ssize_t got;
    while ((got = read(*(int *)fd, block, sizeof block)) > 0) {
        total += (size_t)got;
    }
    return &total;
}

static void nonblocking_pipe_takes_all(void)
{
    static char block[1 << 20];
    int ends[2];
    pthread_t reader;
    void *total;
    CHECK_INT(pipe(ends), 0);
    CHECK_INT(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    CHECK_INT(pthread_create(&reader, NULL, read_slowly, &ends[0]), 0);
    CHECK_CODE(sbx_os_write_fd(ends[1], block, sizeof block, &err), SBX_OK, &err);
    (void)close(ends[1]);
    CHECK_INT(pthread_join(reader, &total), 0);
    CHECK_U64(*(size_t *)total, sizeof block);
    (void)close(ends[0]);
}

static struct sbx_os_mutex mutex;
static unsigned long counter;

static void *count_up(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100000; i++) {
        sbx_os_lock(&mutex);
        counter++;
        sbx_os_unlock(&mutex);
    }
    return NULL;
}

static void lock_excludes(void)
{
    pthread_t threads[4];
    for (size_t i = 0; i < SBX_COUNT(threads); i++) {
        CHECK_INT(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    }
    for (size_t i = 0; i < SBX_COUNT(threads); i++) {
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    }
    CHECK_U64(counter, 400000);
}

static const struct sbx_test tests[] = {
    {"a FIFO, device or socket is refused and never waited for", odd_files_do_not_hang},
    {"a file whose size says 0 is read, and still bounded", size_zero_is_not_empty},
    {"what the caller may do to a file is known before", what_the_caller_may_is_known_before},
    {"a file that group or others may write says so", writers_are_seen},
    {"a file of another user says so", owners_are_seen},
#ifdef __linux__
    {"a file that an ACL lets others write says so", acl_writers_are_seen},
#endif
    {"what sbx writes is private whatever the umask", written_files_are_private},
    {"leftovers of killed writers are removed, of living ones kept", leftovers_are_removed},
    {"a link is followed for its name and replaced on writing", links_are_followed_or_replaced},
    {"a file that cannot be written leaves nothing", full_disk_leaves_nothing},
    {"standard input is read to its end, also when it does not block", stdin_is_bounded},
    {"a relative, dotted or unreadable HOME or XDG variable is ignored",
     relative_variables_are_ignored},
    {"a variable that is not text counts as unset", bad_text_counts_as_unset},
    {"a current directory that is gone or not text is an error", lost_directory_is_an_error},
    {"a closed pipe is an error and not a signal", closed_pipe_is_an_error},
    {"a pipe that does not block takes everything", nonblocking_pipe_takes_all},
    {"a mutex made of zeroes excludes", lock_excludes},
};

ACTOR_TEST_MAIN("os on posix", tests)
