/* Landlock: rights by version, and rulesets. */
#include "posix/linux_landlock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/fault.h"

#include "common/base/banned.h"

struct since {
    unsigned abi;
    uint64_t rights;
};

#define MAKE                                                                                       \
    (SBX_LANDLOCK_REMOVE_DIR | SBX_LANDLOCK_REMOVE_FILE | SBX_LANDLOCK_MAKE_DIR |                  \
     SBX_LANDLOCK_MAKE_REG | SBX_LANDLOCK_MAKE_SOCK | SBX_LANDLOCK_MAKE_FIFO |                     \
     SBX_LANDLOCK_MAKE_SYM)
#define NODES (SBX_LANDLOCK_MAKE_CHAR | SBX_LANDLOCK_MAKE_BLOCK)
#define READ (SBX_LANDLOCK_EXECUTE | SBX_LANDLOCK_READ_FILE | SBX_LANDLOCK_READ_DIR)

/* What a right on a file that is no directory can be. */
#define ON_FILES                                                                                   \
    (SBX_LANDLOCK_EXECUTE | SBX_LANDLOCK_WRITE_FILE | SBX_LANDLOCK_READ_FILE |                     \
     SBX_LANDLOCK_TRUNCATE | SBX_LANDLOCK_IOCTL_DEV)

static const struct since file_rights[] = {
    {1, READ | SBX_LANDLOCK_WRITE_FILE | MAKE | NODES},
    {2, SBX_LANDLOCK_REFER},
    {3, SBX_LANDLOCK_TRUNCATE},
    {5, SBX_LANDLOCK_IOCTL_DEV},
};
static const struct since port_rights[] = {
    {4, SBX_LANDLOCK_BIND_TCP | SBX_LANDLOCK_CONNECT_TCP},
};
static const struct since scopes[] = {
    {6, SBX_LANDLOCK_SCOPE_ABSTRACT_UNIX | SBX_LANDLOCK_SCOPE_SIGNAL},
};

static uint64_t known(const struct since *rows, size_t count, unsigned abi)
{
    uint64_t rights = 0;
    for (size_t i = 0; i < count; i++) {
        rights |= abi >= rows[i].abi ? rows[i].rights : 0;
    }
    return rights;
}

uint64_t sbx_landlock_files(unsigned abi)
{
    return known(file_rights, SBX_COUNT(file_rights), abi);
}

uint64_t sbx_landlock_network(unsigned abi)
{
    return known(port_rights, SBX_COUNT(port_rights), abi);
}

uint64_t sbx_landlock_scopes(unsigned abi)
{
    return known(scopes, SBX_COUNT(scopes), abi);
}

static uint64_t fit(unsigned abi, bool is_directory, uint64_t rights)
{
    return rights & sbx_landlock_files(abi) & (is_directory ? ~UINT64_C(0) : ON_FILES);
}

uint64_t sbx_landlock_read(unsigned abi, bool is_directory)
{
    return fit(abi, is_directory, READ);
}

/* Device nodes are never made: a box has no capability for it, and this says so twice. */
uint64_t sbx_landlock_write(unsigned abi, bool is_directory)
{
    return fit(abi, is_directory,
               READ | SBX_LANDLOCK_WRITE_FILE | MAKE | SBX_LANDLOCK_REFER | SBX_LANDLOCK_TRUNCATE);
}

uint64_t sbx_landlock_device(unsigned abi, bool is_terminal)
{
    return fit(abi, false,
               SBX_LANDLOCK_READ_FILE | SBX_LANDLOCK_WRITE_FILE |
                   (is_terminal ? SBX_LANDLOCK_IOCTL_DEV : 0));
}

enum sbx_code sbx_landlock_open(uint64_t files, uint64_t network, uint64_t scoped, int *out,
                                struct sbx_err *err)
{
    struct sbx_landlock_ruleset value = {files, network, scoped};
    size_t size = scoped != 0 ? 24 : network != 0 ? 16 : 8;
    long fd = syscall(SYS_landlock_create_ruleset, &value, size, 0);
    if (fd < 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "landlock_create_ruleset", "cannot make a Landlock ruleset");
    }
    *out = (int)fd;
    return SBX_OK;
}

enum sbx_code sbx_landlock_allow(int ruleset, int path_fd, uint64_t access, struct sbx_err *err)
{
    struct sbx_landlock_path value = {.access = access, .fd = path_fd};
    if (syscall(SYS_landlock_add_rule, ruleset, SBX_LANDLOCK_RULE_PATH, &value, 0) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "landlock_add_rule", "cannot add a path to a ruleset");
    }
    return SBX_OK;
}
