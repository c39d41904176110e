/* Attacks on the kernel's surface: calls that everyday programs do not need. Arguments are such that
 * a call that is reached does nothing; what counts is whether it is. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/banned.h"

#define UNKNOWN_CALL 600
#define X32_BIT 0x40000000l

static void bpf(void)
{
    probe_reached(syscall(SYS_bpf, -1, NULL, 0), "bpf");
}

static void perf(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof(attributes),
                                         .config = PERF_COUNT_SW_DUMMY,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    probe_reached(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0), "perf_event_open");
}

static void fault_descriptor(void)
{
    probe_reached(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK), "userfaultfd");
}

static void ring(void)
{
    uint32_t parameters[30] = {0};
    probe_reached(syscall(SYS_io_uring_setup, 1, parameters), "io_uring_setup");
}

static void ring_enter(void)
{
    probe_reached(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0), "io_uring_enter");
}

static void keys(void)
{
    probe_reached(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0),
                  "keyctl");
}

static void personality_change(void)
{
    probe_reached(syscall(SYS_personality, ADDR_NO_RANDOMIZE), "personality");
}

static void descriptor_table(void)
{
    probe_reached(syscall(SYS_modify_ldt, 0, NULL, 0), "modify_ldt");
}

static void unknown(void)
{
    long result = syscall(UNKNOWN_CALL, 0, 0, 0, 0, 0, 0);
    if (result == -1 && errno == ENOSYS) probe_done("answers ENOSYS");
    probe_denied("answers %ld", result);
}

static void x32(void)
{
    long result = syscall(X32_BIT | SYS_getpid);
    if (result > 0) probe_done("getpid through x32 = %ld", result);
    probe_denied("x32");
}

static void with_new_user(void)
{
    uint64_t arguments[11] = {0};
    arguments[0] = CLONE_NEWUSER;
    arguments[4] = SIGCHLD;
    long child = syscall(SYS_clone3, arguments, 88);
    if (child == 0) _exit(0);
    probe_reached(child, "clone3 with a user namespace");
}

#if defined(__x86_64__)
static sigjmp_buf no_gate;

static void leave(int number)
{
    siglongjmp(no_gate, number);
}

/* Where the kernel has no such entry, the instruction faults. */
#define GUARD()                                                                                    \
    do {                                                                                           \
        (void)signal(SIGSEGV, leave);                                                              \
        if (sigsetjmp(no_gate, 1) != 0) probe_absent("this kernel has no 32-bit entry");           \
    } while (0)

static void old_entry(void)
{
    GUARD();
    volatile long result = 0;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20l) : "memory", "r8", "r9", "r10", "r11");
    if (result > 0) probe_done("getpid through int 0x80 = %ld", result);
    errno = (int)-result;
    probe_denied("int 0x80");
}

/* socketcall exists only there: socket(AF_UNIX) past a filter that looks at 64-bit numbers. */
static void old_socket(void)
{
    GUARD();
    uint32_t *words =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (words == MAP_FAILED) probe_broken("no memory below 4 GiB");
    words[0] = 1; /* AF_UNIX */
    words[1] = 1; /* SOCK_STREAM */
    words[2] = 0;
    volatile long result = 0;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(102l), "b"(1l), "c"((long)(uintptr_t)words)
                     : "memory", "r8", "r9", "r10", "r11");
    if (result >= 0) probe_done("socket through int 0x80 = %ld", result);
    errno = (int)-result;
    probe_denied("socketcall");
}
#else
static void old_entry(void)
{
    probe_absent("not on this processor");
}

static void old_socket(void)
{
    probe_absent("not on this processor");
}
#endif

static void memory_program(void)
{
    int program = open(probe_self(), O_RDONLY | O_CLOEXEC);
    int copy = memfd_create("sbx-probe", MFD_CLOEXEC);
    if (program < 0 || copy < 0) probe_settle(-1, "memfd_create");
    static char block[1 << 16];
    for (ssize_t got; (got = read(program, block, sizeof(block))) > 0;) {
        if (write(copy, block, (size_t)got) != got) probe_broken("write");
    }
    pid_t child = fork();
    if (child == 0) {
        static char name[] = "sbx-probe";
        static char word[] = "--euid";
        char *const arguments[] = {name, word, NULL};
        char *const environment[] = {NULL};
        (void)fexecve(copy, arguments, environment);
        _exit(99);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 99) probe_done("ran");
    errno = EACCES;
    probe_denied("exec of a memory file");
}

/* One row a call: its arguments cannot be right. */
struct call {
    const char *name;
    long number;
    long arguments[5];
};

static const struct call powers[] = {
    {"init_module", SYS_init_module, {0, 0, 0}},
    {"finit_module", SYS_finit_module, {-1, 0, -1}},
    {"delete_module", SYS_delete_module, {(long)"", 0}},
    {"kexec_load", SYS_kexec_load, {0, 1000, 0, 0xff00}},
    {"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, 0xff00}},
    {"reboot", SYS_reboot, {0, 0, 0, 0}},
    {"swapon", SYS_swapon, {0, 0}},
    {"swapoff", SYS_swapoff, {0}},
    {"acct", SYS_acct, {(long)"/sbx-probe/absent"}},
    {"quotactl", SYS_quotactl, {-1, 0, 0, 0}},
    {"syslog", SYS_syslog, {99, 0, 0}},
    {"iopl", SYS_iopl, {0}},
    {"ioperm", SYS_ioperm, {0, 0, 0}},
    {NULL, 0, {0}}};

static const struct call mounts[] = {
    {"mount", SYS_mount, {0, 0, 0, 0, 0}},
    {"umount2", SYS_umount2, {0, 0}},
    {"pivot_root", SYS_pivot_root, {0, 0}},
    {"open_tree", SYS_open_tree, {-1, (long)"", 1}},
    {"move_mount", SYS_move_mount, {-1, (long)"", -1, (long)"", 0xff00}},
    {"fsopen", SYS_fsopen, {0, 0}},
    {"fsconfig", SYS_fsconfig, {-1, 99, 0, 0, 0}},
    {"fsmount", SYS_fsmount, {-1, 0, 0}},
    {"fspick", SYS_fspick, {-1, 0, 0xff00}},
    {"mount_setattr", SYS_mount_setattr, {-1, (long)"", 0, 0, 0}},
    {NULL, 0, {0}}};

/* As long as one is reached the class is open. Each has a process: a filter may kill. */
__attribute__((noreturn)) static void family(const struct call *row)
{
    int count = 0;
    for (; row->name != NULL; row++, count++) {
        pid_t child = fork();
        if (child == 0) {
            const long *with = row->arguments;
            long result = syscall(row->number, with[0], with[1], with[2], with[3], with[4]);
            _exit(result < 0 && (errno == EPERM || errno == ENOSYS || errno == EACCES) ? 0 : 1);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child) probe_broken("no process");
        bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
        if (status != 0 && !killed) probe_done("%s was reached", row->name);
    }
    errno = EPERM;
    probe_denied("all of %d calls", count);
}

static void powers_family(void)
{
    family(powers);
}

static void mount_family(void)
{
    family(mounts);
}

static void open_tree(void)
{
    probe_reached(syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */), "open_tree");
}

static void file_system(void)
{
    probe_reached(syscall(SYS_fsopen, "tmpfs", 0), "fsopen");
}

static void compare(void)
{
    probe_reached(syscall(SYS_kcmp, getpid(), getpid(), 99, 0, 0), "kcmp");
}

static void watch_all(void)
{
    probe_reached(syscall(SYS_fanotify_init, 0, 0), "fanotify_init");
}

static void move_memory(void)
{
    probe_reached(syscall(SYS_move_pages, getpid(), 0, NULL, NULL, NULL, 0), "move_pages");
}

/* A later filter's listener would be asked in place of the box's own, and could wave calls through. */
static void own_listener(void)
{
    struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
    struct sock_fprog program = {.len = 1, .filter = &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) probe_broken("prctl");
    probe_settle(
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program),
        "a filter with a listener of its own");
}

const struct probe probe_kernel[] = {
    {"K01", "bpf", bpf},
    {"K02", "perf_event_open", perf},
    {"K03", "userfaultfd", fault_descriptor},
    {"K04", "io_uring_setup", ring},
    {"K04b", "io_uring_enter", ring_enter},
    {"K05", "keyctl", keys},
    {"K06", "open_tree", open_tree},
    {"K07", "fsopen", file_system},
    {"K08", "personality", personality_change},
    {"K09", "modify_ldt", descriptor_table},
    {"K10", "an unknown system call answers ENOSYS", unknown},
    {"K11", "x32 call number", x32},
    {"K12", "clone3 with a user namespace", with_new_user},
    {"K13", "32-bit entry (int 0x80)", old_entry},
    {"K13b", "socketcall through the 32-bit entry", old_socket},
    {"K14", "program in anonymous memory", memory_program},
    {"K20", "modules, kexec, reboot, swap, accounting, quota, kernel log, ports", powers_family},
    {"K33", "kcmp", compare},
    {"K34", "fanotify_init", watch_all},
    {"K35", "move_pages", move_memory},
    {"K36", "the mount family", mount_family},
    {"K37", "seccomp filter with a listener of its own", own_listener},
    {NULL, NULL, NULL}};
