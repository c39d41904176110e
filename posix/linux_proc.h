/* The files in /proc of one process, each read through one descriptor that pins the process: its number cannot
 * become another's meanwhile. */
#ifndef SBX_POSIX_LINUX_PROC_H
#define SBX_POSIX_LINUX_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/attr.h"
#include "common/base/str.h"

enum { SBX_STATUS_BYTES = 8192 }; /* of status: its lists of processors and groups are long */

/* What of status is asked for. */
enum sbx_status {
    SBX_STATUS_PARENT,
    SBX_STATUS_UID,
    SBX_STATUS_GID,
    SBX_STATUS_NUMBERS, /* in each of its namespaces, the innermost last */
    SBX_STATUS_CAP_INH,
    SBX_STATUS_CAP_PRM,
    SBX_STATUS_CAP_EFF,
    SBX_STATUS_CAP_BND,
    SBX_STATUS_CAP_AMB,
    SBX_STATUS_NO_NEW_PRIVS,
    SBX_STATUS_SECCOMP,
    SBX_STATUS_SECCOMP_FILTERS,
    SBX_STATUS_FIELDS
};

struct sbx_proc {
    pid_t pid;
    int dir; /* /proc/PID; -1: cannot be opened, then everything else reads as "" */
    bool has_owner;
    uid_t owner; /* of its files: root's, unless it can be dumped */
    /* The value of "Name:\tvalue", with a NUL behind it; "" when it is not there. */
    const char *field[SBX_STATUS_FIELDS];
    char status[SBX_STATUS_BYTES];
};

/* Finds the fields in the text of status, which it cuts into lines. */
void sbx_proc_parse(struct sbx_proc *proc);

/* Everything is read when it is asked for; of status nothing is known. */
void sbx_proc_open_only(struct sbx_proc *proc, pid_t pid);

/* Reads status, too. */
void sbx_proc_open(struct sbx_proc *proc, pid_t pid);
void sbx_proc_close(struct sbx_proc *proc);
#define AUTO_PROC SBX_CLEANUP(sbx_proc_close) struct sbx_proc

/* At most size - 1 bytes of a file, with a NUL behind them; "" when it cannot be read. Returns the length. */
size_t sbx_proc_read(const struct sbx_proc *proc, const char *name, char *out, size_t size);

/* Where a link leads, whole; "" when it cannot be read or does not fit. */
void sbx_proc_link(const struct sbx_proc *proc, const char *name, char *out, size_t size);

/* How many seccomp programs it runs under; -1 before Linux 5.9, which does not tell. */
int64_t sbx_proc_filters(const struct sbx_proc *proc);

/* The number a text begins with, behind blanks; *at goes behind it. 0 when there is none. */
uint64_t sbx_proc_number(const char **at);

#endif
