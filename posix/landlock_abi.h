/* Landlock's interface to user space, as the kernel documents it (Documentation/userspace-api/landlock.rst), with
 * our own names: the headers of a build machine may be older than the kernel sbx runs on. */
#ifndef SBX_POSIX_LANDLOCK_ABI_H
#define SBX_POSIX_LANDLOCK_ABI_H

#include <stdint.h>

/* Rights on files, with the ABI version that brought them. */
#define SBX_LANDLOCK_EXECUTE (UINT64_C(1) << 0) /* 1 */
#define SBX_LANDLOCK_WRITE_FILE (UINT64_C(1) << 1)
#define SBX_LANDLOCK_READ_FILE (UINT64_C(1) << 2)
#define SBX_LANDLOCK_READ_DIR (UINT64_C(1) << 3)
#define SBX_LANDLOCK_REMOVE_DIR (UINT64_C(1) << 4)
#define SBX_LANDLOCK_REMOVE_FILE (UINT64_C(1) << 5)
#define SBX_LANDLOCK_MAKE_CHAR (UINT64_C(1) << 6)
#define SBX_LANDLOCK_MAKE_DIR (UINT64_C(1) << 7)
#define SBX_LANDLOCK_MAKE_REG (UINT64_C(1) << 8)
#define SBX_LANDLOCK_MAKE_SOCK (UINT64_C(1) << 9)
#define SBX_LANDLOCK_MAKE_FIFO (UINT64_C(1) << 10)
#define SBX_LANDLOCK_MAKE_BLOCK (UINT64_C(1) << 11)
#define SBX_LANDLOCK_MAKE_SYM (UINT64_C(1) << 12)
#define SBX_LANDLOCK_REFER (UINT64_C(1) << 13)     /* 2 */
#define SBX_LANDLOCK_TRUNCATE (UINT64_C(1) << 14)  /* 3 */
#define SBX_LANDLOCK_IOCTL_DEV (UINT64_C(1) << 15) /* 5 */

/* Rights on TCP ports: 4. */
#define SBX_LANDLOCK_BIND_TCP (UINT64_C(1) << 0)
#define SBX_LANDLOCK_CONNECT_TCP (UINT64_C(1) << 1)

/* Scopes: 6. */
#define SBX_LANDLOCK_SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0)
#define SBX_LANDLOCK_SCOPE_SIGNAL (UINT64_C(1) << 1)

#define SBX_LANDLOCK_NEWEST_ABI 7 /* 7 brings only what is written to the audit log */

struct sbx_landlock_ruleset {
    uint64_t files, network, scoped;
};

struct sbx_landlock_path {
    uint64_t access;
    int32_t fd;
} __attribute__((packed));

struct sbx_landlock_port {
    uint64_t access, port;
};

enum { SBX_LANDLOCK_RULE_PATH = 1, SBX_LANDLOCK_RULE_PORT = 2 };

#endif
