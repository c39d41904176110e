/* Programs that are nothing but headers, for what reads them. */
#ifndef SBX_TESTS_IMAGE_FIXTURE_H
#define SBX_TESTS_IMAGE_FIXTURE_H

#include <windows.h>

#include <stdbool.h>
#include <stddef.h>

enum { IMAGE_BYTES_MAX = 4096 };

/* Zero means a 64-bit console program for amd64 without imports. */
struct image_fixture {
    WORD machine;
    WORD characteristics;
    WORD subsystem;
    bool is_32;
    bool names_first; /* the names of DLLs before their table */
    const char *imports[8];
};

/* The image in `out` (IMAGE_BYTES_MAX); its size. */
size_t image_make(const struct image_fixture *image, unsigned char *out);

#endif
