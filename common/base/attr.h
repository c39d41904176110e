/* Compiler attributes and the clean-up idiom. GCC, MinGW-w64, clang and clang-cl are supported. */
#ifndef SBX_BASE_ATTR_H
#define SBX_BASE_ATTR_H

#include <stddef.h>

/* A returned code or pointer that the caller may not drop. */
#define SBX_MUST_USE __attribute__((warn_unused_result))

/* printf-like: format is parameter `f`, its arguments start at `a` (0 for a va_list). */
#if defined(__MINGW32__) && !defined(__clang__)
#define SBX_PRINTF(f, a) __attribute__((format(gnu_printf, f, a)))
#else
#define SBX_PRINTF(f, a) __attribute__((format(printf, f, a)))
#endif

#define SBX_UNUSED __attribute__((unused))

/* Local ownership: the variable's resource is released when it goes out of scope, whichever way.
 * Hand the resource on with SBX_TAKE, which leaves the empty value behind. */
#define SBX_CLEANUP(fn) __attribute__((cleanup(fn)))
#define SBX_TAKE(var, empty)                                                                       \
    __extension__({                                                                                \
        __typeof__(var) sbx_taken_ = (var);                                                        \
        (var) = (empty);                                                                           \
        sbx_taken_;                                                                                \
    })

/* Number of elements of a real array (not of a pointer). */
#define SBX_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
