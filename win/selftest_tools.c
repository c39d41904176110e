/* Cases: programs that people use, if they are installed, do something small in a box. */
#include <string.h>

#include "common/os.h"
#include "win/selftest.h"

#include "common/base/banned.h"

/* What the system opens to every package (C:\Windows, C:\Program Files) runs as it is. A tool elsewhere, in the user's
 * profile say, would need its directory granted, which writes entries there: only --long does, and takes them back. */
#define TOOL(NAME, PROGRAM, WORDS, STATUS)                                                         \
    {                                                                                              \
        .id = "tools." NAME, .promise = NAME " runs in a box", .attempt = PROGRAM " " WORDS,       \
        .wants = (STATUS), .run = run_tool                                                         \
    }

static const char *directory_of(struct sbx_selftest *t, const char *program)
{
    const char *last = strrchr(program, '\\');
    return last == NULL ? "" : sbx_arena_copy(&t->arena, program, (size_t)(last - program));
}

static bool is_open_to_packages(struct sbx_selftest *t, const char *program)
{
    struct sbx_context context;
    struct sbx_path path;
    return sbx_os_context(&t->arena, &context, NULL) == SBX_OK &&
           sbx_path_make(&t->arena, SBX_PATH_WINDOWS, sbx_str(program), &path) == SBX_PATH_OK &&
           (sbx_path_contains(context.system_root, path) ||
            sbx_path_contains(context.program_files, path));
}

/* The manifest for a tool: write {inside}, read its own directory. */
static const char *manifest_for(struct sbx_selftest *t, const char *program, bool is_open)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 8u << 10);
    sbx_buf_add_text(&text, SBX_SELFTEST_WRITES);
    if (!is_open) {
        sbx_buf_add_text(&text, "fs_read_allow = [\"{bin}\", \"");
        for (const char *c = directory_of(t, program); c != NULL && *c != '\0'; c++) {
            sbx_buf_add_text(&text, *c == '\\' ? "\\\\" : (const char[2]){*c, '\0'});
        }
        sbx_buf_add_text(&text, "\"]\n");
    }
    sbx_buf_add_text(&text, "env_pass = [\"PATH\"]\ntimeout = \"2m\"\n");
    return sbx_arena_copy(&t->arena, sbx_buf_text(&text), text.len);
}

static void take_back(struct sbx_selftest *t, const char *directory)
{
    const char *argv[] = {sbx_selftest_place(t, "program"), "workspace", "remove", directory, NULL};
    struct sbx_selftest_spawn spawn = {.argv = argv,
                                       .cwd = sbx_selftest_place(t, "bin"),
                                       .timeout_ns = 600u * UINT64_C(1000000000)};
    struct sbx_selftest_ended ended;
    if (directory != NULL) {
        (void)!sbx_selftest_spawn(&t->arena, &spawn, &ended, NULL);
    }
}

static void try_tool(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                     struct sbx_selftest_result *result)
{
    struct sbx_path found;
    struct sbx_str name;
    struct sbx_str rest;
    struct sbx_err err = {0};
    struct sbx_selftest_box box;
    struct sbx_selftest_box outside;
    if (!sbx_selftest_has_box(t, result)) {
        return;
    }
    (void)sbx_str_split(sbx_str(row->attempt), ' ', &name, &rest);
    const char *program = sbx_arena_copy(&t->arena, name.ptr, name.len);
    if (program == NULL || sbx_os_find_program(&t->arena, program, sbx_os_env(&t->arena, "PATH"),
                                               &found, &err) != SBX_OK) {
        sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT, "it is not installed: %s", err.text);
        return;
    }
    bool is_open = is_open_to_packages(t, found.text);
    if (!is_open && !t->is_long) {
        sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT,
                         "%s is in a directory that boxes may not read; --long grants it and takes "
                         "it back",
                         found.text);
        return;
    }
    if (sbx_selftest_place_add(t, "tool", found.text, &err) != SBX_OK) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "%s", err.text);
        return;
    }
    struct sbx_selftest_plan plan = {.manifest = manifest_for(t, found.text, is_open),
                                     .words = sbx_arena_printf(&t->arena, "{tool} %s", rest.ptr),
                                     .is_program = true,
                                     .timeout_ns = 150000000000u};
    if (!sbx_selftest_run_outside(t, &plan, &outside, result)) {
        return;
    }
    if (outside.ended.status != row->wants) {
        sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT, "%s ends with 0x%lx outside a box too",
                         found.text, (unsigned long)outside.ended.status);
    } else if (sbx_selftest_run_box(t, &plan, &box, result)) {
        bool is_same = box.exit_code == row->wants;
        sbx_selftest_say(t, result, is_same ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                         "%s ends with 0x%lx in a box, 0x%lx outside%s%s", found.text,
                         (unsigned long)box.exit_code, (unsigned long)outside.ended.status,
                         is_same ? "" : "; ", is_same ? "" : sbx_selftest_describe(t, &box));
    }
    if (!is_open) {
        take_back(t, directory_of(t, found.text));
    }
}

/* The program may have a space in its path, so it is a place of its own for a moment. */
static void run_tool(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                     struct sbx_selftest_result *result)
{
    size_t places = t->place_count;
    try_tool(t, row, result);
    t->place_count = places;
}

/* Words without spaces: each is one argument. The number is what it ends with. */
static const struct sbx_selftest_case cases[] = {
    TOOL("cmd", "cmd.exe", "/d /c exit 7", 7),
    TOOL("where", "where.exe", "/q cmd.exe", 0),
    TOOL("curl", "curl.exe", "--version", 0),
    TOOL("powershell", "powershell.exe", "-NoProfile -NonInteractive -Command exit(7)", 7),
    TOOL("pwsh", "pwsh.exe", "-NoProfile -NonInteractive -Command exit(7)", 7),
    TOOL("git", "git.exe", "init -q repository", 0),
    TOOL("node", "node.exe", "-e process.exit(7)", 7),
    /* With pipes to its child: libuv before July 2026 hangs here. */
    TOOL("node-pipes", "node.exe",
         "-e process.exit(require('child_process').spawnSync(process.execPath,"
         "['-e','process.exit(7)']).status)",
         7),
    TOOL("npm", "npm.cmd", "--version", 0),
    TOOL("python", "python.exe", "-c __import__('sys').exit(7)", 7),
    TOOL("cargo", "cargo.exe", "--version", 0),
    TOOL("dotnet", "dotnet.exe", "--version", 0),
    TOOL("cmake", "cmake.exe", "-E echo done", 0),
    TOOL("go", "go.exe", "version", 0),
    TOOL("java", "java.exe", "-version", 0),
};
const struct sbx_selftest_group sbx_selftest_tools_group = {"tools", cases, SBX_COUNT(cases)};
