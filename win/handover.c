/* What the service and a launcher say to each other, as bytes. */
#include "win/handover.h"

#include <string.h>

#include "common/base/banned.h"

#define MAGIC 0x31584253u /* "SBX1" */

struct head {
    uint32_t magic;
    uint32_t kind;
    uint32_t size; /* of what follows */
    uint32_t zero;
    uint64_t number;
};
_Static_assert(sizeof(struct head) == SBX_HANDOVER_HEAD, "no padding");

size_t sbx_handover_print(const struct sbx_handover *frame,
                          unsigned char out[SBX_HANDOVER_FRAME_MAX])
{
    size_t size =
        frame->first_size < SBX_HANDOVER_FIRST_MAX ? frame->first_size : SBX_HANDOVER_FIRST_MAX;
    struct head head = {.magic = MAGIC,
                        .kind = (uint32_t)frame->kind,
                        .size = (uint32_t)size,
                        .number = frame->number};
    memcpy(out, &head, sizeof head);
    if (size > 0) {
        memcpy(out + sizeof head, frame->first, size);
    }
    return sizeof head + size;
}

/* Only a client has bytes, and only an end has no number. */
static bool is_sound(const struct head *head)
{
    bool is_client = head->kind == SBX_HANDOVER_CLIENT;
    bool is_known = is_client || head->kind == SBX_HANDOVER_END || head->kind == SBX_HANDOVER_IDLE;
    return head->magic == MAGIC && head->zero == 0 && is_known &&
           head->size <= SBX_HANDOVER_FIRST_MAX && (is_client || head->size == 0) &&
           (head->number == 0) == (head->kind == SBX_HANDOVER_END);
}

enum sbx_code sbx_handover_parse(const unsigned char *bytes, size_t size, struct sbx_handover *out,
                                 size_t *used, struct sbx_err *err)
{
    struct head head = {0};
    *used = 0;
    if (size < sizeof head) {
        return SBX_OK;
    }
    memcpy(&head, bytes, sizeof head);
    if (!is_sound(&head)) {
        return sbx_err_set(err, SBX_E_SYNTAX, "not a frame between the service and its launcher");
    }
    if (size < sizeof head + head.size) {
        return SBX_OK;
    }
    *out = (struct sbx_handover){.kind = (enum sbx_handover_kind)head.kind,
                                 .number = head.number,
                                 .first = bytes + sizeof head,
                                 .first_size = head.size};
    *used = sizeof head + head.size;
    return SBX_OK;
}
