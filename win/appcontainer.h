/* AppContainer: one profile per run, and the capabilities it selects. */
#ifndef SBX_WIN_APPCONTAINER_H
#define SBX_WIN_APPCONTAINER_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "win/winapi.h"

/* Windows takes 64, some editions 50. */
#define SBX_PROFILE_NAME_MAX 50

/* A name that no other run has: "sbx.<pid>.<random>". */
enum sbx_code sbx_profile_name(struct sbx_arena *arena, const char **out,
                               struct sbx_err *err) SBX_MUST_USE;

struct sbx_profile {
    const char *name;
    PSID sid; /* in the arena */
    const char
        *folder; /* its own directory, where the box may write; NULL: the system does not say */
};

/* Creates the profile; a name that exists already is an error, never taken over. */
enum sbx_code sbx_profile_create(struct sbx_arena *arena, const char *name, struct sbx_profile *out,
                                 struct sbx_err *err) SBX_MUST_USE;

/* Deletes profile and folder; one that does not exist is a success. */
enum sbx_code sbx_profile_delete(const char *name, struct sbx_err *err) SBX_MUST_USE;

/* The SID of a named capability, in `arena`. */
enum sbx_code sbx_capability_sid(struct sbx_arena *arena, const char *name, PSID *out,
                                 struct sbx_err *err) SBX_MUST_USE;

#endif
