/* Directories for linux_names: opening them without following a link, and reading what matters of them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/fault.h"
#include "posix/fd.h"
#include "posix/linux_names_internal.h"
#include "posix/linux_process.h"

#include "common/base/banned.h"

/* ---- opening ---- */

static int open_resolved(int at, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .resolve = resolve};
    return (int)syscall(SYS_openat2, at, path, &how, sizeof how);
}

/* Kernels before 5.6 do not have openat2, and some containers' filters refuse it. */
static bool is_absent(int raw)
{
    return raw == ENOSYS || raw == EPERM;
}

int sbx_names_open_below(int root, const char *rest, int flags)
{
    const char *path = rest[0] == '\0' ? "." : rest;
    flags |= O_DIRECTORY | O_NOFOLLOW;
    int fd = open_resolved(root, path, flags,
                           RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    return fd < 0 && is_absent(errno) ? sbx_fd_open_below(root, rest, O_PATH, flags) : fd;
}

int sbx_names_open_target(int at, const char *path, int flags)
{
    int fd = open_resolved(at, path, flags, RESOLVE_NO_MAGICLINKS);
    return fd < 0 && is_absent(errno) ? openat(at, path, flags | O_CLOEXEC) : fd;
}

/* The kernel adds " (deleted)" to a name that is gone, and gives names of other roots: hence the look back. */
bool sbx_names_path_of(int fd, const struct stat *info, char out[PATH_MAX])
{
    struct stat back = {0};
    return sbx_fd_name(fd, out) && lstat(out, &back) == 0 && back.st_dev == info->st_dev &&
           back.st_ino == info->st_ino;
}

/* ---- packed listings ---- */

bool sbx_names_take(struct sbx_names_listing listing, size_t *at, struct sbx_names_entry *out)
{
    if (listing.len - *at < 2) {
        return false;
    }
    const unsigned char *head = listing.bytes + *at;
    if (head[1] > listing.len - *at - 2) {
        return false;
    }
    out->type = (enum sbx_names_type)(head[0] & ~SBX_ENTRY_HIT);
    out->hit = (head[0] & SBX_ENTRY_HIT) != 0;
    out->name = (const char *)head + 2;
    out->len = head[1];
    *at += 2 + out->len;
    return true;
}

static bool is_dots(const char *name, size_t len)
{
    return len <= 2 && memcmp(name, "..", len) == 0;
}

bool sbx_names_listing_ok(struct sbx_names_listing listing)
{
    size_t at = 0;
    struct sbx_names_entry entry = {0};
    while (sbx_names_take(listing, &at, &entry)) {
        bool is_type = entry.type >= SBX_ENTRY_DIRECTORY && entry.type <= SBX_ENTRY_OTHER;
        if (!is_type || is_dots(entry.name, entry.len) ||
            memchr(entry.name, '/', entry.len) != NULL ||
            memchr(entry.name, '\0', entry.len) != NULL) {
            return false;
        }
    }
    return at == listing.len;
}

/* ---- reading ---- */

static enum sbx_names_type type_of_mode(mode_t mode)
{
    if (S_ISDIR(mode)) {
        return SBX_ENTRY_DIRECTORY;
    }
    return S_ISLNK(mode) ? SBX_ENTRY_LINK : SBX_ENTRY_OTHER;
}

/* Some file systems do not say in a listing what an entry is. What is gone by now is nothing. */
static enum sbx_names_type type_of(int fd, unsigned char d_type, const char *name)
{
    struct stat info = {0};
    switch (d_type) {
    case DT_DIR:
        return SBX_ENTRY_DIRECTORY;
    case DT_LNK:
        return SBX_ENTRY_LINK;
    case DT_UNKNOWN:
        return fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 ? type_of_mode(info.st_mode)
                                                                  : SBX_ENTRY_OTHER;
    default:
        return SBX_ENTRY_OTHER;
    }
}

static void add_entry(struct sbx_names_reader *reader, int fd, char *name, unsigned char d_type)
{
    size_t len = strlen(name);
    if (is_dots(name, len) || len > NAME_MAX) {
        return;
    }
    reader->entries++;
    enum sbx_names_type type = type_of(fd, d_type, name);
    /* The byte before the name in the kernel's record is its type, which is known now. */
    name[-1] = '/';
    struct sbx_path slashed = {name - 1, len + 1, SBX_PATH_POSIX};
    bool hit = sbx_names_hits(reader->matcher, slashed, type == SBX_ENTRY_DIRECTORY);
    if (hit || type == SBX_ENTRY_DIRECTORY) {
        unsigned char head[2] = {(unsigned char)((unsigned)type | (hit ? SBX_ENTRY_HIT : 0u)),
                                 (unsigned char)len};
        sbx_buf_add(&reader->work, head, sizeof head);
        sbx_buf_add(&reader->work, name, len);
    }
}

enum sbx_code sbx_names_read(struct sbx_names_reader *reader, int fd, const char *path,
                             struct sbx_names_listing *out, struct sbx_err *err)
{
    /* Offsets: the kernel's struct linux_dirent64. */
    enum { LENGTH_AT = 16, TYPE_AT = 18, NAME_AT = 19 };
    char *block = reader->block;
    long got;
    sbx_buf_reset(&reader->work);
    while ((got = syscall(SYS_getdents64, fd, block, (size_t)SBX_NAMES_BLOCK_BYTES)) > 0) {
        unsigned short length = 0;
        for (long at = 0; at < got; at += length) {
            memcpy(&length, block + at + LENGTH_AT, sizeof length);
            add_entry(reader, fd, block + at + NAME_AT, (unsigned char)block[at + TYPE_AT]);
        }
    }
    int raw = got < 0 ? errno : 0;
    if (raw != 0 && raw != ENOENT) {
        return sbx_err_errno(err, raw, "getdents64", "cannot list \"%s\"", path);
    }
    const char *bytes =
        sbx_arena_copy(reader->arena, sbx_buf_text(&reader->work), reader->work.len);
    if (reader->work.failed || bytes == NULL) {
        return sbx_err_nomem(err);
    }
    *out = (struct sbx_names_listing){(const unsigned char *)bytes, reader->work.len};
    return SBX_OK;
}
