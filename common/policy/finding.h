/* Findings: everything that is wrong with a manifest, all at once, with stable codes. */
#ifndef SBX_POLICY_FINDING_H
#define SBX_POLICY_FINDING_H

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/names.h"
#include "common/policy/value.h"

/* Their texts are part of the interface: never renamed, only added to. */
enum sbx_finding_code {
    /* the file */
    SBX_F_FILE_UNREADABLE,
    SBX_F_FILE_TOO_LARGE,
    SBX_F_SYNTAX,
    /* keys and values */
    SBX_F_UNKNOWN_KEY,
    SBX_F_WRONG_TYPE,
    SBX_F_BAD_VALUE,
    SBX_F_OUT_OF_RANGE,
    SBX_F_CONFLICT,
    /* paths */
    SBX_F_PATH_EMPTY,
    SBX_F_PATH_NOT_ABSOLUTE,
    SBX_F_PATH_HAS_CONTROL,
    SBX_F_PATH_NOT_UTF8,
    SBX_F_PATH_DOTDOT,
    SBX_F_PATH_TOO_LONG,
    SBX_F_PATH_FORBIDDEN,
    SBX_F_PATH_MISSING,
    SBX_F_PATH_DUPLICATE,
    /* hosts */
    SBX_F_HOST_PATTERN_INVALID,
    SBX_F_SHARED_PLATFORM_APEX,
    /* gates */
    SBX_F_RAW_ARGS_GATE_OFF,
    SBX_F_RAW_ARGS_UNSAFE,
    SBX_F_CEILING_EXCEEDED,
    SBX_F_USER_UNTRUSTED,
    SBX_F_MANIFEST_UNTRUSTED,
    /* what can be had */
    SBX_F_POLICY_UNSUPPORTED,
    SBX_F_BACKEND_MISSING,
    SBX_F_PLATFORM_UNSUPPORTED,
    SBX_F_REQUIRE_UNMET,
    /* worth knowing */
    SBX_F_ENV_NAME_INVALID,
    SBX_F_ENV_DUPLICATE,
    SBX_F_ENV_LOADER,
    SBX_F_SOCKET_ROOT_EQUIVALENT,
    SBX_F_PROTECTION_REMOVED,
    SBX_F_LIMIT_TOO_SMALL,
    SBX_F_RULE_REDUNDANT,
    SBX_F_REQUIRE_UNUSED,
    SBX_FINDING_CODE_COUNT
};
extern const struct sbx_name sbx_finding_code_names[];

/* A finding of level error never reaches a backend. */
enum sbx_level { SBX_LEVEL_NOTE, SBX_LEVEL_WARNING, SBX_LEVEL_ERROR };
extern const struct sbx_name sbx_level_names[];

/* Where something was said: a file with line and column, a flag, a profile. */
struct sbx_origin {
    const char *source; /* "sbx.toml", "-w", "profile strict"; NULL: sbx itself */
    struct sbx_place place;
};

struct sbx_finding {
    enum sbx_finding_code code;
    enum sbx_level level;
    const char *unit;     /* name of the unit, or NULL for the sandbox itself */
    const char *key_path; /* "fs_write_allow[1]", "" for the file */
    const char *value;    /* as written, made safe and cut; NULL when there is none */
    const char *text;     /* one sentence: what is wrong and why */
    const char *hint;     /* what to do; NULL when there is nothing to do */
    struct sbx_origin at;
};

/* Collects findings in an arena. At most SBX_FINDINGS_MAX are kept; the rest is counted. */
#define SBX_FINDINGS_MAX 1000
struct sbx_findings {
    struct sbx_arena *arena;
    const char *unit; /* set on every finding that is added */
    struct sbx_finding *items;
    size_t count, capacity;
    size_t errors, warnings, notes; /* all of them, also those not kept */
    bool out_of_memory;             /* counts as an error */
};

void sbx_findings_init(struct sbx_findings *findings, struct sbx_arena *arena);

/* Level and remedy of the code's row (finding.c); `text` is a printf format. NULL when it was not kept. */
struct sbx_finding *sbx_findings_add(struct sbx_findings *findings, enum sbx_finding_code code,
                                     const struct sbx_origin *at, const char *key_path,
                                     struct sbx_str value, const char *text, ...) SBX_PRINTF(6, 7);
void sbx_finding_hint(struct sbx_findings *findings, struct sbx_finding *finding,
                      const char *format, ...) SBX_PRINTF(3, 4);

/* No errors, and no memory was missing. */
bool sbx_findings_ok(const struct sbx_findings *findings);

/* By unit, then place, then order of addition: the order of the file. */
void sbx_findings_sort(struct sbx_findings *findings);

/* Level and one-line meaning of a code, for docs and `sbx help codes`. */
struct sbx_finding_row {
    enum sbx_finding_code code;
    enum sbx_level level;
    const char *meaning;
    const char *remedy; /* the hint when nothing better is known; an error always has one */
};
const struct sbx_finding_row *sbx_finding_row(enum sbx_finding_code code);

#endif
