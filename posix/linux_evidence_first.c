/* Evidence about the first process of a box: that it is sbx-init, does what the sealed block says, and that no
 * user namespace can be made below its own. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "posix/fd.h"
#include "posix/linux_evidence.h"
#include "posix/linux_evidence_internal.h"
#include "posix/signals.h"

#include "common/base/banned.h"

enum { MAPS_MAX = 1 << 20 };

/* ---- program and block --------------------------------------------------------------------------- */

static void check_program(struct sbx_evidence_list *list, const char *who, pid_t pid,
                          int program_fd)
{
    char what[48];
    char path[64];
    struct stat planned;
    struct stat running;
    (void)snprintf(what, sizeof what, "%s.program", who);
    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    const char *got = "unreadable";
    if (stat(path, &running) == 0 && fstat(program_fd, &planned) == 0) {
        bool is_same = running.st_dev == planned.st_dev && running.st_ino == planned.st_ino;
        got = is_same ? "sbx-init, sealed" : "another program";
        if (is_same && (fcntl(program_fd, F_GET_SEALS) & F_SEAL_WRITE) == 0) {
            got = "sbx-init, not sealed";
        }
    }
    sbx_evidence_same(list, what, "sbx-init, sealed", got);
}

/* One line of maps is "from-to rights offset device INODE name". */
static bool maps_file(char *line, unsigned long long inode)
{
    char *rest = NULL;
    char *word = strtok_r(line, " ", &rest);
    for (int i = 0; i < 4 && word != NULL; i++) {
        word = strtok_r(NULL, " ", &rest);
    }
    const char *name = strtok_r(NULL, " ", &rest);
    return word != NULL && name != NULL && strtoull(word, NULL, 10) == inode &&
           strcmp(name, "/memfd:sbx-plan") == 0;
}

/* The block is sealed, so a process that has it in its memory was told what the plan says: paths, filters,
 * limits, rules, arguments, variables. */
static void check_block(struct sbx_evidence_list *list, const char *who, pid_t pid, int plan_fd)
{
    char what[48];
    char path[64];
    struct stat planned;
    char *rest = NULL;
    const char *got = "unreadable";
    AUTO_BUF text;
    sbx_buf_init(&text, MAPS_MAX);
    (void)snprintf(what, sizeof what, "%s.plan", who);
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    char block[4096];
    ssize_t length = 0;
    while (fd >= 0 && (length = sbx_fd_read(fd, block, sizeof block)) > 0) {
        sbx_buf_add(&text, block, (size_t)length);
    }
    if (fd >= 0 && text.len > 0 && !text.failed && fstat(plan_fd, &planned) == 0) {
        got = "another block";
        for (char *line = strtok_r(text.data, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            if (maps_file(line, planned.st_ino)) {
                got = "the sealed block";
            }
        }
    }
    sbx_evidence_same(list, what, "the sealed block", got);
}

/* ---- the two processes --------------------------------------------------------------------------- */

/* "NSpid:\t4711\t2\t1": the last is the number in the innermost namespace. */
static long innermost(const char *status)
{
    char numbers[128];
    sbx_evidence_field(status, "NSpid", numbers, sizeof numbers);
    const char *last = strrchr(numbers, '\t');
    return numbers[0] == '\0' ? -1 : strtol(last == NULL ? numbers : last, NULL, 10);
}

static void same_number(struct sbx_evidence_list *list, const char *what, long wanted, long got)
{
    char texts[2][32];
    (void)snprintf(texts[0], sizeof texts[0], "%ld", wanted);
    (void)snprintf(texts[1], sizeof texts[1], "%ld", got);
    sbx_evidence_same(list, what, texts[0], texts[1]);
}

/* Field 6 of stat, behind the name, which may contain anything. */
static long session_of(pid_t pid)
{
    char text[1024];
    sbx_evidence_slurp(pid, "stat", text, sizeof text);
    const char *at = strrchr(text, ')');
    for (int i = 0; at != NULL && i < 4; i++) {
        at = strchr(at + 1, ' ');
    }
    return at == NULL ? -1 : strtol(at, NULL, 10);
}

static void check_relation(struct sbx_evidence_list *list, const struct sbx_first *first)
{
    char status[SBX_STATUS_BYTES];
    char value[64];
    sbx_evidence_slurp(first->held, "status", status, sizeof status);
    sbx_evidence_field(status, "PPid", value, sizeof value);
    same_number(list, "held.parent", first->pid, strtol(value, NULL, 10));
    same_number(list, "held.number", first->inside, innermost(status));
    same_number(list, "held.session", first->held, session_of(first->held));
}

/* Of what it holds for the box only pipes and the kernel's own objects; 0, 1 and 2 are the caller's streams. An
 * ordinary user cannot list them: what is in /proc/PID belongs to root, because it is not dumpable. */
static void check_descriptors(struct sbx_evidence_list *list, pid_t pid)
{
    char path[64];
    char got[400] = "pipes";
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char target[256];
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        if (len <= 0 || strtoul(entry->d_name, NULL, 10) <= 2) {
            continue;
        }
        target[len] = '\0';
        if (strncmp(target, "pipe:", 5) != 0 && strncmp(target, "anon_inode:", 11) != 0) {
            (void)snprintf(got, sizeof got, "%.12s is %.256s", entry->d_name, target);
        }
    }
    (void)closedir(dir);
    sbx_evidence_same(list, "init.descriptors", "pipes", got);
}

static void check_first(struct sbx_evidence_list *list, const struct sbx_first *first)
{
    static const char *const zero[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    char status[SBX_STATUS_BYTES];
    char what[48];
    char got[64];
    char path[64];
    struct stat owner;
    sbx_evidence_slurp(first->pid, "status", status, sizeof status);
    same_number(list, "init.number", 1, innermost(status));
    for (size_t i = 0; i < SBX_COUNT(zero); i++) {
        (void)snprintf(what, sizeof what, "init.%s", zero[i]);
        sbx_evidence_field(status, zero[i], got, sizeof got);
        sbx_evidence_same(list, what, "0000000000000000", got);
    }
    sbx_evidence_field(status, "NoNewPrivs", got, sizeof got);
    sbx_evidence_same(list, "init.no_new_privs", "1", got);
    sbx_evidence_field(status, "Seccomp_filters", got, sizeof got);
    if (got[0] != '\0') {
        same_number(list, "init.seccomp.filters",
                    (long)(sbx_evidence_own_filters() + first->filters), strtol(got, NULL, 10));
    }
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)first->pid);
    if (geteuid() != 0) { /* root's own processes look the same either way */
        bool is_kept = stat(path, &owner) == 0 && owner.st_uid != geteuid();
        sbx_evidence_same(list, "init.dumpable", "no", is_kept ? "no" : "yes");
    }
    check_descriptors(list, first->pid);
}

/* ---- user namespaces ----------------------------------------------------------------------------- */

enum trial { TRIAL_MADE, TRIAL_REFUSED, TRIAL_OTHER, TRIAL_IMPOSSIBLE };

/* Joins the box's user namespace, where the caller of sbx has every capability, and tries to make one below it.
 * In a child, because there is no way back. */
static enum trial try_namespace(int namespace_fd)
{
    int status = 0;
    sigset_t mask = sbx_signals_block();
    pid_t pid = fork();
    if (pid == 0) {
        enum trial answer = TRIAL_IMPOSSIBLE;
        if (setns(namespace_fd, CLONE_NEWUSER) == 0) {
            answer = unshare(CLONE_NEWUSER) == 0 ? TRIAL_MADE
                     : errno == ENOSPC           ? TRIAL_REFUSED
                                                 : TRIAL_OTHER;
        }
        _exit((int)answer);
    }
    sbx_signals_unblock(&mask);
    if (pid < 0) {
        return TRIAL_IMPOSSIBLE;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? (enum trial)WEXITSTATUS(status) : TRIAL_OTHER;
}

/* Where joining is forbidden (a container's own filter): bwrap switches them off by one namespace in between
 * that is full. */
static bool has_one_between(int namespace_fd)
{
    struct stat own;
    struct stat between;
    AUTO_FD parent = ioctl(namespace_fd, NS_GET_PARENT);
    return parent >= 0 && fstat(parent, &between) == 0 && stat("/proc/self/ns/user", &own) == 0 &&
           own.st_ino != between.st_ino;
}

static void check_user_namespaces(struct sbx_evidence_list *list, pid_t pid)
{
    static const char *const texts[] = {
        [TRIAL_MADE] = "can be made",
        [TRIAL_REFUSED] = "cannot be made",
        [TRIAL_OTHER] = "refused for another reason",
        [TRIAL_IMPOSSIBLE] = "unknown",
    };
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    enum trial trial = fd < 0 ? TRIAL_IMPOSSIBLE : try_namespace(fd);
    if (trial == TRIAL_IMPOSSIBLE && fd >= 0) {
        sbx_evidence_same(list, "user-namespaces", "one full level between",
                          has_one_between(fd) ? "one full level between" : "none between");
        return;
    }
    sbx_evidence_same(list, "user-namespaces", texts[TRIAL_REFUSED], texts[trial]);
}

void sbx_evidence_first(struct sbx_evidence_list *list, const struct sbx_first *first)
{
    check_program(list, "held", first->held, first->program_fd);
    check_block(list, "held", first->held, first->plan_fd);
    check_relation(list, first);
    if (first->is_namespace) {
        check_program(list, "init", first->pid, first->program_fd);
        check_block(list, "init", first->pid, first->plan_fd);
        check_first(list, first);
        check_user_namespaces(list, first->held);
    }
}
