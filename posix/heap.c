/* Pieces by size, out of one block. */
#include "posix/heap.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/attr.h"

#include "common/base/banned.h"

enum {
    FIRST_BLOCK_BYTES =
        512 << 10, /* what a run takes, several times over; untouched pages cost nothing */
    NEXT_BLOCK_BYTES = 1 << 20,
    READY_BYTES = 64 << 10, /* at a time */
    LARGEST_BYTES = 128 << 10,
    PAGE_BYTES = 4096,
    /* Four sizes for each doubling, from 32 bytes on: 32, 40, 48, 56, 64, 80, … At most a fifth is wasted. */
    STEPS = 4,
    SMALLEST_SHIFT = 5,
    CLASSES = (17 - SMALLEST_SHIFT) * STEPS + 1, /* up to LARGEST_BYTES */
    MAPPED = CLASSES,                            /* a mapping of its own */
};

#define MARK_USED UINT32_C(0x5b0c0de5)
#define MARK_FREE UINT32_C(0xf4eef4ee)

/* In front of every piece. */
struct head {
    _Alignas(max_align_t) uint32_t mark;
    uint32_t class;
    union {
        struct head *next; /* of a free one */
        size_t bytes;      /* of a used one: what may be written; of a mapping less than it has */
    };
};

static _Alignas(PAGE_BYTES) unsigned char first_block[FIRST_BLOCK_BYTES];

static struct {
    atomic_flag is_busy;
    bool is_begun;
    unsigned char *at, *end; /* of the block that is cut: never used, so zero */
    unsigned char *ready;    /* up to here it has pages */
    struct head *free[CLASSES];
} heap = {.is_busy = ATOMIC_FLAG_INIT};

static void enter(void)
{
    while (atomic_flag_test_and_set_explicit(&heap.is_busy, memory_order_acquire)) {
        (void)sched_yield();
    }
}

static void leave(void)
{
    atomic_flag_clear_explicit(&heap.is_busy, memory_order_release);
}

static size_t class_bytes(unsigned class)
{
    size_t base = (size_t)1 << (SMALLEST_SHIFT + class / STEPS);
    return base + base / STEPS * (class % STEPS);
}

static unsigned class_of(size_t bytes)
{
    unsigned class = 0;
    if (bytes > (size_t)1 << SMALLEST_SHIFT) {
        unsigned shift = (unsigned)(sizeof(unsigned long) * 8 - 1) -
                         (unsigned)__builtin_clzl((unsigned long)(bytes - 1));
        class = (shift - SMALLEST_SHIFT) * STEPS +
                (unsigned)((bytes - 1) >> (shift - 2)) % STEPS; /* two bits: the step within */
        class += 1;
    }
    return class;
}

/* ---- the block ----------------------------------------------------------------------------------- */

/* Page by page, as they are touched, memory costs ten times as much. Older kernels cannot: then it comes so. */
static void make_ready(void)
{
#ifdef MADV_POPULATE_WRITE
    int raw = errno;
    while (heap.ready < heap.at) {
        size_t left = (size_t)(heap.end - heap.ready);
        size_t bytes = left < READY_BYTES ? left : READY_BYTES;
        (void)madvise(heap.ready, bytes, MADV_POPULATE_WRITE);
        heap.ready += bytes;
    }
    errno = raw;
#endif
}

static bool add_block(void)
{
    void *block = first_block;
    size_t bytes = sizeof first_block;
    if (heap.is_begun) {
        bytes = NEXT_BLOCK_BYTES;
        block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) {
            return false;
        }
    }
    heap.is_begun = true;
    heap.at = heap.ready = (unsigned char *)block;
    heap.end = heap.at + bytes;
    return true;
}

static size_t whole_bytes(unsigned class)
{
    const size_t align = _Alignof(max_align_t);
    return (sizeof(struct head) + class_bytes(class) + align - 1) / align * align;
}

static struct head *cut(unsigned class)
{
    size_t whole = whole_bytes(class);
    if ((size_t)(heap.end - heap.at) < whole &&
        (!add_block() || (size_t)(heap.end - heap.at) < whole)) {
        return NULL;
    }
    struct head *head = (struct head *)(void *)heap.at;
    heap.at += whole;
    make_ready();
    return head;
}

/* ---- pieces -------------------------------------------------------------------------------------- */

static _Noreturn void broken(void)
{
    __builtin_trap();
}

static void *use(struct head *head, unsigned class, size_t bytes)
{
    head->mark = MARK_USED;
    head->class = class;
    head->bytes = bytes;
    return head + 1;
}

static void *map(size_t bytes)
{
    size_t whole = sizeof(struct head) + bytes;
    void *block = bytes > PTRDIFF_MAX - PAGE_BYTES ? MAP_FAILED
                                                   : mmap(NULL, whole, PROT_READ | PROT_WRITE,
                                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        errno = ENOMEM;
        return NULL;
    }
    return use((struct head *)block, MAPPED, bytes);
}

/* `*is_fresh`: it was never used, so it is zero. */
static void *take(size_t bytes, bool *is_fresh)
{
    *is_fresh = true;
    if (bytes > LARGEST_BYTES) {
        return map(bytes);
    }
    unsigned class = class_of(bytes);
    enter();
    struct head *head = heap.free[class];
    if (head != NULL) {
        if (head->mark != MARK_FREE || head->class != class) {
            broken();
        }
        heap.free[class] = head->next;
        *is_fresh = false;
    } else {
        head = cut(class);
    }
    leave();
    if (head == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    return use(head, class, class_bytes(class));
}

static struct head *head_of(void *piece)
{
    struct head *head = (struct head *)piece - 1;
    if (head->mark != MARK_USED || head->class > MAPPED) {
        broken();
    }
    return head;
}

void *sbx_heap_take(size_t bytes)
{
    bool is_fresh;
    return take(bytes, &is_fresh);
}

void *sbx_heap_take_zeroed(size_t bytes)
{
    bool is_fresh;
    void *piece = take(bytes, &is_fresh);
    if (piece != NULL && !is_fresh) {
        memset(piece, 0, bytes);
    }
    return piece;
}

void *sbx_heap_take_aligned(size_t alignment, size_t bytes)
{
    const size_t natural = _Alignof(max_align_t);
    if (alignment <= natural) {
        return sbx_heap_take(bytes);
    }
    if (alignment > PAGE_BYTES || (alignment & (alignment - 1)) != 0 ||
        bytes > PTRDIFF_MAX - (size_t)2 * PAGE_BYTES) {
        errno = EINVAL;
        return NULL;
    }
    /* A mapping whose head is the end of its first page. It is given back whole: its class says so. */
    unsigned char *block = (unsigned char *)mmap(NULL, PAGE_BYTES + bytes, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        errno = ENOMEM;
        return NULL;
    }
    struct head *head = (struct head *)(void *)(block + PAGE_BYTES) - 1;
    return use(head, MAPPED, bytes);
}

void sbx_heap_give(void *piece)
{
    if (piece == NULL) {
        return;
    }
    int raw = errno;
    struct head *head = head_of(piece);
    if (head->class == MAPPED) {
        unsigned char *block = (unsigned char *)head - (uintptr_t)head % PAGE_BYTES;
        (void)munmap(block, (size_t)((unsigned char *)piece + head->bytes - block));
    } else {
        enter();
        head->mark = MARK_FREE;
        head->next = heap.free[head->class];
        heap.free[head->class] = head;
        leave();
    }
    errno = raw;
}

void *sbx_heap_resize(void *piece, size_t bytes)
{
    if (piece == NULL) {
        return sbx_heap_take(bytes);
    }
    struct head *head = head_of(piece);
    if (bytes <= head->bytes && head->class != MAPPED) {
        return piece;
    }
    size_t kept = head->bytes < bytes ? head->bytes : bytes;
    void *moved = sbx_heap_take(bytes);
    if (moved != NULL) {
        memcpy(moved, piece, kept);
        sbx_heap_give(piece);
    }
    return moved;
}
