/* What the port to macOS takes from libproc, for the simulation on Linux (simulated_macos_box.c answers from /proc). */
#ifndef SBX_TESTS_MACOS_FAKE_LIBPROC_H
#define SBX_TESTS_MACOS_FAKE_LIBPROC_H

#include <stdint.h>
#include <sys/types.h>

#define RUSAGE_INFO_V4 4
#define PROC_PIDLISTFDS 1

typedef void *rusage_info_t;

struct rusage_info_v4 {
    uint64_t ri_phys_footprint, ri_user_time, ri_system_time;
};

struct proc_fdinfo {
    int32_t proc_fd;
    uint32_t proc_fdtype;
};

int proc_listallpids(void *buffer, int bytes);
int proc_pid_rusage(int pid, int flavor, rusage_info_t *out);
int proc_pidinfo(int pid, int flavor, uint64_t argument, void *buffer, int bytes);

#endif
