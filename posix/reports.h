/* What the first process of a box says, read from its pipe. No allocation. */
#ifndef SBX_POSIX_REPORTS_H
#define SBX_POSIX_REPORTS_H

#include <stdbool.h>
#include <stddef.h>

#include "posix/box.h"

struct sbx_reports {
    bool is_closed;
    size_t len;
    char bytes[2 * sizeof(struct sbx_said)];
};

/* Reads what is there, without waiting, and calls `each` for every whole report. */
void sbx_reports_read(struct sbx_reports *reports, int fd,
                      void (*each)(void *state, const struct sbx_said *), void *state);

/* Keeps a refusal for the explanation afterwards. */
void sbx_box_note(struct sbx_box_share *share, const struct sbx_said *said);

#endif
