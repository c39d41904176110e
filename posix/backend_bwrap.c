/* The backend bwrap: bubblewrap builds the namespaces and mounts, sbx-init the rest. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "posix/backend_linux.h"
#include "posix/bwrap.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_mounted.h"

#include "common/base/banned.h"

enum { ARGS_FD = SBX_INIT_FD_FIRST_FREE, INFO_FD, FIRST_BIND_FD };

#define ARGS_MAX ((size_t)8 << 20)

struct bwrap_run {
    struct sbx_bwrap bwrap;
    struct sbx_mounts mounts;
    struct sbx_buf args; /* each ends with NUL */
    int args_fd;
    int info[2]; /* read end, write end */
};

static void release(struct bwrap_run *run)
{
    sbx_mounts_release(&run->mounts);
    sbx_buf_release(&run->args);
    sbx_fd_close(&run->args_fd);
    sbx_fd_close(&run->info[0]);
    sbx_fd_close(&run->info[1]);
}
#define AUTO_RUN SBX_CLEANUP(release) struct bwrap_run

/* ---- arguments ----------------------------------------------------------------------------------- */

static void add(struct bwrap_run *run, const char *text)
{
    sbx_buf_add(&run->args, text, strlen(text) + 1);
}

static void add_number(struct bwrap_run *run, uint64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    add(run, text);
}

static void add_two(struct bwrap_run *run, const char *first, const char *second)
{
    add(run, first);
    add(run, second);
}

/* By descriptor where bwrap can: whatever happens to the path meanwhile, this file is meant. Otherwise by
 * path, and the evidence shows whether it was this file. */
static void add_bind(struct sbx_launch *launch, struct bwrap_run *run,
                     const struct sbx_mount *mount, bool is_read_only)
{
    if (run->bwrap.binds_descriptors && launch->fd_count < SBX_BOX_FDS) {
        int number = FIRST_BIND_FD + (int)launch->fd_count;
        sbx_launch_pass(launch, mount->fd, number);
        add(run, is_read_only ? "--ro-bind-fd" : "--bind-fd");
        add_number(run, (uint64_t)number);
    } else {
        add_two(run, is_read_only ? "--ro-bind" : "--bind", mount->path);
    }
    add(run, mount->path);
}

static void add_tmpfs(struct bwrap_run *run, const char *mode, uint64_t size, const char *path)
{
    add_two(run, "--perms", mode);
    add(run, "--size");
    add_number(run, size);
    add_two(run, "--tmpfs", path);
}

static void add_mount(struct sbx_launch *launch, struct bwrap_run *run,
                      const struct sbx_mount *mount)
{
    switch (mount->kind) {
    case SBX_MOUNT_WRITE:
    case SBX_MOUNT_READ:
        add_bind(launch, run, mount, mount->kind == SBX_MOUNT_READ);
        break;
    case SBX_MOUNT_TMPFS:
        add_tmpfs(run, "1777", mount->size_bytes, mount->path);
        break;
    case SBX_MOUNT_MASK:
        /* Passing through is needed to what is opened again below. */
        add_tmpfs(run, mount->is_reopened ? "0111" : "0000", SBX_MOUNTS_MASK_BYTES, mount->path);
        break;
    case SBX_MOUNT_MASK_FILE:
        add_two(run, "--ro-bind", "/dev/null");
        add(run, mount->path);
        break;
    case SBX_MOUNT_LINK:
        add_two(run, "--symlink", mount->link);
        add(run, mount->path);
        break;
    case SBX_MOUNT_PROC:
        add_two(run, "--proc", mount->path);
        break;
    case SBX_MOUNT_DEV:
        add_two(run, "--dev", mount->path);
        break;
    }
}

/* What must stay writable until everything below it is mounted. */
static void close_mounts(struct bwrap_run *run)
{
    for (size_t i = run->mounts.count; i-- > 0;) {
        const struct sbx_mount *mount = &run->mounts.items[i];
        if (mount->kind == SBX_MOUNT_MASK || mount->kind == SBX_MOUNT_DEV) {
            add_two(run, "--remount-ro", mount->path);
        }
    }
    if (!run->mounts.has_host_root) {
        add_two(run, "--remount-ro", "/");
    }
}

static enum sbx_code make_args(struct sbx_launch *launch, struct bwrap_run *run,
                               struct sbx_err *err)
{
    const struct sbx_policy *policy = launch->plan->policy;
    sbx_buf_init(&run->args, ARGS_MAX);
    for (size_t i = 0; sbx_bwrap_always[i] != NULL; i++) {
        add(run, sbx_bwrap_always[i]);
    }
    add_two(run, "--hostname", "sbx");
    add(run, "--info-fd");
    add_number(run, INFO_FD);
    if (policy->network == SBX_NET_INHERIT) {
        add(run, "--share-net");
    }
    for (size_t i = 0; i < run->mounts.count; i++) {
        add_mount(launch, run, &run->mounts.items[i]);
    }
    for (size_t i = 0; i < policy->raw_arg_count; i++) {
        add(run, policy->raw_args[i]);
    }
    close_mounts(run);
    add_two(run, "--chdir", "/");
    if (run->args.failed || launch->fd_count >= SBX_BOX_FDS) {
        return sbx_err_set(err, SBX_E_LIMIT, "the policy has too many paths for bwrap");
    }
    return sbx_memory_file("sbx-args", sbx_buf_text(&run->args), run->args.len, false,
                           &run->args_fd, err);
}

/* ---- evidence ------------------------------------------------------------------------------------ */

/* bwrap writes a small JSON object; only one number of it is needed. */
static pid_t first_process(const struct bwrap_run *run)
{
    char text[512];
    ssize_t got = sbx_fd_read(run->info[0], text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strstr(text, "\"child-pid\":");
    return at == NULL ? -1 : (pid_t)strtol(at + 12, NULL, 10);
}

static void verify(struct sbx_launch *launch, const struct sbx_report *report)
{
    const struct bwrap_run *run = (const struct bwrap_run *)launch->state;
    char version[64];
    (void)snprintf(version, sizeof version, "bubblewrap %u.%u.%u", run->bwrap.major,
                   run->bwrap.minor, run->bwrap.patch);
    sbx_evidence_add(&launch->evidence, "helper", run->bwrap.path, version, true);
    sbx_mounted_verify(launch, &(struct sbx_mounted){.mounts = &run->mounts,
                                                     .first = first_process(run),
                                                     .inside = report->pid,
                                                     .probe = report->raw});
}

/* ---- running ------------------------------------------------------------------------------------- */

static enum sbx_code prepare(struct sbx_launch *launch, struct bwrap_run *run, struct sbx_err *err)
{
    enum sbx_code code = sbx_mounted_prepare(launch, &run->mounts, err);
    return code == SBX_OK ? make_args(launch, run, err) : code;
}

static enum sbx_code run_bwrap(struct sbx_arena *arena, const struct sbx_plan *plan,
                               const struct sbx_selection *selection, struct sbx_run_record *out,
                               struct sbx_err *err)
{
    static const char *const argv[] = {"bwrap", "--args", "11", "--", "/proc/self/fd/3", NULL};
    static const char *const no_environment[] = {NULL};
    _Static_assert(ARGS_FD == 11 && SBX_INIT_FD_IMAGE == 3, "the numbers in argv");
    (void)selection;
    AUTO_RUN run = {.args_fd = -1, .info = {-1, -1}};
    AUTO_LAUNCH launch = {0};
    enum sbx_code code = sbx_launch_setup_failed(sbx_bwrap_find(arena, &run.bwrap, err), err);
    if (code == SBX_OK) {
        code = sbx_launch_open(&launch, arena, plan, err);
    }
    if (code == SBX_OK) {
        code = sbx_launch_setup_failed(prepare(&launch, &run, err), err);
    }
    if (code != SBX_OK) {
        return code;
    }
    if (!sbx_fd_pipe(&run.info[0], &run.info[1]) || !sbx_fd_set_nonblocking(run.info[0])) {
        int raw = errno;
        return sbx_err_errno(err, raw, "pipe2", "cannot make the pipes of the box");
    }
    sbx_launch_pass(&launch, run.args_fd, ARGS_FD);
    sbx_launch_pass(&launch, run.info[1], INFO_FD);
    launch.block.plan.flags |= SBX_INIT_IS_FIRST;
    launch.box.program = run.bwrap.path;
    launch.box.argv = argv;
    launch.box.env = no_environment;
    launch.box.is_namespace = true;
    launch.state = &run;
    launch.verify = verify;
    code = sbx_launch_run(&launch, out, err);
    if (code == SBX_E_IO) {
        sbx_bwrap_forget(arena); /* the machine may have changed since it was tried */
    }
    return code;
}

const struct sbx_backend sbx_backend_bwrap = {
    .id = SBX_BACKEND_BWRAP, .probe = sbx_bwrap_probe, .run = run_bwrap};
