/* Evidence about the held process itself. */
#include "posix/linux_evidence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/init_plan.h"
#include "posix/linux_evidence_internal.h"

#include "common/base/banned.h"

void sbx_evidence_init(struct sbx_evidence_list *list, struct sbx_arena *arena)
{
    *list = (struct sbx_evidence_list){.arena = arena};
}

static const char *keep(struct sbx_evidence_list *list, const char *text)
{
    const char *copy = sbx_arena_copy(list->arena, text, strlen(text));
    list->failed |= copy == NULL;
    return copy == NULL ? "" : copy;
}

void sbx_evidence_add(struct sbx_evidence_list *list, const char *what, const char *wanted,
                      const char *got, bool ok)
{
    struct sbx_evidence *item = (struct sbx_evidence *)sbx_arena_push(
        list->arena, &list->items, &list->count, &list->capacity, sizeof *item);
    if (item == NULL) {
        list->failed = true;
        return;
    }
    item->what = keep(list, what);
    item->wanted = keep(list, wanted);
    item->got = keep(list, got);
    item->ok = ok;
}

void sbx_evidence_same(struct sbx_evidence_list *list, const char *what, const char *wanted,
                       const char *got)
{
    sbx_evidence_add(list, what, wanted, got, strcmp(wanted, got) == 0);
}

enum sbx_code sbx_evidence_verdict(const struct sbx_evidence_list *list, struct sbx_err *err)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].ok) {
            (void)sbx_err_set(err, SBX_E_VERIFY,
                              "verification-failed: %s should be %s but is %s; nothing was run",
                              list->items[i].what, list->items[i].wanted, list->items[i].got);
            return sbx_err_hint(err, "--evidence shows every item that was read back");
        }
    }
    if (list->failed || list->count == 0) {
        return sbx_err_set(err, SBX_E_VERIFY, "the box could not be verified; nothing was run");
    }
    return SBX_OK;
}

/* ---- small files of /proc ------------------------------------------------------------------------ */

void sbx_evidence_slurp(pid_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    ssize_t got;
    while (fd >= 0 && have < size - 1 && (got = sbx_fd_read(fd, out + have, size - 1 - have)) > 0) {
        have += (size_t)got;
    }
    out[have] = '\0';
}

void sbx_evidence_field(const char *status, const char *name, char *out, size_t size)
{
    char label[32];
    (void)snprintf(label, sizeof label, "\n%s:", name);
    const char *at = strstr(status, label);
    out[0] = '\0';
    if (at == NULL) {
        return;
    }
    at += strlen(label);
    at += strspn(at, " \t");
    (void)snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
}

unsigned long sbx_evidence_own_filters(void)
{
    char status[SBX_STATUS_BYTES];
    char count[32];
    sbx_evidence_slurp(getpid(), "status", status, sizeof status);
    sbx_evidence_field(status, "Seccomp_filters", count, sizeof count);
    return strtoul(count, NULL, 10);
}

/* ---- namespaces ---------------------------------------------------------------------------------- */

static void link_of(pid_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, name);
    ssize_t got = readlink(path, out, size - 1);
    out[got > 0 ? got : 0] = '\0';
}

static void check_namespace(struct sbx_evidence_list *list, pid_t pid, const char *name)
{
    char what[48];
    char own[64];
    char wanted[80];
    char got[64];
    (void)snprintf(what, sizeof what, "namespace.%s", name);
    link_of(getpid(), name, own, sizeof own);
    link_of(pid, name, got, sizeof got);
    (void)snprintf(wanted, sizeof wanted, "not %s", own);
    sbx_evidence_add(list, what, wanted, got[0] == '\0' ? "unreadable" : got,
                     got[0] != '\0' && own[0] != '\0' && strcmp(own, got) != 0);
}

static void check_map(struct sbx_evidence_list *list, pid_t pid, const char *file, unsigned id)
{
    char text[256];
    char got[128] = "";
    char wanted[64];
    unsigned long inside = 0;
    unsigned long outside = 0;
    unsigned long count = 0;
    sbx_evidence_slurp(pid, file, text, sizeof text);
    char *at = text;
    inside = strtoul(at, &at, 10);
    outside = strtoul(at, &at, 10);
    count = strtoul(at, &at, 10);
    at += strspn(at, " \n");
    (void)snprintf(got, sizeof got, "%lu %lu %lu%s", inside, outside, count,
                   *at == '\0' ? "" : " and more");
    (void)snprintf(wanted, sizeof wanted, "%u %u 1", id, id);
    sbx_evidence_same(list, file, wanted, got);
}

/* ---- the process --------------------------------------------------------------------------------- */

/* Real, effective, saved and of the file system: all the same. */
static void check_ids(struct sbx_evidence_list *list, const char *status, const char *name,
                      unsigned id)
{
    char got[64];
    char wanted[64];
    sbx_evidence_field(status, name, got, sizeof got);
    (void)snprintf(wanted, sizeof wanted, "%u\t%u\t%u\t%u", id, id, id, id);
    bool is_same = strcmp(wanted, got) == 0;
    (void)snprintf(wanted, sizeof wanted, "%u", id);
    got[strcspn(got, "\t")] = '\0';
    sbx_evidence_add(list, name, wanted, is_same ? wanted : got, is_same);
}

static void check_status(struct sbx_evidence_list *list, const struct sbx_held *held)
{
    static const char *const capabilities[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    char status[SBX_STATUS_BYTES];
    char got[64];
    char wanted[64];
    sbx_evidence_slurp(held->pid, "status", status, sizeof status);
    sbx_evidence_field(status, "NoNewPrivs", got, sizeof got);
    sbx_evidence_same(list, "no_new_privs", "1", got);
    check_ids(list, status, "Uid", (unsigned)held->user);
    check_ids(list, status, "Gid", (unsigned)held->group);
    sbx_evidence_field(status, "Seccomp", got, sizeof got);
    sbx_evidence_same(list, "seccomp.mode", "2", got);
    sbx_evidence_field(status, "Seccomp_filters", got, sizeof got);
    (void)snprintf(wanted, sizeof wanted, "%lu",
                   sbx_evidence_own_filters() + (unsigned long)held->filters);
    if (got[0] != '\0') { /* the kernel tells it since 5.9 */
        sbx_evidence_same(list, "seccomp.filters", wanted, got);
    }
    for (size_t i = 0; i < SBX_COUNT(capabilities); i++) {
        if (held->keeps_bounding && strcmp(capabilities[i], "CapBnd") == 0) {
            continue;
        }
        sbx_evidence_field(status, capabilities[i], got, sizeof got);
        sbx_evidence_same(list, capabilities[i], "0000000000000000", got);
    }
}

void sbx_evidence_process(struct sbx_evidence_list *list, const struct sbx_held *held)
{
    char name[16];
    const char *at = held->namespaces;
    while (*at != '\0') {
        size_t len = strcspn(at, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)len, at);
        check_namespace(list, held->pid, name);
        at += len + (at[len] == ' ');
    }
    if (held->maps_ids) {
        check_map(list, held->pid, "uid_map", (unsigned)held->user);
        check_map(list, held->pid, "gid_map", (unsigned)held->group);
    }
    check_status(list, held);
    if (held->landlock_probe >= 0) {
        sbx_evidence_add(list, "landlock.probe", "refused",
                         held->landlock_probe == EACCES ? "refused" : "allowed",
                         held->landlock_probe == EACCES);
    }
}

/* 0, 1, 2, and the two pipe ends that close with exec. */
void sbx_evidence_descriptors(struct sbx_evidence_list *list, pid_t pid)
{
    char path[64];
    char got[256] = "";
    size_t len = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    bool seen[1024] = {false};
    size_t others = 0;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            unsigned long number = strtoul(entry->d_name, NULL, 10);
            if (number < SBX_COUNT(seen)) {
                seen[number] = true;
            } else {
                others++;
            }
        }
    }
    for (size_t i = 0; i < SBX_COUNT(seen) && len + 8 < sizeof got; i++) {
        if (seen[i]) {
            len += (size_t)snprintf(got + len, sizeof got - len, "%s%zu", len == 0 ? "" : " ", i);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    sbx_evidence_add(list, "descriptors", "0 1 2 3 4", got,
                     others == 0 && strcmp(got, "0 1 2 3 4") == 0);
    for (int fd = 3; fd <= 4; fd++) {
        char info[256];
        (void)snprintf(path, sizeof path, "fdinfo/%d", fd);
        sbx_evidence_slurp(pid, path, info, sizeof info);
        const char *flags = strstr(info, "flags:\t");
        unsigned long bits = flags == NULL ? 0 : strtoul(flags + 7, NULL, 8);
        (void)snprintf(path, sizeof path, "descriptor.%d", fd);
        sbx_evidence_same(list, path, "closes with exec",
                          (bits & O_CLOEXEC) != 0 ? "closes with exec" : "stays open");
    }
}

/* How /proc/PID/limits calls them. A process may be another user's, whose limits no call tells. */
static const struct {
    int resource;
    const char *name, *label;
} limit_rows[] = {
    {RLIMIT_CORE, "core", "Max core file size"},
    {RLIMIT_NOFILE, "descriptors", "Max open files"},
    {RLIMIT_FSIZE, "file-size", "Max file size"},
    {RLIMIT_CPU, "cpu", "Max cpu time"},
    {RLIMIT_DATA, "data", "Max data size"},
    {RLIMIT_NPROC, "processes", "Max processes"},
    {RLIMIT_RTPRIO, "real-time", "Max realtime priority"},
    {RLIMIT_NICE, "nice", "Max nice priority"},
};

static const char *read_bound(const char *text, char *out, size_t size)
{
    text += strspn(text, " ");
    size_t len = strcspn(text, " \n");
    (void)snprintf(out, size, "%.*s", (int)len, text);
    return text + len;
}

static void print_limit(char *out, size_t size, uint64_t soft, uint64_t hard)
{
    (void)snprintf(out, size, "%" PRIu64 "/%" PRIu64, soft, hard);
}

static void check_limit(struct sbx_evidence_list *list, const char *limits,
                        const struct sbx_init_rlimit *planned)
{
    for (size_t i = 0; i < SBX_COUNT(limit_rows); i++) {
        char what[48];
        char wanted[64];
        char soft[24] = "unreadable";
        char hard[24] = "";
        char got[64];
        const char *at = strstr(limits, limit_rows[i].label);
        if ((uint32_t)limit_rows[i].resource != planned->resource) {
            continue;
        }
        if (at != NULL) {
            at = read_bound(at + strlen(limit_rows[i].label), soft, sizeof soft);
            (void)read_bound(at, hard, sizeof hard);
        }
        (void)snprintf(got, sizeof got, "%s/%s", soft, hard);
        print_limit(wanted, sizeof wanted, planned->soft, planned->hard);
        (void)snprintf(what, sizeof what, "rlimit.%s", limit_rows[i].name);
        sbx_evidence_same(list, what, wanted, got);
        return;
    }
    sbx_evidence_add(list, "rlimit", "known", "unknown", false);
}

void sbx_evidence_limits(struct sbx_evidence_list *list, pid_t pid, const void *rlimits,
                         size_t count)
{
    char text[4096];
    sbx_evidence_slurp(pid, "limits", text, sizeof text);
    for (size_t i = 0; i < count; i++) {
        struct sbx_init_rlimit planned;
        memcpy(&planned, (const char *)rlimits + i * sizeof planned, sizeof planned);
        check_limit(list, text, &planned);
    }
}

void sbx_evidence_cgroup(struct sbx_evidence_list *list, const struct sbx_cgroup *group, pid_t pid)
{
    struct sbx_cgroup_item item;
    if (group->version == SBX_CGROUP_NONE) {
        return;
    }
    sbx_evidence_same(list, "cgroup.member", group->name,
                      sbx_cgroup_holds(group, pid) ? group->name : "elsewhere");
    for (size_t i = 0; sbx_cgroup_evidence(group, i, &item); i++) {
        char what[64];
        (void)snprintf(what, sizeof what, "cgroup.%s", item.file);
        sbx_evidence_add(list, what, item.wanted, item.got[0] == '\0' ? "unreadable" : item.got,
                         item.is_equal);
    }
}

/* The block is sealed, so what is read back now is what exec will be given. */
void sbx_evidence_environment(struct sbx_evidence_list *list, int plan_fd, const char *const *env)
{
    struct sbx_init_plan plan = {0};
    char got[64] = "unreadable";
    char wanted[64];
    size_t planned = 0;
    size_t equal = 0;
    while (env[planned] != NULL) {
        planned++;
    }
    (void)snprintf(wanted, sizeof wanted, "%zu planned pairs, sealed", planned);
    bool is_sealed = (fcntl(plan_fd, F_GET_SEALS) & F_SEAL_WRITE) != 0;
    if (pread(plan_fd, &plan, sizeof plan, 0) == (ssize_t)sizeof plan) {
        for (size_t i = 0; i < plan.env.count && i < planned; i++) {
            uint64_t at = 0;
            size_t len = strlen(env[i]) + 1;
            char *text = (char *)sbx_arena_alloc(list->arena, len, 1);
            equal += text != NULL &&
                     pread(plan_fd, &at, sizeof at, (off_t)(plan.env.at + i * sizeof at)) ==
                         (ssize_t)sizeof at &&
                     pread(plan_fd, text, len, (off_t)at) == (ssize_t)len &&
                     memcmp(text, env[i], len) == 0;
        }
        (void)snprintf(got, sizeof got, "%zu planned pairs%s%s", equal,
                       plan.env.count == planned ? "" : " and others", is_sealed ? ", sealed" : "");
    }
    sbx_evidence_same(list, "environment", wanted, got);
}
