/* posix/linux_seccomp: the programs that go on top of the one every box loads. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/fd.h"
#include "tests/check.h"
#include "tests/unit/os_actor.h"
#include "tests/unit/random.h"
#include "tests/unit/seccomp_fixture.h"

#include "common/base/banned.h"

#define HIGH UINT64_C(0x100000000)
#define LAST_CALL 1023
#define STRICT UNDER(SBX_FILTER_DENY, SBX_FILTER_STRICT)

/* ---- strict ------------------------------------------------------------------------------------ */

static bool is_in_group(const char *name)
{
    for (const struct sbx_call_group *group = sbx_call_strict; group->title != NULL; group++) {
        for (size_t i = 0; group->names[i] != NULL; i++) {
            if (strcmp(group->names[i], name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_number_of_table(int number)
{
    for (const struct sbx_call_rule *row = sbx_call_refusals; row->name != NULL; row++) {
        if (call_number(row->name) == number) {
            return true;
        }
    }
    for (const struct sbx_call_group *group = sbx_call_strict; group->title != NULL; group++) {
        for (size_t i = 0; group->names[i] != NULL; i++) {
            if (call_number(group->names[i]) == number) {
                return true;
            }
        }
    }
    return false;
}

static void strict_has_three_answers(void)
{
    unsigned allowed = 0;
    unsigned ended = 0;
    for (int number = 0; number <= LAST_CALL; number++) {
        uint32_t want = SECCOMP_RET_ERRNO | ENOSYS;
        if (is_number_of_table(number)) {
            want = SECCOMP_RET_ALLOW;
            allowed++;
        } else if (is_known_number(number)) {
            want = SECCOMP_RET_KILL_PROCESS;
            ended++;
        }
        struct call call = harmless_call(number);
        if (!CHECK_U64(answer_of(SBX_FILTER_STRICT, &call), want)) {
            printf("#   call %d\n", number);
        }
    }
    printf("# %u calls are allowed or answered by the deny program, %u end the process\n", allowed,
           ended);
    CHECK(allowed > 200);
    CHECK(ended > 5);
}

/* Made by every C library, or impossible to make like this: a child that shares the caller's stack, a
 * return from a signal that was not sent, a write-back of all disks. */
static bool is_only_walked(const char *name)
{
    return sbx_text_eq(name, "vfork") || sbx_text_eq(name, "rt_sigreturn") ||
           sbx_text_eq(name, "sync");
}

static void allowed_calls_are_not_ended(void)
{
    unsigned made = 0;
    for (const struct sbx_call_group *group = sbx_call_strict; group->title != NULL; group++) {
        for (size_t i = 0; group->names[i] != NULL; i++) {
            struct call call = harmless_call(call_number(group->names[i]));
            if (call.number < 0 || is_only_walked(group->names[i])) {
                continue;
            }
            struct call_result result = make_call(STRICT, 2, &call);
            made++;
            if (!CHECK(result.signal != SIGSYS)) {
                printf("#   %s\n", group->names[i]);
            }
        }
    }
    CHECK(made > 200);
}

/* Seen in traces of everyday tools (git, make, gcc, node, npm, python, sqlite, javac, java, go, rustc, perl,
 * cmake, a shell's, curl), and what newer C libraries and runtimes ask for. */
static const char everyday[] =
    "access arch_prctl bind brk capget chdir chmod clock_getres clock_nanosleep clone close "
    "close_range connect copy_file_range creat dup dup2 dup3 epoll_create1 epoll_ctl "
    "epoll_pwait epoll_wait eventfd2 execve exit exit_group faccessat2 fadvise64 fallocate "
    "fchdir fchown fcntl fdatasync fgetxattr flock fsetxattr fstat fstatfs fsync ftruncate "
    "futex get_mempolicy getcwd getdents64 getegid geteuid getgid getgroups getpeername "
    "getpgrp getpid getppid getrandom getrlimit getrusage getsockname getsockopt gettid "
    "getuid getxattr ioctl kill lgetxattr link lseek madvise mkdir mkdirat mmap mprotect "
    "mremap munmap nanosleep newfstatat openat pipe2 pkey_alloc poll prctl pread64 prlimit64 "
    "pselect6 pwrite64 read readlink readlinkat recvfrom recvmsg rename renameat2 rmdir rseq "
    "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigsuspend sched_getaffinity sched_yield "
    "sendmmsg sendto set_mempolicy set_robust_list set_tid_address setpgid setresgid "
    "setresuid setsockopt shutdown sigaltstack socket socketpair stat statfs statx sysinfo "
    "tgkill timer_create timer_settime umask uname unlink unlinkat utimensat vfork wait4 "
    "waitid write membarrier memfd_create timerfd_create timerfd_settime inotify_init1 "
    "inotify_add_watch signalfd4 shmget shmat semget pidfd_open accept4 listen sendmsg ppoll "
    "splice mseal map_shadow_stack futex_waitv getcpu readv writev pwritev2 mlock tkill ";

static void what_everyday_tools_call_is_allowed(void)
{
    unsigned found = 0;
    for (const char *at = everyday; *at != '\0'; at += strcspn(at, " ") + 1) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        struct call call = {.number = call_number(name)};
        if (call.number < 0) {
            continue; /* another processor's */
        }
        found++;
        if (!CHECK_U64(answer_of(SBX_FILTER_STRICT, &call), SECCOMP_RET_ALLOW) ||
            !CHECK(is_in_group(name))) {
            printf("#   %s\n", name);
        }
    }
    CHECK(found > 110);
}

static void known_calls_outside_end_the_process(void)
{
    unsigned made = 0;
    for (int number = 0; number <= LAST_CALL; number++) {
        if (is_known_number(number) && !is_number_of_table(number)) {
            struct call call = harmless_call(number);
            CHECK_INT(make_call(STRICT, 2, &call).signal, SIGSYS);
            made++;
        }
    }
    CHECK(made > 5);
    struct call outside = {.number = SYS_remap_file_pages};
    CHECK_INT(make_call(STRICT, 2, &outside).signal, SIGSYS);
    CHECK_INT(make_call(UNDER(SBX_FILTER_DENY), 1, &outside).signal, 0);
}

static void unknown_numbers_do_not_exist(void)
{
    static const int numbers[] = {600, 471, 999, 100000, 0x3fffffff};
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        struct call call = harmless_call(numbers[i]);
        struct call_result result = make_call(STRICT, 2, &call);
        CHECK_INT(result.signal, 0);
        CHECK_INT(result.error, ENOSYS);
    }
}

/* Under strict a refused call gets its errno and not the end, in either order of loading. */
static void refusals_stay_answers(void)
{
    for (const struct sbx_call_rule *row = sbx_call_refusals; row->name != NULL; row++) {
        struct call call = call_for(row, false);
        if (call.number < 0) {
            continue;
        }
        struct call_result result = make_call(STRICT, 2, &call);
        CHECK_INT(result.signal, 0);
        if (!CHECK_INT(result.error, row->answer)) {
            printf("#   %s\n", row->name);
        }
    }
    struct call trace = harmless_call(SYS_ptrace);
    CHECK_INT(make_call(UNDER(SBX_FILTER_STRICT, SBX_FILTER_DENY), 2, &trace).error, EPERM);
}

static void tables_have_no_doubles(void)
{
    for (const struct sbx_call_rule *row = sbx_call_refusals; row->name != NULL; row++) {
        if (row->test_count == 0 && !CHECK(!is_in_group(row->name))) {
            printf("#   %s is always refused, and in a group\n", row->name);
        }
    }
    unsigned count = 0;
    unsigned distinct = 0;
    static bool is_seen[LAST_CALL + 1];
    for (const struct sbx_call_group *group = sbx_call_strict; group->title != NULL; group++) {
        for (size_t i = 0; group->names[i] != NULL; i++) {
            int number = call_number(group->names[i]);
            if (number >= 0 && number <= LAST_CALL) {
                count++;
                distinct += !is_seen[number];
                is_seen[number] = true;
            }
        }
    }
    CHECK_INT(count, distinct);
}

/* ---- names ------------------------------------------------------------------------------------- */

#define ASKED EOWNERDEAD /* what the listener answers here: no file system says this */

/* A thread that has loaded the program makes the call; the test is the listener. */
struct asking {
    struct call call;
    int listener; /* -1 until it is loaded */
    int ready[2];
    int error;
};

static void *ask(void *context)
{
    struct asking *asking = context;
    int listener = -EPERM;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        listener = sbx_filter_load(SBX_FILTER_NAMES, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    }
    asking->listener = listener;
    if (write(asking->ready[1], "x", 1) != 1 || listener < 0) {
        return NULL;
    }
    const uint64_t *a = asking->call.arguments;
    long result = syscall(asking->call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
    asking->error = result == -1 ? errno : 0;
    (void)close(asking->ready[1]); /* the listener stops waiting */
    asking->ready[1] = -1;
    return NULL;
}

static void answer_one(int listener, int number)
{
    struct seccomp_notif request = {0};
    struct seccomp_notif_resp response = {0};
    if (!CHECK_INT(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request), 0)) {
        return;
    }
    CHECK_INT(request.data.nr, number);
    response.id = request.id;
    response.error = -ASKED;
    CHECK_INT(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response), 0);
}

/* The errno of the call under the program: ASKED when the listener was asked. */
static int error_when_asked(const struct call *call)
{
    struct asking asking = {.call = *call, .listener = -1};
    pthread_t thread;
    if (pipe(asking.ready) != 0 || pthread_create(&thread, NULL, ask, &asking) != 0) {
        CHECK_INT(errno, 0);
        return -1;
    }
    AUTO_FD ready = asking.ready[0];
    char byte;
    CHECK_INT(read(ready, &byte, 1), 1);
    AUTO_FD listener = asking.listener;
    if (CHECK(listener >= 0)) {
        struct pollfd either[] = {{.fd = listener, .events = POLLIN},
                                  {.fd = ready, .events = POLLIN}};
        CHECK(poll(either, 2, 10000) > 0);
        if ((either[0].revents & POLLIN) != 0) {
            answer_one(listener, call->number);
        }
    }
    CHECK_INT(pthread_join(thread, NULL), 0);
    return asking.error;
}

static void new_names_are_asked_for(void)
{
    struct call probe = harmless_call(SYS_getpid);
    CHECK_INT(error_when_asked(&probe), 0);
    for (const struct sbx_call_rule *row = sbx_call_creating; row->name != NULL; row++) {
        struct call call = call_for(row, false);
        if (call.number >= 0 && !CHECK_INT(error_when_asked(&call), ASKED)) {
            printf("#   %s\n", row->name);
        }
    }
}

/* By name and not by table. */
static void what_makes_a_name(void)
{
    static const int always[] = {
        SYS_mkdirat,
        SYS_mknodat,
        SYS_linkat,
        SYS_symlinkat,
        SYS_renameat2,
#if defined(__x86_64__)
        SYS_mkdir,
        SYS_mknod,
        SYS_link,
        SYS_symlink,
        SYS_rename,
        SYS_creat,
#endif
        SYS_renameat
    };
    for (size_t i = 0; i < SBX_COUNT(always); i++) {
        struct call call = {.number = always[i]};
        CHECK_U64(answer_of(SBX_FILTER_NAMES, &call), SECCOMP_RET_USER_NOTIF);
    }
    static const uint64_t making[] = {O_CREAT, O_CREAT | O_EXCL | O_RDWR, O_CREAT | HIGH};
    for (size_t i = 0; i < SBX_COUNT(making); i++) {
        struct call call = {.number = SYS_openat, .arguments = {0, 0, making[i]}};
        CHECK_U64(answer_of(SBX_FILTER_NAMES, &call), SECCOMP_RET_USER_NOTIF);
        CHECK_INT(error_when_asked(&call), ASKED);
    }
}

static void nothing_else_is_asked_for(void)
{
    for (int number = 0; number <= LAST_CALL; number++) {
        struct call call = {.number = number};
        int want = answer_in_table(sbx_call_creating, &call);
        CHECK_U64(answer_of(SBX_FILTER_NAMES, &call),
                  want == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_USER_NOTIF);
    }
    static const uint64_t flags[] = {O_RDONLY, O_WRONLY | O_TRUNC | O_APPEND, O_TMPFILE | O_RDWR,
                                     ~(uint64_t)O_CREAT};
    for (size_t i = 0; i < SBX_COUNT(flags); i++) {
        struct call call = {.number = SYS_openat, .arguments = {0, 0, flags[i]}};
        CHECK_U64(answer_of(SBX_FILTER_NAMES, &call), SECCOMP_RET_ALLOW);
    }
    struct call absent = {
        .number = SYS_openat,
        .arguments = {(uint64_t)AT_FDCWD, (uint64_t)(uintptr_t) "/absent/file", O_RDONLY}};
    CHECK_INT(error_when_asked(&absent), ENOENT);
}

/* ---- metadata, Landlock, network --------------------------------------------------------------- */

static long change_times(const void *argument)
{
    return utimensat(AT_FDCWD, argument, NULL, 0);
}

static long change_mode(const void *argument)
{
    return chmod(argument, 0600);
}

static long change_owner(const void *argument)
{
    return lchown(argument, getuid(), getgid());
}

static long write_to(const void *argument)
{
    AUTO_FD fd = open(argument, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : write(fd, "x", 1);
}

static void files_change_by_writing_only(void)
{
    check_rows(SBX_FILTER_METADATA, sbx_call_metadata);
    const char *path = scratch("file");
    actor_write(path, "x");
    /* Modes and times are asked about; without anybody who listens there is no such call. */
    long (*const asked[])(const void *) = {change_times, change_mode, change_owner};
    for (size_t i = 0; i < SBX_COUNT(asked); i++) {
        CHECK_INT(make_calls(UNDER(SBX_FILTER_CHANGES), 1, asked[i], path).error, ENOSYS);
        CHECK_INT(make_calls(NULL, 0, asked[i], path).error, 0);
    }
    CHECK_INT(make_calls(UNDER(SBX_FILTER_METADATA), 1, write_to, path).error, 0);
    /* By number and not by table: what every processor has. */
    static const int listened[] = {SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat,
                                   SYS_utimensat};
    for (size_t i = 0; i < SBX_COUNT(listened); i++) {
        struct call call = {.number = listened[i]};
        CHECK_U64(answer_of(SBX_FILTER_CHANGES, &call), SECCOMP_RET_USER_NOTIF);
    }
    struct call newer = harmless_call(452 /* fchmodat2 */);
    CHECK_INT(make_call(UNDER(SBX_FILTER_METADATA), 1, &newer).error, ENOSYS);
    static const int changing[] = {
        SYS_setxattr,         SYS_lsetxattr,           SYS_fsetxattr,
        SYS_removexattr,      SYS_lremovexattr,        SYS_fremovexattr,
        463 /* setxattrat */, 466 /* removexattrat */, 469 /* file_setattr */};
    for (size_t i = 0; i < SBX_COUNT(changing); i++) {
        struct call call = harmless_call(changing[i]);
        CHECK_INT(make_call(UNDER(SBX_FILTER_METADATA), 1, &call).error, EOPNOTSUPP);
    }
    static const int others[] = {SYS_read, SYS_fstat, SYS_ioctl, SYS_openat, SYS_fgetxattr};
    for (size_t i = 0; i < SBX_COUNT(others); i++) {
        struct call call = {.number = others[i]};
        CHECK_U64(answer_of(SBX_FILTER_METADATA, &call), SECCOMP_RET_ALLOW);
    }
}

static void landlock_seems_to_be_off(void)
{
    check_rows(SBX_FILTER_NO_LANDLOCK, sbx_call_landlock);
    for (int number = 444; number <= 446; number++) {
        struct call call = harmless_call(number);
        CHECK_INT(make_call(UNDER(SBX_FILTER_NO_LANDLOCK), 1, &call).error, EOPNOTSUPP);
        CHECK_INT(
            make_call(UNDER(SBX_FILTER_DENY, SBX_FILTER_STRICT, SBX_FILTER_NO_LANDLOCK), 3, &call)
                .error,
            EOPNOTSUPP);
        CHECK_U64(answer_of(SBX_FILTER_DENY, &call), SECCOMP_RET_ALLOW);
    }
}

static void internet_sockets_can_be_refused(void)
{
    check_rows(SBX_FILTER_NO_NETWORK, sbx_call_networks);
    static const struct {
        uint64_t family;
        int error;
    } cases[] = {{AF_INET, EAFNOSUPPORT},
                 {AF_INET6, EAFNOSUPPORT},
                 {AF_UNIX, 0},
                 {AF_INET | HIGH, EAFNOSUPPORT},
                 {AF_NETLINK, 0}};
    for (size_t i = 0; i < SBX_COUNT(cases); i++) {
        struct call call = {.number = SYS_socket, .arguments = {cases[i].family, SOCK_DGRAM}};
        CHECK_INT(make_call(UNDER(SBX_FILTER_NO_NETWORK), 1, &call).error, cases[i].error);
        CHECK_INT(make_call(NULL, 0, &call).error, 0);
    }
}

static void neighbours_cannot_be_reached(void)
{
    check_rows(SBX_FILTER_NEIGHBOURS, sbx_call_neighbours);
    struct call own = {.number = SYS_setpriority, .arguments = {0, 0, 0}};
    CHECK_INT(make_call(UNDER(SBX_FILTER_NEIGHBOURS), 1, &own).error, 0);
    struct call look = {.number = SYS_prlimit64, .arguments = {1, 0, 0, 0}};
    CHECK_U64(answer_of(SBX_FILTER_NEIGHBOURS, &look), SECCOMP_RET_ALLOW);
}

/* ---- several as one ---------------------------------------------------------------------------- */

/* As the kernel does it: a smaller action is the stricter one. */
static uint32_t answer_of_all(const enum sbx_filter *filters, size_t count, const struct call *call)
{
    uint32_t strictest = SECCOMP_RET_ALLOW;
    for (size_t i = 0; i < count; i++) {
        uint32_t answer = answer_of(filters[i], call);
        int32_t action = (int32_t)(answer & SECCOMP_RET_ACTION_FULL);
        if (action < (int32_t)(strictest & SECCOMP_RET_ACTION_FULL)) {
            strictest = answer;
        }
    }
    return strictest;
}

static uint64_t some_argument(uint64_t *state)
{
    static const uint64_t values[] = {0,      1,          2,     3,    10,        16,      17,
                                      0x5412, 0xffffffff, 04755, 0755, 020200000, 0x80003, 262,
                                      0x541c, 0x10000000, 58,    0x10, UINT64_MAX};
    uint64_t value = values[random_below(state, SBX_COUNT(values))];
    return random_below(state, 6) == 0 ? value | HIGH : value;
}

static void joined_programs_say_what_their_parts_say(void)
{
    static const struct {
        enum sbx_filter joined;
        size_t count;
        enum sbx_filter parts[3];
    } rows[] = {
        {SBX_FILTER_BOX, 2, {SBX_FILTER_DENY, SBX_FILTER_NO_LANDLOCK}},
        {SBX_FILTER_BOX_UNIX, 2, {SBX_FILTER_DENY_UNIX, SBX_FILTER_NO_LANDLOCK}},
        {SBX_FILTER_BOX_STRICT, 3, {SBX_FILTER_DENY, SBX_FILTER_STRICT, SBX_FILTER_NO_LANDLOCK}},
        {SBX_FILTER_BOX_UNIX_STRICT,
         3,
         {SBX_FILTER_DENY_UNIX, SBX_FILTER_STRICT, SBX_FILTER_NO_LANDLOCK}},
    };
    uint64_t state = 20261118;
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        unsigned wrong = 0;
        for (int number = -1; number <= LAST_CALL + 2; number++) {
            for (int round = 0; round < 200; round++) {
                struct call call = {.number = number};
                for (size_t k = 0; k < SBX_COUNT(call.arguments); k++) {
                    call.arguments[k] = some_argument(&state);
                }
                wrong += answer_of(rows[i].joined, &call) !=
                         answer_of_all(rows[i].parts, rows[i].count, &call);
            }
        }
        CHECK_INT(wrong, 0);
        enum sbx_filter list[4] = {rows[i].parts[0], rows[i].parts[1], SBX_FILTER_METADATA,
                                   rows[i].parts[2]};
        CHECK_INT(sbx_filter_join(list, rows[i].count + 1), 2);
        CHECK_INT(list[0], rows[i].joined);
        CHECK_INT(list[1], SBX_FILTER_METADATA);
    }
    enum sbx_filter other[] = {SBX_FILTER_DENY, SBX_FILTER_STRICT};
    CHECK_INT(sbx_filter_join(other, 2), 2);
    CHECK(other[0] == SBX_FILTER_DENY && other[1] == SBX_FILTER_STRICT);
}

static const struct sbx_test tests[] = {
    {"programs that are several as one say what those say",
     joined_programs_say_what_their_parts_say},
    {"strict allows, ends or does not know a call", strict_has_three_answers},
    {"strict ends no process for a call it allows", allowed_calls_are_not_ended},
    {"strict allows what everyday tools were seen to call", what_everyday_tools_call_is_allowed},
    {"strict ends a process for a known call outside", known_calls_outside_end_the_process},
    {"strict says that unknown numbers do not exist", unknown_numbers_do_not_exist},
    {"under strict a refused call still gets its answer", refusals_stay_answers},
    {"a call is in one table, once", tables_have_no_doubles},
    {"the listener is asked before a name is made", new_names_are_asked_for},
    {"every call that makes a name is asked for, by name", what_makes_a_name},
    {"the listener is asked for nothing else", nothing_else_is_asked_for},
    {"with the metadata program files change by writing only", files_change_by_writing_only},
    {"Landlock can seem to be switched off", landlock_seems_to_be_off},
    {"internet sockets can be refused", internet_sockets_can_be_refused},
    {"the user's other processes cannot be reached", neighbours_cannot_be_reached},
};
ACTOR_TEST_MAIN("seccomp layers", tests)
