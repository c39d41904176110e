/* The worker of the service: clients on one side, boxes on the other, one loop of libuv in between. It works for one user, its
 * own: whoever hands it a connection has made sure that the other end is that user's (posix/sbxd_*.c, win/launcher*.c).
 *
 * Bounded: connections, runs, requests and sessions have limits; what waits for a client that does not read stops the
 * pipes of that client's boxes and no others. Nothing here is written to disk. When the worker ends, in whatever way, so
 * do the boxes. */
#ifndef SBX_SERVICE_SERVICE_H
#define SBX_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/base/err.h"
#include "common/base/str.h"

struct sbx_service_limits {
    size_t connections;
    size_t runs, runs_per_client; /* that have not ended */
    size_t pending;               /* unanswered requests of a client */
    size_t sessions;              /* of a client */
    size_t warm;                  /* boxes kept ready for a plan; 0: none */
    uint64_t drain_ms;            /* what running commands get when the service has to end */
};
extern const struct sbx_service_limits sbx_service_defaults;

struct sbx_service;

/* `on_change` is told when the last connection has gone, and when all has ended after sbx_service_drain. */
enum sbx_code sbx_service_open(uv_loop_t *loop, const struct sbx_service_limits *limits,
                               void (*on_change)(void *state), void *state,
                               struct sbx_service **out, struct sbx_err *err) SBX_MUST_USE;

/* A connected stream, which is the service's from now on, also when this fails: one descriptor for both directions, or
 * two. `first` are bytes that were read already. */
enum sbx_code sbx_service_take(struct sbx_service *service, uv_file in, uv_file out,
                               struct sbx_str first, struct sbx_err *err) SBX_MUST_USE;

/* Neither connections nor runs are taken any more; what runs has time to end, then it is ended. A second call ends it at
 * once. */
void sbx_service_drain(struct sbx_service *service);

size_t sbx_service_connections(const struct sbx_service *service);
size_t sbx_service_runs(const struct sbx_service *service);
/* It was drained, and nothing is left. */
bool sbx_service_is_over(const struct sbx_service *service);

/* Ends everything at once; the loop must run on until it has nothing to do. NULL is allowed. */
void sbx_service_close(struct sbx_service *service);
/* After that. */
void sbx_service_free(struct sbx_service *service);

#endif
