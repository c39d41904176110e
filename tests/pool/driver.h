/* The driver of a warm pool: for tests and for the benchmark. */
#ifndef SBX_TESTS_POOL_DRIVER_H
#define SBX_TESTS_POOL_DRIVER_H

#include "common/run/run.h"
#include "common/cli/output.h"
#include "posix/pool.h"

/* A plan without a command from a manifest, and a pool that keeps it. */
struct driver {
    struct sbx_arena arena;
    struct sbx_findings findings;
    struct sbx_probe_cache probes;
    struct sbx_context context;
    struct sbx_ceiling ceiling;
    struct sbx_prepared prepared;
    struct sbx_pool *pool;
};

/* False after it has said why. driver_close in any case. */
bool driver_open(struct driver *driver, const char *manifest, const struct sbx_pool_config *config,
                 struct sbx_err *err);
void driver_close(struct driver *driver);

/* The plan of the manifest as it is now, for a pool that is open; the old one stays. */
bool driver_plan(struct driver *driver, const char *manifest, struct sbx_prepared *out,
                 struct sbx_err *err);

/* A box, built now when none is ready. */
enum sbx_code driver_take(struct driver *driver, struct sbx_pool_box **out, struct sbx_err *err);

/* Refills until nothing is left to build or `fd` has something to read. */
void driver_refill(struct driver *driver, int fd);

/* serve.c */
int serve_main(struct driver *driver, const char *socket_path);

#endif
