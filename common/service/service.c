/* The worker: what it has, and how it ends. */
#include "common/service/service.h"

#include <stdlib.h>

#include "common/service/internal.h"

#include "common/base/banned.h"

const struct sbx_service_limits sbx_service_defaults = {
    .connections = 1024,
    .runs = 1024,
    .runs_per_client = 256,
    .pending = 64,
    .sessions = 16,
    .warm = 4,
    .drain_ms = 10000,
};

enum sbx_code sbx_service_open(uv_loop_t *loop, const struct sbx_service_limits *limits,
                               void (*on_change)(void *state), void *state,
                               struct sbx_service **out, struct sbx_err *err)
{
    struct sbx_service *service = (struct sbx_service *)calloc(1, sizeof *service);
    if (service == NULL) return sbx_err_nomem(err);
    service->loop = loop;
    service->limits = *limits;
    service->on_change = on_change;
    service->state = state;
    sbx_arena_init(&service->arena, 1u << 20);
    enum sbx_code code = sbx_port_program(&service->arena, &service->program, err);
    if (code != SBX_OK) {
        sbx_arena_release(&service->arena);
        free(service);
        return code;
    }
    (void)uv_timer_init(loop, &service->drain);
    service->drain.data = service;
    service->open_handles = 1;
    if (limits->warm > 0) service->plans = sbx_plans_new(service);
    *out = service;
    return SBX_OK;
}

void sbx_service_changed(struct sbx_service *service)
{
    if (service->client_count == 0 || sbx_service_is_over(service))
        service->on_change(service->state);
}

size_t sbx_service_connections(const struct sbx_service *service)
{
    return service->client_count;
}

size_t sbx_service_runs(const struct sbx_service *service)
{
    return service->run_count;
}

bool sbx_service_is_over(const struct sbx_service *service)
{
    return service->is_draining && service->run_count == 0;
}

static void end_runs(struct sbx_service *service)
{
    for (struct sbx_conn *client = service->clients; client != NULL; client = client->next)
        for (struct sbx_run_job *run = client->runs; run != NULL; run = run->next) sbx_run_end(run);
}

static void on_drained(uv_timer_t *timer)
{
    end_runs((struct sbx_service *)timer->data);
}

void sbx_service_drain(struct sbx_service *service)
{
    bool was_draining = service->is_draining;
    service->is_draining = true;
    if (was_draining)
        end_runs(service);
    else
        (void)uv_timer_start(&service->drain, on_drained, service->limits.drain_ms, 0);
    sbx_service_changed(service);
}

static void on_closed(uv_handle_t *handle)
{
    ((struct sbx_service *)handle->data)->open_handles--;
}

void sbx_service_close(struct sbx_service *service)
{
    if (service == NULL || service->is_closed) return;
    service->is_closed = true;
    service->is_draining = true;
    for (struct sbx_conn *client = service->clients; client != NULL;) {
        struct sbx_conn *next = client->next;
        sbx_conn_close(client, false);
        client = next;
    }
    sbx_plans_close(service->plans);
    uv_close((uv_handle_t *)&service->drain, on_closed);
}

void sbx_service_free(struct sbx_service *service)
{
    if (service == NULL) return;
    sbx_plans_free(service->plans);
    sbx_arena_release(&service->arena);
    free(service);
}
