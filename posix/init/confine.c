/* What holds for sbx-init and everything it starts. Applied here, last of all, because a process under
 * Landlock may not mount, and because bwrap has no resource limits. */
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/time.h>
#include <linux/time_types.h>
#include <stddef.h>

#include "posix/init/init.h"
#include "posix/init/sys.h"
#include "posix/landlock_abi.h"

#include "common/base/banned.h"

enum { KILL = 9 };

static void must(int32_t step, long answer)
{
    if (answer < 0) {
        init_fail(step, answer);
    }
}

/* Not dumpable: no process of the box may trace this one or read its memory, where the orders are. */
void init_harden(const struct init *init)
{
    bool has_last = (init->plan->flags & (SBX_INIT_HAS_RULESET | SBX_INIT_WAITS)) != 0;
    unsigned first_free = has_last ? SBX_INIT_FD_FIRST_FREE : SBX_INIT_FD_RULESET;
    must(SBX_INIT_STEP_HARDEN, SYS5(prctl, PR_SET_DUMPABLE, 0, 0, 0, 0));
    must(SBX_INIT_STEP_HARDEN, SYS5(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    must(SBX_INIT_STEP_HARDEN, SYS5(prctl, PR_SET_PDEATHSIG, KILL, 0, 0, 0));
    (void)SYS1(close, SBX_INIT_FD_IMAGE);
    (void)SYS1(close, SBX_INIT_FD_PLAN);
    must(SBX_INIT_STEP_HARDEN, SYS3(dup3, SBX_INIT_FD_STDOUT, 1, 0));
    must(SBX_INIT_STEP_HARDEN, SYS3(dup3, SBX_INIT_FD_STDERR, 2, 0));
    (void)SYS1(close, SBX_INIT_FD_STDOUT);
    (void)SYS1(close, SBX_INIT_FD_STDERR);
    must(SBX_INIT_STEP_HARDEN, SYS3(close_range, first_free, ~0u, 0));
    if ((init->plan->flags & SBX_INIT_IS_FIRST) != 0) {
        if (SYS0(getpid) != 1) {
            init_fail(SBX_INIT_STEP_HARDEN, -1);
        }
    } else {
        /* Orphans of the box come to this process, so that none is lost. */
        must(SBX_INIT_STEP_HARDEN, SYS5(prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    }
    must(SBX_INIT_STEP_HARDEN, SYS3(fcntl, SBX_INIT_FD_ORDERS, F_SETFD, 1 /* FD_CLOEXEC */));
    must(SBX_INIT_STEP_HARDEN, SYS3(fcntl, SBX_INIT_FD_REPORTS, F_SETFD, 1));
}

/* Root keeps its capabilities where no user namespace takes them away. The bounding set counts most: from
 * it a program executed by root would get them back. */
void init_drop_capabilities(const struct init *init)
{
    const uint32_t head[2] = {0x20080522, 0}; /* _LINUX_CAPABILITY_VERSION_3, this process */
    const uint32_t none[6] = {0, 0, 0, 0, 0, 0};
    enum { CAPABILITIES = 64 };
    bool builds = (init->plan->flags & SBX_INIT_BUILDS) != 0;
    if ((init->plan->flags & SBX_INIT_IS_FIRST) != 0 && !builds) {
        return; /* the helper has done it, and has given up the right to do it again */
    }
    for (long i = 0; i < CAPABILITIES; i++) {
        /* Behind the last one that the kernel knows it answers EINVAL. Without namespaces an ordinary user may
         * not, and needs not. */
        long answer = SYS5(prctl, PR_CAPBSET_DROP, i, 0, 0, 0);
        if (answer == -22) {
            break;
        }
        if (builds) {
            must(SBX_INIT_STEP_HARDEN, answer);
        }
    }
    (void)SYS5(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    must(SBX_INIT_STEP_HARDEN, SYS2(capset, head, none));
}

/* Whoever watches the time outside may have been stopped. The signal is read in watch.c, where it is blocked; before
 * that the first process of a box does not hear it. */
static void limit_time(const struct init *init)
{
    const struct __kernel_old_itimerval value = {.it_value = {.tv_sec = init->plan->most_seconds}};
    if (init->plan->most_seconds > 0) {
        must(SBX_INIT_STEP_RLIMIT, SYS3(setitimer, ITIMER_REAL, &value, 0));
    }
}

void init_limit(const struct init *init)
{
    const struct sbx_init_rlimit *limit =
        (const struct sbx_init_rlimit *)init_at(init, init->plan->rlimits.at);
    for (uint32_t i = 0; i < init->plan->rlimits.count; i++) {
        const uint64_t pair[2] = {limit[i].soft, limit[i].hard};
        must(SBX_INIT_STEP_RLIMIT, SYS4(prlimit64, 0, limit[i].resource, pair, 0));
    }
    limit_time(init);
}

/* The command's own streams may be opened again through /dev/stdout and the like, with the access they have.
 * What is no file (a pipe) needs no rule, and is refused here. */
static void add_streams(const struct init *init, long ruleset)
{
    for (int fd = 0; fd <= 2; fd++) {
        long mode = SYS3(fcntl, fd, F_GETFL, 0) & O_ACCMODE;
        uint64_t access = (mode != O_WRONLY ? SBX_LANDLOCK_READ_FILE : 0) |
                          (mode != O_RDONLY ? SBX_LANDLOCK_WRITE_FILE | SBX_LANDLOCK_TRUNCATE : 0) |
                          SBX_LANDLOCK_IOCTL_DEV;
        struct sbx_landlock_path value = {.access = access & init->plan->handled_files, .fd = fd};
        (void)SYS4(landlock_add_rule, ruleset, SBX_LANDLOCK_RULE_PATH, &value, 0);
    }
}

static void add_rules(const struct init *init, long ruleset)
{
    const struct sbx_init_rule *rule =
        (const struct sbx_init_rule *)init_at(init, init->plan->rules.at);
    for (uint32_t i = 0; i < init->plan->rules.count; i++) {
        const char *path = (const char *)init_at(init, rule[i].path);
        long fd = SYS4(openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
        must(SBX_INIT_STEP_LANDLOCK, fd);
        struct sbx_landlock_path value = {.access = rule[i].access, .fd = (int32_t)fd};
        must(SBX_INIT_STEP_LANDLOCK,
             SYS4(landlock_add_rule, ruleset, SBX_LANDLOCK_RULE_PATH, &value, 0));
        (void)SYS1(close, fd);
    }
    const struct sbx_init_port *port =
        (const struct sbx_init_port *)init_at(init, init->plan->ports.at);
    for (uint32_t i = 0; i < init->plan->ports.count; i++) {
        struct sbx_landlock_port value = {.access = port[i].access, .port = port[i].port};
        must(SBX_INIT_STEP_LANDLOCK,
             SYS4(landlock_add_rule, ruleset, SBX_LANDLOCK_RULE_PORT, &value, 0));
    }
}

void init_landlock(const struct init *init)
{
    const struct sbx_init_plan *plan = init->plan;
    long ruleset = SBX_INIT_FD_RULESET;
    if ((plan->flags & SBX_INIT_NO_LANDLOCK) != 0) {
        return;
    }
    if ((plan->flags & SBX_INIT_HAS_RULESET) == 0) {
        struct sbx_landlock_ruleset value = {plan->handled_files, plan->handled_network,
                                             plan->scoped};
        /* An older kernel wants the shorter structure it knows; the fields beyond are 0 then. */
        size_t size = plan->scoped != 0 ? 24 : plan->handled_network != 0 ? 16 : 8;
        ruleset = SYS3(landlock_create_ruleset, &value, size, 0);
        must(SBX_INIT_STEP_LANDLOCK, ruleset);
        add_rules(init, ruleset);
    }
    add_streams(init, ruleset);
    must(SBX_INIT_STEP_LANDLOCK, SYS2(landlock_restrict_self, ruleset, 0));
    (void)SYS1(close, ruleset);
}

void init_seccomp(const struct init *init)
{
    const struct sbx_init_filter *filter =
        (const struct sbx_init_filter *)init_at(init, init->plan->filters.at);
    for (uint32_t i = 0; i < init->plan->filters.count; i++) {
        struct sock_fprog program = {
            .len = (unsigned short)filter[i].count,
            .filter = (struct sock_filter *)init_at(init, filter[i].at),
        };
        must(SBX_INIT_STEP_SECCOMP, SYS3(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
    }
}
