/* Ways to start a box that the machine may or may not take: the table, and which one is remembered. */
#include "win/recipe.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"
#include "win/handle.h"
#include "win/wide.h"

#include "common/base/banned.h"

enum { MEMORY_MAX_BYTES = 256 };

const struct sbx_recipe sbx_recipes[] = {
    {SBX_RUNG_NO_USERS, true},
    {SBX_RUNG_NO_ADMINS, true},
    {SBX_RUNG_NO_ADMINS, false},
};
const size_t sbx_recipe_count = SBX_COUNT(sbx_recipes);

const char *sbx_recipe_text(struct sbx_recipe recipe)
{
    static const char *const texts[SBX_RUNG_COUNT][2] = {
        [SBX_RUNG_NO_USERS] = {"token users-denied, hidden console",
                               "token users-denied, own pseudo console"},
        [SBX_RUNG_NO_ADMINS] = {"token administrators-denied, hidden console",
                                "token administrators-denied, own pseudo console"},
    };
    return texts[recipe.rung][recipe.has_console ? 1 : 0];
}

/* ---- on disk --------------------------------------------------------------------------------- */

/* One line that only fits this build of Windows and of sbx. It chooses between recipes that all hold, so a
 * wrong one can break a start, never a wall. */
static bool line_of(size_t index, char *out, size_t size)
{
    RTL_OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    if (sbx_win()->RtlGetVersion(&version) != 0) {
        return false;
    }
    sbx_text_format(out, size, "sbx-recipe 1 %s %lu.%lu.%lu %s\n", SBX_VERSION,
                    version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber,
                    sbx_recipe_text(sbx_recipes[index]));
    return true;
}

static wchar_t *file_of(struct sbx_arena *arena, const struct sbx_context *context)
{
    wchar_t *wide = NULL;
    const char *path = sbx_arena_printf(arena, "%s\\appcontainer.recipe", context->state_dir.text);
    return path != NULL && sbx_wide_path(arena, path, &wide, NULL) == SBX_OK ? wide : NULL;
}

static bool read_line(struct sbx_arena *arena, const struct sbx_context *context, char *out,
                      DWORD size)
{
    wchar_t *file = file_of(arena, context);
    AUTO_HANDLE handle = NULL;
    DWORD got = 0;
    if (file != NULL) {
        handle = sbx_win()->CreateFileW(file, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                        NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    }
    bool is_read =
        sbx_handle_is_open(handle) && sbx_win()->ReadFile(handle, out, size - 1, &got, NULL);
    out[is_read ? got : 0] = '\0';
    return is_read;
}

static void write_line(struct sbx_arena *arena, const struct sbx_context *context, size_t index)
{
    char line[MEMORY_MAX_BYTES];
    wchar_t *file = file_of(arena, context);
    AUTO_HANDLE handle = NULL;
    DWORD put;
    if (file == NULL || !line_of(index, line, sizeof line)) {
        return;
    }
    handle = sbx_win()->CreateFileW(file, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                                    FILE_ATTRIBUTE_NORMAL, NULL);
    if (sbx_handle_is_open(handle)) {
        (void)sbx_win()->WriteFile(handle, line, (DWORD)strlen(line), &put, NULL);
    }
}

/* ---- remembering ----------------------------------------------------------------------------- */

/* 1 + index of the one that passed in this process. */
static atomic_size_t passed;

void sbx_recipe_remember(struct sbx_arena *arena, const struct sbx_context *context, size_t index)
{
    atomic_store(&passed, index + 1);
    write_line(arena, context, index);
}

bool sbx_recipe_known(struct sbx_arena *arena, const struct sbx_context *context,
                      struct sbx_recipe *out)
{
    size_t index = atomic_load(&passed);
    char line[MEMORY_MAX_BYTES];
    char wanted[MEMORY_MAX_BYTES];
    if (index == 0 && read_line(arena, context, line, sizeof line)) {
        for (size_t i = 0; i < sbx_recipe_count && index == 0; i++) {
            index = line_of(i, wanted, sizeof wanted) && strcmp(line, wanted) == 0 ? i + 1 : 0;
        }
    }
    if (index == 0) {
        return false;
    }
    *out = sbx_recipes[index - 1];
    return true;
}

void sbx_recipe_forget(struct sbx_arena *arena, const struct sbx_context *context)
{
    wchar_t *file = file_of(arena, context);
    atomic_store(&passed, 0);
    if (file != NULL) {
        (void)sbx_win()->DeleteFileW(file);
    }
}
