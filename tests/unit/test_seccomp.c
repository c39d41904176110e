/* posix/linux_seccomp: the program that every box loads refuses what its tables say, and only that. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/fd.h"
#include "tests/check.h"
#include "tests/unit/os_actor.h"
#include "tests/unit/random.h"
#include "tests/unit/seccomp_fixture.h"

#include "common/base/banned.h"

#define HIGH UINT64_C(0x100000000)

/* ---- rows -------------------------------------------------------------------------------------- */

static void every_refusal_holds(void)
{
    check_rows(SBX_FILTER_DENY, sbx_call_refusals);
    check_rows(SBX_FILTER_DENY_UNIX, sbx_call_refusals);
    check_rows(SBX_FILTER_DENY, sbx_call_no_unix);
}

/* Never made without a program, not even with arguments that cannot work. */
static bool is_too_dangerous(const char *name)
{
    static const char *const names[] = {
        "reboot",       "kexec_load",    "kexec_file_load", "swapon",       "swapoff",
        "settimeofday", "clock_settime", "clock_adjtime",   "adjtimex",     "acct",
        "init_module",  "finit_module",  "delete_module",   "iopl",         "ioperm",
        "sethostname",  "setdomainname", "vhangup",         "syslog",       "mount",
        "umount2",      "pivot_root",    "quotactl",        "create_module"};
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The kernel itself says EPERM to many of these calls unless the caller may do everything. */
static bool may_do_everything(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    return syscall(SYS_capget, &head, data) == 0 &&
           (data[0].effective & 1U << CAP_SYS_ADMIN) != 0 &&
           (data[0].effective & 1U << CAP_DAC_READ_SEARCH) != 0;
}

static void the_kernel_answers_otherwise(void)
{
    bool is_exact = may_do_everything();
    unsigned tried = 0;
    for (const struct sbx_call_rule *row = sbx_call_refusals; row->name != NULL; row++) {
        struct call call = call_for(row, false);
        if (call.number < 0 || is_too_dangerous(row->name)) {
            continue;
        }
        struct call_result result = make_call(NULL, 0, &call);
        CHECK_INT(result.signal, 0);
        bool says_nothing =
            result.error == ENOSYS /* an older kernel */ || (result.error == EPERM && !is_exact);
        if (!says_nothing && !CHECK(result.error != row->answer)) {
            printf("#   %s %s\n", row->name, row->when == NULL ? "" : row->when);
        }
        tried += !says_nothing;
    }
    printf("# %u of the rows have a control on this machine\n", tried);
    CHECK(tried > 40);
}

/* ---- the list of the specification, by number and not by table --------------------------------- */

static void check_never(int number, int error, const char *what)
{
    static const enum sbx_filter both[] = {SBX_FILTER_DENY, SBX_FILTER_DENY_UNIX};
    for (size_t i = 0; i < SBX_COUNT(both); i++) {
        struct call call = harmless_call(number);
        CHECK_U64(answer_of(both[i], &call), SECCOMP_RET_ERRNO | (unsigned)error);
        struct call_result result = make_call(&both[i], 1, &call);
        if (!CHECK_INT(result.error, error)) {
            printf("#   %s\n", what);
        }
    }
}

#define NEVER(name) check_never(SYS_##name, EPERM, #name)

static void what_no_box_may_do(void)
{
    NEVER(ptrace);
    NEVER(process_vm_readv);
    NEVER(process_vm_writev);
    NEVER(mount);
    NEVER(umount2);
    NEVER(pivot_root);
    NEVER(chroot);
    NEVER(setns);
    NEVER(init_module);
    NEVER(finit_module);
    NEVER(delete_module);
    NEVER(kexec_load);
    NEVER(bpf);
    NEVER(userfaultfd);
    NEVER(keyctl);
    NEVER(add_key);
    NEVER(request_key);
    NEVER(perf_event_open);
    NEVER(reboot);
    NEVER(swapon);
    NEVER(swapoff);
    NEVER(personality);
    NEVER(open_by_handle_at);
    /* io_uring, the newer mount calls, pidfd_getfd and process_madvise have these everywhere. */
    static const int numbers[] = {425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 440, 442, 467};
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        check_never(numbers[i], EPERM, "by number");
    }
    check_never(435, ENOSYS, "clone3");
    check_never(437, ENOSYS, "openat2");
    static const int newer[] = {457, 458, 460, 463, 466, 469};
    for (size_t i = 0; i < SBX_COUNT(newer); i++) {
        check_never(newer[i], ENOSYS, "by number");
    }
}

static int error_of(enum sbx_filter which, int number, uint64_t a, uint64_t b, uint64_t c,
                    uint64_t d)
{
    struct call call = harmless_call(number);
    call.arguments[0] = a;
    call.arguments[1] = b;
    call.arguments[2] = c;
    call.arguments[3] = d;
    return make_call(UNDER(which), 1, &call).error;
}

static void no_namespace_can_be_made(void)
{
    static const uint64_t flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                     CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
    for (size_t i = 0; i < SBX_COUNT(flags); i++) {
        CHECK_INT(error_of(SBX_FILTER_DENY, SYS_unshare, flags[i], 0, 0, 0), EPERM);
        CHECK_INT(error_of(SBX_FILTER_DENY, SYS_unshare, flags[i] | HIGH | CLONE_FS, 0, 0, 0),
                  EPERM);
        CHECK_INT(error_of(SBX_FILTER_DENY, SYS_clone, flags[i] | SIGCHLD, 0, 0, 0), EPERM);
    }
    CHECK_INT(error_of(SBX_FILTER_DENY, SYS_unshare, 0x80 /* time */, 0, 0, 0), EPERM);
    CHECK_INT(error_of(SBX_FILTER_DENY, SYS_unshare, CLONE_FS | CLONE_FILES, 0, 0, 0), 0);
    CHECK_INT(error_of(SBX_FILTER_DENY, SYS_clone, SIGCHLD, 0, 0, 0), 0);
}

/* ---- terminals, files, personality ------------------------------------------------------------- */

/* On an open pipe the kernel would say ENOTTY. */
static long control(const void *argument)
{
    int ends[2];
    return pipe(ends) != 0 ? -2 : syscall(SYS_ioctl, ends[0], *(const uint64_t *)argument, 0);
}

static void terminals_cannot_be_typed_into(void)
{
    static const uint64_t commands[] = {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCSTI | HIGH,
                                        TIOCLINUX | UINT64_C(0xffffffff00000000)};
    for (size_t i = 0; i < SBX_COUNT(commands); i++) {
        CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY), 1, control, &commands[i]).error, EPERM);
        CHECK_INT(make_calls(NULL, 0, control, &commands[i]).error == EPERM, false);
    }
    static const uint64_t sizes[] = {TIOCGWINSZ, TIOCSWINSZ};
    for (size_t i = 0; i < SBX_COUNT(sizes); i++) {
        CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY), 1, control, &sizes[i]).error, ENOTTY);
    }
}

struct try_file {
    const char *path;
    unsigned mode;
    long (*act)(const struct try_file *file);
};

static long act_chmod(const struct try_file *file)
{
    return chmod(file->path, file->mode);
}

static long act_mkdir(const struct try_file *file)
{
    return mkdir(file->path, file->mode);
}

static long act_node(const struct try_file *file)
{
    return mknod(file->path, file->mode, 0);
}

static long act_create(const struct try_file *file)
{
    return open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC, file->mode);
}

static long act_nameless(const struct try_file *file)
{
    return syscall(SYS_openat, AT_FDCWD, file->path, O_WRONLY | O_TMPFILE, file->mode);
}

/* The mode is only there when something is made; without, the register holds anything. */
static long act_open(const struct try_file *file)
{
    return syscall(SYS_openat, AT_FDCWD, file->path, O_RDONLY, file->mode);
}

static long act_chmod_newer(const struct try_file *file)
{
    return syscall(452 /* fchmodat2 */, AT_FDCWD, file->path, file->mode, 0);
}

static long act(const void *argument)
{
    const struct try_file *file = argument;
    return file->act(file);
}

static void check_file(const char *name, unsigned mode, long (*function)(const struct try_file *),
                       int error)
{
    struct try_file file = {scratch(name), mode, function};
    struct call_result result = make_calls(UNDER(SBX_FILTER_DENY), 1, act, &file);
    if (!CHECK_INT(result.error, error)) {
        printf("#   %s with mode %o\n", name, mode);
    }
}

static void no_set_id_file_is_left(void)
{
    actor_write(scratch("file"), "x");
    static const unsigned set[] = {04755, 02755, 06711};
    for (size_t i = 0; i < SBX_COUNT(set); i++) {
        check_file("file", set[i], act_chmod, EPERM);
        check_file("file", set[i], act_chmod_newer, EPERM);
        check_file("directory", set[i], act_mkdir, EPERM);
        check_file("fifo", S_IFIFO | set[i], act_node, EPERM);
        check_file("created", set[i], act_create, EPERM);
        check_file(".", set[i], act_nameless, EPERM);
        check_file("file", set[i], act_open, 0);
    }
    check_file("file", 01755, act_chmod, 0);
    check_file("directory", 0755, act_mkdir, 0);
    check_file("fifo", S_IFIFO | 0644, act_node, 0);
    check_file("created", 0644, act_create, 0);
    check_file("device", S_IFCHR | 0600, act_node, EPERM);
    check_file("device", S_IFBLK | 0600, act_node, EPERM);
    check_file("regular", S_IFREG | 0600, act_node, 0);
}

static void personality_can_only_be_asked(void)
{
    CHECK_INT(error_of(SBX_FILTER_DENY, SYS_personality, 0xffffffff, 0, 0, 0), 0);
    CHECK_INT(error_of(SBX_FILTER_DENY, SYS_personality, ADDR_NO_RANDOMIZE, 0, 0, 0), EPERM);
    CHECK_INT(error_of(SBX_FILTER_DENY, SYS_personality, HIGH | ADDR_NO_RANDOMIZE, 0, 0, 0), EPERM);
    CHECK_INT(error_of(SBX_FILTER_DENY, SYS_personality, 0, 0, 0, 0), EPERM);
}

/* ---- sockets ----------------------------------------------------------------------------------- */

static int socket_error(enum sbx_filter which, uint64_t family, uint64_t type, uint64_t protocol)
{
    return error_of(which, SYS_socket, family, type, protocol, 0);
}

static void families_are_a_short_list(void)
{
    static const enum sbx_filter both[] = {SBX_FILTER_DENY, SBX_FILTER_DENY_UNIX};
    for (size_t i = 0; i < SBX_COUNT(both); i++) {
        for (unsigned family = 0; family <= 64; family++) {
            bool is_free = family == AF_INET || family == AF_INET6 || family == AF_NETLINK ||
                           (family == AF_UNIX && both[i] == SBX_FILTER_DENY_UNIX);
            int error = socket_error(both[i], family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            CHECK_INT(error, is_free ? 0 : EAFNOSUPPORT);
        }
        CHECK_INT(socket_error(both[i], AF_UNIX | HIGH, SOCK_STREAM, 0), EAFNOSUPPORT);
        CHECK_INT(socket_error(both[i], AF_PACKET | HIGH, SOCK_RAW, 0), EAFNOSUPPORT);
        CHECK_INT(socket_error(both[i], UINT64_MAX, SOCK_STREAM, 0), EAFNOSUPPORT);
    }
    struct call unix_socket = {.number = SYS_socket, .arguments = {AF_UNIX, SOCK_STREAM}};
    CHECK_INT(make_call(NULL, 0, &unix_socket).error, 0);
}

static void netlink_is_for_routes(void)
{
    CHECK_INT(socket_error(SBX_FILTER_DENY, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0), 0);
    for (uint64_t protocol = 1; protocol <= 40; protocol++) {
        CHECK_INT(socket_error(SBX_FILTER_DENY, AF_NETLINK, SOCK_RAW, protocol), EAFNOSUPPORT);
        CHECK_INT(socket_error(SBX_FILTER_DENY, AF_NETLINK, SOCK_RAW, protocol | HIGH),
                  EAFNOSUPPORT);
    }
}

static void packets_cannot_be_forged(void)
{
    static const uint64_t flags[] = {0, SOCK_CLOEXEC, SOCK_NONBLOCK, HIGH};
    for (size_t i = 0; i < SBX_COUNT(flags); i++) {
        CHECK_INT(socket_error(SBX_FILTER_DENY, AF_INET, SOCK_RAW | flags[i], IPPROTO_ICMP), EPERM);
        CHECK_INT(socket_error(SBX_FILTER_DENY, AF_INET6, SOCK_RAW | flags[i], IPPROTO_TCP), EPERM);
        /* The old way to a packet socket, which names another family. */
        CHECK_INT(socket_error(SBX_FILTER_DENY, AF_INET, SOCK_PACKET | flags[i], 0), EPERM);
    }
    CHECK_INT(socket_error(SBX_FILTER_DENY, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 0);
    CHECK_INT(socket_error(SBX_FILTER_DENY, AF_INET6, SOCK_DGRAM, 0), 0);
}

struct pair {
    int family, type;
    struct sockaddr_un to; /* where a datagram goes; not sent without a path */
};

static long pair_up(const void *argument)
{
    const struct pair *pair = argument;
    int ends[2];
    if (socketpair(pair->family, pair->type, 0, ends) != 0 || pair->to.sun_path[0] == '\0') {
        return errno == 0 ? 0 : -1;
    }
    return sendto(ends[0], "x", 1, 0, (const struct sockaddr *)&pair->to, sizeof pair->to);
}

static void pairs_of_sockets_work(void)
{
    static const struct pair good[] = {{AF_UNIX, SOCK_STREAM, {0}},
                                       {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, {0}},
                                       {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, {0}}};
    for (size_t i = 0; i < SBX_COUNT(good); i++) {
        CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY), 1, pair_up, &good[i]).error, 0);
        CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY_UNIX), 1, pair_up, &good[i]).error, 0);
    }
    struct pair internet = {AF_INET, SOCK_STREAM, {0}};
    CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY), 1, pair_up, &internet).error, EAFNOSUPPORT);
    CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY_UNIX), 1, pair_up, &internet).error, EAFNOSUPPORT);
}

/* One end of a pair may send to any socket file of the host: connect() is not needed for it. */
static void pairs_do_not_reach_socket_files(void)
{
    struct pair pair = {AF_UNIX, SOCK_DGRAM, {.sun_family = AF_UNIX}};
    (void)snprintf(pair.to.sun_path, sizeof pair.to.sun_path, "%s", scratch("host.socket"));
    actor_write(scratch("made"), "");
    AUTO_FD host = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK_INT(bind(host, (const struct sockaddr *)&pair.to, sizeof pair.to), 0);
    char got;
    CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY), 1, pair_up, &pair).error, EAFNOSUPPORT);
    CHECK_INT(recv(host, &got, 1, MSG_DONTWAIT), -1);
    pair.type = SOCK_RAW | SOCK_CLOEXEC;
    CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY), 1, pair_up, &pair).error, EAFNOSUPPORT);
    CHECK_INT(recv(host, &got, 1, MSG_DONTWAIT), -1);
    CHECK_INT(make_calls(NULL, 0, pair_up, &pair).error, 0);
    CHECK_INT(recv(host, &got, 1, MSG_DONTWAIT), 1);
    pair.type = SOCK_DGRAM;
    CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY_UNIX), 1, pair_up, &pair).error, 0);
    CHECK_INT(recv(host, &got, 1, MSG_DONTWAIT), 1);
}

/* ---- other processors -------------------------------------------------------------------------- */

static void another_processor_ends_the_process(void)
{
    static const uint32_t others[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64, 0};
    for (int which = 0; which < SBX_FILTER_COUNT; which++) {
        for (size_t i = 0; i < SBX_COUNT(others); i++) {
            CHECK_U64(answer_to_architecture((enum sbx_filter)which, others[i], 20),
                      SECCOMP_RET_KILL_PROCESS);
        }
    }
}

#if defined(__x86_64__)
static long old_entry(const void *argument)
{
    (void)argument;
    long result = 20; /* getpid */
    __asm__ volatile("int $0x80" : "+a"(result) : : "r8", "r9", "r10", "r11", "memory", "cc");
    return result;
}

static void old_entries_end_the_process(void)
{
    for (int which = 0; which < SBX_FILTER_COUNT; which++) {
        if (which == SBX_FILTER_NAMES) {
            continue; /* needs a listener; the walk above covers it */
        }
        enum sbx_filter filter = (enum sbx_filter)which;
        struct call x32 = harmless_call(0x40000000 + SYS_getpid);
        CHECK_INT(make_call(&filter, 1, &x32).signal, SIGSYS);
        struct call x32_only = harmless_call(0x40000000 + 521); /* ptrace */
        CHECK_INT(make_call(&filter, 1, &x32_only).signal, SIGSYS);
    }
    struct call x32 = harmless_call(0x40000000 + SYS_getpid);
    CHECK_INT(make_call(NULL, 0, &x32).signal, 0);

    struct call_result without = make_calls(NULL, 0, old_entry, NULL);
    if (without.signal != 0) {
        printf("# this kernel has no 32-bit entry\n");
        CHECK_INT(without.signal, SIGSEGV);
        return;
    }
    CHECK(without.value > 0);
    CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY), 1, old_entry, NULL).signal, SIGSYS);
    CHECK_INT(make_calls(UNDER(SBX_FILTER_DENY_UNIX), 1, old_entry, NULL).signal, SIGSYS);
}
#endif

/* ---- programs and tables ----------------------------------------------------------------------- */

static uint64_t some_argument(uint64_t *state)
{
    static const uint64_t values[] = {
        0,       1,       2,       3,       5,         10,         11,         16,
        17,      45,      0x5412,  0x541c,  0x5423,    0x5413,     0xffffffff, 04755,
        02000,   0755,    0100,    0102,    020200000, 020000100,  0x20000,    0x10000000,
        0x80000, 0x80003, 0020644, 0060000, 0010000,   0x40086602, 0x4004660,  UINT64_MAX};
    uint64_t value = values[random_below(state, SBX_COUNT(values))];
    uint64_t dice = random_next(state) >> 32;
    if (dice % 8 == 0) {
        value |= HIGH << (dice % 31);
    }
    return dice % 16 == 1 ? random_next(state) : value;
}

static int want_of_socket(bool allows_unix, const struct call *call)
{
    uint64_t family = call->arguments[0];
    for (const struct sbx_call_family *row = sbx_call_families; row->name != NULL; row++) {
        if (row->family == family) {
            bool is_refused = (row->rule == SBX_FAMILY_UNIX && !allows_unix) ||
                              (row->rule == SBX_FAMILY_ROUTE_ONLY && call->arguments[2] != 0);
            return is_refused ? EAFNOSUPPORT : answer_in_table(sbx_call_refusals, call);
        }
    }
    return EAFNOSUPPORT;
}

static int want_of(bool allows_unix, const struct call *call)
{
    if (call->number == SYS_socket) {
        return want_of_socket(allows_unix, call);
    }
    int answer = answer_in_table(sbx_call_refusals, call);
    return answer == 0 && !allows_unix ? answer_in_table(sbx_call_no_unix, call) : answer;
}

/* Half of the calls have conditions; the others are any number. */
static int some_number(uint64_t *state, size_t rows)
{
    const struct sbx_call_rule *row = &sbx_call_refusals[random_below(state, rows)];
    int number = call_number(row->name);
    static const int favourites[] = {SYS_socket, SYS_socketpair};
    switch (random_below(state, 4)) {
    case 0:
        return (int)random_below(state, 600);
    case 1:
        return favourites[random_below(state, SBX_COUNT(favourites))];
    default:
        return number < 0 ? SYS_socket : number;
    }
}

static void programs_say_what_the_tables_say(void)
{
    uint64_t state = 20250917;
    size_t rows = 0;
    while (sbx_call_refusals[rows].name != NULL) {
        rows++;
    }
    unsigned refused = 0;
    for (unsigned i = 0; i < 60000; i++) {
        struct call call = {.number = some_number(&state, rows)};
        for (size_t k = 0; k < SBX_COUNT(call.arguments); k++) {
            call.arguments[k] = some_argument(&state);
        }
        for (int allows_unix = 0; allows_unix < 2; allows_unix++) {
            int want = want_of(allows_unix, &call);
            refused += want != 0;
            if (!CHECK_U64(answer_of(allows_unix ? SBX_FILTER_DENY_UNIX : SBX_FILTER_DENY, &call),
                           want == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (unsigned)want)) {
                printf("#   call %d\n", call.number);
            }
        }
    }
    CHECK(refused > 10000 && refused < 110000);
}

static void programs_are_small_and_named(void)
{
    for (int which = 0; which < SBX_FILTER_COUNT; which++) {
        struct sbx_bpf program = sbx_filter_program((enum sbx_filter)which);
        CHECK(program.code != NULL);
        CHECK(program.count > 5 && program.count < 1000);
        CHECK(!sbx_text_eq(sbx_name_text(sbx_filter_names, which), "unknown"));
        printf("# %s: %u instructions\n", sbx_name_text(sbx_filter_names, which), program.count);
    }
}

static const struct sbx_test tests[] = {
    {"every refusal of the table holds in the kernel", every_refusal_holds},
    {"the kernel by itself answers otherwise", the_kernel_answers_otherwise},
    {"what no box may do is refused, by number", what_no_box_may_do},
    {"no namespace can be made, but processes can", no_namespace_can_be_made},
    {"terminals cannot be typed into, whatever the high bits say", terminals_cannot_be_typed_into},
    {"no set-ID file and no device is left behind, and others are", no_set_id_file_is_left},
    {"personality can only be asked for", personality_can_only_be_asked},
    {"socket families are a short list", families_are_a_short_list},
    {"netlink is only for routes", netlink_is_for_routes},
    {"packets cannot be forged", packets_cannot_be_forged},
    {"pairs of sockets work", pairs_of_sockets_work},
    {"pairs of sockets do not reach socket files", pairs_do_not_reach_socket_files},
    {"another processor's call ends the process", another_processor_ends_the_process},
#if defined(__x86_64__)
    {"x32 numbers and 32-bit entry end the process", old_entries_end_the_process},
#endif
    {"programs answer what the tables say, for any arguments", programs_say_what_the_tables_say},
    {"programs are small, and have names", programs_are_small_and_named},
};
ACTOR_TEST_MAIN("seccomp", tests)
