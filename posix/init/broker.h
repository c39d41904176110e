/* A creating call of the box while sbx-init carries it out. */
#ifndef SBX_INIT_BROKER_H
#define SBX_INIT_BROKER_H

#include <linux/ioctl.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "posix/init/init.h"

#define PATH_BYTES 4096

struct call {
    const struct init *init;
    struct seccomp_notif *request;
    int memory_fd; /* of the asking process */
};

/* place.c: where an entry is to be made. */
struct spot {
    int directory;         /* owned by the caller */
    char last[PATH_BYTES]; /* the last component as given, with slashes behind it */
    char path[PATH_BYTES]; /* clean and absolute: what the names are compared with */
    bool is_descriptor;    /* an entry of some process' fd directory: it is opened, never made */
};

/* Text of the asking process; 0, or a negative errno. */
long call_read_text(const struct call *call, uint64_t address, char out[PATH_BYTES]);

/* Follows everything but the last component, as the asking process would. */
long call_find(const struct call *call, int32_t base, const char *path, struct spot *out);

/* The same from a directory that is open already. */
long call_find_from(const struct call *call, int directory, const char *path, struct spot *out);

/* What a descriptor of the asking process is, held without being opened; a negative errno. */
long call_hold_descriptor(const struct call *call, int32_t number);

/* The absolute name of what is held. Nothing of this process' own directory in /proc is told. */
long call_name(int fd, char out[PATH_BYTES]);

/* The asking process' file mode mask becomes ours. */
void call_take_mask(const struct call *call);

#endif
