/* A network that the native boxes of one session share: a server that one run started is reached by the next, at
 * the box's own loopback and nowhere else. It belongs to a user namespace of its own, from which those of the boxes
 * descend. Nothing of it is on disk: it lives as long as a descriptor or a box holds it. */
#ifndef SBX_POSIX_LINUX_SESSION_H
#define SBX_POSIX_LINUX_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/err.h"
#include "posix/identity.h"

struct sbx_session_net {
    int user_fd, net_fd;
    uint64_t net_inode; /* what the kernel calls it: "net:[inode]" */
};

/* For boxes that run as this account, with its loopback up. SBX_E_IO when the kernel refuses; nothing is left then. */
enum sbx_code sbx_session_net_open(const struct sbx_account *account, struct sbx_session_net *out,
                                   struct sbx_err *err) SBX_MUST_USE;
void sbx_session_net_close(struct sbx_session_net *session);
#define AUTO_SESSION_NET SBX_CLEANUP(sbx_session_net_close) struct sbx_session_net

/* The one that sbx_os_share_network named for the boxes of this process; NULL: none. */
const struct sbx_session_net *sbx_session_net_shared(void);

/* Between fork and exec: the calling process is in it, with every capability there. False with errno. */
bool sbx_session_net_enter(const struct sbx_session_net *session) SBX_MUST_USE;

#endif
