/* Runs sbx, and keeps one system call of sbx-init from being carried out: the kernel does nothing and says that all
 * went well. For tests that ask whether sbx notices what is missing.
 * usage: skip-call init|held NUMBER LOG COMMAND...
 *   init: of the first process of a box, until it reports that the command is held; held: of the command's process,
 *   until it is let go. Calls that only close are not counted.
 * LOG gets the number of the call that was left out, or "none" when there were fewer. Needs root, since sbx cannot be
 * traced by others. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/init_plan.h"

#if defined(__x86_64__)

enum {
    MOST = 512,
    OPTIONS = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
              PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL
};

enum role { OTHER, INIT, HELD };

static struct tracee {
    pid_t pid;
    enum role role;
    bool is_inside; /* a system call */
    bool is_skipped;
    unsigned long calls;
    unsigned reports; /* writes of them */
} tracees[MOST];

static enum role wanted_role;
static unsigned long wanted_number;
static long skipped = -1;
static struct tracee *init_process;

static struct tracee *find(pid_t pid)
{
    struct tracee *free_one = NULL;
    for (size_t i = 0; i < MOST; i++) {
        if (tracees[i].pid == pid) return &tracees[i];
        if (tracees[i].pid == 0 && free_one == NULL) free_one = &tracees[i];
    }
    if (free_one == NULL) {
        (void)fprintf(stderr, "skip-call: too many processes\n");
        exit(99);
    }
    *free_one = (struct tracee){.pid = pid};
    return free_one;
}

static bool runs_init(pid_t pid)
{
    char path[64];
    char target[256];
    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t len = readlink(path, target, sizeof target - 1);
    target[len > 0 ? len : 0] = '\0';
    return strncmp(target, "/memfd:sbx-init", 15) == 0;
}

/* Who a process is, once it runs sbx-init: the first one, and the one it makes. */
static void learn_role(struct tracee *tracee)
{
    if (tracee->role != OTHER || !runs_init(tracee->pid)) return;
    if (init_process == NULL) {
        tracee->role = INIT;
        init_process = tracee;
    } else {
        tracee->role = HELD;
    }
}

/* The first process says that all is mounted and that it is ready, the held one that it waits: then nothing is left to do
 * but to wait. */
static unsigned last_report(const struct tracee *tracee)
{
    return tracee->role == INIT ? 2 : 1;
}

static bool is_call_to_skip(const struct tracee *tracee)
{
    return skipped < 0 && tracee->role == wanted_role && tracee->calls == wanted_number;
}

static void on_call(struct tracee *tracee)
{
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, tracee->pid, NULL, &regs) != 0) return;
    if (!tracee->is_inside) {
        tracee->is_inside = true;
        if (regs.orig_rax == SYS_close || tracee->reports == last_report(tracee)) return;
        tracee->reports += regs.orig_rax == SYS_write && regs.rdi == SBX_INIT_FD_REPORTS;
        tracee->calls++;
        if (is_call_to_skip(tracee)) {
            skipped = (long)regs.orig_rax;
            tracee->is_skipped = true;
            regs.orig_rax = (unsigned long long)-1;
            (void)ptrace(PTRACE_SETREGS, tracee->pid, NULL, &regs);
        }
        return;
    }
    tracee->is_inside = false;
    if (tracee->is_skipped) {
        tracee->is_skipped = false;
        regs.rax = 0;
        (void)ptrace(PTRACE_SETREGS, tracee->pid, NULL, &regs);
    }
}

static void go_on(const struct tracee *tracee, int number)
{
    /* Only sbx-init's calls matter; until one execs it nobody's are looked at. */
    bool is_watched = tracee->role != OTHER && (skipped < 0 || tracee->is_skipped);
    (void)ptrace(is_watched ? PTRACE_SYSCALL : PTRACE_CONT, tracee->pid, NULL,
                 (void *)(long)number);
}

static void on_stop(struct tracee *tracee, int status)
{
    int number = WSTOPSIG(status);
    int event = status >> 16;
    if (number == (SIGTRAP | 0x80)) {
        on_call(tracee);
        number = 0;
    } else if (number == SIGTRAP) {
        if (event == PTRACE_EVENT_EXEC) {
            if (tracee->role == HELD) tracee->role = OTHER; /* it was let go */
            learn_role(tracee);
            tracee->is_inside = tracee->role != OTHER; /* the next stop is the end of execve */
        }
        number = 0;
    } else if (number == SIGSTOP && tracee->calls == 0 && tracee->role == OTHER) {
        learn_role(tracee); /* a new process starts with this */
        number = 0;
    }
    go_on(tracee, number);
}

static int trace(pid_t first)
{
    int result = 99;
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0) {
            if (errno == EINTR) continue;
            return result;
        }
        struct tracee *tracee = find(pid);
        if (WIFSTOPPED(status)) {
            on_stop(tracee, status);
            continue;
        }
        if (pid == first) {
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        tracee->pid = 0;
    }
}

static void tell(const char *path)
{
    char text[32];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int len = skipped < 0 ? snprintf(text, sizeof text, "none\n")
                          : snprintf(text, sizeof text, "%ld\n", skipped);
    if (fd < 0 || len <= 0 || write(fd, text, (size_t)len) != len || close(fd) != 0) {
        (void)fprintf(stderr, "skip-call: cannot write \"%s\"\n", path);
        exit(99);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        (void)fprintf(stderr, "usage: skip-call init|held NUMBER LOG COMMAND...\n");
        return 99;
    }
    wanted_role = strcmp(argv[1], "held") == 0 ? HELD : INIT;
    wanted_number = strtoul(argv[2], NULL, 10);
    pid_t child = fork();
    if (child < 0) return 99;
    if (child == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        (void)raise(SIGSTOP);
        (void)execvp(argv[4], argv + 4);
        _exit(99);
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(long)OPTIONS) != 0) {
        (void)fprintf(stderr, "skip-call: cannot trace\n");
        return 99;
    }
    (void)find(child);
    (void)ptrace(PTRACE_CONT, child, NULL, NULL);
    int result = trace(child);
    tell(argv[3]);
    return result;
}

#else

int main(void)
{
    (void)fprintf(stderr, "skip-call: written for x86-64\n");
    return 77;
}

#endif
