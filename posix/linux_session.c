/* A network for a session. */
#include "posix/linux_session.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/signals.h"

#include "common/base/banned.h"

void sbx_session_net_close(struct sbx_session_net *session)
{
    sbx_fd_close(&session->user_fd);
    sbx_fd_close(&session->net_fd);
}

bool sbx_session_net_enter(const struct sbx_session_net *session)
{
    return setns(session->user_fd, CLONE_NEWUSER) == 0 && setns(session->net_fd, CLONE_NEWNET) == 0;
}

/* ---- the process that makes it ------------------------------------------------------------------- */

static bool put(const char *path, const char *text)
{
    AUTO_FD fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && sbx_fd_write_all(fd, text, strlen(text));
}

static bool map_ids(const struct sbx_account *account)
{
    char users[64];
    char groups[64];
    (void)snprintf(users, sizeof users, "%u %u 1", (unsigned)account->user,
                   (unsigned)account->user);
    (void)snprintf(groups, sizeof groups, "%u %u 1", (unsigned)account->group,
                   (unsigned)account->group);
    return put("/proc/self/uid_map", users) && put("/proc/self/setgroups", "deny") &&
           put("/proc/self/gid_map", groups);
}

static bool raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    AUTO_FD fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

/* Only a dumpable process may map its own ids. It is for a moment, before it holds anything of a box; what it has of
 * sbx' memory is what every process of the same user that sbx starts could be asked for. */
static bool make(const struct sbx_account *account)
{
    return (!account->is_other || sbx_account_become(account)) &&
           unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 &&
           map_ids(account) && raise_loopback();
}

/* Makes the namespaces, says so, and stays until both were opened. */
static void live(const struct sbx_account *account, int ready_fd, int go_fd)
{
    char byte = 0;
    int raw = make(account) ? 0 : errno;
    (void)!sbx_fd_write_all(ready_fd, &raw, sizeof raw);
    (void)!sbx_fd_read(go_fd, &byte, 1);
    _exit(0);
}

/* ---- its maker ----------------------------------------------------------------------------------- */

static int open_namespace(pid_t pid, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int hold(pid_t pid, int ready_fd, struct sbx_session_net *out)
{
    int raw = EIO;
    struct stat info;
    if (sbx_fd_read(ready_fd, &raw, sizeof raw) != (ssize_t)sizeof raw || raw != 0) {
        return raw;
    }
    out->user_fd = open_namespace(pid, "user");
    out->net_fd = open_namespace(pid, "net");
    if (out->user_fd < 0 || out->net_fd < 0 || fstat(out->net_fd, &info) != 0) {
        return errno;
    }
    out->net_inode = info.st_ino;
    return 0;
}

enum sbx_code sbx_session_net_open(const struct sbx_account *account, struct sbx_session_net *out,
                                   struct sbx_err *err)
{
    AUTO_FD ready_read = -1;
    AUTO_FD ready_write = -1;
    AUTO_FD go_read = -1;
    AUTO_FD go_write = -1;
    AUTO_SESSION_NET session = {.user_fd = -1, .net_fd = -1};
    if (!sbx_fd_pipe(&ready_read, &ready_write) || !sbx_fd_pipe(&go_read, &go_write)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "pipe2", "cannot make a network for the session");
    }
    sigset_t mask = sbx_signals_block();
    pid_t pid = fork();
    if (pid == 0) {
        sbx_fd_close(&go_write);
        live(account, ready_write, go_read);
    }
    sbx_signals_unblock(&mask);
    sbx_fd_close(&ready_write);
    int raw = pid < 0 ? errno : hold(pid, ready_read, &session);
    sbx_fd_close(&go_write);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    if (raw != 0) {
        return sbx_err_errno(err, raw, "unshare", "cannot make a network for the session");
    }
    *out = session;
    session = (struct sbx_session_net){.user_fd = -1, .net_fd = -1};
    return SBX_OK;
}

/* ---- one that was inherited ---------------------------------------------------------------------- */

static struct sbx_session_net shared = {.user_fd = -1, .net_fd = -1};

const struct sbx_session_net *sbx_session_net_shared(void)
{
    return shared.net_fd >= 0 ? &shared : NULL;
}

static bool is_namespace(int fd, int kind)
{
    return ioctl(fd, NS_GET_NSTYPE) == kind;
}

enum sbx_code sbx_os_share_network(int user_fd, int net_fd, struct sbx_err *err)
{
    struct stat info;
    if (!is_namespace(user_fd, CLONE_NEWUSER) || !is_namespace(net_fd, CLONE_NEWNET) ||
        fstat(net_fd, &info) != 0 || fcntl(user_fd, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(net_fd, F_SETFD, FD_CLOEXEC) != 0) {
        return sbx_err_set(err, SBX_E_INVALID, "descriptors %d and %d are no network of a session",
                           user_fd, net_fd);
    }
    shared = (struct sbx_session_net){user_fd, net_fd, info.st_ino};
    return SBX_OK;
}
