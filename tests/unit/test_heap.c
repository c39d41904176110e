/* Unit tests of posix/heap. */
#include "posix/heap.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

#include "common/base/banned.h"

enum { PIECES = 600 };

static size_t size_of(size_t index)
{
    return index % 7 == 0 ? index * 997 : index * 13 % 5000;
}

static bool is_filled(const unsigned char *piece, size_t bytes, unsigned char with)
{
    for (size_t i = 0; i < bytes; i++) {
        if (piece[i] != with) {
            return false;
        }
    }
    return true;
}

static void pieces_do_not_touch_each_other(void)
{
    static unsigned char *piece[PIECES];
    bool is_right = true;
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < PIECES; i++) {
            piece[i] = (unsigned char *)sbx_heap_take(size_of(i));
            is_right &= piece[i] != NULL && (uintptr_t)piece[i] % _Alignof(max_align_t) == 0;
            if (piece[i] == NULL) {
                break;
            }
            memset(piece[i], (int)(i % 251), size_of(i));
        }
        for (size_t i = 0; i < PIECES; i++) {
            size_t k = (i * 7 + round) % PIECES;
            is_right &= is_filled(piece[k], size_of(k), (unsigned char)(k % 251));
            sbx_heap_give(piece[k]);
        }
    }
    CHECK(is_right);
}

static void what_is_asked_for_zeroed_is_zero_also_when_it_was_used(void)
{
    static const size_t sizes[] = {0,  1,  31,   32,     33,     40,     41,
                                   64, 65, 4096, 100000, 131072, 131073, 500000};
    bool is_right = true;
    for (size_t i = 0; i < SBX_COUNT(sizes); i++) {
        for (int round = 0; round < 2; round++) {
            unsigned char *piece = (unsigned char *)sbx_heap_take_zeroed(sizes[i]);
            is_right &= piece != NULL && is_filled(piece, sizes[i], 0);
            if (piece == NULL) {
                break;
            }
            memset(piece, 0xff, sizes[i]);
            sbx_heap_give(piece);
        }
    }
    CHECK(is_right);
}

static void a_piece_keeps_what_is_in_it_when_it_grows_and_shrinks(void)
{
    bool is_right = true;
    size_t have = 0;
    unsigned char *piece = NULL;
    for (size_t bytes = 1; bytes < 600000; bytes += bytes / 2 + 1) {
        piece = (unsigned char *)sbx_heap_resize(piece, bytes);
        is_right &= piece != NULL && is_filled(piece, have, 'x');
        if (piece == NULL) {
            break;
        }
        memset(piece, 'x', bytes);
        have = bytes;
    }
    piece = (unsigned char *)sbx_heap_resize(piece, 10);
    is_right &= piece != NULL && is_filled(piece, 10, 'x');
    sbx_heap_give(piece);
    CHECK(is_right);
}

static void aligned_pieces_are_aligned(void)
{
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        unsigned char *piece = (unsigned char *)sbx_heap_take_aligned(alignment, 5000);
        CHECK(piece != NULL && (uintptr_t)piece % alignment == 0);
        memset(piece, 1, 5000);
        piece = (unsigned char *)sbx_heap_resize(piece, 9000);
        CHECK(piece != NULL && is_filled(piece, 5000, 1));
        sbx_heap_give(piece);
    }
    CHECK(sbx_heap_take_aligned(8192, 10) == NULL);
}

static void too_much_is_refused(void)
{
    errno = 0;
    CHECK(sbx_heap_take(SIZE_MAX) == NULL);
    CHECK_INT(errno, ENOMEM);
    CHECK(sbx_heap_take((size_t)PTRDIFF_MAX) == NULL);
    sbx_heap_give(NULL);
}

/* True when it ends by a trap, in a process of its own. */
static bool ends(void (*mistake)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGILL, SIG_DFL);
        (void)signal(SIGTRAP, SIG_DFL);
        mistake();
        _exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
           (WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP);
}

static void give_twice(void)
{
    void *piece = sbx_heap_take(100);
    sbx_heap_give(piece);
    sbx_heap_give(piece);
}

static void write_over(void)
{
    unsigned char *piece = (unsigned char *)sbx_heap_take(3000);
    memset(piece - sizeof(max_align_t), 0xaa, sizeof(max_align_t)); /* by its neighbour below */
    sbx_heap_give(piece);
}

static void mistakes_end_the_program(void)
{
    CHECK(ends(give_twice));
    CHECK(ends(write_over));
}

static const struct sbx_test tests[] = {
    {"pieces do not touch each other", pieces_do_not_touch_each_other},
    {"what is asked for zeroed is zero, also when it was used before",
     what_is_asked_for_zeroed_is_zero_also_when_it_was_used},
    {"a piece keeps what is in it when it grows and shrinks",
     a_piece_keeps_what_is_in_it_when_it_grows_and_shrinks},
    {"aligned pieces are aligned", aligned_pieces_are_aligned},
    {"more than there is is refused", too_much_is_refused},
    {"giving a piece back twice, or writing over the next, ends the program",
     mistakes_end_the_program},
};

SBX_TEST_MAIN("heap", tests)
