/* A writer of Seatbelt profiles (SBPL, a Scheme). It knows no policy: only how forms nest and how text becomes a
 * string that ends where it should.
 *
 * Words (operations, filters) are of our own tables and of a fixed alphabet. Everything that comes from outside is a
 * string: printable ASCII is quoted, with a backslash before `"` and `\`; any other text, and one that is longer than
 * libsandbox reads, is handed over beside the profile as a parameter, so that no byte of it is ever parsed. NUL and
 * newline are refused: no path of ours has them. */
#ifndef SBX_POSIX_MACOS_SBPL_H
#define SBX_POSIX_MACOS_SBPL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/str.h"

/* libsandbox refuses a string of more than 1024 bytes and a rule of more than 64 KiB. */
#define SBX_SBPL_STRING_MAX ((size_t)900)
#define SBX_SBPL_RULE_MAX ((size_t)60 << 10)
#define SBX_SBPL_PARAMETER_MAX ((size_t)8192)
#define SBX_SBPL_PROFILE_MAX ((size_t)2 << 20)

/* "P0", "P1" … in the order in which they were first used. */
struct sbx_sbpl_parameters {
    const char **values;
    size_t count, capacity;
};

struct sbx_sbpl {
    struct sbx_arena *arena;
    struct sbx_buf text;
    struct sbx_sbpl_parameters parameters;
    size_t depth;
    size_t form_begin; /* of the top-level form that is being written */
    bool wants_space;  /* something of the same form is before */
    bool is_refused;   /* a text or a rule cannot be written */
    bool has_no_memory;
};

void sbx_sbpl_init(struct sbx_sbpl *sbpl, struct sbx_arena *arena);
void sbx_sbpl_release(struct sbx_sbpl *sbpl);
#define AUTO_SBPL SBX_CLEANUP(sbx_sbpl_release) struct sbx_sbpl

/* "(word", and the matching ")". A top-level form ends with a newline. */
void sbx_sbpl_open(struct sbx_sbpl *sbpl, const char *word);
void sbx_sbpl_close(struct sbx_sbpl *sbpl);

void sbx_sbpl_word(struct sbx_sbpl *sbpl, const char *word);
void sbx_sbpl_string(struct sbx_sbpl *sbpl, struct sbx_str text);

/* (word "text") */
void sbx_sbpl_filter(struct sbx_sbpl *sbpl, const char *word, struct sbx_str text);

/* A line of its own between rules; printable ASCII of ours. */
void sbx_sbpl_comment(struct sbx_sbpl *sbpl, const char *text);

/* SBX_OK when everything could be written. */
enum sbx_code sbx_sbpl_check(const struct sbx_sbpl *sbpl, struct sbx_err *err) SBX_MUST_USE;

#endif
