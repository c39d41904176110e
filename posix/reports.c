/* Reports of a box's first process. */
#include "posix/reports.h"

#include <errno.h>
#include <string.h>

#include "posix/fd.h"

#include "common/base/banned.h"

_Static_assert(offsetof(struct sbx_said, text) == SBX_SAID_HEAD,
               "only the head and the text are sent");

/* Takes whole reports off the front. A length that cannot be ends it: whatever writes there is not ours. */
static void take_whole(struct sbx_reports *reports,
                       void (*each)(void *state, const struct sbx_said *), void *state)
{
    struct sbx_said said;
    while (reports->len >= SBX_SAID_HEAD) {
        memcpy(&said, reports->bytes, SBX_SAID_HEAD);
        if (said.length > SBX_SAID_TEXT) {
            reports->is_closed = true;
            reports->len = 0;
            return;
        }
        size_t whole = SBX_SAID_HEAD + said.length;
        if (reports->len < whole) {
            return;
        }
        memcpy(&said, reports->bytes, whole);
        reports->len -= whole;
        memmove(reports->bytes, reports->bytes + whole, reports->len);
        each(state, &said);
    }
}

void sbx_reports_read(struct sbx_reports *reports, int fd,
                      void (*each)(void *state, const struct sbx_said *), void *state)
{
    while (!reports->is_closed) {
        ssize_t got =
            sbx_fd_read(fd, reports->bytes + reports->len, sizeof reports->bytes - reports->len);
        if (got <= 0) {
            reports->is_closed = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
            return;
        }
        reports->len += (size_t)got;
        take_whole(reports, each, state);
    }
}

void sbx_box_note(struct sbx_box_share *share, const struct sbx_said *said)
{
    for (uint32_t i = 0; i < share->event_count; i++) {
        const struct sbx_box_event *known = &share->events[i];
        if (known->what == said->value && known->length == said->length &&
            memcmp(known->path, said->text, said->length) == 0) {
            return;
        }
    }
    if (share->event_count == SBX_EVENT_MAX) {
        share->events_dropped++;
        return;
    }
    struct sbx_box_event *event = &share->events[share->event_count];
    event->what = said->value;
    event->error = said->raw;
    event->length = said->length;
    memcpy(event->path, said->text, said->length);
    share->event_count++;
}
