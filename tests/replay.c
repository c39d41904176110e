/* A main for fuzz targets in builds without libFuzzer: feeds the target every file of the kept corpus
 * once, so that a mended crash stays mended under every compiler and under Wine. */
#ifdef _WIN32
#include <io.h>
#else
#include <dirent.h>
#endif
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/attr.h"

#include "common/base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_FILE_BYTES = 64 << 20, MAX_NAME = 1024 };

static void free_bytes(uint8_t **bytes)
{
    free(*bytes);
}

static void close_file(FILE **file)
{
    if (*file != NULL) {
        (void)fclose(*file);
    }
}

static bool replay_file(const char *path)
{
    SBX_CLEANUP(close_file) FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        return false;
    }
    long size = ftell(file);
    if (size < 0 || size > MAX_FILE_BYTES || fseek(file, 0, SEEK_SET) != 0) {
        return false;
    }
    /* Exactly as large as the input: one byte too far is one that ASan sees. */
    SBX_CLEANUP(free_bytes) uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        return false;
    }
    (void)LLVMFuzzerTestOneInput(bytes, (size_t)size);
    return true;
}

/* Feeds one entry of the directory; false after saying that it could not be read. */
static bool replay_entry(const char *path, const char *entry, int *fed)
{
    char name[MAX_NAME];
    if (entry[0] == '.') {
        return true;
    }
    int len = snprintf(name, sizeof(name), "%s/%s", path, entry);
    if (len < 0 || (size_t)len >= sizeof(name) || !replay_file(name)) {
        printf("# cannot read \"%s\"\n", entry);
        return false;
    }
    (*fed)++;
    return true;
}

/* Returns how many files were fed, or -1 after saying which one could not be read. */
#ifdef _WIN32
static int replay_directory(const char *path)
{
    char pattern[MAX_NAME];
    struct _finddata_t entry;
    int fed = 0;
    int len = snprintf(pattern, sizeof(pattern), "%s/*", path);
    intptr_t find = len < 0 || (size_t)len >= sizeof(pattern) ? -1 : _findfirst(pattern, &entry);
    if (find == -1) {
        printf("# cannot open \"%s\"\n", path);
        return -1;
    }
    bool is_read = true;
    do {
        is_read = replay_entry(path, entry.name, &fed);
    } while (is_read && _findnext(find, &entry) == 0);
    (void)_findclose(find);
    return is_read ? fed : -1;
}
#else
static int replay_directory(const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL) {
        printf("# cannot open \"%s\"\n", path);
        return -1;
    }
    int fed = 0;
    bool is_read = true;
    const struct dirent *entry = NULL;
    while (is_read && (entry = readdir(directory)) != NULL) {
        is_read = replay_entry(path, entry->d_name, &fed);
    }
    closedir(directory);
    return is_read ? fed : -1;
}
#endif

int main(int argc, char **argv)
{
    int status = argc > 1 ? 0 : 1;
    printf("1..%d\n", argc > 1 ? argc - 1 : 1);
    (void)fflush(stdout);
    for (int i = 1; i < argc; i++) {
        int fed = replay_directory(argv[i]);
        printf("%s %d - the kept corpus is fed without a crash (%d files)\n",
               fed > 0 ? "ok" : "not ok", i, fed);
        if (fed <= 0) {
            status = 1;
        }
    }
    return status;
}
