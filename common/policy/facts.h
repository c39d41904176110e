/* What probing told about this machine. Selection and plans are pure functions of it. */
#ifndef SBX_POLICY_FACTS_H
#define SBX_POLICY_FACTS_H

#include <stdbool.h>

#include "common/base/attr.h"
#include "common/base/names.h"
#include "common/policy/platform.h"

enum sbx_backend_id {
    SBX_BACKEND_NATIVE,
    SBX_BACKEND_BWRAP,
    SBX_BACKEND_LANDLOCK,
    SBX_BACKEND_APPCONTAINER,
    SBX_BACKEND_SEATBELT,
    SBX_BACKEND_DOCKER,
    SBX_BACKEND_EXTERNAL,
    SBX_BACKEND_NONE,
    SBX_BACKEND_FAIL_CLOSED,
    SBX_BACKEND_COUNT
};
extern const struct sbx_name sbx_backend_names[];

enum sbx_probe_state {
    SBX_PROBE_UNTRIED,   /* selection may ask for it */
    SBX_PROBE_NOT_BUILT, /* this sbx was built without it */
    SBX_PROBE_PASSED,
    SBX_PROBE_FAILED,
};

/* One backend's answer. The texts live as long as the facts. */
struct sbx_probe {
    enum sbx_probe_state state;
    const char *version; /* "bubblewrap 0.8.0", or NULL */
    const char *reason;  /* why it failed or is not built; NULL when it passed */
    const char *note;    /* what to know about one that passed; NULL: nothing */
    const char *remedy;  /* what to do about reason or note; NULL when nothing can be done */
};

enum sbx_cgroup_version { SBX_CGROUP_NONE, SBX_CGROUP_V1, SBX_CGROUP_V2 };

struct sbx_facts {
    enum sbx_platform platform;
    bool is_assumed; /* describes a machine of another platform whose probes all passed */
    bool is_root;
    unsigned landlock_abi; /* 0: not available */
    bool has_seccomp;
    bool
        is_filtered; /* a filter of system calls is on sbx itself: a container's, or another sandbox's */
    /* A setting of this machine that keeps the caller from making user namespaces, and how to change it; NULL:
     * none is known. */
    const char *userns_obstacle, *userns_remedy;
    enum sbx_cgroup_version cgroup; /* one in which sbx can make its own group */
    bool has_egress;                /* the egress gate is built in and can be started */
    bool has_service;               /* the service answers */
    const char *kernel;             /* "Linux 6.18.44", "Windows 10.0.22631" … */
    struct sbx_probe probe[SBX_BACKEND_COUNT];
};

/* Facts as on a current, fully able machine of that platform, for `explain --platform`. */
void sbx_facts_assume(enum sbx_platform platform, struct sbx_facts *out);

#endif
