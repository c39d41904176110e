/* Tests of posix/linux_landlock: rights by version, and that the running kernel takes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/linux_landlock.h"
#include "tests/check.h"
#include "tests/unit/names_fixture.h"

#include "common/base/banned.h"

static unsigned bits(uint64_t rights)
{
    return (unsigned)__builtin_popcountll(rights);
}

static unsigned kernel_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    return abi > 0 ? (unsigned)abi : 0;
}

/* Documentation/userspace-api/landlock.rst, "Previous limitations". */
static void each_version_handles_what_its_kernel_knows(void)
{
    static const struct {
        unsigned abi, files, network, scopes;
    } rows[] = {{0, 0, 0, 0},  {1, 13, 0, 0}, {2, 14, 0, 0}, {3, 15, 0, 0}, {4, 15, 2, 0},
                {5, 16, 2, 0}, {6, 16, 2, 2}, {7, 16, 2, 2}, {8, 16, 2, 2}, {99, 16, 2, 2}};
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        bool held = CHECK_U64(bits(sbx_landlock_files(rows[i].abi)), rows[i].files) &&
                    CHECK_U64(bits(sbx_landlock_network(rows[i].abi)), rows[i].network) &&
                    CHECK_U64(bits(sbx_landlock_scopes(rows[i].abi)), rows[i].scopes);
        if (!held) {
            printf("#   version %u\n", rows[i].abi);
        }
    }
}

static void a_right_is_never_one_the_version_lacks(void)
{
    for (unsigned abi = 0; abi <= 9; abi++) {
        uint64_t known = sbx_landlock_files(abi);
        for (int is_directory = 0; is_directory < 2; is_directory++) {
            CHECK_U64(sbx_landlock_read(abi, is_directory != 0) & ~known, 0);
            CHECK_U64(sbx_landlock_write(abi, is_directory != 0) & ~known, 0);
            CHECK_U64(sbx_landlock_device(abi, is_directory != 0) & ~known, 0);
        }
    }
}

static void reading_changes_nothing_and_writing_makes_no_devices(void)
{
    const uint64_t changes = SBX_LANDLOCK_WRITE_FILE | SBX_LANDLOCK_TRUNCATE |
                             SBX_LANDLOCK_REMOVE_DIR | SBX_LANDLOCK_REMOVE_FILE |
                             SBX_LANDLOCK_MAKE_DIR | SBX_LANDLOCK_MAKE_REG | SBX_LANDLOCK_REFER |
                             SBX_LANDLOCK_MAKE_SYM | SBX_LANDLOCK_MAKE_SOCK |
                             SBX_LANDLOCK_MAKE_FIFO;
    CHECK_U64(sbx_landlock_read(7, true) & changes, 0);
    CHECK_U64(sbx_landlock_write(7, true) & changes, changes);
    CHECK_U64(sbx_landlock_write(7, true) & (SBX_LANDLOCK_MAKE_CHAR | SBX_LANDLOCK_MAKE_BLOCK), 0);
    CHECK_U64(sbx_landlock_write(7, true) & SBX_LANDLOCK_IOCTL_DEV, 0);
    CHECK_U64(sbx_landlock_write(7, false), SBX_LANDLOCK_EXECUTE | SBX_LANDLOCK_READ_FILE |
                                                SBX_LANDLOCK_WRITE_FILE | SBX_LANDLOCK_TRUNCATE);
    CHECK_U64(sbx_landlock_device(7, false), SBX_LANDLOCK_READ_FILE | SBX_LANDLOCK_WRITE_FILE);
    CHECK_U64(sbx_landlock_device(7, true),
              SBX_LANDLOCK_READ_FILE | SBX_LANDLOCK_WRITE_FILE | SBX_LANDLOCK_IOCTL_DEV);
}

static void the_kernel_takes_what_its_version_has(void)
{
    unsigned abi = kernel_abi();
    if (abi == 0) {
        sbx_test_skip("landlock", "this kernel has no Landlock");
        return;
    }
    for (unsigned version = 1; version <= abi; version++) {
        struct sbx_err err = {0};
        int fd = -1;
        CHECK_CODE(sbx_landlock_open(sbx_landlock_files(version), sbx_landlock_network(version),
                                     sbx_landlock_scopes(version), &fd, &err),
                   SBX_OK, &err);
        CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
        int root = open("/", O_PATH | O_CLOEXEC);
        int null = open("/dev/null", O_PATH | O_CLOEXEC);
        CHECK_CODE(sbx_landlock_allow(fd, root, sbx_landlock_write(version, true), &err), SBX_OK,
                   &err);
        CHECK_CODE(sbx_landlock_allow(fd, null, sbx_landlock_write(version, false), &err), SBX_OK,
                   &err);
        (void)close(root);
        (void)close(null);
        (void)close(fd);
    }
    struct sbx_err err = {0};
    int fd = -1;
    CHECK_CODE(sbx_landlock_open(UINT64_C(1) << 60, 0, 0, &fd, &err), SBX_E_INVALID, &err);
    CHECK_INT(fd, -1);
}

/* What a restricted child can do: bit 0 read, 1 write, 2 make, in each directory. */
static int tries(const char *directory)
{
    char path[PATH_MAX];
    int done = 0;
    (void)snprintf(path, sizeof path, "%s/file", directory);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    done |= fd >= 0 ? 1 : 0;
    fd = open(path, O_WRONLY | O_CLOEXEC);
    done |= fd >= 0 ? 2 : 0;
    (void)snprintf(path, sizeof path, "%s/new", directory);
    done |= mkdir(path, 0700) == 0 ? 4 : 0;
    return done;
}

static int in_child(struct names_fixture *f, int ruleset, const char *rest)
{
    const char *path = names_path(f, rest);
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            (ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)) {
            _exit(99);
        }
        _exit(tries(path));
    }
    int status = 0;
    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void the_kernel_holds_what_was_allowed(void)
{
    AUTO_NAMES f;
    unsigned abi = kernel_abi();
    int ruleset = -1;
    if (abi == 0) {
        sbx_test_skip("landlock", "this kernel has no Landlock");
        return;
    }
    names_start(&f);
    names_file(&f, "read/file", "");
    names_file(&f, "write/file", "");
    names_file(&f, "none/file", "");
    CHECK_CODE(sbx_landlock_open(sbx_landlock_files(abi), 0, 0, &ruleset, &f.err), SBX_OK, &f.err);
    int fd = open(names_path(&f, "read"), O_PATH | O_CLOEXEC);
    CHECK_CODE(sbx_landlock_allow(ruleset, fd, sbx_landlock_read(abi, true), &f.err), SBX_OK,
               &f.err);
    (void)close(fd);
    fd = open(names_path(&f, "write"), O_PATH | O_CLOEXEC);
    CHECK_CODE(sbx_landlock_allow(ruleset, fd, sbx_landlock_write(abi, true), &f.err), SBX_OK,
               &f.err);
    (void)close(fd);
    CHECK_INT(in_child(&f, ruleset, "read"), 1);
    CHECK_INT(in_child(&f, ruleset, "write"), 7);
    CHECK_INT(in_child(&f, ruleset, "none"), 0);
    CHECK_INT(in_child(&f, -1, "none"), 7); /* without it all can be done */
    (void)close(ruleset);
}

static const struct sbx_test tests[] = {
    {"each version handles what its kernel knows", each_version_handles_what_its_kernel_knows},
    {"a right is never one the version lacks", a_right_is_never_one_the_version_lacks},
    {"reading changes nothing, and writing makes no devices",
     reading_changes_nothing_and_writing_makes_no_devices},
    {"the kernel takes what each of its versions has", the_kernel_takes_what_its_version_has},
    {"the kernel holds what was allowed, and nothing else is possible",
     the_kernel_holds_what_was_allowed},
};

SBX_TEST_MAIN("landlock", tests)
