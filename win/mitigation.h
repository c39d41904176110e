/* Process mitigations: what a boxed process cannot switch back on. */
#ifndef SBX_WIN_MITIGATION_H
#define SBX_WIN_MITIGATION_H

#include <stdbool.h>

#include "common/run/evidence.h"
#include "win/winapi.h"

/* The value of PROC_THREAD_ATTRIBUTE_MITIGATION_POLICY; the strict set is for syscall_policy = "strict". */
DWORD64 sbx_mitigation_policy(bool is_strict);

/* Reads back, policy by policy, what a process really has. */
void sbx_mitigation_prove(struct sbx_evidence_list *list, HANDLE process, bool is_strict);

#endif
