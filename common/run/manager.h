/* The service of sbx as the system manages it: installed, started, stopped, looked at. One implementation per build. On
 * Windows sbx installs itself with the service control manager. On other systems a package brings the units of systemd or
 * launchd, which have commands of their own: there only the state is told, and every change is SBX_E_UNSUPPORTED with
 * the command to use in the hint. */
#ifndef SBX_RUN_MANAGER_H
#define SBX_RUN_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/names.h"

enum sbx_manager_state {
    SBX_MANAGER_ABSENT, /* not installed; elsewhere than on Windows: nobody listens */
    SBX_MANAGER_STOPPED,
    SBX_MANAGER_STARTING,
    SBX_MANAGER_RUNNING,
    SBX_MANAGER_STOPPING,
};
extern const struct sbx_name sbx_manager_state_names[]; /* "absent", "stopped", … */

#define SBX_MANAGER_REMARKS 8

/* Texts are static or in the arena. */
struct sbx_manager_report {
    enum sbx_manager_state state;
    uint32_t pid;         /* 0: none, or not known */
    const char *endpoint; /* where clients connect: a pipe or a socket; NULL: nowhere */
    const char *program;  /* what the system starts; NULL: not known */
    const char *start;    /* when: "automatic (delayed)", "on demand", …; NULL: not known */
    bool has_events;      /* Windows: the source of the event log is registered */
    const char *remarks[SBX_MANAGER_REMARKS]; /* what a person should know */
    size_t remark_count;
};

enum sbx_manager_verb {
    SBX_MANAGER_INSTALL,   /* all or nothing; SBX_E_INVALID when it is there already */
    SBX_MANAGER_UNINSTALL, /* stops it first; nothing to remove is a success with a remark */
    SBX_MANAGER_START,     /* returns when it runs, or says why not */
    SBX_MANAGER_STOP,      /* returns when it is gone */
};

/* Changes nothing, and needs no rights beyond a user's. */
enum sbx_code sbx_manager_status(struct sbx_arena *arena, struct sbx_manager_report *out,
                                 struct sbx_err *err) SBX_MUST_USE;

/* What was done is in *out: the state afterwards, and remarks. */
enum sbx_code sbx_manager_change(struct sbx_arena *arena, enum sbx_manager_verb verb,
                                 struct sbx_manager_report *out, struct sbx_err *err) SBX_MUST_USE;

/* The service itself, as the system starts it; returns when it has been stopped. Called by anybody else it is
 * SBX_E_INVALID. */
enum sbx_code sbx_manager_run(struct sbx_err *err) SBX_MUST_USE;

#endif
