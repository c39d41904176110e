/* The seccomp programs: look-up and loading. Their code is written at build time by make_filters. */
#include "posix/linux_seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/banned.h"

const struct sbx_name sbx_filter_names[] = {{SBX_FILTER_DENY, "deny"},
                                            {SBX_FILTER_DENY_UNIX, "deny-unix"},
                                            {SBX_FILTER_STRICT, "strict"},
                                            {SBX_FILTER_NAMES, "names"},
                                            {SBX_FILTER_METADATA, "metadata"},
                                            {SBX_FILTER_NO_LANDLOCK, "no-landlock"},
                                            {SBX_FILTER_NO_NETWORK, "no-network"},
                                            {SBX_FILTER_NEIGHBOURS, "neighbours"},
                                            {SBX_FILTER_CHANGES, "changes"},
                                            {0, NULL}};

struct sbx_bpf sbx_filter_program(enum sbx_filter which)
{
    return sbx_filter_programs[which];
}

int sbx_filter_load(enum sbx_filter which, unsigned flags)
{
    struct sbx_bpf program = sbx_filter_program(which);
    /* The kernel's structure has no const; it only reads. */
    union {
        const struct sock_filter *ours;
        struct sock_filter *kernels;
    } code = {.ours = program.code};
    struct sock_fprog fprog = {.len = program.count, .filter = code.kernels};
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &fprog);
    return result < 0 ? -errno : (int)result;
}
