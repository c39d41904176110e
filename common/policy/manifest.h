/* The manifest: what the user asks. One struct for TOML, JSON and flags. Values are as written (paths are
 * not expanded yet), each with the place it was written at. */
#ifndef SBX_POLICY_MANIFEST_H
#define SBX_POLICY_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/policy/finding.h"
#include "common/policy/platform.h"
#include "common/policy/value.h"

/* One per key, in the order in which keys are listed everywhere. */
enum sbx_key {
    SBX_KEY_PROFILE,
    SBX_KEY_MODE,
    SBX_KEY_FS_READ_ALLOW,
    SBX_KEY_FS_WRITE_ALLOW,
    SBX_KEY_FILESYSTEM,
    SBX_KEY_TMPFS,
    SBX_KEY_PROTECT,
    SBX_KEY_GIT,
    SBX_KEY_UNIX_SOCKETS,
    SBX_KEY_NETWORK,
    SBX_KEY_SYSCALL_POLICY,
    SBX_KEY_TIMEOUT,
    SBX_KEY_MAX_MEMORY_BYTES,
    SBX_KEY_MAX_CPU_SECS,
    SBX_KEY_MAX_PROCESSES,
    SBX_KEY_MAX_OUTPUT_BYTES,
    SBX_KEY_ENV,
    SBX_KEY_ENV_PASS,
    SBX_KEY_CWD,
    SBX_KEY_USER,
    SBX_KEY_GROUP,
    SBX_KEY_IMAGE,
    SBX_KEY_RAW_ARGS,
    SBX_KEY_REQUIRE,
    SBX_KEY_COUNT
};

/* A named starting point: profiles and modes are rows of one registry (profile.h). */
enum sbx_preset {
    SBX_PROFILE_NONE,
    SBX_PROFILE_STRICT,
    SBX_PROFILE_SERVICE,
    SBX_PROFILE_DESKTOP,
    SBX_MODE_READ_ONLY,
    SBX_MODE_WORKSPACE_WRITE,
    SBX_MODE_DANGER_FULL_ACCESS,
    SBX_MODE_EXTERNAL_SANDBOX,
    SBX_PRESET_DECLARED, /* a manifest that names none: the system, and what it declares */
    SBX_PRESET_COUNT
};
extern const struct sbx_name sbx_profile_names[];
extern const struct sbx_name sbx_mode_names[];

struct sbx_text {
    struct sbx_str text;
    struct sbx_origin at;
};

struct sbx_texts {
    struct sbx_text *items;
    size_t count, capacity;
};

/* One line of the split policy. */
struct sbx_fs_entry {
    struct sbx_text path;
    enum sbx_access access;
};

struct sbx_fs_entries {
    struct sbx_fs_entry *items;
    size_t count, capacity;
};

struct sbx_env_pair {
    struct sbx_text name;
    struct sbx_str value;
};

struct sbx_env_pairs {
    struct sbx_env_pair *items;
    size_t count, capacity;
};

struct sbx_network {
    enum sbx_net_kind kind;
    struct sbx_texts hosts;
    struct sbx_texts local;
};

struct sbx_protect {
    bool with_defaults;
    struct sbx_texts names;
};

struct sbx_identity {
    bool is_id;
    uint32_t id;
    struct sbx_str name; /* when not is_id */
};

struct sbx_manifest {
    uint32_t set;                        /* bit (1 << key): the key was given */
    struct sbx_origin at[SBX_KEY_COUNT]; /* where; of the last statement for lists */

    int profile; /* enum sbx_preset; `int` because enum kinds are read by one function */
    int mode;
    struct sbx_texts fs_read_allow;
    struct sbx_texts fs_write_allow;
    struct sbx_fs_entries filesystem;
    struct sbx_texts tmpfs;
    struct sbx_protect protect;
    int git;
    struct sbx_texts unix_sockets;
    struct sbx_network network;
    int syscall_policy;
    uint64_t timeout_ns;
    uint64_t max_memory_bytes;
    uint64_t max_cpu_secs;
    uint64_t max_processes;
    uint64_t max_output_bytes;
    struct sbx_env_pairs env;
    struct sbx_texts env_pass;
    struct sbx_str cwd;
    struct sbx_identity user;
    struct sbx_identity group;
    struct sbx_str image;
    struct sbx_texts raw_args;
    uint32_t require; /* bit (1 << enum sbx_dimension) */
};

bool sbx_manifest_has(const struct sbx_manifest *manifest, enum sbx_key key);

/* A box that runs for long, under [unit.NAME]. */
enum sbx_unit_type { SBX_UNIT_SIMPLE, SBX_UNIT_ONESHOT };
extern const struct sbx_name sbx_unit_type_names[];

struct sbx_unit {
    const char *name;
    struct sbx_origin at;
    enum sbx_unit_type type;
    struct sbx_texts command;
    bool asks_for_sandbox; /* it has at least one sandbox key other than profile = "none" */
    struct sbx_manifest sandbox;
};

/* What a file holds. */
struct sbx_document {
    bool has_sandbox;
    struct sbx_manifest sandbox;
    struct sbx_unit *units;
    size_t unit_count, unit_capacity;
};

/* Reads the whole document: `root` is the file's table. Findings say all that is wrong; *out is filled as
 * far as it was understood. `source` must outlive the document. */
void sbx_document_read(struct sbx_arena *arena, const char *source, const struct sbx_value *root,
                       struct sbx_findings *findings, struct sbx_document *out);

/* Reads one table of manifest keys (the wire sends just that). */
void sbx_manifest_read(struct sbx_arena *arena, const char *source, const struct sbx_value *table,
                       struct sbx_findings *findings, struct sbx_manifest *out);

/* One key from its flag's text; lists grow, everything else is replaced. `flag` is as typed, for
 * messages. */
void sbx_manifest_read_flag(struct sbx_arena *arena, const char *flag, enum sbx_key key,
                            struct sbx_str text, struct sbx_findings *findings,
                            struct sbx_manifest *out);

/* `over` on top of `under`: lists are joined (under first), scalars replaced, `profile` and `mode`
 * replace each other. */
enum sbx_code sbx_manifest_merge(struct sbx_arena *arena, const struct sbx_manifest *under,
                                 const struct sbx_manifest *over, struct sbx_manifest *out,
                                 struct sbx_err *err) SBX_MUST_USE;

/* Same keys set to the same values, wherever they were written. */
bool sbx_manifest_equal(const struct sbx_manifest *a, const struct sbx_manifest *b);

/* The three spellings. Reading what is printed gives an equal manifest. */
void sbx_manifest_print_toml(const struct sbx_manifest *manifest, struct sbx_buf *out);
void sbx_manifest_print_json(const struct sbx_manifest *manifest, struct sbx_buf *out);
/* NUL-terminated arguments ("--net", "deny", …) in the arena; false without memory, and for what no argument
 * can say (a NUL, a variable's name with '=', a protected file named "none"). */
bool sbx_manifest_print_flags(struct sbx_arena *arena, const struct sbx_manifest *manifest,
                              const char ***out, size_t *count) SBX_MUST_USE;

/* "90s" "2m" "1h30m" "250ms", a bare number of seconds; nanoseconds in *out. */
bool sbx_duration_parse(struct sbx_str text, uint64_t *out_ns) SBX_MUST_USE;
void sbx_duration_print(uint64_t ns, struct sbx_buf *out);

/* "256MiB" "256M" (both 1024-based), "1GB" (1000-based), a bare number of bytes. */
bool sbx_bytes_parse(struct sbx_str text, uint64_t *out) SBX_MUST_USE;
void sbx_bytes_print(uint64_t bytes, struct sbx_buf *out);

#endif
