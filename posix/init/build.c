/* Builds the box around this process: it was born in new namespaces, with capabilities in them and nowhere else.
 * Identities, mounts, network. Afterwards it is the ordinary first process of a box. */
#include <linux/fcntl.h>
#include <linux/if.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <linux/sockios.h>
#include <stddef.h>

#include "posix/init/init.h"
#include "posix/init/mount.h"
#include "posix/init/sys.h"
#include "posix/init/text.h"

#include "common/base/banned.h"

enum { DATAGRAM = 2, INTERNET = 2, CLOSE_ON_EXEC = 02000000, DETACH = 2 };

static void must(int32_t step, long answer)
{
    if (answer < 0) {
        init_fail(step, answer);
    }
}

static void write_file(const char *path, const char *text)
{
    long fd = SYS4(openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
    must(SBX_INIT_STEP_IDS, fd);
    must(SBX_INIT_STEP_IDS, SYS3(write, fd, text, text_length(text)));
    (void)SYS1(close, fd);
}

/* "1000 1000 1": only the caller's own, under its own number. */
static void write_map(const char *path, uint32_t id)
{
    char text[64] = "";
    (void)(text_add_number(text, sizeof text, id) && text_add(text, sizeof text, " ") &&
           text_add_number(text, sizeof text, id) && text_add(text, sizeof text, " 1"));
    write_file(path, text);
}

static void map_ids(uint32_t user, uint32_t group)
{
    write_map("/proc/self/uid_map", user);
    write_file("/proc/self/setgroups", "deny"); /* or an ordinary user may not map a group */
    write_map("/proc/self/gid_map", group);
}

/* A namespace of the network is born with its loopback down. */
static void raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    long fd = SYS3(socket, INTERNET, DATAGRAM | CLOSE_ON_EXEC, 0);
    must(SBX_INIT_STEP_NETWORK, fd);
    must(SBX_INIT_STEP_NETWORK, SYS3(ioctl, fd, SIOCSIFFLAGS, &request));
    (void)SYS1(close, fd);
}

static uint32_t number(const char **text)
{
    uint32_t value = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        value = value * 10 + (uint32_t)(**text - '0');
    }
    *text += **text == ' ' ? 1 : 0;
    return value;
}

/* sbx looks at the files meanwhile: making a network takes longer than everything else here. */
void init_begin(const char *text)
{
    uint32_t user = number(&text);
    uint32_t group = number(&text);
    bool has_network = number(&text) != 0;
    /* Only now also that of the control group: its root is the group that its maker is in. */
    must(SBX_INIT_STEP_GROUP, SYS1(unshare, CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWUTS |
                                                (has_network ? CLONE_NEWNET : 0)));
    map_ids(user, group);
    must(SBX_INIT_STEP_ROOT, SYS5(mount, 0, "/", 0, (1UL << 18) | (1UL << 14), 0)); /* private */
    must(SBX_INIT_STEP_GROUP, SYS2(sethostname, "sbx", 3));
    if (has_network) {
        raise_loopback();
    }
    init_take_system();
}

/* The host's, changed in place by one call for all its mounts, none of which is entered. */
static void keep_root(const struct init *init)
{
    const struct sbx_init_mount *root =
        (const struct sbx_init_mount *)init_at(init, init->plan->mounts.at);
    bool is_read_only = root->kind == SBX_BUILD_READ;
    must(SBX_INIT_STEP_ROOT, init_restrict(AT_FDCWD, "/", is_read_only));
}

/* An empty one, which the host's makes way for. */
static long change_root(void)
{
    long fd = init_make_fs("tmpfs", "0755", NULL, false);
    must(SBX_INIT_STEP_ROOT, fd);
    must(SBX_INIT_STEP_ROOT, SYS5(move_mount, fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH));
    must(SBX_INIT_STEP_ROOT, SYS1(fchdir, fd));
    must(SBX_INIT_STEP_ROOT, SYS2(pivot_root, ".", "."));
    must(SBX_INIT_STEP_ROOT, SYS2(umount2, ".", DETACH));
    must(SBX_INIT_STEP_ROOT, SYS1(chdir, "/"));
    return fd;
}

void init_build(const struct init *init)
{
    const uint32_t flags = init->plan->flags;
    if ((flags & SBX_INIT_BUILDS) == 0) {
        return;
    }
    init_take_sources(init);
    long root = -1;
    if ((flags & SBX_INIT_HOST_ROOT) != 0) {
        keep_root(init);
    } else {
        root = change_root();
    }
    init_place_mounts(init);
    if (root >= 0) {
        must(SBX_INIT_STEP_ROOT, init_restrict(root, "", true));
    }
    init_say(SBX_SAID_BUILT, 0, 0, NULL);
}
