/* Whole boxes on the model of NT: a manifest and a world in, the record of a run out, and questions that the box and,
 * as the control, a plain process of the same user ask of the model. */
#ifndef SBX_TESTS_UNIT_BOX_FIXTURE_H
#define SBX_TESTS_UNIT_BOX_FIXTURE_H

#include "tests/ntmodel/nt_model.h"
#include "tests/unit/policy_fixture.h"
#include "win/box.h"

#define PROJECT L"C:\\Users\\user\\project"
#define SHELL "C:\\Windows\\System32\\cmd.exe"

struct boxed {
    struct nt_model *model;
    struct fixture fixture; /* the manifest's policy */
    struct sbx_recipe recipe;
    const char *const *command;
    struct sbx_job_limits limits;
    uint64_t timeout_ns;
    struct sbx_run_record record;
    struct sbx_err err;
    enum sbx_code code;
};

/* A world with a project of some files, and the manifest resolved in it. */
void boxed_open(struct boxed *boxed, const struct nt_world *world, const char *toml);
void boxed_close(struct boxed *boxed);
#define AUTO_BOXED SBX_CLEANUP(boxed_close) struct boxed

/* Another manifest in the same world. */
void boxed_manifest(struct boxed *boxed, const char *toml);

/* One run of boxed->command; its code. Results are in boxed. */
enum sbx_code boxed_run(struct boxed *boxed);

/* A process of the same user without a box, to its end; its exit code. */
DWORD boxed_outside(struct boxed *boxed);

/* ---- questions ---- */

enum ask_verb {
    ASK_READ,
    ASK_WRITE,  /* the content of what is there */
    ASK_CREATE, /* a new file; it stays */
    ASK_RENAME, /* to the second path */
    ASK_DELETE,
    ASK_REMOVE, /* a directory */
    ASK_LIST,
    ASK_LOOK, /* attributes */
    ASK_MKDIR,
    ASK_LINK, /* a second name, `path`, for `other` */
    ASK_DACL, /* change the list */
    ASK_INTERNET,
    ASK_PRIVATE,
    ASK_HOST,
    ASK_PARENT, /* open the process that started it, with `number` */
    ASK_PIPE,
    ASK_STATION,
    ASK_DESKTOP,
    ASK_CLIPBOARD,
    ASK_EXIT_WINDOWS,
    ASK_PARAMETERS,
    ASK_CHILD,     /* one more process */
    ASK_BREAKAWAY, /* outside the job */
    ASK_HANDLES,   /* has at most `number` handles */
};

/* What a box must get, and what a plain process of the same user gets: the control. */
enum answer { DONE, DENIED, ABSENT, EITHER };

struct ask {
    const char *promise;
    enum ask_verb verb;
    const wchar_t *path, *other;
    DWORD number;
    enum answer inside, outside;
};

/* Asks all in order, first inside, then outside in an equal world, and checks each answer. */
void boxed_ask(const struct nt_world *world, const char *toml, const struct ask *asks,
               size_t count);

/* The same inside only, without checks: for pipelines and kernels that are not as they should be. */
struct ask_result {
    bool has_run;  /* the run was not refused */
    size_t open;   /* done, and must be denied */
    size_t closed; /* denied, and must be done */
};
void boxed_try(const struct nt_world *world, const char *toml, const struct ask *asks, size_t count,
               struct ask_result *out);

#endif
