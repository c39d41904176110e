/* What the backends that mount share: names, mounts, Landlock inside them, and what is read back. */
#include "posix/linux_mounted.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/linux_landlock.h"
#include "posix/linux_tree.h"

#include "common/base/banned.h"

/* ---- Landlock ------------------------------------------------------------------------------------ */

struct rules {
    struct sbx_init_rule *items;
    size_t count, capacity;
};

static bool add_rule(struct sbx_launch *launch, struct rules *rules, const char *path,
                     uint64_t access)
{
    struct sbx_init_rule *rule = (struct sbx_init_rule *)sbx_arena_push(
        launch->arena, &rules->items, &rules->count, &rules->capacity, sizeof *rule);
    if (rule == NULL) {
        return false;
    }
    rule->path = sbx_init_block_text(&launch->block, path);
    rule->access = access;
    return true;
}

/* The mounts say what is visible; Landlock says the same again, and besides that nothing but what is granted
 * is written, no device is controlled, and no process outside the box is signalled. */
static enum sbx_code set_landlock(struct sbx_launch *launch, const struct sbx_mounts *mounts,
                                  struct sbx_err *err)
{
    static const struct {
        const char *path;
        bool is_terminal;
    } devices[] = {
        {"/dev/null", false}, {"/dev/zero", false}, {"/dev/full", false}, {"/dev/tty", true}};
    unsigned abi = launch->landlock_abi;
    struct sbx_init_plan *plan = &launch->block.plan;
    struct rules rules = {0};
    /* One end of a socketpair could still be bound to a name, which no filter sees. */
    uint64_t no_sockets = launch->filters[0] == SBX_FILTER_DENY ? SBX_LANDLOCK_MAKE_SOCK : 0;
    if (abi == 0) {
        plan->flags |= SBX_INIT_NO_LANDLOCK;
        return SBX_OK;
    }
    bool ok = add_rule(launch, &rules, "/", sbx_landlock_read(abi, true)) &&
              add_rule(launch, &rules, "/dev/pts",
                       sbx_landlock_device(abi, true) | SBX_LANDLOCK_READ_DIR);
    for (size_t i = 0; i < SBX_COUNT(devices) && ok; i++) {
        ok = add_rule(launch, &rules, devices[i].path,
                      sbx_landlock_device(abi, devices[i].is_terminal));
    }
    for (size_t i = 0; i < mounts->count && ok; i++) {
        const struct sbx_mount *mount = &mounts->items[i];
        if (mount->kind == SBX_MOUNT_WRITE || mount->kind == SBX_MOUNT_TMPFS) {
            bool is_directory = mount->kind == SBX_MOUNT_TMPFS || mount->is_directory;
            ok = add_rule(launch, &rules, mount->path,
                          sbx_landlock_write(abi, is_directory) & ~no_sockets);
        }
    }
    if (!ok) {
        return sbx_err_nomem(err);
    }
    plan->handled_files = sbx_landlock_files(abi);
    plan->scoped = sbx_landlock_scopes(abi);
    if (launch->plan->policy->network == SBX_NET_INHERIT) {
        plan->scoped &= ~SBX_LANDLOCK_SCOPE_ABSTRACT_UNIX; /* part of the host's network */
    }
    plan->rules =
        sbx_init_block_array(&launch->block, rules.items, rules.count, sizeof rules.items[0]);
    plan->probe = sbx_init_block_text(&launch->block, "/dev/random");
    return SBX_OK;
}

enum sbx_code sbx_mounted_prepare(struct sbx_launch *launch, struct sbx_mounts *mounts,
                                  struct sbx_err *err)
{
    struct sbx_found_list found = {0};
    const struct sbx_policy *policy = launch->plan->policy;
    const char *cache =
        policy->context.state_dir.len == 0
            ? NULL
            : sbx_arena_printf(launch->arena, "%s/names", policy->context.state_dir.text);
    launch->compares_mounts = true;
    enum sbx_code code = sbx_names_find(launch->arena, policy, cache, &found, err);
    if (code == SBX_OK) {
        code = sbx_mounts_make(launch->arena, policy, &found, mounts, err);
    }
    if (code == SBX_OK) {
        code = sbx_launch_names(launch, mounts, &found, err);
    }
    if (code == SBX_OK) {
        code = set_landlock(launch, mounts, err);
    }
    return code;
}

/* ---- evidence ------------------------------------------------------------------------------------ */

static pid_t held_process(pid_t first)
{
    static struct sbx_tree tree;
    tree.count = 0;
    if (first <= 0 || (!sbx_tree_add_listed(&tree, first) && !sbx_tree_add_scanned(&tree, first))) {
        return -1;
    }
    return tree.count == 1 ? tree.node[0].pid : -1;
}

static bool find_root(const struct sbx_proc *proc, uint64_t *mount, uint64_t *inode)
{
    struct statx info = {0};
    if (syscall(SYS_statx, proc->dir, "root", AT_NO_AUTOMOUNT, STATX_INO | STATX_MNT_ID, &info) !=
            0 ||
        (info.stx_mask & STATX_MNT_ID) == 0) {
        return false;
    }
    *mount = info.stx_mnt_id;
    *inode = info.stx_ino;
    return true;
}

static void see_namespaces(const struct sbx_proc *proc, struct sbx_early *out)
{
    sbx_proc_link(proc, sbx_namespace_names[SBX_NAMESPACE_MNT].path, out->mounts,
                  sizeof out->mounts);
    sbx_proc_link(proc, sbx_namespace_names[SBX_NAMESPACE_USER].path, out->users,
                  sizeof out->users);
}

static void read_mounts(struct sbx_launch *launch, const struct sbx_proc *proc,
                        const struct sbx_mounts *mounts)
{
    const struct sbx_policy *policy = launch->plan->policy;
    const bool *locked = sbx_evidence_mounts(&launch->evidence, proc, policy, mounts, &launch->own);
    sbx_evidence_rules(&launch->evidence, proc, policy, mounts, locked);
}

void sbx_mounted_look(struct sbx_launch *launch, const struct sbx_mounts *mounts, pid_t first)
{
    struct sbx_early *early = &launch->early;
    AUTO_PROC proc;
    sbx_proc_open_only(&proc, first);
    early->mark = launch->evidence.count;
    /* Before anything is read: what changes from here on is noticed. */
    early->mounts_fd = openat(proc.dir, "mountinfo", O_RDONLY | O_CLOEXEC);
    see_namespaces(&proc, early);
    if (early->mounts_fd < 0 || early->mounts[0] == '\0' || early->users[0] == '\0' ||
        !find_root(&proc, &early->root_mount, &early->root_inode)) {
        return;
    }
    early->is_taken = true;
    sbx_evidence_user_namespaces(&launch->evidence, &proc);
    read_mounts(launch, &proc, mounts);
}

/* Of this process, too: the same mounts, and none of them has changed. */
static bool is_still_true(const struct sbx_early *early, const struct sbx_proc *held)
{
    struct sbx_early now = {0};
    struct pollfd slot = {.fd = early->mounts_fd, .events = POLLPRI};
    if (!early->is_taken || poll(&slot, 1, 0) < 0 || (slot.revents & (POLLPRI | POLLERR)) != 0) {
        return false;
    }
    see_namespaces(held, &now);
    return strcmp(now.mounts, early->mounts) == 0 && strcmp(now.users, early->users) == 0 &&
           find_root(held, &now.root_mount, &now.root_inode) &&
           now.root_mount == early->root_mount && now.root_inode == early->root_inode;
}

void sbx_mounted_verify(struct sbx_launch *launch, const struct sbx_mounted *box)
{
    bool has_network = launch->plan->policy->network != SBX_NET_INHERIT && launch->session == NULL;
    const unsigned all = (1u << SBX_NAMESPACES) - 1;
    pid_t pid = held_process(box->first);
    sbx_evidence_add(&launch->evidence, "held-process", "one", pid > 0 ? "one" : "not found",
                     pid > 0);
    if (pid <= 0) {
        return;
    }
    AUTO_PROC first;
    AUTO_PROC held;
    sbx_proc_open(&first, box->first);
    sbx_proc_open(&held, pid);
    bool is_seen = is_still_true(&launch->early, &held);
    if (launch->early.is_taken && !is_seen) {
        launch->evidence.count = launch->early.mark; /* all of it again */
    }
    sbx_evidence_first(&launch->evidence, &(struct sbx_first){.proc = &first,
                                                              .held = &held,
                                                              .own = &launch->own,
                                                              .inside = box->inside,
                                                              .program_fd = launch->init_fd,
                                                              .plan_fd = launch->plan_fd,
                                                              .filters = launch->filter_count,
                                                              .has_users = is_seen,
                                                              .is_namespace = true});
    sbx_evidence_process(&launch->evidence,
                         &(struct sbx_held){
                             .proc = &held,
                             .own = &launch->own,
                             .namespaces = all & ~(has_network ? 0u : 1u << SBX_NAMESPACE_NET),
                             .user = launch->account.user,
                             .group = launch->account.group,
                             .maps_ids = true,
                             .filters = launch->filter_count + (launch->watches_names ? 1 : 0),
                             .landlock_probe = launch->landlock_abi == 0 ? -1 : box->probe,
                         });
    if (launch->session != NULL) {
        sbx_evidence_namespace(&launch->evidence, &held, SBX_NAMESPACE_NET,
                               launch->session->net_inode);
    }
    if (!is_seen) {
        read_mounts(launch, &held, box->mounts);
    }
    sbx_launch_evidence(launch, &held);
}
