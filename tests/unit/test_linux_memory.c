/* Pages that a fork has shared: whether they are copied when it is asked for, and what that does not touch. */
#include "posix/linux_memory.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

#include "common/base/banned.h"

enum { PAGES = 64, PAGE = 4096 };

static char *used;

static bool set_up(void)
{
    used = (char *)mmap(NULL, (size_t)2 * PAGES * PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(used != MAP_FAILED)) return false;
    (void)madvise(used, (size_t)2 * PAGES * PAGE, MADV_NOHUGEPAGE);
    memset(used, 1, (size_t)PAGES * PAGE); /* the second half stays untouched */
    return true;
}

static pid_t fork_sleeper(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    return pid;
}

static void end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    CHECK(waitpid(pid, NULL, 0) == pid);
}

/* Page faults that writing to every page of the first half takes. */
static long faults(char value)
{
    struct rusage before;
    struct rusage after;
    (void)getrusage(RUSAGE_SELF, &before);
    for (size_t i = 0; i < PAGES; i++) {
        ((volatile char *)used)[i * PAGE] = value;
    }
    (void)getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

static size_t resident(void)
{
    unsigned char is_there[2 * PAGES];
    size_t count = 0;
    CHECK_INT(mincore(used, sizeof is_there * PAGE, is_there), 0);
    for (size_t i = 0; i < sizeof is_there; i++) {
        count += is_there[i] & 1;
    }
    return count;
}

static void a_fork_makes_the_next_writes_slow(void)
{
    if (!set_up()) return;
    pid_t pid = fork_sleeper();
    CHECK(faults(2) >= PAGES);
    end(pid);
}

static void what_was_claimed_is_written_without_a_fault(void)
{
    if (!set_up()) return;
    pid_t pid = fork_sleeper();
    sbx_memory_claim();
    CHECK(faults(2) < PAGES / 4);
    end(pid);
}

static void claiming_changes_no_byte_and_makes_no_page(void)
{
    if (!set_up()) return;
    pid_t pid = fork_sleeper();
    size_t before = resident();
    sbx_memory_claim();
    CHECK_INT(resident(), before);
    CHECK_INT(before, PAGES);
    for (size_t i = 0; i < (size_t)PAGES * PAGE; i++) {
        if (!CHECK_INT(used[i], 1)) break;
    }
    end(pid);
}

static const struct sbx_test tests[] = {
    {"a fork makes the next writes slow", a_fork_makes_the_next_writes_slow},
    {"what was claimed is written without a fault", what_was_claimed_is_written_without_a_fault},
    {"claiming changes no byte and makes no page", claiming_changes_no_byte_and_makes_no_page},
};
SBX_TEST_MAIN("linux_memory", tests)
