/* The backend landlock: no namespaces, for places that forbid them. Landlock decides about files, seccomp about
 * what Landlock cannot see: metadata, sockets, other processes of the user. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "common/run/environment.h"
#include "posix/backend_linux.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_grants.h"
#include "posix/linux_landlock.h"
#include "posix/linux_launch.h"
#include "posix/linux_scratch.h"
#include "posix/linux_tree.h"

#include "common/base/banned.h"

/* Scopes: before them a box could signal every process of the user. */
enum { OLDEST_ABI = 6 };

/* ---- probe --------------------------------------------------------------------------------------- */

/* In a child: a ruleset that grants nothing must refuse the root directory. */
static bool is_in_force(unsigned abi)
{
    pid_t pid = fork();
    if (pid == 0) {
        int ruleset = -1;
        struct sbx_err ignored = {0};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            sbx_landlock_open(sbx_landlock_files(abi), 0, sbx_landlock_scopes(abi), &ruleset,
                              &ignored) != SBX_OK ||
            syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) {
            _exit(2);
        }
        _exit(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0 && errno == EACCES ? 0 : 1);
    }
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void fail_probe(struct sbx_probe *out, const char *reason, const char *remedy)
{
    *out = (struct sbx_probe){.state = SBX_PROBE_FAILED, .reason = reason, .remedy = remedy};
}

static void probe(struct sbx_arena *arena, struct sbx_probe *out)
{
    struct sbx_facts facts = {0};
    sbx_os_facts(arena, &facts);
    if (facts.landlock_abi == 0) {
        fail_probe(out, "the kernel has no Landlock, or it is switched off",
                   "use a kernel from 6.12 with Landlock in its lsm= list");
    } else if (facts.landlock_abi < OLDEST_ABI) {
        fail_probe(out,
                   sbx_arena_printf(arena,
                                    "Landlock ABI %u cannot keep signals inside the box; %d can",
                                    facts.landlock_abi, OLDEST_ABI),
                   "use a kernel from 6.12, or allow user namespaces for bwrap");
    } else if (!facts.has_seccomp) {
        fail_probe(out, "the kernel has no seccomp filters",
                   "use a kernel with CONFIG_SECCOMP_FILTER");
    } else if (!is_in_force(facts.landlock_abi)) {
        fail_probe(out, "Landlock was tried and did not refuse anything",
                   "another sandbox may forbid it here");
    } else {
        *out = (struct sbx_probe){
            .state = SBX_PROBE_PASSED,
            .version = sbx_arena_printf(arena, "Landlock ABI %u", facts.landlock_abi),
        };
    }
}

/* ---- running ------------------------------------------------------------------------------------- */

static bool wants_scratch(const struct sbx_policy *policy)
{
    for (size_t i = 0; i < policy->rules.count; i++) {
        if (policy->rules.items[i].kind == SBX_RULE_TMPFS) {
            return true;
        }
    }
    return false;
}

/* In place of a private /tmp. A TMPDIR of the manifest stays as it is. */
static enum sbx_code make_scratch(struct sbx_launch *launch, struct sbx_err *err)
{
    const struct sbx_policy *policy = launch->plan->policy;
    if (!wants_scratch(policy)) {
        return SBX_OK;
    }
    enum sbx_code code =
        sbx_scratch_make(policy->context.tmp.text, launch->scratch, sizeof launch->scratch, err);
    if (code == SBX_OK) {
        code = sbx_account_give(&launch->account, launch->scratch, err);
    }
    if (code == SBX_OK) {
        code = sbx_environment_add(launch->arena, "TMPDIR", launch->scratch, &launch->env, err);
    }
    if (code == SBX_OK) {
        launch->block.plan.env = sbx_init_block_texts(&launch->block, launch->env);
    }
    return code;
}

static void verify(struct sbx_launch *launch, const struct sbx_report *report)
{
    char text[64];
    (void)snprintf(text, sizeof text, "Landlock ABI %u", launch->landlock_abi);
    sbx_evidence_add(&launch->evidence, "helper", "sbx-init", text, true);
    AUTO_PROC first;
    AUTO_PROC proc;
    sbx_proc_open(&first, sbx_tree_parent_of(report->pid));
    sbx_proc_open(&proc, report->pid);
    struct sbx_held held = {
        .proc = &proc,
        .own = &launch->own,
        .user = launch->account.user,
        .group = launch->account.group,
        .keeps_bounding = launch->account.user != 0,
        .filters = launch->filter_count + (launch->watches_names ? 1 : 0),
        .landlock_probe = report->raw,
    };
    sbx_evidence_first(&launch->evidence, &(struct sbx_first){.proc = &first,
                                                              .held = &proc,
                                                              .own = &launch->own,
                                                              .inside = report->pid,
                                                              .program_fd = launch->init_fd,
                                                              .plan_fd = launch->plan_fd,
                                                              .filters = launch->filter_count});
    sbx_evidence_process(&launch->evidence, &held);
    sbx_launch_evidence(launch, &proc);
}

static enum sbx_code run_landlock(struct sbx_arena *arena, const struct sbx_plan *plan,
                                  const struct sbx_selection *selection, struct sbx_run_record *out,
                                  struct sbx_err *err)
{
    static const char *const argv[] = {"sbx-init", NULL};
    static const char *const no_environment[] = {NULL};
    (void)selection;
    AUTO_LAUNCH launch = {0};
    AUTO_FD ruleset = -1;
    struct sbx_grants grants = {.ruleset = -1};
    enum sbx_code code = sbx_launch_open(&launch, arena, plan, err);
    if (code == SBX_OK) {
        code = make_scratch(&launch, err);
    }
    if (code == SBX_OK) {
        code = sbx_launch_setup_failed(
            sbx_grants_make(arena, plan->policy, launch.landlock_abi, launch.scratch, &grants, err),
            err);
    }
    if (code == SBX_OK) {
        code = sbx_launch_changes(&launch, err);
    }
    ruleset = grants.ruleset;
    if (code != SBX_OK) {
        return code;
    }
    sbx_launch_pass(&launch, ruleset, SBX_INIT_FD_RULESET);
    sbx_launch_filter(&launch, SBX_FILTER_METADATA);
    sbx_launch_filter(&launch, SBX_FILTER_NEIGHBOURS);
    if (plan->policy->network == SBX_NET_DENY) {
        sbx_launch_filter(&launch, SBX_FILTER_NO_NETWORK);
    }
    struct sbx_init_plan *inside = &launch.block.plan;
    inside->flags |= SBX_INIT_HAS_RULESET;
    inside->handled_files = sbx_landlock_files(launch.landlock_abi);
    inside->probe = sbx_init_block_text(&launch.block, "/dev/random");
    launch.box.program = "/proc/self/fd/3";
    launch.box.argv = argv;
    launch.box.env = no_environment;
    launch.verify = verify;
    return sbx_launch_run(&launch, out, err);
}

const struct sbx_backend sbx_backend_landlock = {
    .id = SBX_BACKEND_LANDLOCK, .probe = probe, .run = run_landlock};
