/* The backend native: sbx-init is born in new namespaces and builds the box itself. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/os.h"
#include "posix/backend_linux.h"
#include "posix/linux_learned.h"
#include "posix/linux_mounted.h"
#include "posix/linux_native.h"
#include "posix/linux_userns.h"
#include "posix/terminal.h"

#include "common/base/banned.h"

/* That a box could be built here. */
static const char memory[] = "native-probe";

/* ---- the plan of the mounts ---------------------------------------------------------------------- */

static bool is_host(const struct sbx_mount *mount)
{
    return mount->kind == SBX_MOUNT_READ || mount->kind == SBX_MOUNT_WRITE;
}

/* Where its place may have to be made, and how much of the path is there then: below a directory of the box's own. */
static void set_place(const struct sbx_mount *above, struct sbx_init_mount *row)
{
    if (above == NULL || (!is_host(above) && above->kind != SBX_MOUNT_PROC)) {
        row->flags |= SBX_BUILD_IN_PRIVATE;
        row->private_bytes =
            above == NULL || above->path[1] == '\0' ? 0 : (uint32_t)strlen(above->path);
    }
}

/* So many are taken before anything is mounted, each by a descriptor: far below the usual limit. */
enum { EARLY_AT_MOST = 400 };

/* What is writable must be taken before the root is not, and what lies below a directory of the box's own before that
 * covers it. Everything else is there, too, when its turn comes, below what was mounted by then; but the kernel then looks
 * at every mount that came before it, which makes many of them slow. */
static bool is_early(const struct sbx_mount *mount, const struct sbx_mount *above, size_t index)
{
    return is_host(mount) && (mount->kind == SBX_MOUNT_WRITE || above == NULL || !is_host(above) ||
                              index < EARLY_AT_MOST);
}

static struct sbx_init_mount make_row(struct sbx_launch *launch, const struct sbx_mounts *mounts,
                                      size_t index)
{
    static const uint32_t kinds[] = {
        [SBX_MOUNT_WRITE] = SBX_BUILD_WRITE,         [SBX_MOUNT_READ] = SBX_BUILD_READ,
        [SBX_MOUNT_TMPFS] = SBX_BUILD_TMPFS,         [SBX_MOUNT_MASK] = SBX_BUILD_MASK,
        [SBX_MOUNT_MASK_FILE] = SBX_BUILD_MASK_FILE, [SBX_MOUNT_LINK] = SBX_BUILD_LINK,
        [SBX_MOUNT_PROC] = SBX_BUILD_PROC,           [SBX_MOUNT_DEV] = SBX_BUILD_DEV,
    };
    const struct sbx_mount *mount = &mounts->items[index];
    const struct sbx_mount *above = sbx_mounts_above(mounts, index);
    struct sbx_init_block *block = &launch->block;
    bool is_directory = mount->is_directory || mount->kind == SBX_MOUNT_TMPFS ||
                        mount->kind == SBX_MOUNT_MASK || mount->kind == SBX_MOUNT_PROC ||
                        mount->kind == SBX_MOUNT_DEV;
    struct sbx_init_mount row = {
        .kind = kinds[mount->kind],
        .flags = (is_directory ? SBX_BUILD_IS_DIRECTORY : 0) |
                 (mount->is_reopened ? SBX_BUILD_IS_REOPENED : 0) |
                 (is_early(mount, above, index) ? SBX_BUILD_EARLY : 0),
        .path = sbx_init_block_text(block, mount->path),
        .inode = mount->inode,
        .device_major = major(mount->device),
        .device_minor = minor(mount->device),
        .fd = -1,
    };
    set_place(above, &row);
    if (mount->kind == SBX_MOUNT_LINK) {
        row.text = sbx_init_block_text(block, mount->link);
    } else if (mount->kind == SBX_MOUNT_TMPFS || mount->kind == SBX_MOUNT_MASK) {
        char size[32];
        (void)snprintf(size, sizeof size, "%" PRIu64,
                       mount->kind == SBX_MOUNT_TMPFS ? mount->size_bytes
                                                      : (uint64_t)SBX_MOUNTS_MASK_BYTES);
        row.text = sbx_init_block_text(block, size);
    }
    return row;
}

static enum sbx_code set_mounts(struct sbx_launch *launch, struct sbx_mounts *mounts,
                                struct sbx_err *err)
{
    struct sbx_init_plan *plan = &launch->block.plan;
    struct sbx_init_mount *rows =
        SBX_NEW_ARRAY(launch->arena, struct sbx_init_mount, mounts->count);
    if (rows == NULL) {
        return sbx_err_nomem(err);
    }
    for (size_t i = 0; i < mounts->count; i++) {
        rows[i] = make_row(launch, mounts, i);
    }
    if (mounts->has_host_root) {
        rows[0].flags &= ~(uint32_t)SBX_BUILD_EARLY; /* kept in place */
        plan->flags |= SBX_INIT_HOST_ROOT;
    }
    mounts->has_own_order = true;
    plan->flags |= SBX_INIT_IS_FIRST | SBX_INIT_BUILDS;
    plan->mounts = sbx_init_block_array(&launch->block, rows, mounts->count, sizeof rows[0]);
    return SBX_OK;
}

/* ---- running ------------------------------------------------------------------------------------- */

static void verify(struct sbx_launch *launch, const struct sbx_report *report)
{
    const struct sbx_mounts *mounts = (const struct sbx_mounts *)launch->state;
    sbx_evidence_add(&launch->evidence, "helper", "none", "none", true);
    sbx_mounted_verify(launch, &(struct sbx_mounted){.mounts = mounts,
                                                     .first = report->helper,
                                                     .inside = report->pid,
                                                     .probe = report->raw});
}

/* What sbx-init can do before it has the block: see init/build.c. */
enum sbx_code sbx_native_box(struct sbx_launch *launch, struct sbx_err *err)
{
    static const char *const no_environment[] = {NULL};
    bool has_network = launch->plan->policy->network != SBX_NET_INHERIT && launch->session == NULL;
    const char **argv = SBX_NEW_ARRAY(launch->arena, const char *, 3);
    if (argv == NULL) {
        return sbx_err_nomem(err);
    }
    argv[0] = "sbx-init";
    argv[1] = sbx_arena_printf(launch->arena, "%u %u %d", (unsigned)launch->account.user,
                               (unsigned)launch->account.group, has_network);
    launch->box.program = "/proc/self/fd/3";
    launch->box.argv = argv;
    launch->box.env = no_environment;
    launch->box.is_namespace = true;
    launch->box.fork = sbx_native_fork;
    launch->enter = sbx_native_enter;
    return argv[1] == NULL ? sbx_err_nomem(err) : SBX_OK;
}

static void look(struct sbx_launch *launch, const struct sbx_report *report)
{
    sbx_mounted_look(launch, (const struct sbx_mounts *)launch->state, report->helper);
}

static void settle(struct sbx_launch *launch)
{
    sbx_mounts_release((struct sbx_mounts *)launch->state);
}

enum sbx_code sbx_native_prepare(struct sbx_launch *launch, struct sbx_mounts *mounts,
                                 struct sbx_err *err)
{
    enum sbx_code code = sbx_launch_setup_failed(sbx_mounted_prepare(launch, mounts, err), err);
    if (code == SBX_OK) {
        code = set_mounts(launch, mounts, err);
    }
    launch->state = mounts;
    launch->settle = settle;
    launch->look = look;
    launch->verify = verify;
    return code;
}

static const char held[] = "probe.held";

/* The box stands, its command waits, and all is as planned: what was to be found out. It is not let go. */
static void stop_held(struct sbx_launch *launch, const struct sbx_report *report)
{
    struct sbx_err ignored = {0};
    verify(launch, report);
    if (sbx_evidence_verdict(&launch->evidence, &ignored) == SBX_OK) {
        sbx_evidence_add(&launch->evidence, held, "nothing runs", "held", false);
    }
}

/* A killed sbx could not give a terminal back: then a keeper of its own does. */
static bool is_kept_inside(const struct sbx_plan *plan)
{
    return !plan->wants_terminal && !sbx_terminal_is_there();
}

/* Its first process makes namespaces while we look at the files. */
static enum sbx_code begin(struct sbx_launch *launch, struct sbx_err *err)
{
    enum sbx_code code = sbx_native_box(launch, err);
    return code == SBX_OK ? sbx_launch_begin(launch, err) : code;
}

/* The rest of a launch that may have begun. */
static enum sbx_code carry_out(struct sbx_launch *launch, struct sbx_arena *arena,
                               const struct sbx_plan *plan,
                               void (*verify_box)(struct sbx_launch *, const struct sbx_report *),
                               struct sbx_run_record *out, struct sbx_err *err)
{
    AUTO_MOUNTS mounts = {0};
    enum sbx_code code = sbx_launch_open(launch, arena, plan, err);
    if (code == SBX_OK && launch->attendant.plan == NULL) {
        code = begin(launch, err);
    }
    if (code == SBX_OK) {
        code = sbx_native_prepare(launch, &mounts, err);
    }
    launch->verify = verify_box;
    if (code == SBX_OK) {
        code = sbx_launch_run(launch, out, err);
    }
    launch->state = NULL; /* the mounts */
    return code;
}

static enum sbx_code run_in_box(struct sbx_arena *arena, const struct sbx_plan *plan,
                                const struct sbx_session_net *session,
                                void (*verify_box)(struct sbx_launch *, const struct sbx_report *),
                                struct sbx_run_record *out, struct sbx_err *err)
{
    AUTO_LAUNCH launch = {
        .session = session, .is_trial = verify_box == stop_held, .is_inside = is_kept_inside(plan)};
    return carry_out(&launch, arena, plan, verify_box, out, err);
}

/* ---- begun before it was decided ----------------------------------------------------------------- */

/* At most one, of the program that runs one command. */
static struct {
    struct sbx_arena arena;
    struct sbx_plan plan; /* as much of it as is known by then */
    struct sbx_launch launch;
    bool is_used;
} expected;

static void forget(void)
{
    if (expected.launch.is_ready) {
        sbx_launch_close(&expected.launch);
        sbx_arena_release(&expected.arena);
    }
}

/* What is begun depends on no more than this: nothing, where another account or a control group has to be entered first,
 * or output has to be counted from the start. */
static bool can_begin(const struct sbx_policy *policy, struct sbx_account *account)
{
    struct sbx_err ignored = {0}; /* whatever it is, the run finds it too */
    bool has_group = sbx_launch_wants_group(policy) && sbx_cgroup_usable_early() != SBX_CGROUP_NONE;
    return !has_group && policy->limits.output_bytes == 0 &&
           sbx_account_find(policy, account, &ignored) == SBX_OK && !account->is_other;
}

/* Most boxes have a network of their own and the caller's account. */
static const struct sbx_policy usual = {.network = SBX_NET_DENY};

static bool is_usual(const struct sbx_policy *policy)
{
    struct sbx_account account;
    return policy->network != SBX_NET_INHERIT && can_begin(policy, &account);
}

static void begin_expected(const struct sbx_policy *policy)
{
    struct sbx_launch *launch = &expected.launch;
    struct sbx_err ignored = {0};
    if (expected.is_used) { /* the first time nothing is in it, and most of it never is touched */
        memset(launch, 0, sizeof *launch);
    }
    expected.is_used = true;
    expected.plan = (struct sbx_plan){.policy = policy};
    if (!is_kept_inside(&expected.plan) || !can_begin(policy, &launch->account)) {
        return;
    }
    sbx_arena_init(&expected.arena, 4096);
    launch->arena = &expected.arena;
    launch->plan = &expected.plan;
    launch->is_inside = true;
    if (sbx_launch_ready(launch, &ignored) != SBX_OK || begin(launch, &ignored) != SBX_OK) {
        forget();
    }
}

static void expect(const struct sbx_policy *policy)
{
    bool is_begun = expected.launch.is_ready;
    if (sbx_session_net_shared() != NULL || (is_begun && policy == NULL)) {
        return;
    }
    if (is_begun && expected.plan.policy == &usual && is_usual(policy)) {
        expected.plan.policy = policy;
        return;
    }
    forget();
    begin_expected(policy == NULL ? &usual : policy);
}

static enum sbx_code run_expected(struct sbx_arena *arena, const struct sbx_plan *plan,
                                  struct sbx_run_record *out, struct sbx_err *err)
{
    enum sbx_code code = carry_out(&expected.launch, arena, plan, verify, out, err);
    forget();
    return code;
}

/* ---- the plan's turn ----------------------------------------------------------------------------- */

static enum sbx_code run_native(struct sbx_arena *arena, const struct sbx_plan *plan,
                                const struct sbx_selection *selection, struct sbx_run_record *out,
                                struct sbx_err *err)
{
    (void)selection;
    return sbx_native_run(arena, plan, sbx_session_net_shared(), out, err);
}

enum sbx_code sbx_native_run(struct sbx_arena *arena, const struct sbx_plan *plan,
                             const struct sbx_session_net *session, struct sbx_run_record *out,
                             struct sbx_err *err)
{
    bool is_expected = expected.launch.is_ready && session == NULL &&
                       expected.plan.policy == plan->policy && !plan->wants_terminal;
    if (!is_expected) {
        forget();
    }
    enum sbx_code code = is_expected ? run_expected(arena, plan, out, err)
                                     : run_in_box(arena, plan, session, verify, out, err);
    if (code == SBX_E_IO) {
        sbx_learned_forget(arena, memory); /* the machine may have changed since it was tried */
    }
    return code;
}

/* ---- probe --------------------------------------------------------------------------------------- */

static bool was_held(const struct sbx_run_record *record)
{
    return record->evidence_count > 0 &&
           strcmp(record->evidence[record->evidence_count - 1].what, held) == 0;
}

#define TRIAL_BYTES ((size_t)64 << 20)

/* A whole box with every layer, but with nothing in it: the host's files, read-only. */
static enum sbx_code try_it(struct sbx_err *err)
{
    /* That of a probe is for its answer; this one holds every mount of the host. */
    AUTO_ARENA arena;
    static const char *const command[] = {"/proc/self/exe", NULL};
    static struct sbx_rule root = {
        .path = {"/", 1, SBX_PATH_POSIX},
        .access = SBX_ACCESS_READ,
        .kind = SBX_RULE_HOST,
        .node = SBX_NODE_DIRECTORY,
    };
    struct sbx_facts facts = {0};
    struct sbx_run_record record = {0};
    struct sbx_policy policy = {
        .rules = {&root, 1, 1},
        .network = SBX_NET_DENY,
        .cwd = {"/", 1, SBX_PATH_POSIX},
    };
    struct sbx_plan plan = {
        .platform = SBX_LINUX,
        .backend = SBX_BACKEND_NATIVE,
        .policy = &policy,
        .facts = &facts,
        .command = command,
        .timeout_ns = UINT64_C(10) * 1000000000,
    };
    sbx_arena_init(&arena, TRIAL_BYTES);
    sbx_os_facts(&arena, &facts);
    enum sbx_code code = run_in_box(&arena, &plan, NULL, stop_held, &record, err);
    return was_held(&record) ? SBX_OK : code == SBX_OK ? SBX_E_INTERNAL : code;
}

static void probe(struct sbx_arena *arena, struct sbx_probe *out)
{
    struct sbx_err err = {0};
    if (sbx_learned_recall(arena, memory, "") == NULL) {
        if (try_it(&err) != SBX_OK) {
            struct sbx_userns_trouble trouble = sbx_userns_find_trouble(err.text, true);
            *out = (struct sbx_probe){
                .state = SBX_PROBE_FAILED,
                .reason = sbx_arena_copy(arena, err.text, strlen(err.text)),
                .remedy = sbx_userns_remedy(&trouble),
            };
            return;
        }
        sbx_learned_keep(arena, memory, "", "works");
    }
    *out = (struct sbx_probe){.state = SBX_PROBE_PASSED,
                              .version = "namespaces, Landlock and seccomp of this kernel"};
}

const struct sbx_backend sbx_backend_native = {.id = SBX_BACKEND_NATIVE,
                                               .probe = probe,
                                               .run = run_native,
                                               .expect = expect,
                                               .forget = forget};
