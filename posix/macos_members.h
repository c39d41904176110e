/* The processes of a box, known by the mark in its profile: every descendant has it, however it forked and whatever session it
 * is in, and nobody else has. No allocation: the keeper calls it. */
#ifndef SBX_POSIX_MACOS_MEMBERS_H
#define SBX_POSIX_MACOS_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the living ones use, each counted by the kernel. */
struct sbx_members_usage {
    size_t processes;
    uint64_t memory_bytes; /* physical footprint */
    uint64_t cpu_ns;
};

/* May `pid` look the service up? As sandbox_check: 0 yes, 1 no, -1 nobody knows. */
int sbx_member_may(pid_t pid, const char *service);

bool sbx_is_member(pid_t pid, const char *mark);

void sbx_members_usage(const char *mark, struct sbx_members_usage *out);

/* A signal to all of them; the number that were there. */
size_t sbx_members_signal(const char *mark, int number);

/* Stops and kills until nobody is found twice in a row; false when some are left after five seconds. */
bool sbx_members_end(const char *mark);

#endif
