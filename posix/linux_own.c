/* What sbx itself is, to compare a box with. */
#include "posix/linux_own.h"

#include <fcntl.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_proc.h"

#include "common/base/banned.h"

const struct sbx_namespace_name sbx_namespace_names[SBX_NAMESPACES] = {
    [SBX_NAMESPACE_USER] = {"ns/user", "namespace.user"},
    [SBX_NAMESPACE_MNT] = {"ns/mnt", "namespace.mnt"},
    [SBX_NAMESPACE_PID] = {"ns/pid", "namespace.pid"},
    [SBX_NAMESPACE_NET] = {"ns/net", "namespace.net"},
    [SBX_NAMESPACE_IPC] = {"ns/ipc", "namespace.ipc"},
    [SBX_NAMESPACE_UTS] = {"ns/uts", "namespace.uts"},
    [SBX_NAMESPACE_CGROUP] = {"ns/cgroup", "namespace.cgroup"},
};

bool sbx_own_list_mounts(struct sbx_own *own, struct sbx_arena *arena)
{
    AUTO_FD self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    own->mount_list = (struct sbx_mountinfo_list){0};
    own->has_mounts = sbx_mountinfo_read(arena, self, &own->mount_list) &&
                      sbx_mountindex_make(arena, &own->mount_list, &own->mounts);
    return own->has_mounts;
}

void sbx_own_read(struct sbx_own *own, struct sbx_arena *arena, bool with_mounts)
{
    AUTO_PROC proc;
    *own = (struct sbx_own){.is_read = true};
    sbx_proc_open(&proc, getpid());
    own->filters = sbx_proc_filters(&proc);
    for (size_t i = 0; i < SBX_NAMESPACES; i++) {
        sbx_proc_link(&proc, sbx_namespace_names[i].path, own->namespaces[i], SBX_NAMESPACE_BYTES);
    }
    if (with_mounts) {
        (void)!sbx_own_list_mounts(own, arena);
    }
}
