/* Protected names that do not exist yet: NTFS cannot forbid a name, so the writable roots are watched, and making
 * one ends the run. */
#ifndef SBX_WIN_WATCH_H
#define SBX_WIN_WATCH_H

#include "common/policy/policy.h"
#include "win/pin.h"

struct sbx_watch;

/* Watches every writable directory among `pins` from now on. `policy` and `pins` must outlive it. *out is NULL when
 * there is nothing to watch. */
enum sbx_code sbx_watch_open(const struct sbx_policy *policy, const struct sbx_pin *pins,
                             size_t pin_count, struct sbx_watch **out,
                             struct sbx_err *err) SBX_MUST_USE;

/* An event: set at the first such name. NULL watch: NULL. */
HANDLE sbx_watch_alarm(const struct sbx_watch *watch);

struct sbx_watched {
    const char *path; /* the first protected name that was made, in the arena; NULL: none */
    bool has_lost;    /* more happened than could be followed */
};

/* Takes what is still queued, stops watching, and says what was seen. NULL is allowed. */
void sbx_watch_close(struct sbx_watch *watch, struct sbx_arena *arena, struct sbx_watched *out);

#endif
