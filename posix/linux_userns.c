/* Settings of a Linux machine that forbid user namespaces. */
#include "posix/linux_userns.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/attr.h"

#include "common/base/banned.h"

static const struct sbx_userns_obstacle obstacles[] = {
    {"/proc/sys/user/max_user_namespaces", "0", true,
     "the sysctl user.max_user_namespaces is 0: nobody may make user namespaces",
     "set the sysctl user.max_user_namespaces to more than 0"},
    {"/proc/sys/kernel/unprivileged_userns_clone", "0", false,
     "the sysctl kernel.unprivileged_userns_clone is 0: only root may make user namespaces",
     "set the sysctl kernel.unprivileged_userns_clone=1"},
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", false,
     "AppArmor restricts user namespaces to programs that have a profile for it",
     "AppArmor restricts user namespaces here: install a profile that allows \"userns\" for bwrap "
     "(Ubuntu 24.04: apt-get install apparmor-profiles, or add one for its path), or set the "
     "sysctl "
     "kernel.apparmor_restrict_unprivileged_userns=0"},
};

static bool has_line(const char *root, const char *file, const char *value)
{
    char path[PATH_MAX];
    char text[64] = "";
    int len = snprintf(path, sizeof path, "%s%s", root, file);
    if (len < 0 || (size_t)len >= sizeof path) {
        return false;
    }
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : sbx_fd_read(fd, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return strcmp(text, value) == 0;
}

const struct sbx_userns_obstacle *sbx_userns_obstacle_below(const char *root, bool is_root)
{
    for (size_t i = 0; i < SBX_COUNT(obstacles); i++) {
        const struct sbx_userns_obstacle *row = &obstacles[i];
        if ((row->holds_for_root || !is_root) && has_line(root, row->file, row->value)) {
            return row;
        }
    }
    return NULL;
}

const struct sbx_userns_obstacle *sbx_userns_find_obstacle(void)
{
    return sbx_userns_obstacle_below("", geteuid() == 0);
}
