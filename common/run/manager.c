/* The names of what the service of sbx can be in. */
#include "common/run/manager.h"

#include "common/base/banned.h"

const struct sbx_name sbx_manager_state_names[] = {
    {SBX_MANAGER_ABSENT, "absent"},     {SBX_MANAGER_STOPPED, "stopped"},
    {SBX_MANAGER_STARTING, "starting"}, {SBX_MANAGER_RUNNING, "running"},
    {SBX_MANAGER_STOPPING, "stopping"}, {0, NULL},
};
