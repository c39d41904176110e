/* The seccomp programs: look-up and loading. Their code is written at build time by make_filters. */
#include "posix/linux_seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
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
                                            {SBX_FILTER_BOX, "box"},
                                            {SBX_FILTER_BOX_UNIX, "box-unix"},
                                            {SBX_FILTER_BOX_STRICT, "box-strict"},
                                            {SBX_FILTER_BOX_UNIX_STRICT, "box-unix-strict"},
                                            {0, NULL}};

struct sbx_bpf sbx_filter_program(enum sbx_filter which)
{
    return sbx_filter_programs[which];
}

#define BIT(filter) (1u << (filter))

static const struct {
    enum sbx_filter joined;
    unsigned parts;
} joins[] = {
    {SBX_FILTER_BOX_STRICT,
     BIT(SBX_FILTER_DENY) | BIT(SBX_FILTER_STRICT) | BIT(SBX_FILTER_NO_LANDLOCK)},
    {SBX_FILTER_BOX_UNIX_STRICT,
     BIT(SBX_FILTER_DENY_UNIX) | BIT(SBX_FILTER_STRICT) | BIT(SBX_FILTER_NO_LANDLOCK)},
    {SBX_FILTER_BOX, BIT(SBX_FILTER_DENY) | BIT(SBX_FILTER_NO_LANDLOCK)},
    {SBX_FILTER_BOX_UNIX, BIT(SBX_FILTER_DENY_UNIX) | BIT(SBX_FILTER_NO_LANDLOCK)},
};

size_t sbx_filter_join(enum sbx_filter *filters, size_t count)
{
    unsigned all = 0;
    for (size_t i = 0; i < count; i++) {
        all |= BIT(filters[i]);
    }
    for (size_t i = 0; i < SBX_COUNT(joins); i++) {
        if ((all & joins[i].parts) == joins[i].parts) {
            size_t kept = 0;
            for (size_t k = 0; k < count; k++) {
                if ((joins[i].parts & BIT(filters[k])) == 0) {
                    filters[kept++] = filters[k];
                }
            }
            memmove(filters + 1, filters,
                    kept * sizeof *filters); /* there were at least two parts */
            filters[0] = joins[i].joined;
            return kept + 1;
        }
    }
    return count;
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
