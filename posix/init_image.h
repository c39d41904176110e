/* The program sbx-init as bytes inside sbx: nothing has to be found, trusted or matched at run time. */
#ifndef SBX_POSIX_INIT_IMAGE_H
#define SBX_POSIX_INIT_IMAGE_H

#include <stdint.h>

extern const char sbx_init_image[];
extern const uint32_t sbx_init_image_bytes;

#endif
