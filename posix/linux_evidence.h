/* Evidence: what the kernel says about a held box, next to what was planned. */
#ifndef SBX_POSIX_LINUX_EVIDENCE_H
#define SBX_POSIX_LINUX_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/run/record.h"
#include "posix/linux_cgroup.h"
#include "posix/linux_mounts.h"

struct sbx_evidence_list {
    struct sbx_arena *arena;
    struct sbx_evidence *items;
    size_t count, capacity;
    bool failed; /* without memory: then nothing is proven */
};

void sbx_evidence_init(struct sbx_evidence_list *list, struct sbx_arena *arena);

/* One item. `ok` is wanted == got for the second form. */
void sbx_evidence_add(struct sbx_evidence_list *list, const char *what, const char *wanted,
                      const char *got, bool ok);
void sbx_evidence_same(struct sbx_evidence_list *list, const char *what, const char *wanted,
                       const char *got);

/* SBX_E_VERIFY with the first item that differs. */
enum sbx_code sbx_evidence_verdict(const struct sbx_evidence_list *list,
                                   struct sbx_err *err) SBX_MUST_USE;

/* What a held process must be. */
struct sbx_held {
    pid_t pid; /* as seen from here */
    const char
        *namespaces; /* "user mnt pid net ipc uts cgroup": each another one than ours; "": none */
    uid_t user;      /* whom it runs as, seen from here */
    gid_t group;
    bool maps_ids;       /* has its own id map with only these ids in it */
    bool keeps_bounding; /* an ordinary user cannot empty that set; no-new-privs makes it idle */
    size_t filters;      /* seccomp programs besides those sbx itself has */
    int landlock_probe;  /* errno of the access that Landlock must refuse; -1: no Landlock here */
};

void sbx_evidence_process(struct sbx_evidence_list *list, const struct sbx_held *held);

/* The process that holds it. What cannot be read back: the signal at a parent's death, which the kernel tells only
 * to the process itself, and, where the caller is root, that it is not dumpable; sbx-init ends when it cannot
 * set either. */
struct sbx_first {
    pid_t pid;               /* of sbx-init, as seen from here */
    pid_t held;              /* of the held process, likewise */
    pid_t inside;            /* of the held process in the box, as sbx-init said */
    int program_fd, plan_fd; /* what sbx-init was given: its program and its block */
    size_t filters; /* seccomp programs besides those sbx itself has; without that of the names */
    bool
        is_namespace; /* it is number 1 of a namespace whose user namespace is the caller's child; without,
                          only the held process can be looked at by an ordinary user */
};
void sbx_evidence_first(struct sbx_evidence_list *list, const struct sbx_first *first);
void sbx_evidence_descriptors(struct sbx_evidence_list *list, pid_t pid);
void sbx_evidence_limits(struct sbx_evidence_list *list, pid_t pid, const void *rlimits,
                         size_t count);
void sbx_evidence_cgroup(struct sbx_evidence_list *list, const struct sbx_cgroup *group, pid_t pid);
void sbx_evidence_environment(struct sbx_evidence_list *list, int plan_fd, const char *const *env);

/* Every rule that closes or locks a path, tried in the box by the path it was given: whatever links and
 * directories were swapped meanwhile, that path must be closed or read-only there. */
void sbx_evidence_rules(struct sbx_evidence_list *list, pid_t pid, const struct sbx_policy *policy);

/* Every mount of the plan is what its path really leads to, of the planned kind, and nothing else is mounted but
 * what a bind took along from below its source. */
void sbx_evidence_mounts(struct sbx_evidence_list *list, pid_t pid, const struct sbx_policy *policy,
                         const struct sbx_mounts *mounts);

#endif
