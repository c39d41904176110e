/* What linux_names remembers between runs: of each directory its stamp and what mattered in it. A directory is
 * known by device and inode, not by its path, so a tree that was moved is known too, and a path never leads
 * anywhere because the cache says so. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/linux_names_internal.h"
#include "posix/linux_process.h"

#include "common/base/banned.h"

#define FILE_BYTES_MAX ((size_t)64 << 20)
#define MAGIC "sbxname1"

enum {
    RACY_SECONDS = 2, /* a change this soon after another may not change the stamp */
    FILES_MAX = 128,
    STALE_SECONDS = 60,
    FRESH_MIN = 32, /* fewer directories are read again sooner than a file is written */
    FRESH_SHARE = 64,
};

struct file_head {
    char magic[8];
    uint64_t count;
    uint64_t bytes; /* behind the head */
    uint64_t sum;
};

/* Followed by the listing, filled up to eight bytes. */
struct file_record {
    uint64_t device, inode;
    int64_t modified_s, changed_s;
    uint32_t modified_ns, changed_ns;
    uint64_t bytes;
};

static size_t rounded(size_t len)
{
    return (len + 7) / 8 * 8;
}

/* Against damage, not against malice: nobody else can write there. Eight bytes at a time, since it is paid at
 * every start. */
static uint64_t sum_of(const char *bytes, size_t len)
{
    uint64_t sum = len;
    for (size_t at = 0; at + 8 <= len; at += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

/* ---- the directory ---- */

static bool is_ours(const struct stat *info)
{
    return info->st_uid == geteuid() && (info->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* A box that could write there would choose what is protected next time. */
static bool is_writable_in_box(const struct sbx_policy *policy, const char *path)
{
    struct sbx_path place = {path, strlen(path), SBX_PATH_POSIX};
    struct sbx_decision decision = sbx_policy_decide(NULL, policy, place);
    return decision.maybe_writable ||
           (decision.access == SBX_ACCESS_WRITE && decision.rule->kind == SBX_RULE_HOST);
}

static void make_directories(const char *path)
{
    char text[PATH_MAX];
    size_t len = strlen(path);
    if (len >= sizeof text) {
        return;
    }
    memcpy(text, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (text[i] == '/' || text[i] == '\0') {
            text[i] = '\0';
            (void)mkdir(text, 0700);
            text[i] = path[i];
        }
    }
}

int sbx_names_cache_open_dir(const struct sbx_policy *policy, const char *cache_dir)
{
    const int flags = O_DIRECTORY | O_NOFOLLOW;
    bool is_real = false;
    AUTO_FD dir = sbx_path_open(cache_dir, flags, &is_real);
    if (dir < 0 && errno == ENOENT) {
        make_directories(cache_dir);
        dir = sbx_path_open(cache_dir, flags, &is_real);
    }
    struct stat info = {0};
    char path[PATH_MAX];
    if (dir < 0 || fstat(dir, &info) != 0 || !is_ours(&info) ||
        (!is_real && !sbx_names_path_of(dir, &info, path)) ||
        is_writable_in_box(policy, is_real ? cache_dir : path)) {
        return -1;
    }
    return SBX_TAKE(dir, -1);
}

/* ---- loading ---- */

static size_t slot_of(const struct sbx_names_cache *cache, uint64_t device, uint64_t inode)
{
    uint64_t hash = (inode ^ device << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (cache->slot_count - 1);
}

static bool index_records(struct sbx_names_cache *cache)
{
    cache->slot_count = 64;
    while (cache->slot_count < cache->count * 2) {
        cache->slot_count *= 2;
    }
    cache->slots = SBX_NEW_ARRAY(cache->arena, uint32_t, cache->slot_count);
    for (size_t i = 0; cache->slots != NULL && i < cache->count; i++) {
        const struct sbx_names_stamp *stamp = &cache->records[i].stamp;
        size_t at = slot_of(cache, stamp->device, stamp->inode);
        while (cache->slots[at] != 0) {
            at = (at + 1) & (cache->slot_count - 1);
        }
        cache->slots[at] = (uint32_t)(i + 1);
    }
    return cache->slots != NULL;
}

static bool parse_record(const char *bytes, size_t len, size_t *at, struct sbx_names_record *out)
{
    struct file_record head;
    if (len - *at < sizeof head) {
        return false;
    }
    memcpy(&head, bytes + *at, sizeof head);
    *at += sizeof head;
    if (head.bytes > len - *at || rounded((size_t)head.bytes) > len - *at) {
        return false;
    }
    *out = (struct sbx_names_record){
        .stamp = {head.device, head.inode, head.modified_s, head.changed_s, head.modified_ns,
                  head.changed_ns},
        .listing = {(const unsigned char *)bytes + *at, (size_t)head.bytes}};
    *at += rounded((size_t)head.bytes);
    return sbx_names_listing_ok(out->listing);
}

static bool parse(struct sbx_names_cache *cache, const char *bytes, size_t len)
{
    struct file_head head;
    if (len < sizeof head) {
        return false;
    }
    memcpy(&head, bytes, sizeof head);
    bytes += sizeof head;
    len -= sizeof head;
    if (memcmp(head.magic, MAGIC, sizeof head.magic) != 0 || head.bytes != len ||
        head.count > len / sizeof(struct file_record) || head.sum != sum_of(bytes, len)) {
        return false;
    }
    size_t at = 0;
    cache->records = SBX_NEW_ARRAY(cache->arena, struct sbx_names_record, (size_t)head.count);
    cache->capacity = cache->records == NULL ? 0 : (size_t)head.count;
    while (cache->count < cache->capacity) {
        if (!parse_record(bytes, len, &at, &cache->records[cache->count])) {
            return false;
        }
        cache->count++;
    }
    return cache->records != NULL && at == len && index_records(cache);
}

/* The whole file, or NULL when it is missing or not to be trusted. */
static char *read_file(const struct sbx_names_cache *cache, size_t *len)
{
    struct stat info = {0};
    AUTO_FD fd =
        openat(cache->dir, cache->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !is_ours(&info) ||
        info.st_nlink != 1 || info.st_size <= 0 || (uint64_t)info.st_size > FILE_BYTES_MAX) {
        return NULL;
    }
    size_t size = (size_t)info.st_size;
    char *bytes = SBX_NEW_ARRAY(cache->arena, char, size);
    size_t at = 0;
    ssize_t got = 1;
    while (bytes != NULL && at < size && got > 0) {
        got = sbx_fd_read(fd, bytes + at, size - at);
        at += got > 0 ? (size_t)got : 0;
    }
    *len = at;
    return at == size ? bytes : NULL;
}

void sbx_names_cache_load(struct sbx_names_cache *cache, struct sbx_arena *arena, int dir,
                          const struct sbx_sha256 *patterns, const char *root)
{
    struct timespec now = {0};
    *cache = (struct sbx_names_cache){.arena = arena, .dir = dir};
    if (dir < 0) {
        return;
    }
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        cache->dir = -1;
        return;
    }
    cache->began_s = now.tv_sec;
    struct sbx_sha256 hash = *patterns;
    sbx_sha256_add(&hash, root, strlen(root) + 1);
    sbx_sha256_end_hex(&hash, cache->name);
    size_t len = 0;
    const char *bytes = read_file(cache, &len);
    if (bytes == NULL || !parse(cache, bytes, len)) {
        cache->records = NULL;
        cache->count = cache->capacity = cache->slot_count = 0;
    }
    cache->loaded = cache->count;
}

/* ---- use ---- */

struct sbx_names_stamp sbx_names_stamp_of(const struct stat *info)
{
    return (struct sbx_names_stamp){.device = info->st_dev,
                                    .inode = info->st_ino,
                                    .modified_s = info->st_mtim.tv_sec,
                                    .changed_s = info->st_ctim.tv_sec,
                                    .modified_ns = (uint32_t)info->st_mtim.tv_nsec,
                                    .changed_ns = (uint32_t)info->st_ctim.tv_nsec};
}

static bool is_same(const struct sbx_names_stamp *a, const struct sbx_names_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->modified_s == b->modified_s &&
           a->changed_s == b->changed_s && a->modified_ns == b->modified_ns &&
           a->changed_ns == b->changed_ns;
}

struct sbx_names_record *sbx_names_cache_find(struct sbx_names_cache *cache,
                                              const struct sbx_names_stamp *stamp)
{
    if (cache->loaded == 0) {
        return NULL;
    }
    size_t at = slot_of(cache, stamp->device, stamp->inode);
    while (cache->slots[at] != 0) {
        struct sbx_names_record *record = &cache->records[cache->slots[at] - 1];
        if (is_same(&record->stamp, stamp)) {
            return record;
        }
        at = (at + 1) & (cache->slot_count - 1);
    }
    return NULL;
}

/* File systems of this machine that stamp a directory whenever an entry comes, goes or is renamed. Elsewhere the
 * stamp may come from another machine's clock, be kept for a while, or be rounded to seconds. */
static bool file_system_has_stamps(int fd)
{
    static const unsigned long magics[] = {
        EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,     TMPFS_MAGIC,
        F2FS_SUPER_MAGIC, 0x2fc12fc1UL,    OVERLAYFS_SUPER_MAGIC, RAMFS_MAGIC};
    struct statfs info;
    if (fstatfs(fd, &info) != 0) {
        return false;
    }
    for (size_t i = 0; i < SBX_COUNT(magics); i++) {
        if ((unsigned long)info.f_type == magics[i]) {
            return true;
        }
    }
    return false;
}

static bool device_has_stamps(struct sbx_names_cache *cache, int fd, uint64_t device)
{
    for (size_t i = 0; i < cache->device_count; i++) {
        if (cache->devices[i].device == device) {
            return cache->devices[i].has_stamps;
        }
    }
    bool has_stamps = file_system_has_stamps(fd);
    if (cache->device_count < SBX_COUNT(cache->devices)) {
        cache->devices[cache->device_count++] = (struct sbx_names_device){device, has_stamps};
    }
    return has_stamps;
}

void sbx_names_cache_add(struct sbx_names_cache *cache, int fd, const struct sbx_names_stamp *stamp,
                         struct sbx_names_listing listing)
{
    int64_t newest = stamp->modified_s > stamp->changed_s ? stamp->modified_s : stamp->changed_s;
    if (cache->dir < 0 || newest > cache->began_s - RACY_SECONDS - 1 ||
        !device_has_stamps(cache, fd, stamp->device)) {
        return;
    }
    struct sbx_names_record *record = (struct sbx_names_record *)sbx_arena_push(
        cache->arena, &cache->records, &cache->count, &cache->capacity, sizeof *record);
    if (record != NULL) {
        *record = (struct sbx_names_record){*stamp, listing, true};
    }
}

/* ---- saving ---- */

/* A cache of trees that are long gone would grow for ever: of too many files the oldest go. */
static void prune(int dir_fd)
{
    int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (dir == NULL) {
        sbx_fd_close(&copy);
        return;
    }
    size_t count = 0;
    time_t oldest = 0;
    char name[NAME_MAX + 1] = "";
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        struct stat info = {0};
        if (fstatat(dir_fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode)) {
            continue;
        }
        if (count++ == 0 || info.st_mtime < oldest) {
            oldest = info.st_mtime;
            (void)snprintf(name, sizeof name, "%s", entry->d_name);
        }
    }
    (void)closedir(dir);
    if (count > FILES_MAX) {
        (void)unlinkat(dir_fd, name, 0);
    }
}

static void build(const struct sbx_names_cache *cache, struct sbx_buf *out)
{
    struct file_head head = {.magic = MAGIC};
    sbx_buf_add(out, &head, sizeof head);
    for (size_t i = 0; i < cache->count; i++) {
        const struct sbx_names_record *record = &cache->records[i];
        const struct sbx_names_stamp *stamp = &record->stamp;
        if (!record->is_used) {
            continue;
        }
        struct file_record row = {stamp->device,      stamp->inode,       stamp->modified_s,
                                  stamp->changed_s,   stamp->modified_ns, stamp->changed_ns,
                                  record->listing.len};
        sbx_buf_add(out, &row, sizeof row);
        sbx_buf_add(out, record->listing.bytes, record->listing.len);
        sbx_buf_add_repeat(out, '\0', rounded(record->listing.len) - record->listing.len);
        head.count++;
    }
    if (!out->failed) {
        head.bytes = out->len - sizeof head;
        head.sum = sum_of(out->data + sizeof head, (size_t)head.bytes);
        memcpy(out->data, &head, sizeof head);
    }
}

/* Without a name nothing is left of it when sbx is killed. -1 where the file system has no such files. */
static int create_unnamed(int dir)
{
    return openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
}

static bool give_name(int fd, int dir, const char *name)
{
    char entry[64];
    (void)snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, entry, dir, name, AT_SYMLINK_FOLLOW) == 0;
}

/* Another sbx may be writing the same; one that was killed may leave its file behind. */
static void remove_stale(int dir, const char *name)
{
    struct stat info = {0};
    if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        info.st_mtime + STALE_SECONDS < time(NULL)) {
        (void)unlinkat(dir, name, 0);
    }
}

/* The content under a name that is not yet its last one; false when there is none. */
static bool write_new(int dir, const char *name, const struct sbx_buf *content)
{
    remove_stale(dir, name);
    AUTO_FD fd = create_unnamed(dir);
    bool is_unnamed = fd >= 0;
    if (!is_unnamed) {
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    if (fd < 0) {
        return false;
    }
    bool is_written = sbx_fd_write_all(fd, content->data, content->len);
    if (!is_written && !is_unnamed) {
        (void)unlinkat(dir, name, 0);
    }
    return is_written && (!is_unnamed || give_name(fd, dir, name));
}

/* Not flushed to the disk: a file that a crash damages is one that is not read. */
void sbx_names_cache_save(const struct sbx_names_cache *cache)
{
    size_t fresh = cache->count - cache->loaded;
    if (cache->dir < 0 || fresh < FRESH_MIN + cache->loaded / FRESH_SHARE) {
        return;
    }
    AUTO_BUF content;
    sbx_buf_init(&content, FILE_BYTES_MAX);
    build(cache, &content);
    char name[sizeof cache->name + sizeof ".new"];
    (void)snprintf(name, sizeof name, "%s.new", cache->name);
    if (content.failed || !write_new(cache->dir, name, &content)) {
        return;
    }
    if (renameat(cache->dir, name, cache->dir, cache->name) != 0) {
        (void)unlinkat(cache->dir, name, 0);
        return;
    }
    prune(cache->dir);
}
