/* Warm boxes for the service's worker: the pool, on libuv's loop. */
#include <stdlib.h>

#include "common/service/port.h"
#include "posix/linux_session.h"
#include "posix/pool.h"

#include "common/base/banned.h"

enum { BOXES_MAX = 64, SOON_MS = 1, REAP_MS = 20, LOOK_MS = 60000, FAILED_MS = 1000 };
#define IDLE_NS (UINT64_C(300) * 1000000000)

struct sbx_port_warm {
    uv_loop_t *loop;
    struct sbx_pool *pool;
};

struct sbx_port_box {
    uv_poll_t poll;
    struct sbx_pool_box *box;
    void (*on_end)(void *owner);
    void *owner;
};

struct sbx_port_warm *sbx_port_warm_open(uv_loop_t *loop, size_t boxes_per_plan)
{
    struct sbx_err ignored = {0};
    struct sbx_pool_config config = {
        .boxes = BOXES_MAX, .boxes_per_plan = boxes_per_plan, .idle_ns = IDLE_NS};
    struct sbx_port_warm *warm = (struct sbx_port_warm *)calloc(1, sizeof *warm);
    if (warm == NULL || sbx_pool_open(&config, &warm->pool, &ignored) != SBX_OK) {
        free(warm);
        return NULL;
    }
    warm->loop = loop;
    return warm;
}

void sbx_port_warm_close(struct sbx_port_warm *warm)
{
    if (warm != NULL) {
        sbx_pool_close(warm->pool);
        free(warm);
    }
}

bool sbx_port_warm_keep(struct sbx_port_warm *warm, const struct sbx_plan *plan)
{
    struct sbx_err ignored = {0};
    return sbx_pool_keep(warm->pool, plan, &ignored) == SBX_OK;
}

void sbx_port_warm_forget(struct sbx_port_warm *warm, const struct sbx_plan *plan)
{
    sbx_pool_forget(warm->pool, plan);
}

unsigned sbx_port_warm_tend(struct sbx_port_warm *warm)
{
    bool is_full = false;
    size_t ready = 0;
    size_t ending = 0;
    struct sbx_err ignored = {0};
    if (sbx_pool_refill(warm->pool, &is_full, &ignored) != SBX_OK) {
        return FAILED_MS; /* the machine may have changed; runs are cold meanwhile */
    }
    sbx_pool_count(warm->pool, &ready, &ending);
    if (!is_full) {
        return SOON_MS;
    }
    return ending > 0 ? REAP_MS : ready > 0 ? LOOK_MS : 0;
}

/* ---- one box -------------------------------------------------------------------------------------- */

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct sbx_port_box *box = (struct sbx_port_box *)poll->data;
    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    box->on_end(box->owner);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

enum sbx_code sbx_port_warm_start(struct sbx_port_warm *warm, const struct sbx_plan *plan,
                                  const struct sbx_port_command *command,
                                  void (*on_end)(void *owner), void *owner,
                                  struct sbx_port_box **out, struct sbx_err *err)
{
    struct sbx_pool_box *taken = NULL;
    struct sbx_pool_command words = {
        .argv = command->argv,
        .env = command->env,
        .directory = command->directory,
        .search_path = command->search_path,
        .fds = {command->fds[0], command->fds[1], command->fds[2]},
    };
    enum sbx_code code = sbx_pool_take(warm->pool, plan, &taken, err);
    if (code != SBX_OK || taken == NULL) {
        return code != SBX_OK ? code : sbx_err_set(err, SBX_E_UNAVAILABLE, "no box is ready");
    }
    struct sbx_port_box *box = (struct sbx_port_box *)calloc(1, sizeof *box);
    if (box == NULL) {
        sbx_pool_drop(taken);
        return sbx_err_nomem(err);
    }
    code = sbx_pool_start(taken, &words, err);
    if (code == SBX_OK && uv_poll_init(warm->loop, &box->poll, sbx_pool_fd(taken)) != 0) {
        code = sbx_err_set(err, SBX_E_IO, "cannot wait for the box");
    }
    if (code != SBX_OK) {
        sbx_pool_drop(taken);
        free(box);
        return code;
    }
    box->box = taken;
    box->on_end = on_end;
    box->owner = owner;
    box->poll.data = box;
    (void)uv_poll_start(&box->poll, UV_READABLE, on_ready);
    *out = box;
    return SBX_OK;
}

enum sbx_code sbx_port_box_wait(struct sbx_port_box *box, struct sbx_run_record *out,
                                struct sbx_err *err)
{
    return sbx_pool_wait(box->box, out, err);
}

void sbx_port_box_signal(struct sbx_port_box *box, int number)
{
    sbx_pool_signal(box->box, number, false);
}

void sbx_port_box_cancel(struct sbx_port_box *box)
{
    sbx_pool_cancel(box->box);
}

void sbx_port_box_evidence(const struct sbx_port_box *box, const struct sbx_evidence **out,
                           size_t *count)
{
    sbx_pool_evidence(box->box, out, count);
}

void sbx_port_box_drop(struct sbx_port_box *box)
{
    if (box != NULL) {
        (void)uv_poll_stop(&box->poll); /* before its descriptor is somebody else's */
        uv_close((uv_handle_t *)&box->poll, on_closed);
        sbx_pool_drop(box->box);
    }
}

/* ---- the network of a session --------------------------------------------------------------------- */

enum sbx_code sbx_port_network_open(uv_file *user, uv_file *net, struct sbx_err *err)
{
    const struct sbx_policy nobody = {0};
    struct sbx_account own;
    struct sbx_session_net session;
    enum sbx_code code = sbx_account_find(&nobody, &own, err);
    if (code == SBX_OK) {
        code = sbx_session_net_open(&own, &session, err);
    }
    if (code == SBX_OK) {
        *user = session.user_fd;
        *net = session.net_fd;
    }
    return code;
}
