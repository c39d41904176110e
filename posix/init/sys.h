/* System calls without a C library: sbx-init is freestanding, so that all of it can be read. */
#ifndef SBX_INIT_SYS_H
#define SBX_INIT_SYS_H

#include <stdint.h>
#include <sys/syscall.h>

/* Returns the kernel's answer: a negative errno on failure. */
#if defined(__x86_64__)
static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    long answer;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return answer;
}
#elif defined(__aarch64__)
static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#else
#error "sbx-init is written for x86_64 and aarch64"
#endif

#define SYS_ARG(x) ((long)(uintptr_t)(x))
#define SYS0(name) sys_call(SYS_##name, 0, 0, 0, 0, 0, 0)
#define SYS1(name, a) sys_call(SYS_##name, SYS_ARG(a), 0, 0, 0, 0, 0)
#define SYS2(name, a, b) sys_call(SYS_##name, SYS_ARG(a), SYS_ARG(b), 0, 0, 0, 0)
#define SYS3(name, a, b, c) sys_call(SYS_##name, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), 0, 0, 0)
#define SYS4(name, a, b, c, d)                                                                     \
    sys_call(SYS_##name, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), 0, 0)
#define SYS5(name, a, b, c, d, e)                                                                  \
    sys_call(SYS_##name, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), 0)
#define SYS6(name, a, b, c, d, e, f)                                                               \
    sys_call(SYS_##name, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), SYS_ARG(f))

#endif
