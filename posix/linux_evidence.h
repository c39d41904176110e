/* Evidence: what the kernel says about a held box, next to what was planned. */
#ifndef SBX_POSIX_LINUX_EVIDENCE_H
#define SBX_POSIX_LINUX_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/run/evidence.h"
#include "posix/linux_cgroup.h"
#include "posix/linux_mounts.h"
#include "posix/linux_own.h"
#include "posix/linux_proc.h"

/* What a held process must be. */
struct sbx_held {
    const struct sbx_proc *proc;
    const struct sbx_own *own; /* sbx itself */
    unsigned namespaces;       /* bits 1 << SBX_NAMESPACE_…: each another one than ours */
    uid_t user;                /* whom it runs as, seen from here */
    gid_t group;
    bool maps_ids;       /* has its own id map with only these ids in it */
    bool keeps_bounding; /* an ordinary user cannot empty that set; no-new-privs makes it idle */
    size_t filters;      /* seccomp programs besides those sbx itself has */
    int landlock_probe;  /* errno of the access that Landlock must refuse; -1: no Landlock here */
};

void sbx_evidence_process(struct sbx_evidence_list *list, const struct sbx_held *held);

/* That it is in this very namespace. */
void sbx_evidence_namespace(struct sbx_evidence_list *list, const struct sbx_proc *proc,
                            enum sbx_namespace which, uint64_t inode);

/* The process that holds it. What cannot be read back: the signal at a parent's death, which the kernel tells only
 * to the process itself, and, where the caller is root, that it is not dumpable; sbx-init ends when it cannot
 * set either. */
struct sbx_first {
    const struct sbx_proc *proc; /* sbx-init */
    const struct sbx_proc *held; /* the held process */
    const struct sbx_own *own;   /* sbx itself */
    pid_t inside;                /* number of the held process in the box, as sbx-init said */
    int program_fd, plan_fd;     /* what sbx-init was given: its program and its block */
    size_t filters; /* seccomp programs besides those sbx itself has; without that of the names */
    bool has_users; /* it is known already that no user namespace can be made */
    bool
        is_namespace; /* it is number 1 of a namespace whose user namespace is the caller's child; without,
                          only the held process can be looked at by an ordinary user */
};
void sbx_evidence_first(struct sbx_evidence_list *list, const struct sbx_first *first);

/* That no user namespace can be made below the one that this process is in. */
void sbx_evidence_user_namespaces(struct sbx_evidence_list *list, const struct sbx_proc *proc);
void sbx_evidence_descriptors(struct sbx_evidence_list *list, const struct sbx_proc *proc);
void sbx_evidence_limits(struct sbx_evidence_list *list, const struct sbx_proc *proc,
                         const void *rlimits, size_t count);
void sbx_evidence_cgroup(struct sbx_evidence_list *list, const struct sbx_cgroup *group, pid_t pid);
void sbx_evidence_environment(struct sbx_evidence_list *list, int plan_fd, const char *const *env);

/* Every mount of the plan is what its path really leads to, of the planned kind, and nothing else is mounted but
 * what a bind took along from below its source. The mounts of `own` were listed while the box was made, and
 * may be listed again. Tells of each mount whether its path was found to lead to it and to be read-only, in the order of
 * the plan; NULL when nothing could be read. */
const bool *sbx_evidence_mounts(struct sbx_evidence_list *list, const struct sbx_proc *proc,
                                const struct sbx_policy *policy, const struct sbx_mounts *mounts,
                                struct sbx_own *own);

/* Every rule that closes or locks a path, tried in the box by the path it was given: whatever links and
 * directories were swapped meanwhile, that path must be closed or read-only there. A path that `locked` (see above) tells
 * about was tried by then. */
void sbx_evidence_rules(struct sbx_evidence_list *list, const struct sbx_proc *proc,
                        const struct sbx_policy *policy, const struct sbx_mounts *mounts,
                        const bool *locked);

#endif
