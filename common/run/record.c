/* Names of what a run tried. */
#include "common/run/record.h"

#include "common/base/banned.h"

const struct sbx_name sbx_operation_names[] = {
    {SBX_TRIED_READ, "read"},       {SBX_TRIED_WRITE, "write"},     {SBX_TRIED_CREATE, "create"},
    {SBX_TRIED_REMOVE, "remove"},   {SBX_TRIED_RENAME, "rename"},   {SBX_TRIED_LINK, "link"},
    {SBX_TRIED_MODE, "mode"},       {SBX_TRIED_EXECUTE, "execute"}, {SBX_TRIED_RESOLVE, "resolve"},
    {SBX_TRIED_CONNECT, "connect"}, {SBX_TRIED_CALL, "call"},       {0, NULL}};

static sbx_on_start *told;
static void *told_state;

void sbx_run_on_start(sbx_on_start *tell, void *state)
{
    told = tell;
    told_state = state;
}

void sbx_run_starts(const struct sbx_evidence *evidence, size_t count)
{
    sbx_on_start *tell = told;
    told = NULL;
    if (tell != NULL) tell(told_state, evidence, count);
}
