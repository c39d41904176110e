/* The self-test on POSIX: its directories, its copy of sbx, and what the machine is. */
#include "posix/selftest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/fault.h"
#include "posix/fd.h"

#include "common/base/banned.h"

#define OPEN_DIRECTORIES 16
#define BACKLOG 128

/* ---- directories ---- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    (void)remove(path);
    return 0;
}

void sbx_selftest_remove(const char *directory)
{
    if (directory[0] == '/') {
        (void)nftw(directory, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
    }
}

static enum sbx_code add(struct sbx_selftest *t, const char *name, const char *value,
                         struct sbx_err *err)
{
    return value == NULL ? sbx_err_nomem(err) : sbx_selftest_place_add(t, name, value, err);
}

static enum sbx_code make_directory(struct sbx_selftest *t, const char *root, const char *name,
                                    struct sbx_err *err)
{
    const char *path = sbx_arena_printf(&t->kept, "%s/%s", root, name);
    if (path != NULL && mkdir(path, 0700) != 0) {
        int raw = errno;
        return sbx_err_errno(err, raw, "mkdir", "cannot make \"%s\"", path);
    }
    return add(t, name, path, err);
}

static enum sbx_code make_directories(struct sbx_selftest *t, struct sbx_err *err)
{
    struct sbx_context context;
    struct sbx_path real;
    enum sbx_code code = sbx_os_context(&t->kept, &context, err);
    if (code == SBX_OK) {
        code = sbx_os_real_path(&t->kept, context.tmp.text, &real, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    char *root = sbx_arena_printf(&t->kept, "%s/sbx-selftest-XXXXXX", real.text);
    if (root == NULL) {
        return sbx_err_nomem(err);
    }
    if (mkdtemp(root) == NULL) {
        int raw = errno;
        return sbx_err_errno(err, raw, "mkdtemp", "cannot make a directory in \"%s\"", real.text);
    }
    code = add(t, "root", root, err);
    static const char *const names[] = {"bin", "inside", "outside"};
    for (size_t i = 0; code == SBX_OK && i < SBX_COUNT(names); i++) {
        code = make_directory(t, root, names[i], err);
    }
    static const char *const files[] = {"begun", "after", "left"};
    for (size_t i = 0; code == SBX_OK && i < SBX_COUNT(files); i++) {
        code = add(t, files[i], sbx_arena_printf(&t->kept, "%s/inside/%s", root, files[i]), err);
    }
    return code;
}

/* ---- the copy of sbx ---- */

static bool copy_bytes(int from, int to)
{
    char block[65536];
    ssize_t got;
    while ((got = sbx_fd_read(from, block, sizeof block)) > 0) {
        if (!sbx_fd_write_all(to, block, (size_t)got)) {
            return false;
        }
    }
    return got == 0;
}

static enum sbx_code copy_program(struct sbx_selftest *t, struct sbx_err *err)
{
    struct sbx_path self;
    enum sbx_code code = sbx_os_self(&t->kept, &self, err);
    if (code != SBX_OK) {
        return code;
    }
    const char *copy = sbx_arena_printf(&t->kept, "%s/sbx", sbx_selftest_place(t, "bin"));
    if (copy == NULL) {
        return sbx_err_nomem(err);
    }
    AUTO_FD from = open(self.text, O_RDONLY | O_CLOEXEC);
    AUTO_FD to = from < 0 ? -1 : open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (to < 0 || !copy_bytes(from, to)) {
        int raw = errno;
        return sbx_err_errno(err, raw, "open", "cannot copy \"%s\" to \"%s\"", self.text, copy);
    }
    code = add(t, "program", self.text, err);
    return code == SBX_OK ? add(t, "copy", copy, err) : code;
}

/* ---- what boxes must not reach ---- */

static enum sbx_code plant(struct sbx_selftest *t, struct sbx_selftest_posix *own,
                           struct sbx_err *err)
{
    static const char text[] = "planted: nobody in a box reads this\n";
    const char *path = sbx_arena_printf(&t->kept, "%s/secret", sbx_selftest_place(t, "outside"));
    if (path == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = sbx_os_write_new(path, sbx_str(text), err);
    if (code != SBX_OK) {
        return code;
    }
    /* Without close-on-exec, as programs that start sbx often are. */
    own->secret = open(path, O_RDONLY);
    return add(t, "handle", sbx_arena_printf(&t->kept, "%d", own->secret), err);
}

static enum sbx_code listen_on_loopback(struct sbx_selftest *t, struct sbx_selftest_posix *own,
                                        struct sbx_err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    own->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (own->listener < 0 || fcntl(own->listener, F_SETFD, FD_CLOEXEC) != 0 ||
        bind(own->listener, (const struct sockaddr *)&address, size) != 0 ||
        listen(own->listener, BACKLOG) != 0 ||
        getsockname(own->listener, (struct sockaddr *)&address, &size) != 0) {
        /* The cases that need it say so by their control. */
        return add(t, "port", "0", err);
    }
    return add(t, "port", sbx_arena_printf(&t->kept, "%u", (unsigned)ntohs(address.sin_port)), err);
}

enum sbx_code sbx_selftest_open(struct sbx_selftest *t, struct sbx_err *err)
{
    struct sbx_selftest_posix *own = SBX_NEW(&t->kept, struct sbx_selftest_posix);
    if (own == NULL) {
        return sbx_err_nomem(err);
    }
    *own = (struct sbx_selftest_posix){.listener = -1, .secret = -1};
    t->platform = own;
    /* Boxes must drop it. */
    (void)setenv("SBX_SELFTEST_VARIABLE", "of the caller", 1);
    enum sbx_code code = make_directories(t, err);
    if (code == SBX_OK) {
        code = copy_program(t, err);
    }
    if (code == SBX_OK) {
        code = plant(t, own, err);
    }
    return code == SBX_OK ? listen_on_loopback(t, own, err) : code;
}

void sbx_selftest_close(struct sbx_selftest *t)
{
    struct sbx_selftest_posix *own = (struct sbx_selftest_posix *)t->platform;
    if (own != NULL) {
        sbx_fd_close(&own->listener);
        sbx_fd_close(&own->secret);
    }
    sbx_selftest_remove(sbx_selftest_place(t, "root"));
    t->platform = NULL;
}

size_t sbx_selftest_machine(struct sbx_arena *arena, const struct sbx_selftest_fact **out)
{
    enum { FACTS = 5 };
    struct utsname name;
    struct sbx_selftest_fact *facts = SBX_NEW_ARRAY(arena, struct sbx_selftest_fact, FACTS);
    if (facts == NULL || uname(&name) != 0) {
        return 0;
    }
    facts[0] = (struct sbx_selftest_fact){
        .name = "system", .text = sbx_arena_copy(arena, name.sysname, strlen(name.sysname))};
    facts[1] = (struct sbx_selftest_fact){
        .name = "version", .text = sbx_arena_copy(arena, name.release, strlen(name.release))};
    facts[2] = (struct sbx_selftest_fact){
        .name = "build", .text = sbx_arena_copy(arena, name.version, strlen(name.version))};
    facts[3] = (struct sbx_selftest_fact){
        .name = "architecture", .text = sbx_arena_copy(arena, name.machine, strlen(name.machine))};
    facts[4] = (struct sbx_selftest_fact){.name = "elevated", .flag = geteuid() == 0};
    *out = facts;
    return FACTS;
}
