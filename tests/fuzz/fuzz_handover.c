/* Fuzz: any bytes as what a launcher says to the service of Windows. What is accepted is printed as the same bytes; what is
 * refused, or not whole yet, leaves the result alone. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "win/handover.h"

#include "common/base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool held)
{
    if (!held) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char again[SBX_HANDOVER_FRAME_MAX];
    struct sbx_handover frame = {.number = 77, .first_size = 78};
    struct sbx_err err = {0};
    size_t used = 99;
    enum sbx_code code = sbx_handover_parse(data, size, &frame, &used, &err);
    if (code != SBX_OK || used == 0) {
        must(frame.number == 77 && frame.first_size == 78 && used == 0);
        must((code == SBX_OK) == (err.text[0] == '\0'));
        return 0;
    }
    must(used <= size && used == sbx_handover_print(&frame, again));
    must(memcmp(again, data, used) == 0);
    return 0;
}
