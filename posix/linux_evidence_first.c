/* Evidence about the first process of a box: that it is sbx-init, does what the sealed block says, and that no
 * user namespace can be made below the box's own. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_evidence.h"
#include "posix/linux_evidence_internal.h"
#include "posix/linux_line.h"

#include "common/base/banned.h"

/* sbx-init has a dozen lines of them. */
enum { MAPS_MAX = 8192 };

/* ---- program and block --------------------------------------------------------------------------- */

static void check_program(struct sbx_evidence_list *list, const char *what,
                          const struct sbx_proc *proc, int program_fd)
{
    struct stat planned;
    struct stat running;
    const char *got = "unreadable";
    if (fstatat(proc->dir, "exe", &running, 0) == 0 && fstat(program_fd, &planned) == 0) {
        bool is_same = running.st_dev == planned.st_dev && running.st_ino == planned.st_ino;
        got = is_same ? "sbx-init, sealed" : "another program";
        if (is_same && (fcntl(program_fd, F_GET_SEALS) & F_SEAL_WRITE) == 0) {
            got = "sbx-init, not sealed";
        }
    }
    sbx_evidence_same(list, what, "sbx-init, sealed", got);
}

/* One line of maps is "from-to rights offset device INODE name". */
static bool maps_file(const char *line, const char *end, uint64_t inode)
{
    static const char name[] = "/memfd:sbx-plan";
    for (int i = 0; i < 4; i++) {
        line = memchr(line, ' ', (size_t)(end - line));
        if (line == NULL) {
            return false;
        }
        line++;
    }
    uint64_t number = sbx_proc_number(&line);
    line += strspn(line, " ");
    size_t len = sizeof name - 1;
    return number == inode && line < end && (size_t)(end - line) >= len &&
           memcmp(line, name, len) == 0 && (line[len] == ' ' || line + len == end);
}

/* The block is sealed, so a process that has it in its memory was told what the plan says: paths, filters,
 * limits, rules, arguments, variables. */
static void check_block(struct sbx_evidence_list *list, const char *what,
                        const struct sbx_proc *proc, int plan_fd)
{
    char text[MAPS_MAX];
    struct stat planned;
    const char *got = "unreadable";
    if (sbx_proc_read(proc, "maps", text, sizeof text) > 0 && fstat(plan_fd, &planned) == 0) {
        got = "another block";
        const char *end;
        for (const char *line = text; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            if (maps_file(line, end, planned.st_ino)) {
                got = "the sealed block";
            }
        }
    }
    sbx_evidence_same(list, what, "the sealed block", got);
}

/* ---- the two processes --------------------------------------------------------------------------- */

/* "NSpid:\t4711\t2\t1": the last is the number in the innermost namespace. */
static int64_t innermost(const struct sbx_proc *proc)
{
    struct sbx_str left = sbx_str(proc->field[SBX_STATUS_NUMBERS]);
    struct sbx_str last = left;
    while (sbx_str_split(left, '\t', &last, &left)) {
    }
    uint64_t number;
    return sbx_str_to_u64(last, &number) ? (int64_t)number : -1;
}

static int64_t parent_of(const struct sbx_proc *proc)
{
    uint64_t number;
    return sbx_str_to_u64(sbx_str(proc->field[SBX_STATUS_PARENT]), &number) ? (int64_t)number : -1;
}

static void check_relation(struct sbx_evidence_list *list, const struct sbx_first *first)
{
    sbx_evidence_number(list, "held.parent", first->proc->pid, parent_of(first->held));
    sbx_evidence_number(list, "held.number", first->inside, innermost(first->held));
    sbx_evidence_number(list, "held.session", first->held->pid, getsid(first->held->pid));
}

/* Of what it holds for the box only pipes and the kernel's own objects; 0, 1 and 2 are the caller's streams. An
 * ordinary user cannot list them: what is in /proc/PID belongs to root, because it is not dumpable. */
static void check_descriptors(struct sbx_evidence_list *list, const struct sbx_proc *proc)
{
    struct sbx_line got;
    int fd = openat(proc->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd); /* whose it is then */
    if (dir == NULL) {
        sbx_fd_close(&fd);
        return;
    }
    sbx_line_set(&got, "pipes");
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char target[256];
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        if (len <= 0 || strtoul(entry->d_name, NULL, 10) <= 2) {
            continue;
        }
        target[len] = '\0';
        if (strncmp(target, "pipe:", 5) != 0 && strncmp(target, "anon_inode:", 11) != 0) {
            sbx_line_set(&got, entry->d_name);
            sbx_line_add(&got, " is ");
            sbx_line_add(&got, target);
        }
    }
    (void)closedir(dir);
    sbx_evidence_same(list, "init.descriptors", "pipes", got.text);
}

static void check_first(struct sbx_evidence_list *list, const struct sbx_first *first)
{
    static const struct {
        const char *what, *wanted;
        enum sbx_status field;
    } rows[] = {
        {"init.CapInh", "0000000000000000", SBX_STATUS_CAP_INH},
        {"init.CapPrm", "0000000000000000", SBX_STATUS_CAP_PRM},
        {"init.CapEff", "0000000000000000", SBX_STATUS_CAP_EFF},
        {"init.CapBnd", "0000000000000000", SBX_STATUS_CAP_BND},
        {"init.CapAmb", "0000000000000000", SBX_STATUS_CAP_AMB},
        {"init.no_new_privs", "1", SBX_STATUS_NO_NEW_PRIVS},
    };
    sbx_evidence_number(list, "init.number", 1, innermost(first->proc));
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        sbx_evidence_same(list, rows[i].what, rows[i].wanted, first->proc->field[rows[i].field]);
    }
    sbx_evidence_filters(list, "init.seccomp.filters", first->own, first->filters, first->proc);
    if (geteuid() != 0) { /* root's own processes look the same either way */
        bool is_kept = first->proc->has_owner && first->proc->owner != geteuid();
        sbx_evidence_same(list, "init.dumpable", "no", is_kept ? "no" : "yes");
    }
    check_descriptors(list, first->proc);
}

/* ---- all of it ------------------------------------------------------------------------------------ */

void sbx_evidence_first(struct sbx_evidence_list *list, const struct sbx_first *first)
{
    check_program(list, "held.program", first->held, first->program_fd);
    check_block(list, "held.plan", first->held, first->plan_fd);
    check_relation(list, first);
    if (first->is_namespace) {
        check_program(list, "init.program", first->proc, first->program_fd);
        check_block(list, "init.plan", first->proc, first->plan_fd);
        check_first(list, first);
        if (!first->has_users) {
            sbx_evidence_user_namespaces(list, first->held);
        }
    }
}
