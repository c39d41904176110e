/* Evidence about rules: the paths of the policy, looked at from inside the box. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_evidence.h"
#include "posix/linux_line.h"

#include "common/base/banned.h"

/* As a process of the box would find it: links are followed within its root. -1 with errno. */
static int find_inside(int root, const char *path)
{
    struct open_how how = {
        .flags = (uint64_t)O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* An empty directory nobody may list, or the null device on a mount without devices. */
static bool is_mask(int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return false;
    }
    mode_t mode = info.st_mode & 0777;
    return (S_ISDIR(info.st_mode) && (mode == 0 || mode == 0111)) ||
           (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3));
}

static bool is_read_only(int fd)
{
    struct statvfs info;
    return fstatvfs(fd, &info) == 0 && (info.f_flag & ST_RDONLY) != 0;
}

static const char *state_of(int root, const struct sbx_rule *rule)
{
    AUTO_FD fd = find_inside(root, rule->path.text);
    if (fd < 0) {
        return errno == ENOSYS || errno == EMFILE ? "unreadable" : "closed";
    }
    if (rule->access == SBX_ACCESS_NONE) {
        return is_mask(fd) ? "closed" : "open";
    }
    return is_read_only(fd) ? "read-only" : "writable";
}

/* Opening each path would cost as much as mounting it; that of a mount was looked at by its number, which says as much. */
static bool is_locked_mount(const struct sbx_rule *rule, const struct sbx_mounts *mounts,
                            const bool *locked)
{
    size_t index = rule->access != SBX_ACCESS_READ || locked == NULL
                       ? mounts->count
                       : sbx_mounts_at(mounts, rule->path.text);
    return index < mounts->count && mounts->items[index].kind == SBX_MOUNT_READ && locked[index];
}

void sbx_evidence_rules(struct sbx_evidence_list *list, const struct sbx_proc *proc,
                        const struct sbx_policy *policy, const struct sbx_mounts *mounts,
                        const bool *locked)
{
    AUTO_FD root = openat(proc->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        sbx_evidence_add(list, "rules", "readable", "unreadable", false);
        return;
    }
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct sbx_rule *rule = &policy->rules.items[i];
        struct sbx_line what;
        if (rule->is_glob || rule->kind != SBX_RULE_HOST || rule->access == SBX_ACCESS_WRITE) {
            continue;
        }
        const char *got =
            is_locked_mount(rule, mounts, locked) ? "read-only" : state_of(root, rule);
        const char *wanted = rule->access == SBX_ACCESS_NONE ? "closed" : "read-only";
        bool is_right = got[0] == wanted[0] || (rule->access == SBX_ACCESS_READ && got[0] == 'c');
        sbx_line_set(&what, "rule.");
        sbx_line_add(&what, rule->path.text);
        sbx_evidence_add(list, what.text, wanted, got, is_right);
    }
}
