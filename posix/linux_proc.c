/* The files in /proc of one process. */
#include "posix/linux_proc.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_line.h"

#include "common/base/banned.h"

static const struct {
    const char *name;
    size_t len;
} fields[SBX_STATUS_FIELDS] = {
    [SBX_STATUS_PARENT] = {"PPid:", 5},     [SBX_STATUS_UID] = {"Uid:", 4},
    [SBX_STATUS_GID] = {"Gid:", 4},         [SBX_STATUS_NUMBERS] = {"NSpid:", 6},
    [SBX_STATUS_CAP_INH] = {"CapInh:", 7},  [SBX_STATUS_CAP_PRM] = {"CapPrm:", 7},
    [SBX_STATUS_CAP_EFF] = {"CapEff:", 7},  [SBX_STATUS_CAP_BND] = {"CapBnd:", 7},
    [SBX_STATUS_CAP_AMB] = {"CapAmb:", 7},  [SBX_STATUS_NO_NEW_PRIVS] = {"NoNewPrivs:", 11},
    [SBX_STATUS_SECCOMP] = {"Seccomp:", 8}, [SBX_STATUS_SECCOMP_FILTERS] = {"Seccomp_filters:", 16},
};

static void take_line(struct sbx_proc *proc, const char *line)
{
    for (size_t i = 0; i < SBX_STATUS_FIELDS; i++) {
        if (line[0] == fields[i].name[0] && strncmp(line, fields[i].name, fields[i].len) == 0) {
            line += fields[i].len;
            proc->field[i] = line + strspn(line, " \t");
            return;
        }
    }
}

void sbx_proc_parse(struct sbx_proc *proc)
{
    for (size_t i = 0; i < SBX_STATUS_FIELDS; i++) {
        proc->field[i] = "";
    }
    char *line = proc->status;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        take_line(proc, line);
    }
}

static size_t read_open(int fd, char *out, size_t size)
{
    size_t have = 0;
    ssize_t got;
    while (fd >= 0 && have < size - 1 && (got = sbx_fd_read(fd, out + have, size - 1 - have)) > 0) {
        have += (size_t)got;
    }
    out[have] = '\0';
    return have;
}

void sbx_proc_open_only(struct sbx_proc *proc, pid_t pid)
{
    struct sbx_line path;
    sbx_line_set(&path, "/proc/");
    sbx_line_number(&path, (uint64_t)pid);
    proc->pid = pid;
    proc->dir = pid <= 0 ? -1 : open(path.text, O_PATH | O_DIRECTORY | O_CLOEXEC);
    proc->has_owner = false;
    proc->status[0] = '\0';
    sbx_proc_parse(proc);
}

void sbx_proc_open(struct sbx_proc *proc, pid_t pid)
{
    struct stat info;
    sbx_proc_open_only(proc, pid);
    AUTO_FD status = proc->dir < 0 ? -1 : openat(proc->dir, "status", O_RDONLY | O_CLOEXEC);
    (void)read_open(status, proc->status, sizeof proc->status);
    sbx_proc_parse(proc);
    proc->has_owner = status >= 0 && fstat(status, &info) == 0;
    proc->owner = proc->has_owner ? info.st_uid : 0;
}

void sbx_proc_close(struct sbx_proc *proc)
{
    sbx_fd_close(&proc->dir);
}

size_t sbx_proc_read(const struct sbx_proc *proc, const char *name, char *out, size_t size)
{
    AUTO_FD fd = proc->dir < 0 ? -1 : openat(proc->dir, name, O_RDONLY | O_CLOEXEC);
    return read_open(fd, out, size);
}

void sbx_proc_link(const struct sbx_proc *proc, const char *name, char *out, size_t size)
{
    ssize_t got = proc->dir < 0 ? -1 : readlinkat(proc->dir, name, out, size);
    out[got > 0 && (size_t)got < size ? got : 0] = '\0';
}

int64_t sbx_proc_filters(const struct sbx_proc *proc)
{
    uint64_t number;
    bool is_told = sbx_str_to_u64(sbx_str(proc->field[SBX_STATUS_SECCOMP_FILTERS]), &number);
    return is_told && number < INT32_MAX ? (int64_t)number : -1;
}

uint64_t sbx_proc_number(const char **at)
{
    uint64_t number = 0;
    *at += strspn(*at, " \t\n");
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        number = number * 10 + (uint64_t)(**at - '0');
    }
    return number;
}
