/* Fills the table of calls: linked ones from the import table, the others by name from System32. */
#include "win/winapi.h"

#include <stddef.h>

#include "common/base/buf.h"

#include "common/base/banned.h"

#define NEED_ALWAYS SBX_NEED_ALWAYS
#define NEED_BOX SBX_NEED_BOX
#define NEED_MAYBE SBX_NEED_MAYBE

const struct sbx_winapi_row sbx_winapi_rows[SBX_CALL_COUNT] = {
#define ROW(dll, need, tells, type, name, parameters, arguments)                                   \
    {#name, #dll ".dll", NEED_##need, SBX_TELLS_##tells, offsetof(struct sbx_winapi, name)},
    SBX_WINAPI_CALLS(ROW)
#undef ROW
};

/* The types written in the table against those of the system's headers. */
#define CHECK_ALWAYS(name)                                                                         \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&(name)),                               \
                                                __typeof__(((struct sbx_winapi *)0)->name)),       \
                   #name " is declared otherwise in the headers");
#define CHECK_BOX(name)
#define CHECK_MAYBE(name)
#define CHECK(dll, need, tells, type, name, parameters, arguments) CHECK_##need(name)
SBX_WINAPI_CALLS(CHECK)
#undef CHECK

/* A pointer to a function as that to another; only the table knows the type. */
static void put(struct sbx_winapi *table, const struct sbx_winapi_row *row, FARPROC address)
{
    *(FARPROC *)(void *)((char *)table + row->slot) = address;
}

static FARPROC get(const struct sbx_winapi *table, const struct sbx_winapi_row *row)
{
    return *(const FARPROC *)(const void *)((const char *)table + row->slot);
}

static FARPROC look_up(const struct sbx_winapi_row *row)
{
    HMODULE dll = LoadLibraryExA(row->dll, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    return dll == NULL ? NULL : GetProcAddress(dll, row->name);
}

void sbx_winapi_load(struct sbx_winapi *out)
{
    struct sbx_winapi table = {0};
#define LINK_ALWAYS(name) table.name = name;
#define LINK_BOX(name)
#define LINK_MAYBE(name)
#define LINK(dll, need, tells, type, name, parameters, arguments) LINK_##need(name)
    SBX_WINAPI_CALLS(LINK)
#undef LINK
    for (size_t i = 0; i < SBX_CALL_COUNT; i++) {
        if (sbx_winapi_rows[i].need != SBX_NEED_ALWAYS) {
            put(&table, &sbx_winapi_rows[i], look_up(&sbx_winapi_rows[i]));
        }
    }
    *out = table;
}

enum sbx_code sbx_winapi_check(const struct sbx_winapi *win, struct sbx_err *err)
{
    AUTO_BUF missing;
    sbx_buf_init(&missing, 4096);
    for (size_t i = 0; i < SBX_CALL_COUNT; i++) {
        const struct sbx_winapi_row *row = &sbx_winapi_rows[i];
        if (row->need == SBX_NEED_BOX && get(win, row) == NULL) {
            sbx_buf_printf(&missing, "%s%s (%s)", missing.len == 0 ? "" : ", ", row->name,
                           row->dll);
        }
    }
    if (missing.len == 0) {
        return SBX_OK;
    }
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "this Windows lacks %s", missing.data);
    return sbx_err_hint(err, "AppContainer boxes need Windows 10 1809 or newer");
}
