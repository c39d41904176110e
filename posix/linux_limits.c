/* The limits of a box that its first process sets. */
#include "posix/linux_limits.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/banned.h"

#define SECOND_NS UINT64_C(1000000000)

struct limits {
    struct sbx_init_rlimit items[16];
    size_t count;
};

/* A limit above what the caller has cannot be set; the caller's is then the limit. */
static void limit(struct limits *limits, int resource, uint64_t soft, uint64_t hard)
{
    struct rlimit now = {0};
    /* The libraries disagree about the type of a resource. */
    if (syscall(SYS_prlimit64, 0, resource, NULL, &now) == 0) {
        hard = hard < now.rlim_max ? hard : now.rlim_max;
        soft = soft < hard ? soft : hard;
    }
    limits->items[limits->count++] =
        (struct sbx_init_rlimit){.resource = (uint32_t)resource, .soft = soft, .hard = hard};
}

static void set_limits(struct sbx_launch *launch)
{
    const struct sbx_plan *plan = launch->plan;
    bool has_group = launch->cgroup.version != SBX_CGROUP_NONE;
    struct limits limits = {.count = 0};
    limit(&limits, RLIMIT_CORE, 0, 0);
    limit(&limits, RLIMIT_NOFILE, SBX_PLAN_DESCRIPTORS, SBX_PLAN_DESCRIPTORS);
    limit(&limits, RLIMIT_FSIZE, SBX_PLAN_FILE_BYTES, SBX_PLAN_FILE_BYTES);
    limit(&limits, RLIMIT_RTPRIO, 0, 0);
    limit(&limits, RLIMIT_NICE, 0, 0);
    if (plan->policy->limits.cpu_secs > 0) {
        limit(&limits, RLIMIT_CPU, plan->policy->limits.cpu_secs,
              plan->policy->limits.cpu_secs + 1);
    }
    /* An address-space limit would keep node, java and go from starting; data is what grows. */
    if (plan->memory_bytes > 0 && !has_group) {
        limit(&limits, RLIMIT_DATA, plan->memory_bytes, plan->memory_bytes);
    }
    if (plan->policy->limits.processes > 0 && !has_group) {
        limit(&limits, RLIMIT_NPROC, plan->policy->limits.processes + 2,
              plan->policy->limits.processes + 2);
    }
    launch->block.plan.rlimits =
        sbx_init_block_array(&launch->block, limits.items, limits.count, sizeof limits.items[0]);
}

/* The time of a box that waits has not begun, and without a namespace a first process cannot end the others. */
static void set_most_time(struct sbx_launch *launch)
{
    enum { LATER = 2 }; /* the keeper's request and its grace come first */
    uint64_t timeout_ns = launch->plan->timeout_ns;
    if (timeout_ns != 0 && launch->is_inside && timeout_ns / SECOND_NS < INT32_MAX) {
        launch->block.plan.most_seconds = (uint32_t)(timeout_ns / SECOND_NS) + LATER;
    }
}

void sbx_launch_limits(struct sbx_launch *launch)
{
    set_limits(launch);
    set_most_time(launch);
}
