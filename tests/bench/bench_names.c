/* Time to find what must be mounted by name in a tree of 50,000 files in 3,000 directories: without a cache,
 * with an empty one, and with a filled one. Not part of ctest.
 *
 *     bench_names DIRECTORY    (an empty one; the tree is left there) */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "posix/linux_names.h"

#include "common/base/banned.h"

enum { DIRECTORIES = 3000, FILES = 50000, RUNS = 15, PER_PARENT = 12, ARENA_BYTES = 64 << 20 };

static char root[1024];

/* The directory number n: one in PER_PARENT has others below it. */
static void directory_path(int n, char *out, size_t size)
{
    int parent = n / PER_PARENT;
    char above[2048];
    if (n < PER_PARENT) {
        (void)snprintf(above, sizeof above, "%s/w", root);
    } else {
        directory_path(parent, above, sizeof above);
    }
    (void)snprintf(out, size, "%.1500s/dir-%d", above, n);
}

static bool make_tree(void)
{
    char path[2048];
    (void)snprintf(path, sizeof path, "%.1000s/w", root);
    if (mkdir(path, 0755) != 0) {
        return errno == EEXIST;
    }
    for (int i = 0; i < DIRECTORIES; i++) {
        directory_path(i, path, sizeof path);
        (void)mkdir(path, 0755);
        for (int k = 0; k <= FILES / DIRECTORIES; k++) {
            char file[2200];
            const char *name = k == 0 && i % 300 == 0 ? ".envrc" : "source-file";
            (void)snprintf(file, sizeof file, "%s/%s-%d.c", path, name, k);
            if (k == 0 && i % 300 == 0) {
                (void)snprintf(file, sizeof file, "%s/.envrc", path);
            }
            int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
            if (fd < 0 || close(fd) != 0) {
                return false;
            }
        }
    }
    (void)sleep(4); /* stamps younger than this are not trusted */
    return true;
}

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Least and median of RUNS; the first fills the cache and does not count. */
static bool measure(const char *what, const struct sbx_policy *policy, const char *cache_dir,
                    double *median)
{
    double took[RUNS];
    struct sbx_found_list list = {0};
    for (int i = -1; i < RUNS; i++) {
        AUTO_ARENA arena;
        struct sbx_err err = {0};
        sbx_arena_init(&arena, ARENA_BYTES);
        double begin = now_ms();
        if (sbx_names_find(&arena, policy, cache_dir, &list, &err) != SBX_OK) {
            printf("%s: %s\n", what, err.text);
            return false;
        }
        if (i >= 0) {
            took[i] = now_ms() - begin;
        }
    }
    qsort(took, RUNS, sizeof *took, compare);
    *median = took[RUNS / 2];
    printf("%-22s least %7.2f ms  median %7.2f ms  %zu found, %llu read, %llu from the cache\n",
           what, took[0], *median, list.count, (unsigned long long)list.directories_read,
           (unsigned long long)list.directories_from_cache);
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 2 || realpath(argv[1], NULL) == NULL) {
        printf("usage: bench_names DIRECTORY\n");
        return 2;
    }
    char *real = realpath(argv[1], NULL);
    (void)snprintf(root, sizeof root, "%.1000s", real);
    free(real);
    if (!make_tree()) {
        printf("cannot make the tree: errno %d\n", errno);
        return 1;
    }
    char writable[1100];
    char glob[1100];
    char cache[1100];
    (void)snprintf(writable, sizeof writable, "%s/w", root);
    (void)snprintf(glob, sizeof glob, "%s/w/**/.env", root);
    (void)snprintf(cache, sizeof cache, "%s/cache", root);
    struct sbx_rule rules[] = {
        {.path = {writable, strlen(writable), SBX_PATH_POSIX}, .access = SBX_ACCESS_WRITE},
        {.path = {glob, strlen(glob), SBX_PATH_POSIX}, .is_glob = true},
    };
    struct sbx_protect_row rows[64];
    size_t count = 0;
    while (sbx_protect_defaults[count].pattern != NULL) {
        rows[count] = sbx_protect_defaults[count];
        count++;
    }
    struct sbx_policy policy = {.rules = {rules, 2, 2}, .protect = rows, .protect_count = count};
    double full = 0;
    double cached = 0;
    if (!measure("without a cache", &policy, NULL, &full) ||
        !measure("with a filled cache", &policy, cache, &cached)) {
        return 1;
    }
    printf("ratio %.1f\n", full / cached);
    return 0;
}
