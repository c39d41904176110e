/* Pages that a fork has shared, copied ahead. */
#include "posix/linux_memory.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

#ifndef MADV_POPULATE_WRITE /* 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* What is larger is a reserve of which little is used, or a file. */
enum { MAPS_MAX = 64 << 10, REGION_MAX = 1 << 20, PAGE_LEAST = 4096 };

/* Only pages that are there: of a reserve that nobody has used nothing is made. */
static void claim_region(uintptr_t from, size_t size)
{
    unsigned char is_there[REGION_MAX / PAGE_LEAST];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t count = size / page;
    if (count > sizeof is_there || mincore((void *)from, size, is_there) != 0) {
        return;
    }
    for (size_t i = 0, first = 0; i <= count; i++) {
        if (i < count && (is_there[i] & 1) != 0) {
            continue;
        }
        if (i > first) {
            (void)madvise((void *)(from + first * page), (i - first) * page, MADV_POPULATE_WRITE);
        }
        first = i + 1;
    }
}

/* "START-END PERMISSIONS …": that of one line; the next one, or NULL. */
static const char *claim_line(const char *line)
{
    char *end = NULL;
    uintptr_t from = (uintptr_t)strtoull(line, &end, 16);
    uintptr_t to = *end == '-' ? (uintptr_t)strtoull(end + 1, &end, 16) : 0;
    if (to > from && to - from <= REGION_MAX && strncmp(end, " rw-p ", 6) == 0) {
        claim_region(from, to - from);
    }
    const char *next = strchr(end, '\n');
    return next == NULL || next[1] == '\0' ? NULL : next + 1;
}

void sbx_memory_claim(void)
{
    static char text[MAPS_MAX];
    size_t have = 0;
    ssize_t got = 0;
    AUTO_FD fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && have < sizeof text - 1 &&
           (got = sbx_fd_read(fd, text + have, sizeof text - 1 - have)) > 0) {
        have += (size_t)got;
    }
    text[have] = '\0';
    for (const char *line = have > 0 ? text : NULL; line != NULL;) {
        line = claim_line(line);
    }
}
