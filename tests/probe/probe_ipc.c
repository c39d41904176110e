/* Attacks on what processes share besides files: System V, message queues, shared memory, keys. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/banned.h"

static void shared_segment(void)
{
    int id = shmget((key_t)probe_number("ipckey"), 0, 0);
    if (id < 0) probe_settle(-1, "shmget");
    const char *text = shmat(id, NULL, SHM_RDONLY);
    if (text == (void *)-1) probe_settle(-1, "shmat");
    if (strncmp(text, PROBE_MARK, strlen(PROBE_MARK)) != 0) probe_absent("another segment");
    probe_done("read the host's segment");
}

static void segment_by_id(void)
{
    const char *text = shmat((int)probe_number("shmid"), NULL, SHM_RDONLY);
    if (text == (void *)-1) {
        if (errno == EINVAL) probe_absent("no such segment");
        probe_settle(-1, "shmat");
    }
    if (strncmp(text, PROBE_MARK, strlen(PROBE_MARK)) != 0) probe_absent("another segment");
    probe_done("read the host's segment");
}

static void messages(void)
{
    probe_settle(msgget((key_t)probe_number("ipckey"), 0), "the host's message queue");
}

static void semaphores(void)
{
    probe_settle(semget((key_t)probe_number("ipckey"), 0, 0), "the host's semaphores");
}

static void posix_queue(void)
{
    mqd_t queue = mq_open(probe_place("queue"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (queue == (mqd_t)-1) probe_settle(-1, "mq_open");
    struct mq_attr attributes = {0};
    if (mq_getattr(queue, &attributes) != 0) probe_settle(-1, "mq_getattr");
    probe_done("opened the host's queue with %ld messages", attributes.mq_curmsgs);
}

static void queue_mount(void)
{
    const char *target = probe_path("work", "mnt");
    probe_make_directory(target);
    probe_settle(mount("mqueue", target, "mqueue", 0, NULL), "mounted the queues");
}

static void session_key(void)
{
    long key =
        syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", probe_place("key"), 0);
    if (key < 0) {
        if (errno == ENOKEY) probe_absent("no such key");
        probe_settle(-1, "keyctl search");
    }
    char text[100] = {0};
    long length = syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text) - 1);
    if (length < 0) probe_settle(-1, "keyctl read");
    if (strncmp(text, PROBE_MARK, strlen(PROBE_MARK)) != 0) probe_absent("another key");
    probe_done("read the host's key");
}

static void request_key(void)
{
    long key = syscall(SYS_request_key, "user", probe_place("key"), NULL, 0);
    if (key < 0 && errno == ENOKEY) probe_absent("no such key");
    probe_settle(key, "request_key");
}

static void add_key(void)
{
    probe_reached(syscall(SYS_add_key, "user", "", NULL, 0, -1000), "add_key");
}

static void shared_file(void)
{
    probe_secret(probe_format("/dev/shm/%s", probe_place("shmfile")));
}

const struct probe probe_ipc[] = {{"I01", "System V shared memory of the host", shared_segment},
                                  {"I01b", "the same by its number", segment_by_id},
                                  {"I01c", "System V message queue of the host", messages},
                                  {"I01d", "System V semaphores of the host", semaphores},
                                  {"I02", "key of the host's session keyring", session_key},
                                  {"I02b", "request_key", request_key},
                                  {"I02c", "add_key", add_key},
                                  {"I03", "file in the host's /dev/shm", shared_file},
                                  {"I04", "POSIX message queue of the host", posix_queue},
                                  {"I04b", "mount the file system of message queues", queue_mount},
                                  {NULL, NULL, NULL}};
