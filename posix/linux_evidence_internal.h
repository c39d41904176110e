/* What the files of the evidence share: reading small files of /proc. */
#ifndef SBX_POSIX_LINUX_EVIDENCE_INTERNAL_H
#define SBX_POSIX_LINUX_EVIDENCE_INTERNAL_H

#include <stddef.h>
#include <sys/types.h>

enum {
    SBX_STATUS_BYTES = 8192
}; /* of /proc/PID/status: its lists of processors and groups are long */

/* /proc/PID/NAME, at most size - 1 bytes of it; "" when it cannot be read. */
void sbx_evidence_slurp(pid_t pid, const char *name, char *out, size_t size);

/* The value of "Name:\tvalue" in a status file; "" when it is not there. */
void sbx_evidence_field(const char *status, const char *name, char *out, size_t size);

/* How many seccomp programs sbx itself runs under: what it starts has them too. */
unsigned long sbx_evidence_own_filters(void);

#endif
