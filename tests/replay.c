/* A main for fuzz targets in builds without libFuzzer: feeds the target every file of the kept corpus
 * once, so that a mended crash stays mended under every compiler and under Wine. */
#include <dirent.h>
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

/* Returns how many files were fed, or -1 after saying which one could not be read. */
static int replay_directory(const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL) {
        printf("# cannot open \"%s\"\n", path);
        return -1;
    }
    int fed = 0;
    const struct dirent *entry = NULL;
    while (fed >= 0 && (entry = readdir(directory)) != NULL) {
        char name[MAX_NAME];
        if (entry->d_name[0] == '.') {
            continue;
        }
        int len = snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (len < 0 || (size_t)len >= sizeof(name) || !replay_file(name)) {
            printf("# cannot read \"%s\"\n", entry->d_name);
            fed = -1;
        } else {
            fed++;
        }
    }
    closedir(directory);
    return fed;
}

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
