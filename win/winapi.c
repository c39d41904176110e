/* The table in use by the product. Alone in its file: a test program that brings its own sbx_win leaves
 * this one out. */
#include "win/winapi.h"

#include "common/base/banned.h"

static BOOL CALLBACK load(PINIT_ONCE once, PVOID table, PVOID *context)
{
    (void)once;
    (void)context;
    sbx_winapi_load(table);
    return TRUE;
}

const struct sbx_winapi *sbx_win(void)
{
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    static struct sbx_winapi real;
    (void)InitOnceExecuteOnce(&once, load, &real, NULL);
    return &real;
}
