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
     "set the sysctl user.max_user_namespaces to more than 0", NULL},
    {"/proc/sys/kernel/unprivileged_userns_clone", "0", false,
     "the sysctl kernel.unprivileged_userns_clone is 0: only root may make user namespaces",
     "set the sysctl kernel.unprivileged_userns_clone=1", NULL},
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", false,
     "AppArmor restricts user namespaces to programs that have a profile for it",
     "AppArmor restricts user namespaces here: install a profile that allows \"userns\" for bwrap "
     "(Ubuntu 24.04: apt-get install apparmor-profiles, or add one for its path), or set the "
     "sysctl "
     "kernel.apparmor_restrict_unprivileged_userns=0",
     "AppArmor restricts user namespaces here, and sbx has no profile that allows them: install "
     "the "
     "one that comes with sbx (installer/linux/apparmor/sbx as /etc/apparmor.d/sbx, then "
     "apparmor_parser -r), or set the sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
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

/* ---- what to do ---------------------------------------------------------------------------------- */

static bool is_in_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

struct sbx_userns_trouble sbx_userns_find_trouble(const char *said, bool is_native)
{
    return (struct sbx_userns_trouble){said, sbx_userns_find_obstacle(), is_in_container(),
                                       is_native};
}

/* It needs no namespaces, but cannot keep protected names below what is writable. */
#define LANDLOCK ", or run with what Landlock alone can hold: --mode read-only"

const char *sbx_userns_remedy(const struct sbx_userns_trouble *trouble)
{
    static const struct {
        const char *word; /* of what was said */
        const char *in_container, *elsewhere;
    } rows[] = {
        {"mount proc",
         "the container masks parts of /proc: run it with --security-opt "
         "systempaths=unconfined" LANDLOCK,
         "something masks parts of /proc, which forbids a new one: sbx is in another "
         "sandbox" LANDLOCK},
        {"namespace",
         "the container forbids user namespaces: run it with a seccomp profile that allows "
         "them" LANDLOCK,
         "allow unprivileged user namespaces" LANDLOCK},
        {"uid map",
         "the container forbids user namespaces: run it with a seccomp profile that allows "
         "them" LANDLOCK,
         "allow unprivileged user namespaces" LANDLOCK},
        {"loopback",
         "the container forbids network namespaces: allow CAP_NET_ADMIN inside them" LANDLOCK,
         "a security module forbids network namespaces: give bwrap or sbx a profile that allows "
         "them" LANDLOCK},
        {"not permitted",
         "the container forbids what a box needs: run it with a seccomp profile that allows "
         "mounts and user namespaces" LANDLOCK,
         "a security module forbids what a box needs: its log names it" LANDLOCK},
    };
    const struct sbx_userns_obstacle *obstacle = trouble->obstacle;
    if (obstacle != NULL) {
        return trouble->is_native && obstacle->native_remedy != NULL ? obstacle->native_remedy
                                                                     : obstacle->remedy;
    }
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        if (strstr(trouble->said, rows[i].word) != NULL) {
            return trouble->is_in_container ? rows[i].in_container : rows[i].elsewhere;
        }
    }
    return trouble->is_native ? "use a kernel from 5.12, SBX_SANDBOX=bwrap" LANDLOCK
                              : "update bubblewrap" LANDLOCK;
}
