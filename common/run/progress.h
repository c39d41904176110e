/* Long work on the host, told while it goes on, and given up when the caller says so. */
#ifndef SBX_RUN_PROGRESS_H
#define SBX_RUN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Either function may be NULL; so may a pointer to this. They are called from the thread that works. */
struct sbx_progress {
    void (*tell)(void *state, uint64_t done, const char *path);
    bool (*is_cancelled)(void *state);
    void *state;
};

#endif
