/* Where the kernel enters sbx-init. */
#include <linux/mman.h>
#include <stddef.h>

#include "posix/init/init.h"
#include "posix/init/sys.h"

#include "common/base/banned.h"

noreturn void init_start(const uint64_t *stack);

/* The entry point has no caller and an unknown stack alignment: a few instructions put it right. */
#if defined(__x86_64__)
__asm__(".globl _start\n"
        "_start:\n"
        "    xorl %ebp, %ebp\n"
        "    movq %rsp, %rdi\n"
        "    andq $-16, %rsp\n"
        "    call init_start\n"
        "    hlt\n");
#else
__asm__(".globl _start\n"
        "_start:\n"
        "    mov x29, xzr\n"
        "    mov x30, xzr\n"
        "    mov x0, sp\n"
        "    bl init_start\n"
        "    brk #1\n");
#endif

static void turn(struct sbx_init_plan *block, struct sbx_init_array array)
{
    uint64_t *slot = (uint64_t *)((char *)block + array.at);
    for (uint32_t i = 0; i < array.count; i++) {
        slot[i] += (uint64_t)(uintptr_t)block;
    }
}

void init_turn(struct sbx_init_plan *block)
{
    turn(block, block->argv);
    turn(block, block->env);
}

/* The block comes from sbx itself and is sealed; this finds a mix-up of versions, not an attack. */
static struct sbx_init_plan *read_plan(void)
{
    uint32_t head[2] = {0, 0};
    long got = SYS4(pread64, SBX_INIT_FD_PLAN, head, sizeof head, 0);
    if (got != (long)sizeof head || head[0] != SBX_INIT_MAGIC ||
        head[1] < sizeof(struct sbx_init_plan) || head[1] > SBX_INIT_MAX_BYTES) {
        init_fail(SBX_INIT_STEP_PLAN, got < 0 ? got : -22);
    }
    long at = SYS6(mmap, 0, head[1], PROT_READ | PROT_WRITE, MAP_PRIVATE, SBX_INIT_FD_PLAN, 0);
    if (at < 0 && at > -4096) {
        init_fail(SBX_INIT_STEP_PLAN, at);
    }
    return (struct sbx_init_plan *)at;
}

/* Whoever would say so may be gone. */
static void wait_for_block(void)
{
    unsigned char order = 0;
    long got;
    do {
        got = SYS3(read, SBX_INIT_FD_ORDERS, &order, 1);
    } while (got == -4);
    if (got != 1 || order != SBX_ORDER_BUILD) {
        init_fail(SBX_INIT_STEP_PLAN, got < 0 ? got : -22);
    }
}

/* The stack begins with the number of arguments and the arguments. */
noreturn void init_start(const uint64_t *stack)
{
    struct init init = {.child = 0, .signals_fd = -1, .birth_fd = -1, .listener_fd = -1};
    if (stack[0] > 1) {
        init_begin((const char *)(uintptr_t)stack[2]);
        wait_for_block();
    }
    init.plan = init.command = read_plan();
    init_turn(init.plan);
    init_build(&init);
    init_harden(&init);
    init_limit(&init);
    init_drop_capabilities(&init);
    init_landlock(&init);
    init_seccomp(&init);
    init_birth(&init);
    init_watch(&init);
}
