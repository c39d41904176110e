/* What the service and a launcher say to each other, as bytes: pure. The service hands over connected clients and ends
 * a launcher; a launcher says that it has nothing to do. Both are on one machine, so numbers are as the machine has
 * them. What a launcher says is a user's word: everything but one short frame is an error. */
#ifndef SBX_WIN_HANDOVER_H
#define SBX_WIN_HANDOVER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum sbx_handover_kind {
    SBX_HANDOVER_CLIENT = 1, /* to a launcher: a client, with what was read of it already */
    SBX_HANDOVER_END,        /* to a launcher: end now */
    SBX_HANDOVER_IDLE, /* from a launcher: it has no client; END is the answer, or a client that came meanwhile */
};

enum { SBX_HANDOVER_FIRST_MAX = 4096, SBX_HANDOVER_HEAD = 24 };
enum { SBX_HANDOVER_FRAME_MAX = SBX_HANDOVER_HEAD + SBX_HANDOVER_FIRST_MAX };

struct sbx_handover {
    enum sbx_handover_kind kind;
    uint64_t
        number; /* CLIENT: the pipe, in the launcher's table of handles; IDLE: clients it was given so far */
    const unsigned char *first; /* CLIENT: the first bytes of the client; not owned */
    size_t first_size;
};

/* Writes the frame and answers its size. */
size_t sbx_handover_print(const struct sbx_handover *frame,
                          unsigned char out[SBX_HANDOVER_FRAME_MAX]);

/* Reads the frame at the beginning of `bytes`. *used is its size, or 0 when it is not whole yet (then *out is as it was).
 * `first` points into `bytes`. SBX_E_SYNTAX for anything that is no frame. */
enum sbx_code sbx_handover_parse(const unsigned char *bytes, size_t size, struct sbx_handover *out,
                                 size_t *used, struct sbx_err *err) SBX_MUST_USE;

#endif
