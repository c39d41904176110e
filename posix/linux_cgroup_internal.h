/* What the files of linux_cgroup*.c share. */
#ifndef SBX_POSIX_LINUX_CGROUP_INTERNAL_H
#define SBX_POSIX_LINUX_CGROUP_INTERNAL_H

#include "common/base/arena.h"
#include "common/base/str.h"
#include "posix/linux_cgroup.h"

/* The kernel's side. Tests put a directory of plain files in its place, and play what the kernel does
 * when a group is made and removed. */
struct sbx_cgroup_kernel {
    const char *groups; /* "/proc/self/cgroup" */
    const char *mounts; /* "/proc/self/mountinfo" */
    /* Where version 2 usually is, looked at before all mounts are listed; ends in NULL. */
    const char *places_v2[3];
    long magic_v1; /* the file system's type (statfs); 0: any */
    long magic_v2;
    int (*make_dir)(int parent_fd, const char *name);
    int (*remove_dir)(int parent_fd, const char *name);
};
extern const struct sbx_cgroup_kernel sbx_cgroup_real;

/* ---- linux_cgroup_file.c: small files below a directory, without allocation, never through a
 * symbolic link ---- */

enum { SBX_CGROUP_TEXT = 4096 };

int sbx_cgroup_file_open(int dir, const char *name, int flags) SBX_MUST_USE;

/* A whole small file as text, without its last line end; false when it cannot be read or is longer
 * than `size` - 1. */
bool sbx_cgroup_file_read(int dir, const char *name, char *out, size_t size) SBX_MUST_USE;

/* False with errno. */
bool sbx_cgroup_file_write(int dir, const char *name, const char *text) SBX_MUST_USE;

/* The number in a file, or after `key` in one of lines "key number"; false leaves *out alone. */
bool sbx_cgroup_file_number(int dir, const char *name, const char *key, uint64_t *out);

/* Whether `word` is in a list. */
bool sbx_cgroup_has_word(struct sbx_str list, char separator, const char *word) SBX_MUST_USE;

/* The group in the hierarchy of `controller` ("" for version 2) from lines "4:memory:/path" of a
 * /proc/PID/cgroup. */
bool sbx_cgroup_path_in(struct sbx_str lines, const char *controller,
                        struct sbx_str *out) SBX_MUST_USE;

/* Whether /proc/PID/cgroup names this place's group. */
bool sbx_cgroup_place_holds(const struct sbx_cgroup *group, const struct sbx_cgroup_place *place,
                            pid_t pid) SBX_MUST_USE;

/* ---- linux_cgroup_find.c ---- */

/* Where a group with the controllers `need` can be made: version, kernel, and for each place its
 * controllers, parent_fd, and the parent's path. Without one: SBX_CGROUP_NONE. Released by
 * sbx_cgroup_release. Version 1 has further places of ours (accounting, freezer) if they are there.
 * sbx_cgroup_find tries version 2 first. */
void sbx_cgroup_find(const struct sbx_cgroup_kernel *kernel, unsigned need, struct sbx_cgroup *out);
bool sbx_cgroup_find_one(const struct sbx_cgroup_kernel *kernel, enum sbx_cgroup_version version,
                         unsigned need, struct sbx_cgroup *out) SBX_MUST_USE;

/* Version 2: groups made in this place get its controllers from now on; false with errno. */
bool sbx_cgroup_hand_down(const struct sbx_cgroup_place *place) SBX_MUST_USE;

/* What a group must have for every promise of limits to hold. */
#define SBX_CGROUP_NEED                                                                            \
    ((unsigned)SBX_CONTROLLER_MEMORY | (unsigned)SBX_CONTROLLER_PIDS | (unsigned)SBX_CONTROLLER_CPU)

/* The row of a controller's bit. */
struct sbx_controller_name {
    enum sbx_cgroup_controller bit;
    const char *v1;
    const char *v2; /* NULL: every group of version 2 has it */
};
extern const struct sbx_controller_name sbx_controller_names[SBX_CGROUP_PLACES];

/* ---- linux_cgroup.c ---- */

/* As sbx_cgroup_make, at a place that was found. On success *found has become the group, after a
 * failure it is as it was. */
enum sbx_code sbx_cgroup_make_at(struct sbx_cgroup *found, const struct sbx_cgroup_limits *limits,
                                 struct sbx_err *err) SBX_MUST_USE;

/* Opens the part of group->name that lies in this place: group_fd, procs_fd, path, lock, for which it
 * waits `lock_tries` milliseconds. False (with errno) leaves the place as it was. */
bool sbx_cgroup_open_part(const struct sbx_cgroup *group, struct sbx_cgroup_place *place,
                          unsigned lock_tries) SBX_MUST_USE;

/* ---- linux_cgroup_kill.c ---- */

/* One round of freezing, killing and thawing: what version 1 has, and version 2 before cgroup.kill. */
void sbx_cgroup_kill_frozen(const struct sbx_cgroup *group);

/* ---- linux_cgroup_recover.c ---- */

/* The name of the next group of this process; false when /proc does not tell its start. */
bool sbx_cgroup_name_next(char out[SBX_CGROUP_NAME_MAX]) SBX_MUST_USE;

void sbx_cgroup_recover_at(const struct sbx_cgroup *found);

/* Milliseconds. */
void sbx_cgroup_pause(unsigned milliseconds);
uint64_t sbx_cgroup_clock_ms(void);

#endif
