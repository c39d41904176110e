/* The self-test on Windows: its directories, its copy of sbx, and what the machine is. */
#include "win/selftest.h"

#include <stdio.h>

#include "common/os.h"
#include "win/fault.h"
#include "win/handle.h"
#include "win/sid.h"
#include "win/system.h"
#include "win/wide.h"

#include "common/base/banned.h"

#define NAME_TRIES 16

#define PIPES 8

struct own {
    HANDLE secret;
    HANDLE pipes[PIPES]; /* instances of one, each of which a client can open once */
    uint64_t listener;
    ATOM atom;
};

/* ---- files ---- */

wchar_t *sbx_selftest_wide(struct sbx_selftest *t, const char *path)
{
    wchar_t *wide = NULL;
    return sbx_wide_path(&t->arena, path, &wide, NULL) == SBX_OK ? wide : NULL;
}

bool sbx_selftest_touch(struct sbx_selftest *t, const char *path)
{
    return path != NULL && sbx_selftest_wide(t, path) != NULL &&
           sbx_os_write_new(path, sbx_str("x"), NULL) == SBX_OK;
}

static void remove_below(const wchar_t *directory)
{
    static const size_t most = 32000;
    size_t len = wcslen(directory);
    WIN32_FIND_DATAW entry;
    wchar_t *name = len < most ? (wchar_t *)LocalAlloc(LPTR, (len + 264) * sizeof(wchar_t)) : NULL;
    if (name == NULL) {
        return;
    }
    (void)_snwprintf(name, len + 264, L"%ls\\*", directory);
    HANDLE find = FindFirstFileW(name, &entry);
    while (find != INVALID_HANDLE_VALUE) {
        bool is_self = wcscmp(entry.cFileName, L".") == 0 || wcscmp(entry.cFileName, L"..") == 0;
        bool is_directory = (entry.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
        bool is_link = (entry.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
        (void)_snwprintf(name, len + 264, L"%ls\\%ls", directory, entry.cFileName);
        if (!is_self && is_directory && !is_link) {
            remove_below(name);
        }
        if (!is_self) {
            (void)SetFileAttributesW(name, FILE_ATTRIBUTE_NORMAL);
            (void)(is_directory ? RemoveDirectoryW(name) : DeleteFileW(name));
        }
        if (!FindNextFileW(find, &entry)) {
            break;
        }
    }
    if (find != INVALID_HANDLE_VALUE) {
        (void)FindClose(find);
    }
    (void)LocalFree(name);
}

void sbx_selftest_remove(const char *directory)
{
    AUTO_ARENA arena;
    wchar_t *wide;
    sbx_arena_init(&arena, 256u << 10);
    if (directory[0] != '\0' && sbx_wide_path(&arena, directory, &wide, NULL) == SBX_OK) {
        remove_below(wide);
        (void)RemoveDirectoryW(wide);
    }
}

/* ---- places ---- */

static enum sbx_code add(struct sbx_selftest *t, const char *name, const char *value,
                         struct sbx_err *err)
{
    return value == NULL ? sbx_err_nomem(err) : sbx_selftest_place_add(t, name, value, err);
}

static enum sbx_code make_directory(struct sbx_selftest *t, const char *path, struct sbx_err *err)
{
    wchar_t *wide;
    enum sbx_code code = sbx_wide_path(&t->kept, path, &wide, err);
    if (code == SBX_OK && !CreateDirectoryW(wide, NULL)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CreateDirectoryW", "cannot make \"%s\"", path);
    }
    return code;
}

/* A name that nobody has; others who make one first only cost a try. */
static enum sbx_code make_root(struct sbx_selftest *t, const char *tmp, struct sbx_err *err)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        uint64_t number = 0;
        (void)SystemFunction036(&number, sizeof number);
        const char *root =
            sbx_arena_printf(&t->kept, "%s\\sbx-selftest-%016llx", tmp, (unsigned long long)number);
        if (root == NULL) {
            return sbx_err_nomem(err);
        }
        enum sbx_code code = make_directory(t, root, err);
        if (code == SBX_OK) {
            return add(t, "root", root, err);
        }
        if (err->raw != ERROR_ALREADY_EXISTS) {
            return code;
        }
    }
    return err->code;
}

static enum sbx_code make_directories(struct sbx_selftest *t, struct sbx_err *err)
{
    struct sbx_context context;
    enum sbx_code code = sbx_os_context(&t->kept, &context, err);
    if (code == SBX_OK) {
        code = make_root(t, context.tmp.text, err);
    }
    static const char *const names[] = {"bin", "inside", "outside"};
    const char *root = sbx_selftest_place(t, "root");
    for (size_t i = 0; code == SBX_OK && i < SBX_COUNT(names); i++) {
        const char *path = sbx_arena_printf(&t->kept, "%s\\%s", root, names[i]);
        code = path == NULL ? sbx_err_nomem(err) : make_directory(t, path, err);
        if (code == SBX_OK) {
            code = add(t, names[i], path, err);
        }
    }
    static const char *const files[] = {"begun", "after", "left"};
    for (size_t i = 0; code == SBX_OK && i < SBX_COUNT(files); i++) {
        code = add(t, files[i], sbx_arena_printf(&t->kept, "%s\\inside\\%s", root, files[i]), err);
    }
    if (code == SBX_OK) {
        code = add(t, "state", context.state_dir.text, err);
    }
    if (code == SBX_OK) {
        code = add(t, "home", context.home.text, err);
    }
    if (code == SBX_OK) { /* "127.0.0.1\C$\…": the same place by the network */
        code = add(t, "share",
                   sbx_arena_printf(&t->kept, "\\\\127.0.0.1\\%c$%s", root[0], root + 2), err);
    }
    return code == SBX_OK ? add(t, "windows", context.system_root.text, err) : code;
}

static enum sbx_code copy_program(struct sbx_selftest *t, struct sbx_err *err)
{
    struct sbx_path self;
    wchar_t *from;
    wchar_t *to;
    enum sbx_code code = sbx_os_self(&t->kept, &self, err);
    const char *copy = sbx_arena_printf(&t->kept, "%s\\sbx.exe", sbx_selftest_place(t, "bin"));
    if (copy == NULL) {
        return sbx_err_nomem(err);
    }
    if (code == SBX_OK) {
        code = sbx_wide_path(&t->kept, self.text, &from, err);
    }
    if (code == SBX_OK) {
        code = sbx_wide_path(&t->kept, copy, &to, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    if (!CopyFileW(from, to, TRUE)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "CopyFileW", "cannot copy \"%s\" to \"%s\"", self.text,
                             copy);
    }
    code = add(t, "program", self.text, err);
    return code == SBX_OK ? add(t, "copy", copy, err) : code;
}

/* ---- what boxes must not reach ---- */

static enum sbx_code plant(struct sbx_selftest *t, struct own *own, struct sbx_err *err)
{
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    const char *path = sbx_arena_printf(&t->kept, "%s\\secret", sbx_selftest_place(t, "outside"));
    wchar_t *wide;
    if (path == NULL) {
        return sbx_err_nomem(err);
    }
    const char *other = sbx_arena_printf(&t->kept, "%s\\other", sbx_selftest_place(t, "outside"));
    enum sbx_code code =
        sbx_os_write_new(path, sbx_str("planted: nobody in a box reads this\n"), err);
    if (code == SBX_OK) { /* which nobody holds open */
        code = other == NULL ? sbx_err_nomem(err) : sbx_os_write_new(other, sbx_str("x"), err);
    }
    if (code == SBX_OK) {
        code = sbx_wide_path(&t->kept, path, &wide, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    own->secret =
        CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                    &inherited, OPEN_EXISTING, 0, NULL);
    return add(t, "handle",
               sbx_arena_printf(&t->kept, "%llu", (unsigned long long)(uintptr_t)own->secret), err);
}

/* A tree as repositories have it, with names that are protected below every writable path. */
static enum sbx_code plant_tree(struct sbx_selftest *t, struct sbx_err *err)
{
    static const char *const directories[] = {"", "\\.git", "\\.git\\hooks", "\\plain"};
    static const char *const files[] = {"\\.git\\config", "\\.aider.conf.yml", "\\plain\\file"};
    const char *root = sbx_arena_printf(&t->kept, "%s\\guarded", sbx_selftest_place(t, "root"));
    enum sbx_code code = add(t, "guarded", root, err);
    for (size_t i = 0; code == SBX_OK && i < SBX_COUNT(directories); i++) {
        const char *path = sbx_arena_printf(&t->kept, "%s%s", root, directories[i]);
        code = path == NULL ? sbx_err_nomem(err) : make_directory(t, path, err);
    }
    for (size_t i = 0; code == SBX_OK && i < SBX_COUNT(files); i++) {
        const char *path = sbx_arena_printf(&t->kept, "%s%s", root, files[i]);
        code = path == NULL ? sbx_err_nomem(err) : sbx_os_write_new(path, sbx_str("x"), err);
    }
    return code;
}

/* A pipe of an ordinary program: its list is the default. */
static void plant_pipe(struct own *own, unsigned long pid)
{
    wchar_t name[64];
    (void)_snwprintf(name, SBX_COUNT(name), L"\\\\.\\pipe\\sbx-selftest-%lu-host", pid);
    for (size_t i = 0; i < PIPES; i++) {
        own->pipes[i] =
            CreateNamedPipeW(name, PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE, PIPES, 4096, 4096, 0, NULL);
    }
}

static enum sbx_code plant_names(struct sbx_selftest *t, struct own *own, struct sbx_err *err)
{
    uint16_t port = 0;
    unsigned long pid = GetCurrentProcessId();
    wchar_t atom[64];
    (void)_snwprintf(atom, SBX_COUNT(atom), L"sbx-selftest-%lu", pid);
    own->atom = GlobalAddAtomW(atom);
    plant_pipe(own, pid);
    /* A case that needs one that is not there says so by its control. */
    if (sbx_socket_listen(&own->listener, &port) != 0) {
        own->listener = SBX_NO_SOCKET;
    }
    enum sbx_code code = add(t, "port", sbx_arena_printf(&t->kept, "%u", (unsigned)port), err);
    if (code == SBX_OK) {
        code = add(t, "pid", sbx_arena_printf(&t->kept, "%lu", pid), err);
    }
    return code == SBX_OK ? add(t, "name", sbx_arena_printf(&t->kept, "sbx-selftest-%lu", pid), err)
                          : code;
}

enum sbx_code sbx_selftest_open(struct sbx_selftest *t, struct sbx_err *err)
{
    struct own *own = SBX_NEW(&t->kept, struct own);
    if (own == NULL) {
        return sbx_err_nomem(err);
    }
    own->listener = SBX_NO_SOCKET;
    t->platform = own;
    /* Boxes must drop it. */
    (void)SetEnvironmentVariableW(L"SBX_SELFTEST_VARIABLE", L"of the caller");
    enum sbx_code code = make_directories(t, err);
    if (code == SBX_OK) {
        code = copy_program(t, err);
    }
    if (code == SBX_OK) {
        code = plant(t, own, err);
    }
    if (code == SBX_OK) {
        code = plant_tree(t, err);
    }
    return code == SBX_OK ? plant_names(t, own, err) : code;
}

/* The entries for our directories go with them, what sbx noted about them does not. */
static void forget_roots(struct sbx_selftest *t)
{
    static const char *const names[] = {"bin", "inside", "outside", "guarded"};
    for (size_t i = 0; t->has_tried && t->refusal == NULL && i < SBX_COUNT(names); i++) {
        const char *argv[] = {sbx_selftest_place(t, "program"), "workspace", "remove",
                              sbx_selftest_place(t, names[i]), NULL};
        struct sbx_selftest_spawn spawn = {
            .argv = argv, .cwd = sbx_selftest_place(t, "windows"), .timeout_ns = 60000000000u};
        struct sbx_selftest_ended ended;
        (void)!sbx_selftest_spawn(&t->kept, &spawn, &ended, NULL);
    }
}

void sbx_selftest_close(struct sbx_selftest *t)
{
    struct own *own = (struct own *)t->platform;
    if (own != NULL) {
        forget_roots(t);
        sbx_handle_close(&own->secret);
        for (size_t i = 0; i < PIPES; i++) {
            sbx_handle_close(&own->pipes[i]);
        }
        sbx_socket_close(own->listener);
        (void)GlobalDeleteAtom(own->atom);
    }
    sbx_selftest_remove(sbx_selftest_place(t, "root"));
    t->platform = NULL;
}

const struct sbx_selftest_group *const *sbx_selftest_groups(void)
{
    static const struct sbx_selftest_group *const groups[] = {
        &sbx_selftest_box_group,
        &sbx_selftest_identity_group,
        &sbx_selftest_environment_group,
        &sbx_selftest_files_group,
        &sbx_selftest_paths_group,
        &sbx_selftest_network_group,
        &sbx_selftest_attack_group,
        &sbx_selftest_ui_group,
        &sbx_selftest_limits_group,
        &sbx_selftest_terminal_group,
        &sbx_selftest_nesting_group,
        &sbx_selftest_matrix_group,
        &sbx_selftest_tools_group,
        &sbx_selftest_growth_group,
        &sbx_selftest_ending_group,
        &sbx_selftest_leftovers_group,
        NULL,
    };
    return groups;
}
