/* The program sbx-init as bytes. SBX_INIT_IMAGE is the built program's path. */
#include "posix/init_image.h"

#include "common/base/banned.h"

__asm__(".pushsection .rodata\n"
        ".globl sbx_init_image\n"
        ".globl sbx_init_image_bytes\n"
        ".balign 16\n"
        "sbx_init_image:\n"
        ".incbin \"" SBX_INIT_IMAGE "\"\n"
        "sbx_init_image_end:\n"
        ".balign 4\n"
        "sbx_init_image_bytes:\n"
        ".long sbx_init_image_end - sbx_init_image\n"
        ".popsection\n");
