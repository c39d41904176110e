/* A warm pool: boxes of the backend `native` that are built, confined and read back before their command is known, so
 * that a run costs little more than starting a program.
 *
 * A pooled box is the box of a cold run: the same plan, the same sbx-init, the same keeper, the same evidence. It differs
 * in when its command arrives. sbx-init has forked the process that becomes the command, and that process waits under
 * everything that confines it, on a socket whose other end only the owner of the pool has. One message brings
 * program, arguments, variables, directory and the three streams; the process takes them and executes. A box is used
 * once.
 *
 * Read back before a box is handed out, as in a cold run: namespaces, ids, mounts, every closed path, Landlock (by a
 * trial), the filters, capabilities, limits, group, relation and descriptors of sbx-init and the held process, and
 * that the held process has the one socket. Nothing has to be read again when it starts: both processes execute only
 * sbx-init, wait in the kernel since then, and have no input but the owner's socket and the keeper's orders, and no other
 * process is in the box. What arrives later is the caller's own, and the kernel hands it over whole: a message is
 * received all at once, and nobody can change it in between.
 *
 * Never handed out: a box whose plan, mount sources or protected names are others by now. What a box would be told now
 * is computed again and compared byte by byte with what the box was told, unless the kernel has reported no change in any
 * directory that is searched for names and every other path of the plan leads where it did (pool_watch.h). A source
 * cannot be replaced unseen, because the box's mounts keep its inode in use. Any change of the owner's mount table
 * ends all boxes. sbx-init and its filters are part of the owner's program and cannot change under it.
 *
 * What differs from a cold run: there is no pump, so no limit of output (such a plan is refused) and no tail of
 * standard error; a terminal is refused; streams must not need a rule of Landlock to be opened again through
 * /dev/stdout (pipes, sockets, the null device), and the command with its variables has at most 64 KiB: else it is run
 * cold. Signals have their default meaning and the file mode mask is the owner's
 * at the time of building. Refusals that the box saw are told as far as they have arrived.
 *
 * Every box ends with its owner, also with one that is killed: its keeper sees the end of a pipe, ends it and removes
 * its group. A pool belongs to one thread at a time. From the first one on a write to a closed pipe is an error in this
 * process and no signal; keepers are its children, and whoever reaps children that are not its own must leave them. */
#ifndef SBX_POSIX_POOL_H
#define SBX_POSIX_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/plan.h"
#include "common/run/record.h"

enum { SBX_POOL_BOXES_MAX = 256, SBX_POOL_PLANS_MAX = 64 };

struct sbx_pool_config {
    size_t boxes;          /* in total, those that just end included; 1 to SBX_POOL_BOXES_MAX */
    size_t boxes_per_plan; /* kept ready for one plan; at least 1 */
    uint64_t idle_ns; /* a plan that nobody took a box of for so long keeps none; 0: for ever */
};

struct sbx_pool;
struct sbx_pool_box;

enum sbx_code sbx_pool_open(const struct sbx_pool_config *config, struct sbx_pool **out,
                            struct sbx_err *err) SBX_MUST_USE;

/* Ends every box, also those that run, and waits until nothing of them is left. NULL is allowed. */
void sbx_pool_close(struct sbx_pool *pool);

/* From now on refill builds boxes of this plan, which must have no command. It and what it points to must stay until
 * sbx_pool_forget or sbx_pool_close, and until its taken boxes are dropped. A plan with the digest of one that is kept replaces it. SBX_E_UNSUPPORTED: it cannot be
 * pooled, run it cold; SBX_E_LIMIT: too many plans. */
enum sbx_code sbx_pool_keep(struct sbx_pool *pool, const struct sbx_plan *plan,
                            struct sbx_err *err) SBX_MUST_USE;

/* Ends the ready boxes of this plan and builds no others; those that are taken stay. */
void sbx_pool_forget(struct sbx_pool *pool, const struct sbx_plan *plan);

/* To be called when nothing else is to do, never while a command starts: it takes milliseconds. Reaps what has ended,
 * ends what is stale or idle, and builds at most one box. *is_full says that nothing is left to build. On failure no
 * box was built; the others stay. */
enum sbx_code sbx_pool_refill(struct sbx_pool *pool, bool *is_full,
                              struct sbx_err *err) SBX_MUST_USE;

/* How many boxes are ready, and how many are just ending and wait for sbx_pool_refill to be reaped. */
void sbx_pool_count(const struct sbx_pool *pool, size_t *ready, size_t *ending);

/* A verified box of the kept plan with this digest, now the caller's until sbx_pool_drop; NULL when none is ready: run
 * cold. Stale ones are ended here. */
enum sbx_code sbx_pool_take(struct sbx_pool *pool, const struct sbx_plan *plan,
                            struct sbx_pool_box **out, struct sbx_err *err) SBX_MUST_USE;

struct sbx_pool_command {
    const char *const *argv; /* ends with NULL; the program is looked for in search_path */
    const char *const
        *env; /* ends with NULL; NULL: what the plan says, as it was when the box was built */
    const char *directory;   /* NULL: the plan's */
    const char *search_path; /* where the program is looked for; NULL: the owner's PATH */
    int fds[3];              /* its streams; stay the caller's */
};

/* Sends the command; its time begins. Once for each box. SBX_E_UNSUPPORTED: not with these streams, or too large.
 * SBX_E_NOT_FOUND, SBX_E_DENIED: there is no such program. After these nothing was sent and the box can still be started;
 * after any other failure it can only be dropped. */
enum sbx_code sbx_pool_start(struct sbx_pool_box *box, const struct sbx_pool_command *command,
                             struct sbx_err *err) SBX_MUST_USE;

/* Readable when sbx_pool_wait would not wait long. Stays the box's. */
int sbx_pool_fd(const struct sbx_pool_box *box);

/* Waits for the end of the command; no process of it is left then, but the box itself is. The record lives as long as
 * the box. SBX_E_NOT_FOUND, SBX_E_DENIED and others: it could not be executed, as in a cold run. Once. */
enum sbx_code sbx_pool_wait(struct sbx_pool_box *box, struct sbx_run_record *out,
                            struct sbx_err *err) SBX_MUST_USE;

/* Sends a signal to the command, or its whole group. */
void sbx_pool_signal(struct sbx_pool_box *box, int number, bool to_group);

/* Ends the command and all it started, as a user who interrupts twice; sbx_pool_wait says how. */
void sbx_pool_cancel(struct sbx_pool_box *box);

/* Ends the box, whatever it does, without waiting for that. NULL is allowed. */
void sbx_pool_drop(struct sbx_pool_box *box);

/* What was read back when the box was built. Lives as long as the box. */
void sbx_pool_evidence(const struct sbx_pool_box *box, const struct sbx_evidence **out,
                       size_t *count);

#endif
