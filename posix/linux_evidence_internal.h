/* What the files of the evidence share. */
#ifndef SBX_POSIX_LINUX_EVIDENCE_INTERNAL_H
#define SBX_POSIX_LINUX_EVIDENCE_INTERNAL_H

#include <stdint.h>

#include "common/run/evidence.h"
#include "posix/linux_own.h"
#include "posix/linux_proc.h"

/* An item of two numbers that must be the same; -1: cannot be read. */
void sbx_evidence_number(struct sbx_evidence_list *list, const char *what, int64_t wanted,
                         int64_t got);

/* It runs under so many seccomp programs more than sbx. No item on a kernel that does not tell. */
void sbx_evidence_filters(struct sbx_evidence_list *list, const char *what,
                          const struct sbx_own *own, size_t more, const struct sbx_proc *proc);

#endif
