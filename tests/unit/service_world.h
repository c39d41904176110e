/* A service control manager and a registry behind the table of calls, small and strict, in which any call can be made to
 * fail. It answers as Windows is documented to; the rest of the table is the real one. */
#ifndef SBX_TESTS_SERVICE_WORLD_H
#define SBX_TESTS_SERVICE_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "win/winapi.h"

struct service_world {
    bool is_installed;
    bool is_marked; /* deleted while somebody has it open */
    DWORD state;
    unsigned settings; /* bits: 1 << SERVICE_CONFIG_… */
    bool is_protected;
    bool is_delayed;
    bool has_source;
    unsigned source_values;
    bool has_mark; /* the volatile key of a running service */
    unsigned open; /* handles and keys */
    wchar_t image[512];
    wchar_t privileges[256];
    DWORD access;           /* of the last OpenSCManagerW: */
    bool is_user;           /* … who is no administrator */
    DWORD unknown_level;    /* a setting that this Windows does not know; 0: none */
    unsigned polls_to_stop; /* queries until a service that was told to stop has stopped */
    bool never_stops;
    DWORD exit_code; /* a started service ends with it; 0: it runs */
    ULONGLONG now_ms;
};
extern struct service_world service_world;

/* A machine without the service. */
void service_world_reset(void);

/* The n-th call from now on fails with this code. 0: none does. */
void service_world_fail(unsigned n, DWORD code);
const char *service_world_failed(void); /* which one did; NULL */

#endif
