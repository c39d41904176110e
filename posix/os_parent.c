/* Ending with the process that attends this one. */
#include <poll.h>
#include <unistd.h>

#ifdef __APPLE__
#include <pthread.h>
#include <sys/event.h>
#endif

#include "common/os.h"
#include "posix/system.h"

#include "common/base/banned.h"

#ifdef __APPLE__
enum { EXIT_ALONE = 125 };

/* The kernel has no signal for it. To end like this is, for the box, to be killed. */
static void *wait_for_parent(void *state)
{
    struct kevent change;
    int queue = *(const int *)state;
    while (kevent(queue, NULL, 0, &change, 1, NULL) != 1) {
    }
    _exit(EXIT_ALONE);
}

static bool watch_parent(pid_t parent)
{
    static int queue;
    struct kevent change;
    pthread_t thread;
    queue = kqueue();
    EV_SET(&change, parent, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
    return queue >= 0 && kevent(queue, &change, 1, NULL, 0, NULL) == 0 &&
           pthread_create(&thread, NULL, wait_for_parent, &queue) == 0;
}
#else
static bool watch_parent(pid_t parent)
{
    return sbx_system_die_with(parent);
}
#endif

/* A parent that died before it could be watched has left its end of the pipe. */
static bool is_read(int fd)
{
    struct pollfd slot = {.fd = fd};
    return fd < 0 || (poll(&slot, 1, 0) >= 0 && (slot.revents & (POLLERR | POLLHUP)) == 0);
}

bool sbx_os_end_with_parent(int fd)
{
    return watch_parent(getppid()) && is_read(fd);
}
