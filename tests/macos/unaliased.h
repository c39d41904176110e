/* A directory for tests whose paths mean the same on Linux and on macOS, where "/tmp", "/var" and "/etc" have another
 * name: the current one, else the home of the caller or one of a few that every system has. */
#ifndef SBX_TESTS_UNALIASED_H
#define SBX_TESTS_UNALIASED_H

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline bool is_aliased(const char *path)
{
    static const char *const aliased[] = {"/tmp", "/var", "/etc"};
    for (size_t i = 0; i < sizeof aliased / sizeof aliased[0]; i++) {
        size_t len = strlen(aliased[i]);
        if (strncmp(path, aliased[i], len) == 0 && (path[len] == '/' || path[len] == '\0')) {
            return true;
        }
    }
    return false;
}

/* False when there is none. `out` has room for PATH_MAX bytes. */
static inline bool find_unaliased(char *out)
{
    const char *const places[] = {".", getenv("HOME"), "/srv", "/opt", "/home"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i] != NULL && realpath(places[i], out) != NULL && !is_aliased(out) &&
            access(out, W_OK | X_OK) == 0) {
            return true;
        }
    }
    return false;
}

#endif
