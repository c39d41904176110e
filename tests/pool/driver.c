/* A pool for one manifest. */
#include "tests/pool/driver.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/run/load.h"
#include "common/cli/setup.h"

#include "common/base/banned.h"

bool driver_plan(struct driver *driver, const char *manifest, struct sbx_prepared *out,
                 struct sbx_err *err)
{
    static const char *const nothing[] = {NULL};
    struct sbx_loaded loaded;
    struct sbx_path real = {0};
    if (sbx_os_context(&driver->arena, &driver->context, err) != SBX_OK) return false;
    if (!sbx_load_ceiling(&driver->arena, &driver->findings, &driver->ceiling) ||
        !sbx_load_document(&driver->arena, manifest, manifest, &driver->findings, &loaded)) {
        (void)sbx_err_set(err, SBX_E_INVALID, "the manifest cannot be read");
        return false;
    }
    sbx_setup_project(&driver->arena, &driver->context, manifest, &real);
    struct sbx_prepare_input input = {
        .manifest = &loaded.document.sandbox,
        .context = &driver->context,
        .ceiling = &driver->ceiling,
        .request = "native",
        .command = nothing,
        .probes = &driver->probes,
    };
    if (sbx_prepare(&driver->arena, &input, &driver->findings, out, err) != SBX_OK) return false;
    if (out->selection.backend != SBX_BACKEND_NATIVE) {
        (void)sbx_err_set(err, SBX_E_UNAVAILABLE, "the backend native cannot be used here");
        return false;
    }
    return true;
}

bool driver_open(struct driver *driver, const char *manifest, const struct sbx_pool_config *config,
                 struct sbx_err *err)
{
    memset(driver, 0, sizeof *driver);
    sbx_arena_init(&driver->arena, 256u << 20);
    sbx_findings_init(&driver->findings, &driver->arena);
    sbx_probe_cache_init(&driver->probes);
    sbx_ceiling_init(&driver->ceiling);
    return driver_plan(driver, manifest, &driver->prepared, err) &&
           sbx_pool_open(config, &driver->pool, err) == SBX_OK &&
           sbx_pool_keep(driver->pool, &driver->prepared.plan, err) == SBX_OK;
}

void driver_close(struct driver *driver)
{
    sbx_pool_close(driver->pool);
    sbx_probe_cache_release(&driver->probes);
    sbx_arena_release(&driver->arena);
}

enum sbx_code driver_take(struct driver *driver, struct sbx_pool_box **out, struct sbx_err *err)
{
    bool is_full = false;
    enum sbx_code code = sbx_pool_take(driver->pool, &driver->prepared.plan, out, err);
    while (code == SBX_OK && *out == NULL) {
        code = sbx_pool_refill(driver->pool, &is_full, err);
        if (code == SBX_OK) code = sbx_pool_take(driver->pool, &driver->prepared.plan, out, err);
        if (*out == NULL && is_full) (void)poll(NULL, 0, 1); /* others are just ending */
    }
    return code;
}

void driver_refill(struct driver *driver, int fd)
{
    bool is_full = false;
    struct sbx_err err = {0};
    struct pollfd slot = {.fd = fd, .events = POLLIN};
    while (!is_full && poll(&slot, 1, 0) == 0)
        if (sbx_pool_refill(driver->pool, &is_full, &err) != SBX_OK) return;
}
