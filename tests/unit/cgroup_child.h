/* Children that a test puts into a control group, and what they do there. */
#ifndef SBX_TESTS_CGROUP_CHILD_H
#define SBX_TESTS_CGROUP_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "posix/linux_cgroup_internal.h"

#define MIB (UINT64_C(1) << 20)

/* What a child does with a number; its exit status. */
typedef int child_work(uint64_t number);

child_work child_sleep;      /* until it is killed */
child_work child_stop;       /* stops itself */
child_work child_touch;      /* writes to `number` bytes of new memory */
child_work child_touch_two;  /* the same in two processes at once, half each */
child_work child_fork_count; /* starts up to `number` sleepers; how many it could */
child_work child_bomb;      /* starts processes that do the same, for ever; at most `number` deep */
child_work child_burn;      /* uses the processor for `number` milliseconds */
child_work child_is_inside; /* 0 */

/* Starts it in the group (NULL: in none) by writing to cgroup.procs; the child exits with 99 when it
 * could not get in. It dies with the test. */
pid_t child_start(const struct sbx_cgroup *group, child_work *work, uint64_t number);

/* The same, born in a group of version 2; -1 with errno when the kernel refused. */
pid_t child_clone(const struct sbx_cgroup *group, child_work *work, uint64_t number);

/* Exit status, or 128 + n for a signal; waits for at most 20 seconds, then kills it. */
int child_wait(pid_t pid);

/* child_start and child_wait. */
int child_run(const struct sbx_cgroup *group, child_work *work, uint64_t number);

/* Waits until the group has at least this many processes. */
bool await_processes(const struct sbx_cgroup *group, uint64_t count);

/* How many entries of the places' parents have names that begin so. */
size_t count_named(const struct sbx_cgroup *found, const char *prefix);

/* The beginning of the names of the groups that this process makes. */
const char *own_prefix(pid_t pid);

/* Kills what is left in the group, removes it and checks that it is gone. */
void end_group(struct sbx_cgroup *group);

#endif
