/* What was learned about this machine. */
#include "posix/linux_learned.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/system.h"

#include "common/base/banned.h"

enum { FILE_MAX = 16384 };

static const char *path_of(struct sbx_arena *arena, const char *name)
{
    struct sbx_context context;
    struct sbx_err ignored = {0};
    if (sbx_os_context(arena, &context, &ignored) != SBX_OK || context.state_dir.len == 0) {
        return NULL;
    }
    return sbx_arena_printf(arena, "%s/%s", context.state_dir.text, name);
}

/* The first line of a file: everything on which the answers depend. A program under another path may have
 * another profile of a security module. */
static const char *circumstances(struct sbx_arena *arena, const char *about)
{
    struct sbx_str boot = {0};
    struct sbx_err ignored = {0};
    char own[64] = "";
    char self[PATH_MAX] = "";
    struct stat root = {0};
    if (sbx_os_read_file(arena, "/proc/sys/kernel/random/boot_id", 64, &boot, NULL, &ignored) !=
        SBX_OK) {
        return NULL;
    }
    ssize_t got = readlink("/proc/self/ns/user", own, sizeof own - 1);
    own[got > 0 ? got : 0] = '\0';
    /* A container may share the home and the user namespace, and forbid what the host allows. */
    if (stat("/", &root) != 0 || !sbx_system_self(self, sizeof self) ||
        strchr(self, '\n') != NULL) {
        return NULL;
    }
    return sbx_arena_printf(arena, "sbx %s %s uid %lu %s root %llx:%llx boot %.36s %s\n",
                            SBX_VERSION, self, (unsigned long)geteuid(), own,
                            (unsigned long long)root.st_dev, (unsigned long long)root.st_ino,
                            boot.ptr, about);
}

const char *sbx_learned_recall(struct sbx_arena *arena, const char *name, const char *about)
{
    struct sbx_str text = {0};
    struct sbx_file_info info = {0};
    struct sbx_err ignored = {0};
    const char *path = path_of(arena, name);
    const char *now = path == NULL ? NULL : circumstances(arena, about);
    if (now == NULL || sbx_os_read_file(arena, path, FILE_MAX, &text, &info, &ignored) != SBX_OK ||
        !info.is_callers || info.others_may_write) {
        return NULL;
    }
    size_t len = strlen(now);
    /* Whole: the last byte written is the end of a line. */
    if (text.len < len + 2 || memcmp(text.ptr, now, len) != 0 || text.ptr[text.len - 1] != '\n') {
        return NULL;
    }
    return sbx_arena_copy(arena, text.ptr + len, text.len - len - 1);
}

void sbx_learned_keep(struct sbx_arena *arena, const char *name, const char *about,
                      const char *text)
{
    struct sbx_err ignored = {0};
    const char *path = path_of(arena, name);
    const char *now = path == NULL ? NULL : circumstances(arena, about);
    const char *whole = now == NULL ? NULL : sbx_arena_printf(arena, "%s%s\n", now, text);
    if (whole != NULL) {
        (void)!sbx_os_write_atomic(path, sbx_str(whole), &ignored);
    }
}

void sbx_learned_forget(struct sbx_arena *arena, const char *name)
{
    const char *path = path_of(arena, name);
    if (path != NULL) {
        (void)unlink(path);
    }
}
