/* Attacks on other processes: those of the host, and the one that keeps the box. */
#include "tests/probe/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/banned.h"

static const char *of_launcher(const char *name)
{
    return probe_format("/proc/%d/%s", (int)probe_launcher(), name);
}

static void see_host(void)
{
    long pid = probe_number("hostpid");
    if (kill((pid_t)pid, 0) == 0) probe_done("kill 0 finds it");
    int error = errno;
    if (access(probe_format("/proc/%ld/stat", pid), R_OK) == 0) probe_done("/proc shows it");
    errno = error;
    probe_settle(-1, "a host process");
}

static void list_processes(void)
{
    DIR *directory = opendir("/proc");
    if (directory == NULL) probe_settle(-1, "list /proc");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    }
    if (count > 8) probe_done("%d processes are listed", count);
    probe_absent("%d processes, all of the box", count);
}

static void launcher_text(const char *name, const char *const *parts)
{
    static char text[1 << 16];
    ssize_t length = probe_slurp(of_launcher(name), text, sizeof(text));
    if (length < 0) probe_settle(-1, name);
    for (; *parts != NULL; parts++) {
        if (memmem(text, (size_t)length, *parts, strlen(*parts)) != NULL) {
            probe_done("%s shows it", name);
        }
    }
    probe_absent("not in it (%zd bytes)", length);
}

static void launcher_environ(void)
{
    launcher_text("environ", (const char *const[]){PROBE_MARK, NULL});
}

static void launcher_command(void)
{
    launcher_text("cmdline",
                  (const char *const[]){probe_place("world"), "--ro-bind", "--setenv", NULL});
}

static void launcher_memory(void)
{
    probe_settle(open(of_launcher("mem"), O_RDONLY | O_CLOEXEC), "opened the launcher's memory");
}

static void launcher_maps(void)
{
    char text[100];
    ssize_t length = probe_slurp(of_launcher("maps"), text, sizeof(text));
    if (length == 0) probe_absent("empty");
    probe_settle(length, "the launcher's address space");
}

/* Numbers tell nothing; where they lead, or a descriptor of our own by them, does. */
static void launcher_fds(void)
{
    for (int fd = 0; fd < 64; fd++) {
        char place[200];
        const char *name = of_launcher(probe_format("fd/%d", fd));
        if (readlink(name, place, sizeof(place)) > 0) probe_done("saw descriptor %d", fd);
        if (open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) >= 0) probe_done("opened %d", fd);
    }
    probe_settle(-1, "the launcher's descriptors");
}

static void launcher_ptrace(void)
{
    probe_settle(ptrace(PTRACE_SEIZE, probe_launcher(), NULL, NULL), "seized the launcher");
}

static void launcher_vm_read(void)
{
    char byte = 0;
    struct iovec mine = {.iov_base = &byte, .iov_len = 1};
    struct iovec theirs = {.iov_base = (void *)0x1000, .iov_len = 1};
    probe_reached(process_vm_readv(probe_launcher(), &mine, 1, &theirs, 1, 0), "process_vm_readv");
}

static void launcher_vm_write(void)
{
    char byte = 0;
    struct iovec mine = {.iov_base = &byte, .iov_len = 1};
    struct iovec theirs = {.iov_base = (void *)0x1000, .iov_len = 1};
    probe_reached(process_vm_writev(probe_launcher(), &mine, 1, &theirs, 1, 0),
                  "process_vm_writev");
}

static void launcher_take_fd(void)
{
    int pidfd = (int)syscall(SYS_pidfd_open, probe_launcher(), 0);
    if (pidfd < 0) probe_settle(-1, "pidfd_open");
    probe_settle(syscall(SYS_pidfd_getfd, pidfd, 0, 0), "took a descriptor of the launcher");
}

/* A running program is busy for a moment only: what counts is whether the file may be written. */
static void launcher_binary(void)
{
    if (open(of_launcher("exe"), O_WRONLY | O_CLOEXEC) >= 0) probe_done("opened for writing");
    probe_settle(access(of_launcher("exe"), W_OK), "the launcher's program may be written");
}

static void launcher_stop(void)
{
    pid_t launcher = probe_launcher();
    if (kill(launcher, SIGURG) != 0) probe_settle(-1, "signal the launcher");
    /* SIGURG is ignored by whoever does not ask for it: being allowed to send is the finding. */
    probe_done("may signal the launcher");
}

static void signal_host(void)
{
    probe_settle(kill((pid_t)probe_number("hostpid"), SIGURG), "kill");
}

static void signal_host_thread(void)
{
    long pid = probe_number("hostpid");
    probe_settle(syscall(SYS_tgkill, pid, pid, SIGURG), "tgkill");
}

static void signal_host_old_thread(void)
{
    probe_settle(syscall(SYS_tkill, probe_number("hostpid"), SIGURG), "tkill");
}

static void signal_host_queue(void)
{
    union sigval value = {.sival_int = 0};
    probe_settle(sigqueue((pid_t)probe_number("hostpid"), SIGURG, value), "sigqueue");
}

static void signal_host_pidfd(void)
{
    int pidfd = (int)syscall(SYS_pidfd_open, probe_number("hostpid"), 0);
    if (pidfd < 0) probe_settle(-1, "pidfd_open");
    probe_settle(syscall(SYS_pidfd_send_signal, pidfd, SIGURG, NULL, 0), "pidfd_send_signal");
}

/* A descriptor's owner gets SIGIO-like signals from the kernel itself. */
static void signal_host_owner(void)
{
    int ends[2];
    if (pipe(ends) != 0) probe_broken("pipe");
    if (fcntl(ends[0], F_SETOWN, (pid_t)probe_number("hostpid")) != 0 ||
        fcntl(ends[0], F_SETSIG, SIGURG) != 0 || fcntl(ends[0], F_SETFL, O_ASYNC) != 0) {
        probe_settle(-1, "fcntl owner");
    }
    probe_settle(write(ends[1], "x", 1), "the kernel signals for us");
}

static void host_ptrace(void)
{
    probe_settle(ptrace(PTRACE_SEIZE, (pid_t)probe_number("hostpid"), NULL, NULL), "seized");
}

static void host_priority(void)
{
    probe_settle(setpriority(PRIO_PROCESS, (id_t)probe_number("hostpid"), 19),
                 "changed the priority of a host process");
}

static void host_affinity(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    probe_settle(sched_setaffinity((pid_t)probe_number("hostpid"), sizeof(set), &set),
                 "changed the processors of a host process");
}

static void host_limits(void)
{
    struct rlimit limit = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    long pid = probe_number("hostpid");
    if (prlimit((pid_t)pid, RLIMIT_CORE, NULL, &limit) != 0) probe_settle(-1, "prlimit");
    probe_settle(prlimit((pid_t)pid, RLIMIT_CORE, &limit, NULL),
                 "changed the limits of a host process");
}

static void everybody(void)
{
    if (getuid() == 0 && probe_place_if("notall") != NULL) probe_broken("not as root outside");
    probe_settle(kill(-1, SIGURG), "kill(-1) was sent");
}

static void group(void)
{
    probe_settle(kill(0, SIGURG), "the process group was signalled");
}

static void launcher_group(void)
{
    probe_settle(kill(-(pid_t)probe_number("hostgroup"), SIGURG), "a host process group");
}

static void out_of_memory(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) probe_settle(-1, "oom_score_adj");
    probe_settle(write(fd, "-1", 2), "protected from the out-of-memory killer");
}

const struct probe probe_process[] = {
    {"P01", "see a host process", see_host},
    {"P01b", "list the processes of the host", list_processes},
    {"P02", "host environment through /proc/PID/environ of the launcher", launcher_environ},
    {"P03", "policy and paths through /proc/PID/cmdline of the launcher", launcher_command},
    {"P04", "memory of the launcher", launcher_memory},
    {"P04b", "address space of the launcher", launcher_maps},
    {"P04c", "descriptors of the launcher", launcher_fds},
    {"P05", "ptrace the launcher", launcher_ptrace},
    {"P05b", "process_vm_readv on the launcher", launcher_vm_read},
    {"P05c", "process_vm_writev on the launcher", launcher_vm_write},
    {"P05d", "pidfd_getfd on the launcher", launcher_take_fd},
    {"P05e", "signal the launcher", launcher_stop},
    {"P06", "signal a host process: kill", signal_host},
    {"P06b", "signal a host process: tgkill", signal_host_thread},
    {"P06c", "signal a host process: tkill", signal_host_old_thread},
    {"P06d", "signal a host process: sigqueue", signal_host_queue},
    {"P06e", "signal a host process: pidfd_send_signal", signal_host_pidfd},
    {"P06f", "signal a host process: owner of a descriptor", signal_host_owner},
    {"P08", "write the launcher's program through /proc/PID/exe", launcher_binary},
    {"P09", "raise its own protection from the out-of-memory killer", out_of_memory},
    {"LK04", "ptrace a host process", host_ptrace},
    {"LK04b", "change the priority of a host process", host_priority},
    {"LK04c", "change the processors of a host process", host_affinity},
    {"LK04d", "change the limits of a host process", host_limits},
    {"G01", "kill(-1) reaches a host process", everybody},
    {"G02", "signal to its process group reaches the launcher's", group},
    {"G02b", "signal to a host process group", launcher_group},
    {NULL, NULL, NULL}};
