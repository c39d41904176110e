/* Evidence about the held process itself. */
#include "posix/linux_evidence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/init_plan.h"
#include "posix/linux_evidence_internal.h"
#include "posix/linux_line.h"

#include "common/base/banned.h"

/* ---- items --------------------------------------------------------------------------------------- */

static void set_signed(struct sbx_line *line, int64_t number)
{
    sbx_line_set(line, number < 0 ? "-" : "");
    sbx_line_number(line, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void sbx_evidence_number(struct sbx_evidence_list *list, const char *what, int64_t wanted,
                         int64_t got)
{
    struct sbx_line texts[2];
    set_signed(&texts[0], wanted);
    set_signed(&texts[1], got);
    sbx_evidence_add(list, what, texts[0].text, texts[1].text, wanted == got && got >= 0);
}

void sbx_evidence_filters(struct sbx_evidence_list *list, const char *what,
                          const struct sbx_own *own, size_t more, const struct sbx_proc *proc)
{
    int64_t got = sbx_proc_filters(proc);
    if (got < 0 && own->filters < 0) {
        return; /* the kernel tells neither */
    }
    sbx_evidence_number(list, what, own->filters < 0 ? -1 : own->filters + (int64_t)more, got);
}

/* ---- namespaces ---------------------------------------------------------------------------------- */

static void check_namespace(struct sbx_evidence_list *list, const struct sbx_held *held,
                            enum sbx_namespace which)
{
    const struct sbx_namespace_name *name = &sbx_namespace_names[which];
    const char *own = held->own->namespaces[which];
    struct sbx_line wanted;
    char got[SBX_NAMESPACE_BYTES];
    sbx_proc_link(held->proc, name->path, got, sizeof got);
    sbx_line_set(&wanted, "not ");
    sbx_line_add(&wanted, own);
    sbx_evidence_add(list, name->what, wanted.text, got[0] == '\0' ? "unreadable" : got,
                     got[0] != '\0' && own[0] != '\0' && strcmp(own, got) != 0);
}

void sbx_evidence_namespace(struct sbx_evidence_list *list, const struct sbx_proc *proc,
                            enum sbx_namespace which, uint64_t inode)
{
    const struct sbx_namespace_name *name = &sbx_namespace_names[which];
    struct sbx_line wanted;
    char got[SBX_NAMESPACE_BYTES];
    sbx_line_set(&wanted, name->path + strlen("ns/"));
    sbx_line_add(&wanted, ":[");
    sbx_line_number(&wanted, inode);
    sbx_line_add(&wanted, "]");
    sbx_proc_link(proc, name->path, got, sizeof got);
    sbx_evidence_same(list, name->what, wanted.text, got[0] == '\0' ? "unreadable" : got);
}

static void check_map(struct sbx_evidence_list *list, const struct sbx_proc *proc, const char *file,
                      unsigned id)
{
    char text[256];
    struct sbx_line got;
    struct sbx_line wanted;
    const char *at = text;
    (void)sbx_proc_read(proc, file, text, sizeof text);
    sbx_line_set(&got, "");
    sbx_line_set(&wanted, "");
    for (int i = 0; i < 3; i++) {
        sbx_line_add(&got, i == 0 ? "" : " ");
        sbx_line_number(&got, sbx_proc_number(&at));
    }
    at += strspn(at, " \n");
    sbx_line_add(&got, *at == '\0' ? "" : " and more");
    sbx_line_number(&wanted, id);
    sbx_line_add(&wanted, " ");
    sbx_line_number(&wanted, id);
    sbx_line_add(&wanted, " 1");
    sbx_evidence_same(list, file, wanted.text, got.text);
}

/* ---- the process --------------------------------------------------------------------------------- */

/* Real, effective, saved and of the file system: all the same. The first that differs is shown. */
static void check_ids(struct sbx_evidence_list *list, const char *what, const char *ids,
                      unsigned id)
{
    enum { KINDS = 4 };
    struct sbx_line wanted;
    struct sbx_line got;
    struct sbx_str left = sbx_str(ids);
    size_t equal = 0;
    sbx_line_set(&wanted, "");
    sbx_line_number(&wanted, id);
    sbx_line_set(&got, "");
    for (size_t i = 0; i < KINDS && equal == i; i++) {
        struct sbx_str one;
        (void)sbx_str_split(left, '\t', &one, &left);
        equal += sbx_str_is(one, wanted.text);
        got.len = 0;
        sbx_line_add_str(&got, one);
    }
    sbx_evidence_add(list, what, wanted.text, got.text, equal == KINDS && left.len == 0);
}

static void check_status(struct sbx_evidence_list *list, const struct sbx_held *held)
{
    static const struct {
        enum sbx_status field;
        const char *what;
    } capabilities[] = {
        {SBX_STATUS_CAP_INH, "CapInh"}, {SBX_STATUS_CAP_PRM, "CapPrm"},
        {SBX_STATUS_CAP_EFF, "CapEff"}, {SBX_STATUS_CAP_BND, "CapBnd"},
        {SBX_STATUS_CAP_AMB, "CapAmb"},
    };
    const char *const *field = held->proc->field;
    sbx_evidence_same(list, "no_new_privs", "1", field[SBX_STATUS_NO_NEW_PRIVS]);
    check_ids(list, "Uid", field[SBX_STATUS_UID], (unsigned)held->user);
    check_ids(list, "Gid", field[SBX_STATUS_GID], (unsigned)held->group);
    sbx_evidence_same(list, "seccomp.mode", "2", field[SBX_STATUS_SECCOMP]);
    sbx_evidence_filters(list, "seccomp.filters", held->own, held->filters, held->proc);
    for (size_t i = 0; i < SBX_COUNT(capabilities); i++) {
        if (!held->keeps_bounding || capabilities[i].field != SBX_STATUS_CAP_BND) {
            sbx_evidence_same(list, capabilities[i].what, "0000000000000000",
                              field[capabilities[i].field]);
        }
    }
}

void sbx_evidence_process(struct sbx_evidence_list *list, const struct sbx_held *held)
{
    for (unsigned i = 0; i < SBX_NAMESPACES; i++) {
        if ((held->namespaces & 1u << i) != 0) {
            check_namespace(list, held, (enum sbx_namespace)i);
        }
    }
    if (held->maps_ids) {
        check_map(list, held->proc, "uid_map", (unsigned)held->user);
        check_map(list, held->proc, "gid_map", (unsigned)held->group);
    }
    check_status(list, held);
    if (held->landlock_probe >= 0) {
        sbx_evidence_add(list, "landlock.probe", "refused",
                         held->landlock_probe == EACCES ? "refused" : "allowed",
                         held->landlock_probe == EACCES);
    }
}

/* 0, 1, 2, and the three pipe ends that close with exec. */
void sbx_evidence_descriptors(struct sbx_evidence_list *list, const struct sbx_proc *proc)
{
    struct sbx_line got;
    int fd = openat(proc->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool seen[1024] = {false};
    size_t others = 0;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            const char *at = entry->d_name;
            uint64_t number = sbx_proc_number(&at);
            if (*at == '\0' && number < SBX_COUNT(seen)) {
                seen[number] = true;
            } else {
                others++;
            }
        }
    }
    sbx_line_set(&got, "");
    for (size_t i = 0; i < SBX_COUNT(seen); i++) {
        if (seen[i]) {
            sbx_line_add(&got, got.len == 0 ? "" : " ");
            sbx_line_number(&got, i);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    } else {
        sbx_fd_close(&fd);
    }
    sbx_evidence_add(list, "descriptors", "0 1 2 3 4 5", got.text,
                     others == 0 && strcmp(got.text, "0 1 2 3 4 5") == 0);
    for (uint64_t i = 3; i <= 5; i++) {
        char info[256];
        struct sbx_line path;
        struct sbx_line what;
        sbx_line_set(&path, "fdinfo/");
        sbx_line_number(&path, i);
        (void)sbx_proc_read(proc, path.text, info, sizeof info);
        const char *flags = strstr(info, "flags:\t");
        unsigned long bits = flags == NULL ? 0 : strtoul(flags + 7, NULL, 8);
        sbx_line_set(&what, "descriptor.");
        sbx_line_number(&what, i);
        sbx_evidence_same(list, what.text, "closes with exec",
                          (bits & O_CLOEXEC) != 0 ? "closes with exec" : "stays open");
    }
}

static const struct {
    int resource;
    const char *what;
    const char *label; /* in /proc/PID/limits */
} limit_rows[] = {
    {RLIMIT_CORE, "rlimit.core", "Max core file size"},
    {RLIMIT_NOFILE, "rlimit.descriptors", "Max open files"},
    {RLIMIT_FSIZE, "rlimit.file-size", "Max file size"},
    {RLIMIT_CPU, "rlimit.cpu", "Max cpu time"},
    {RLIMIT_DATA, "rlimit.data", "Max data size"},
    {RLIMIT_NPROC, "rlimit.processes", "Max processes"},
    {RLIMIT_RTPRIO, "rlimit.real-time", "Max realtime priority"},
    {RLIMIT_NICE, "rlimit.nice", "Max nice priority"},
};

static void add_bounds(struct sbx_line *line, uint64_t soft, uint64_t hard)
{
    sbx_line_number(line, soft);
    sbx_line_add(line, "/");
    sbx_line_number(line, hard);
}

static const char *add_bound(struct sbx_line *line, const char *text)
{
    text += strspn(text, " ");
    size_t len = strcspn(text, " \n");
    sbx_line_add_str(line, (struct sbx_str){text, len});
    return text + len;
}

static void read_listed_limit(struct sbx_line *got, const struct sbx_proc *proc, const char *label)
{
    char text[4096];
    (void)sbx_proc_read(proc, "limits", text, sizeof text);
    const char *at = strstr(text, label);
    if (at == NULL) {
        sbx_line_set(got, "unreadable");
        return;
    }
    at = add_bound(got, at + strlen(label));
    sbx_line_add(got, "/");
    (void)add_bound(got, at);
}

/* A process may be another user's, whose limits no call tells; then the file does. */
static void read_limit(struct sbx_line *got, const struct sbx_proc *proc, size_t row)
{
    struct rlimit limit;
    sbx_line_set(got, "");
    /* The libraries disagree about the type of a resource. */
    if (syscall(SYS_prlimit64, proc->pid, limit_rows[row].resource, NULL, &limit) == 0) {
        add_bounds(got, limit.rlim_cur, limit.rlim_max);
    } else {
        read_listed_limit(got, proc, limit_rows[row].label);
    }
}

static void check_limit(struct sbx_evidence_list *list, const struct sbx_proc *proc,
                        const struct sbx_init_rlimit *planned)
{
    for (size_t i = 0; i < SBX_COUNT(limit_rows); i++) {
        struct sbx_line wanted;
        struct sbx_line got;
        if ((uint32_t)limit_rows[i].resource == planned->resource) {
            sbx_line_set(&wanted, "");
            add_bounds(&wanted, planned->soft, planned->hard);
            read_limit(&got, proc, i);
            sbx_evidence_same(list, limit_rows[i].what, wanted.text, got.text);
            return;
        }
    }
    sbx_evidence_add(list, "rlimit", "known", "unknown", false);
}

void sbx_evidence_limits(struct sbx_evidence_list *list, const struct sbx_proc *proc,
                         const void *rlimits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sbx_init_rlimit planned;
        memcpy(&planned, (const char *)rlimits + i * sizeof planned, sizeof planned);
        check_limit(list, proc, &planned);
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
