/* The slots of a warm pool: which plans are kept, which boxes are ready, which have to go. */
#include "posix/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_memory.h"
#include "posix/pool_internal.h"
#include "posix/signals.h"

#include "common/base/banned.h"

/* ---- opening and closing ------------------------------------------------------------------------- */

static void free_pool(struct sbx_pool *pool)
{
    if (pool != NULL) {
        sbx_fd_close(&pool->null_fd);
        sbx_fd_close(&pool->mounts_fd);
        for (size_t i = 0; i < SBX_POOL_PLANS_MAX; i++) {
            sbx_pool_watch_release(&pool->kept[i].watch);
        }
        sbx_init_block_release(&pool->block);
        free(pool->look);
        free(pool->box);
        free(pool);
    }
}

enum sbx_code sbx_pool_open(const struct sbx_pool_config *config, struct sbx_pool **out,
                            struct sbx_err *err)
{
    if (config->boxes == 0 || config->boxes > SBX_POOL_BOXES_MAX || config->boxes_per_plan == 0) {
        return sbx_err_set(err, SBX_E_INVALID, "a pool has 1 to %d boxes", SBX_POOL_BOXES_MAX);
    }
    struct sbx_pool *pool = (struct sbx_pool *)calloc(1, sizeof *pool);
    if (pool == NULL) {
        return sbx_err_nomem(err);
    }
    pool->config = *config;
    for (size_t i = 0; i < SBX_POOL_PLANS_MAX; i++) {
        sbx_pool_watch_init(&pool->kept[i].watch);
    }
    sbx_init_block_init(&pool->block);
    pool->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    pool->mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    int raw = errno;
    pool->look = (struct sbx_launch *)calloc(1, sizeof *pool->look);
    pool->box = (struct sbx_pool_box *)calloc(config->boxes, sizeof *pool->box);
    if (pool->null_fd < 0 || fstat(pool->null_fd, &pool->null) != 0 || pool->mounts_fd < 0 ||
        pool->look == NULL || pool->box == NULL) {
        bool has_files = pool->null_fd >= 0 && pool->mounts_fd >= 0;
        free_pool(pool);
        return has_files ? sbx_err_nomem(err)
                         : sbx_err_errno(err, raw, "open", "cannot open what a pool needs");
    }
    for (size_t i = 0; i < config->boxes; i++) {
        pool->box[i].pool = pool;
    }
    sbx_signals_ignore_pipe();
    *out = pool;
    return SBX_OK;
}

void sbx_pool_close(struct sbx_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    for (size_t i = 0; i < pool->config.boxes; i++) {
        if (pool->box[i].state != SBX_POOL_FREE) {
            sbx_pool_drop(&pool->box[i]);
        }
    }
    for (size_t i = 0; i < pool->config.boxes; i++) {
        struct sbx_pool_box *box = &pool->box[i];
        while (box->keeper > 0 && waitpid(box->keeper, NULL, 0) < 0 && errno == EINTR) {
        }
        sbx_pool_clear(box);
    }
    free_pool(pool);
}

/* ---- plans --------------------------------------------------------------------------------------- */

static enum sbx_code check_plan(const struct sbx_plan *plan, struct sbx_err *err)
{
    const char *why = NULL;
    if (plan->backend != SBX_BACKEND_NATIVE) {
        why = "only boxes of the backend native can wait";
    } else if (plan->wants_terminal) {
        why = "a terminal belongs to one run";
    } else if (plan->policy->limits.output_bytes != 0) {
        why = "nobody would count its output";
    } else if (plan->command[0] != NULL) {
        why = "it has a command already";
    }
    return why == NULL ? SBX_OK
                       : sbx_err_set(err, SBX_E_UNSUPPORTED, "the plan cannot be pooled: %s", why);
}

/* Mostly it is the very plan; a digest costs more than all the rest of taking a box. */
static struct sbx_pool_kept *find_kept(struct sbx_pool *pool, const struct sbx_plan *plan)
{
    char digest[SBX_SHA256_HEX];
    for (size_t i = 0; i < SBX_POOL_PLANS_MAX; i++) {
        if (pool->kept[i].plan == plan) {
            return &pool->kept[i];
        }
    }
    bool has_digest = sbx_plan_digest(plan, digest);
    for (size_t i = 0; i < SBX_POOL_PLANS_MAX && has_digest; i++) {
        struct sbx_pool_kept *kept = &pool->kept[i];
        if (kept->plan != NULL && strcmp(kept->digest, digest) == 0) {
            return kept;
        }
    }
    return NULL;
}

enum sbx_code sbx_pool_keep(struct sbx_pool *pool, const struct sbx_plan *plan, struct sbx_err *err)
{
    enum sbx_code code = check_plan(plan, err);
    if (code != SBX_OK) {
        return code;
    }
    struct sbx_pool_kept *kept = find_kept(pool, plan);
    if (kept != NULL && kept->plan != plan) {
        sbx_pool_forget(pool, kept->plan);
    }
    for (size_t i = 0; i < SBX_POOL_PLANS_MAX && kept == NULL; i++) {
        kept = pool->kept[i].plan == NULL ? &pool->kept[i] : NULL;
    }
    if (kept == NULL) {
        return sbx_err_set(err, SBX_E_LIMIT, "a pool keeps at most %d plans", SBX_POOL_PLANS_MAX);
    }
    if (!sbx_plan_digest(plan, kept->digest)) {
        return sbx_err_nomem(err);
    }
    kept->plan = plan;
    kept->used_ns = sbx_os_monotonic_ns();
    return SBX_OK;
}

static void drop_ready_of(struct sbx_pool *pool, const struct sbx_plan *plan)
{
    for (size_t i = 0; i < pool->config.boxes; i++) {
        struct sbx_pool_box *box = &pool->box[i];
        if (box->state == SBX_POOL_READY && box->plan == plan) {
            sbx_pool_drop(box);
        }
    }
}

void sbx_pool_forget(struct sbx_pool *pool, const struct sbx_plan *plan)
{
    struct sbx_pool_kept *kept = find_kept(pool, plan);
    if (kept != NULL) {
        drop_ready_of(pool, kept->plan);
        sbx_pool_watch_release(&kept->watch);
        uint64_t epoch = kept->watch.epoch;
        sbx_pool_watch_init(&kept->watch);
        kept->watch.epoch = epoch;
        kept->plan = NULL;
    }
}

/* ---- what has to go ------------------------------------------------------------------------------ */

/* The kernel tells a change once to each reader of the table. */
static void look_at_mounts(struct sbx_pool *pool)
{
    struct pollfd slot = {.fd = pool->mounts_fd, .events = POLLPRI};
    if (poll(&slot, 1, 0) != 0) {
        pool->generation++;
    }
}

/* Whatever it says before it has a command is its end. */
static bool is_alive(const struct sbx_pool_box *box)
{
    struct pollfd slots[] = {{.fd = box->report_fd, .events = POLLIN},
                             {.fd = box->result_fd, .events = POLLIN},
                             {.fd = box->command_fd, .events = POLLIN}};
    return poll(slots, SBX_COUNT(slots), 0) == 0;
}

/* Whether a box built now would be the same. */
static bool is_fresh(struct sbx_pool_kept *kept, struct sbx_pool_box *box)
{
    bool holds = sbx_pool_watch_holds(&kept->watch);
    uint64_t epoch = kept->watch.epoch;
    if (holds && box->epoch == epoch) {
        return true;
    }
    bool is_same = sbx_pool_is_same(box);
    box->epoch = is_same ? epoch : box->epoch;
    return is_same;
}

static void drop_dead(struct sbx_pool *pool)
{
    for (size_t i = 0; i < pool->config.boxes; i++) {
        struct sbx_pool_box *box = &pool->box[i];
        if (box->state == SBX_POOL_READY &&
            (box->generation != pool->generation || !is_alive(box))) {
            sbx_pool_drop(box);
        }
        if (box->state == SBX_POOL_ENDING &&
            (box->keeper <= 0 || waitpid(box->keeper, NULL, WNOHANG) != 0)) {
            sbx_pool_clear(box);
        }
    }
}

/* ---- taking and refilling ------------------------------------------------------------------------ */

enum sbx_code sbx_pool_take(struct sbx_pool *pool, const struct sbx_plan *plan,
                            struct sbx_pool_box **out, struct sbx_err *err)
{
    struct sbx_pool_kept *kept = find_kept(pool, plan);
    if (kept == NULL) {
        return sbx_err_set(err, SBX_E_INVALID, "the plan is not kept in the pool");
    }
    kept->used_ns = sbx_os_monotonic_ns();
    look_at_mounts(pool);
    *out = NULL;
    for (size_t i = 0; i < pool->config.boxes && *out == NULL; i++) {
        struct sbx_pool_box *box = &pool->box[i];
        if (box->state != SBX_POOL_READY || box->plan != kept->plan) {
            continue;
        }
        if (box->generation == pool->generation && is_alive(box) && is_fresh(kept, box)) {
            box->state = SBX_POOL_TAKEN;
            *out = box;
        } else {
            sbx_pool_drop(box);
        }
    }
    return SBX_OK;
}

/* So that the next to take one need not. */
static void compare_ready(struct sbx_pool *pool, struct sbx_pool_kept *kept)
{
    if (!sbx_pool_watch_holds(&kept->watch) && !kept->watch.is_hopeless) {
        sbx_pool_watch_begin(&kept->watch, kept->plan->policy);
    }
    for (size_t i = 0; i < pool->config.boxes; i++) {
        struct sbx_pool_box *box = &pool->box[i];
        if (box->state == SBX_POOL_READY && box->plan == kept->plan && !kept->watch.is_hopeless &&
            !is_fresh(kept, box)) {
            sbx_pool_drop(box);
        }
    }
}

static size_t count_ready(const struct sbx_pool *pool, const struct sbx_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->config.boxes; i++) {
        count += pool->box[i].state == SBX_POOL_READY && pool->box[i].plan == plan;
    }
    return count;
}

static bool is_idle(const struct sbx_pool *pool, const struct sbx_pool_kept *kept)
{
    return pool->config.idle_ns != 0 &&
           sbx_os_monotonic_ns() - kept->used_ns >= pool->config.idle_ns;
}

/* The plan with the fewest boxes ready, of those that lack one; NULL: all is full. */
static struct sbx_pool_kept *neediest(struct sbx_pool *pool)
{
    struct sbx_pool_kept *neediest = NULL;
    size_t fewest = pool->config.boxes_per_plan;
    for (size_t i = 0; i < SBX_POOL_PLANS_MAX; i++) {
        struct sbx_pool_kept *kept = &pool->kept[i];
        if (kept->plan == NULL) {
            continue;
        }
        if (is_idle(pool, kept)) {
            drop_ready_of(pool, kept->plan);
            continue;
        }
        compare_ready(pool, kept);
        if (count_ready(pool, kept->plan) < fewest) {
            fewest = count_ready(pool, kept->plan);
            neediest = kept;
        }
    }
    return neediest;
}

/* Memory that a fork has made shared is copied at the first write: now, and not when somebody waits. */
static void rehearse(struct sbx_pool *pool)
{
    bool is_new = false;
    for (size_t i = 0; i < pool->config.boxes; i++) {
        struct sbx_pool_box *box = &pool->box[i];
        if (box->state == SBX_POOL_READY && !box->is_rehearsed) {
            sbx_pool_rehearse(box);
            box->is_rehearsed = is_new = true;
        }
    }
    if (is_new) {
        sbx_memory_claim();
    }
}

enum sbx_code sbx_pool_refill(struct sbx_pool *pool, bool *is_full, struct sbx_err *err)
{
    look_at_mounts(pool);
    drop_dead(pool);
    const struct sbx_pool_kept *kept = neediest(pool);
    struct sbx_pool_box *box = NULL;
    for (size_t i = 0; i < pool->config.boxes && box == NULL; i++) {
        box = pool->box[i].state == SBX_POOL_FREE ? &pool->box[i] : NULL;
    }
    *is_full = kept == NULL || box == NULL;
    if (*is_full) {
        rehearse(pool);
        return SBX_OK;
    }
    uint64_t epoch = kept->watch.epoch; /* complete, and taken in just now */
    enum sbx_code code = sbx_pool_build(box, kept->plan, err);
    if (code == SBX_OK) {
        box->state = SBX_POOL_READY;
        box->epoch = epoch;
    }
    return code;
}

void sbx_pool_count(const struct sbx_pool *pool, size_t *ready, size_t *ending)
{
    *ready = *ending = 0;
    for (size_t i = 0; i < pool->config.boxes; i++) {
        *ready += pool->box[i].state == SBX_POOL_READY;
        *ending += pool->box[i].state == SBX_POOL_ENDING;
    }
}

/* ---- one box ------------------------------------------------------------------------------------- */

void sbx_pool_drop(struct sbx_pool_box *box)
{
    if (box == NULL || box->state == SBX_POOL_FREE) {
        return;
    }
    sbx_fd_close(&box->control_fd); /* its keeper ends it now */
    sbx_fd_close(&box->command_fd);
    sbx_fd_close(&box->result_fd);
    sbx_fd_close(&box->timer_fd);
    sbx_fd_close(&box->report_fd);
    box->state = SBX_POOL_ENDING;
}

void sbx_pool_clear(struct sbx_pool_box *box)
{
    if (box->state == SBX_POOL_FREE) {
        return;
    }
    sbx_pool_drop(box);
    if (box->launch != NULL) {
        sbx_launch_close(box->launch); /* a killed keeper has left the group */
        free(box->launch);
    }
    sbx_buf_release(&box->told);
    sbx_arena_release(&box->arena);
    *box = (struct sbx_pool_box){.pool = box->pool};
}

void sbx_pool_evidence(const struct sbx_pool_box *box, const struct sbx_evidence **out,
                       size_t *count)
{
    *out = box->launch->evidence.items;
    *count = box->launch->evidence.count;
}
