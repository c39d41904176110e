/* The small OS port: exactly one implementation per build (posix/ or win/). Our nouns only. Texts are
 * strict UTF-8 in both directions; a name of the system that is not is refused, never mangled. */
#ifndef SBX_OS_H
#define SBX_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/path.h"
#include "common/base/str.h"
#include "common/policy/context.h"
#include "common/policy/facts.h"
#include "common/run/outcome.h"

/* ---- caller and machine ---- */

/* Everything about caller and machine but `project` (which is set to cwd). A relative or unset HOME
 * or XDG variable is ignored, the account's home directory is used; a cwd that is gone or not UTF-8
 * is an error. lookup is set to a real one. */
enum sbx_code sbx_os_context(struct sbx_arena *arena, struct sbx_context *out,
                             struct sbx_err *err) SBX_MUST_USE;

/* Kernel and machine facts (not the backends' probes, which stay as they are). Never fails: what
 * cannot be read is reported as absent. Cheap: no process is started. */
void sbx_os_facts(struct sbx_arena *arena, struct sbx_facts *out);

/* One thing that `sbx doctor` looks at besides the backends. */
struct sbx_check {
    const char *group, *id;
    bool is_ok;          /* else a warning */
    const char *summary; /* in the arena, or static */
    const char *remedy;  /* NULL: nothing to do */
};
#define SBX_CHECKS_MAX 16

/* What this system has of such things; changes nothing. The number of rows filled in. */
size_t sbx_os_checks(struct sbx_arena *arena, const struct sbx_context *context,
                     struct sbx_check out[SBX_CHECKS_MAX]);

/* For whom contexts are made and variables are asked from now on; NULL: whoever started this process. A service works
 * for clients, each with a directory and variables of its own. What it points to must stay. */
struct sbx_os_whom {
    const char *cwd;        /* absolute */
    const char *const *env; /* "NAME=VALUE", ends with NULL */
};
void sbx_os_caller(const struct sbx_os_whom *caller);

/* The caller's variable as UTF-8 in `arena`; NULL when unset or not valid text. */
const char *sbx_os_env(struct sbx_arena *arena, const char *name);

/* Directory of the machine-wide policy: "/etc/sbx" or "%ProgramData%\sbx". */
enum sbx_code sbx_os_policy_dir(struct sbx_arena *arena, struct sbx_path *out,
                                struct sbx_err *err) SBX_MUST_USE;

/* Absolute path of the running sbx. */
enum sbx_code sbx_os_self(struct sbx_arena *arena, struct sbx_path *out,
                          struct sbx_err *err) SBX_MUST_USE;

uint64_t sbx_os_monotonic_ns(void);
int64_t sbx_os_unix_seconds(void);

/* ---- files ---- */

struct sbx_file_info {
    enum sbx_node node;
    uint64_t size_bytes;
    bool is_callers; /* owned by the calling user */
    bool is_admins;  /* owned by root, or by SYSTEM / Administrators / TrustedInstaller */
    bool
        others_may_write; /* anyone but its owner and administrators may change it, by mode or ACL */
};

/* Reads a whole regular file (or standard input for "-") of at most max_bytes into `arena`,
 * NUL-terminated, and what is known of it (info may be NULL); all from one open descriptor, so that
 * content and owner belong together. A larger file is SBX_E_LIMIT before it is read whole; a
 * directory, device or FIFO is SBX_E_INVALID and is never waited for. */
enum sbx_code sbx_os_read_file(struct sbx_arena *arena, const char *path, size_t max_bytes,
                               struct sbx_str *out, struct sbx_file_info *info,
                               struct sbx_err *err) SBX_MUST_USE;

/* What is known of a path without reading it; follows symbolic links. */
void sbx_os_file_info(const char *path, struct sbx_file_info *out);

/* The same file or directory under its real name (links resolved); SBX_E_NOT_FOUND when absent. */
enum sbx_code sbx_os_real_path(struct sbx_arena *arena, const char *path, struct sbx_path *out,
                               struct sbx_err *err) SBX_MUST_USE;

/* May the caller read or write that path, as far as the system tells without trying? For writing what is
 * not there, its directory is asked. False: not known, and *out is as it was. */
bool sbx_os_may(const char *path, bool is_write, bool *out) SBX_MUST_USE;

/* Creates a new file with this content; SBX_E_INVALID "already exists" rather than overwrite; nothing
 * is left behind on failure. */
enum sbx_code sbx_os_write_new(const char *path, struct sbx_str content,
                               struct sbx_err *err) SBX_MUST_USE;

/* Replaces a file's content so that a crash leaves the old or the new one, whole: temporary file in the
 * same directory, flush, rename. Readable by the caller only. Creates the parent directories
 * (private to the caller) when missing. */
enum sbx_code sbx_os_write_atomic(const char *path, struct sbx_str content,
                                  struct sbx_err *err) SBX_MUST_USE;

/* Reads `path` (absent counts as empty), lets `change` make the new content, and writes it
 * atomically, holding an exclusive lock on "<path>.lock" meanwhile so that two sbx do not lose each
 * other's change. `change` returns SBX_OK to write *out, anything else to give up. */
typedef enum sbx_code sbx_os_change(void *state, struct sbx_arena *arena, struct sbx_str old,
                                    struct sbx_str *out, struct sbx_err *err);
enum sbx_code sbx_os_update_file(struct sbx_arena *arena, const char *path, size_t max_bytes,
                                 sbx_os_change *change, void *state,
                                 struct sbx_err *err) SBX_MUST_USE;

/* ---- streams ---- */

enum sbx_stream { SBX_STDIN, SBX_STDOUT, SBX_STDERR };

/* Writes all of it, whatever it takes; a closed pipe is an error, never a signal. */
enum sbx_code sbx_os_write(enum sbx_stream stream, const char *bytes, size_t len,
                           struct sbx_err *err) SBX_MUST_USE;

/* The same to an inherited descriptor number (--json-fd); on Windows one above 2 exists only if the C runtime of the
 * parent passed it. */
enum sbx_code sbx_os_write_fd(int fd, const char *bytes, size_t len,
                              struct sbx_err *err) SBX_MUST_USE;

/* Everything up to its end from an inherited descriptor, NUL-terminated; SBX_E_LIMIT when that is more. */
enum sbx_code sbx_os_read_fd(struct sbx_arena *arena, int fd, size_t max_bytes, struct sbx_str *out,
                             struct sbx_err *err) SBX_MUST_USE;

bool sbx_os_is_terminal(enum sbx_stream stream);

/* True when the terminal understands ANSI sequences (switched on where the console needs it). */
bool sbx_os_terminal_colours(enum sbx_stream stream);

/* ---- waiting for a connection, and for the caller's signals meanwhile ---- */

/* From here on signals that end or interrupt are caught; what the caller of sbx ignored stays ignored. One at a time. */
enum sbx_code sbx_os_watch_begin(struct sbx_err *err) SBX_MUST_USE;
void sbx_os_watch_end(void);

/* Waits until `pollable` (a descriptor, a handle on Windows) can be read, or with is_writing also written, or until there is input: NULL.
 * Or for a signal: its name without SIG ("INT"). */
const char *sbx_os_watch_wait(intptr_t pollable, bool is_writing);

/* Can the standard streams be passed to another process as they are? Else they are carried by sbx, and *out gets a piece of standard
 * input, none at its end; false: nothing has come yet. A piece lives until the next call. */
bool sbx_os_watch_passes(void);
bool sbx_os_watch_input(struct sbx_str *out);

/* ---- threads ---- */

/* Room for a pthread mutex or an SRWLOCK; zero is unlocked. */
struct sbx_os_mutex {
    void *storage[8];
};
void sbx_os_lock(struct sbx_os_mutex *mutex);
void sbx_os_unlock(struct sbx_os_mutex *mutex);

/* ---- a parent that attends ---- */

/* From now on this process ends, and its box with it, when its parent does. `fd` is the writing end of a pipe to it, or
 * -1. False: the parent is gone already. */
bool sbx_os_end_with_parent(int fd) SBX_MUST_USE;

/* The boxes of this process are in this network, which two inherited descriptors name. SBX_E_UNSUPPORTED where there is
 * no such thing. */
enum sbx_code sbx_os_share_network(int user_fd, int net_fd, struct sbx_err *err) SBX_MUST_USE;

/* ---- a plain child (backend `none`; nothing is boxed) ---- */

struct sbx_plain_run {
    const char *program;     /* a path, or a name looked for in search_path */
    const char *search_path; /* the caller's PATH; NULL: the system's default */
    const char *const *argv; /* ends with NULL */
    const char *const *env;  /* "NAME=VALUE", ends with NULL; exactly this is passed */
    const char *cwd;
    uint64_t timeout_ns;       /* 0: none */
    uint64_t max_output_bytes; /* per stream; 0: none, and then streams are passed untouched */
};

/* Runs it to its end: standard streams passed through, every other descriptor or handle kept from it,
 * INT TERM HUP QUIT WINCH TSTP CONT forwarded, two INTs end it, the whole tree ended at timeout, output
 * limit, or when sbx itself dies as far as the system allows. SBX_E_NOT_FOUND and SBX_E_DENIED: not found,
 * cannot be executed (nothing ran). *out is filled on success. */
enum sbx_code sbx_os_run_plain(const struct sbx_plain_run *run, struct sbx_outcome *out,
                               struct sbx_err *err) SBX_MUST_USE;

/* Where a command would be found, as sbx_os_run_plain does. */
enum sbx_code sbx_os_find_program(struct sbx_arena *arena, const char *program,
                                  const char *search_path, struct sbx_path *out,
                                  struct sbx_err *err) SBX_MUST_USE;

#endif
