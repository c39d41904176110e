/* The service as systemd or launchd keep it: whether somebody listens is told, changes are theirs. */
#include "common/run/manager.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/os.h"
#include "posix/fd.h"

#include "common/base/banned.h"

#ifdef __APPLE__
static const char changes[] = "use launchctl: \"launchctl kickstart gui/$(id -u)/org.sbx.sbxd\"";
#else
static const char changes[] =
    "use systemd: \"systemctl --user enable --now sbxd.socket\"; for all users, without --user";
#endif

/* Connecting says nothing to the service and waits for nobody. */
static bool somebody_listens(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len >= sizeof address.sun_path) return false;
    memcpy(address.sun_path, path, len + 1);
    AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
}

/* The places where clients look, in their order; NULL where there is none. */
static const char *place_at(struct sbx_arena *arena, size_t index)
{
    const char *named = sbx_os_env(arena, "SBX_SOCKET");
    const char *runtime = sbx_os_env(arena, "XDG_RUNTIME_DIR");
    if (index == 0) return named;
    if (index == 1)
        return runtime == NULL ? NULL : sbx_arena_printf(arena, "%s/sbx/sbx.sock", runtime);
    return "/run/sbx/sbx.sock";
}

enum sbx_code sbx_manager_status(struct sbx_arena *arena, struct sbx_manager_report *out,
                                 struct sbx_err *err)
{
    (void)err;
    struct sbx_manager_report report = {.state = SBX_MANAGER_ABSENT};
    for (size_t i = 0; i < 3 && report.state == SBX_MANAGER_ABSENT; i++) {
        const char *place = place_at(arena, i);
        if (place == NULL) continue;
        if (report.endpoint == NULL) report.endpoint = place;
        if (somebody_listens(place)) {
            report.endpoint = place;
            report.state = SBX_MANAGER_RUNNING;
        }
    }
    if (report.state == SBX_MANAGER_ABSENT)
        report.remarks[report.remark_count++] = "nobody listens there; sbx run needs no service";
    *out = report;
    return SBX_OK;
}

static enum sbx_code refuse(struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "the system's own manager keeps the service here");
    return sbx_err_hint(err, "%s", changes);
}

enum sbx_code sbx_manager_change(struct sbx_arena *arena, enum sbx_manager_verb verb,
                                 struct sbx_manager_report *out, struct sbx_err *err)
{
    (void)arena;
    (void)verb;
    (void)out;
    return refuse(err);
}

enum sbx_code sbx_manager_run(struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "the service is a program of its own here");
    return sbx_err_hint(err, "sbxd is started by systemd or launchd, or by hand");
}
