/* sbx selftest: what a box promises, tried on the machine that it is on.
 *
 * A case is a row. Most are one attempt: this program, started again as `sbx selftest --probe NAME ARG…`, tries
 * something with the rights it has and answers DONE, DENIED or ABSENT. Outside it must answer as the row's control
 * says, else the case proves nothing; in a box it must answer as the row wants. A box is a run of the product:
 * `sbx run -f MANIFEST --result FILE --evidence -- PROBE`, a process of its own under a wall clock, so that one
 * that hangs or crashes is one case that fails and the others still tell.
 *
 * posix/ and win/ bring the cases, the attempts and the few things that need their system. */
#ifndef SBX_RUN_SELFTEST_H
#define SBX_RUN_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/names.h"
#include "common/base/str.h"
#include "common/policy/value.h"

/* ---- attempts: what runs in the box, and outside as control ---- */

/* Lines of a manifest: the box may write {inside} and stands there. */
#define SBX_SELFTEST_WRITES "fs_write_allow = [\"{inside}\"]\ncwd = \"{inside}\"\n"

/* Bits, so that a row can want one of several. */
enum sbx_answer {
    SBX_ANSWER_NONE = 0, /* it did not come to an answer: it was ended, or never began */
    SBX_ANSWER_DONE = 1,
    SBX_ANSWER_DENIED = 2,
    SBX_ANSWER_ABSENT = 4, /* what it aims at is not there */
    SBX_ANSWER_BROKEN = 8, /* the attempt itself could not be carried out: proves nothing */
};
/* Besides a control's answers: where it answers otherwise the machine (or the caller's rights) cannot show the case,
 * and nothing is wrong. */
#define SBX_CONTROL_OR_CANNOT 0x100u
/* For questions: whatever it answers is the evidence. */
#define SBX_ANSWER_ANY 7u
/* A box may hide what it denies. */
#define SBX_ANSWER_CLOSED ((unsigned)SBX_ANSWER_DENIED | (unsigned)SBX_ANSWER_ABSENT)
extern const struct sbx_name sbx_answer_names[];

struct sbx_reply {
    enum sbx_answer answer;
    char text[1024]; /* what was tried and what came of it; one line */
};
void sbx_reply(struct sbx_reply *reply, enum sbx_answer answer, const char *format, ...)
    SBX_PRINTF(3, 4);

struct sbx_attempt {
    const char *name;
    const char *parameters; /* "FILE [MS]" */
    const char *what;
    size_t least; /* arguments */
    void (*run)(const char *const *arguments, size_t count, struct sbx_reply *reply);
};

/* Of this build; ends with a row without a name. Implemented by posix/ and win/. */
const struct sbx_attempt *sbx_selftest_attempts(void);

/* `sbx selftest --probe`: the words after it. Prints "DONE text" on standard output; 0, 41, 42 and 43 are done,
 * denied, absent and broken. */
int sbx_attempt_main(const char *const *words, size_t count);

/* ---- cases ---- */

enum sbx_selftest_verdict {
    SBX_SELFTEST_PASS,
    SBX_SELFTEST_FAIL,
    SBX_SELFTEST_CANNOT, /* this machine lacks what the case needs; the evidence says what */
    SBX_SELFTEST_ERROR,  /* the case could not be carried out */
    SBX_SELFTEST_VERDICTS
};
extern const struct sbx_name sbx_selftest_verdict_names[];

struct sbx_selftest_result {
    enum sbx_selftest_verdict verdict;
    const char *evidence;
};

struct sbx_selftest;

struct sbx_selftest_case {
    const char *id; /* "files.write-outside": group, dot, name */
    const char *promise;
    /* Lines of [sandbox] that replace the usual ones of the same key; NULL: the usual ones, with which a box may read
     * {bin} and has no network. {places} are filled in, as in the attempt. */
    const char *manifest;
    const char *attempt; /* "write {outside}/new": an attempt and its arguments */
    unsigned wants;      /* what it answers in the box */
    const char *limit;   /* that must end it there, instead of an answer; NULL: none must */
    unsigned control;    /* what it answers outside; 0: that is not asked */
    bool is_long;        /* only with --long */
    /* Instead of one attempt; `result` is an error without a reason before. */
    void (*run)(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                struct sbx_selftest_result *result);
};

struct sbx_selftest_group {
    const char *name;
    const struct sbx_selftest_case *cases;
    size_t count;
};

/* Of this build, in the order in which they are run; ends with NULL. Implemented by posix/ and win/. */
const struct sbx_selftest_group *const *sbx_selftest_groups(void);

/* ---- what a case works with ---- */

struct sbx_selftest_place {
    const char *name, *value;
};
#define SBX_SELFTEST_PLACES 24

struct sbx_selftest_timing {
    const char *name;
    uint64_t ns;
};

struct sbx_selftest {
    struct sbx_arena kept;  /* lives as long as the test */
    struct sbx_arena arena; /* of the running case */
    bool is_long;
    /* program (this sbx), copy (of it, which every box may read), root, bin, inside (which a box may write if its manifest says so),
     * outside (which it may not see; has a file `secret`), port (somebody listens on loopback), handle (open for
     * reading `secret`, and inherited by whoever does not take care), begun, after and left (files in `inside` that are not
     * there before a case makes them); and what else a platform has. */
    struct sbx_selftest_place places[SBX_SELFTEST_PLACES];
    size_t place_count;
    bool has_tried;      /* the plainest box */
    const char *refusal; /* why there can be no box here; NULL: there can */
    unsigned serial;     /* of manifests and results */
    struct sbx_selftest_timing *timings;
    size_t timing_count, timing_capacity;
    void *platform;
};

const char *sbx_selftest_place(const struct sbx_selftest *t, const char *name);
enum sbx_code sbx_selftest_place_add(struct sbx_selftest *t, const char *name, const char *value,
                                     struct sbx_err *err) SBX_MUST_USE;

/* `text` with its {places} filled in, in the case's arena; NULL without memory. */
const char *sbx_selftest_expand(struct sbx_selftest *t, const char *text);
/* The same for places that stand inside quotes of TOML. */
const char *sbx_selftest_expand_toml(struct sbx_selftest *t, const char *text);

void sbx_selftest_say(struct sbx_selftest *t, struct sbx_selftest_result *result,
                      enum sbx_selftest_verdict verdict, const char *format, ...) SBX_PRINTF(4, 5);

/* A figure for the report; kept. */
void sbx_selftest_time(struct sbx_selftest *t, const char *name, uint64_t ns);

/* ---- starting things ---- */

struct sbx_selftest_spawn {
    const char *const *argv; /* argv[0] is absolute */
    const char *cwd;
    uint64_t timeout_ns;   /* then it is killed */
    const char *kill_when; /* it is killed hard as soon as this file is there; NULL: it is not */
};

struct sbx_selftest_ended {
    bool is_timeout;
    bool is_killed;  /* for kill_when */
    uint32_t status; /* of a signal 128 + its number */
    struct sbx_str out, err;
    uint64_t wall_ns;
};

#define SBX_SELFTEST_OUTPUT_MAX ((size_t)1 << 20) /* of each stream; what comes later is dropped */

/* Starts a process with this process' environment and handles and waits for its end, or kills it. Streams that
 * others hold open are not waited for. Implemented by posix/ and win/. */
enum sbx_code sbx_selftest_spawn(struct sbx_arena *arena, const struct sbx_selftest_spawn *spawn,
                                 struct sbx_selftest_ended *out, struct sbx_err *err) SBX_MUST_USE;
typedef enum sbx_code sbx_selftest_spawner(void *state, struct sbx_arena *arena,
                                           const struct sbx_selftest_spawn *spawn,
                                           struct sbx_selftest_ended *out, struct sbx_err *err);

struct sbx_selftest_plan {
    const char *manifest; /* as in a case */
    const char *words;    /* an attempt, or with is_program a command of its own */
    bool is_program;
    const char *options;         /* further ones of `sbx run`, or NULL */
    uint64_t timeout_ns;         /* 0: as usual */
    const char *kill_when;       /* in spawn */
    sbx_selftest_spawner *spawn; /* NULL: sbx_selftest_spawn */
    void *spawn_state;
};

struct sbx_selftest_box {
    struct sbx_selftest_ended ended;
    enum sbx_answer answer;
    const char *text;        /* of the answer */
    struct sbx_value report; /* the outcome as `sbx run --result` writes it */
    bool has_report;
    bool started;
    const char *limit;      /* that ended it, or NULL */
    uint32_t exit_code;     /* the command's own */
    const char *error_code; /* why sbx refused or failed; NULL: it did not */
    const char *error_text;
};

/* One box, or with `is_program` any command in it. False when that settles the case: no box can be had here (CANNOT),
 * sbx failed (FAIL), or it did not end (ERROR). The limit that ended a command settles nothing. */
bool sbx_selftest_run_box(struct sbx_selftest *t, const struct sbx_selftest_plan *plan,
                          struct sbx_selftest_box *out, struct sbx_selftest_result *result);

/* The same attempt outside, as control; false when it could not be carried out. */
bool sbx_selftest_run_outside(struct sbx_selftest *t, const struct sbx_selftest_plan *plan,
                              struct sbx_selftest_box *out, struct sbx_selftest_result *result);

/* False, with CANNOT and the reason, when there can be no box here. */
bool sbx_selftest_has_box(struct sbx_selftest *t, struct sbx_selftest_result *result);

/* What two answers say. A control of 0 was not asked for. */
enum sbx_selftest_verdict sbx_selftest_judge(unsigned control_wants, enum sbx_answer control,
                                             unsigned wants, enum sbx_answer answer);

/* "DENIED OpenProcess: 5", or how it ended without an answer; in the case's arena. */
const char *sbx_selftest_describe(struct sbx_selftest *t, const struct sbx_selftest_box *box);

/* Carries one case out. */
void sbx_selftest_run_case(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                           struct sbx_selftest_result *result);

/* ---- cases that every system has; `row` says the rest ---- */

/* A box starts, and everything that was read back of it is as planned. Having no box at all fails here. */
void sbx_selftest_case_start(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                             struct sbx_selftest_result *result);
/* What a command leaves running ends with it: row->attempt makes the place {left} after a while, outside. */
void sbx_selftest_case_tree(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                            struct sbx_selftest_result *result);
/* When sbx is killed hard, its box ends: row->attempt makes the place {begun}, and {after} after a while. */
void sbx_selftest_case_crash(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                             struct sbx_selftest_result *result);
/* How long a box takes, beside the same program outside. */
void sbx_selftest_case_timing(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                              struct sbx_selftest_result *result);

/* Is something at that path? */
bool sbx_selftest_exists(const char *path);
/* Waits, in a process of its own. */
void sbx_selftest_wait(struct sbx_selftest *t, unsigned ms);

/* ---- the platform's part ---- */

/* Makes the directories, the copy of this program, the listener and what else its cases need, and adds the
 * places. `sbx_selftest_close` undoes all of it, also after a failure. */
enum sbx_code sbx_selftest_open(struct sbx_selftest *t, struct sbx_err *err) SBX_MUST_USE;
void sbx_selftest_close(struct sbx_selftest *t);

struct sbx_selftest_fact {
    const char *name;
    const char *text; /* NULL: `flag` is the value */
    bool flag;
};
/* What the machine and the caller are: system, build, elevated …; in `arena`. */
size_t sbx_selftest_machine(struct sbx_arena *arena, const struct sbx_selftest_fact **out);

#endif
