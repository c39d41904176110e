/* Cases: what a box may do with files, and the ways around a name that it must not touch. */
#include "common/os.h"
#include "win/acl.h"
#include "win/selftest.h"
#include "win/sid.h"

#include "common/base/banned.h"

/* ---- grants ---- */

/* The user keeps what a box makes: git and every other program take it for the user's own. */
static void check_owner(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                        struct sbx_selftest_result *result)
{
    struct sbx_selftest_plan plan = {.manifest = row->manifest, .words = row->attempt};
    struct sbx_selftest_plan make = {.words = "create {inside}\\owned-outside"};
    struct sbx_selftest_plan ask = {.words = "owner {inside}\\owned"};
    struct sbx_selftest_plan ask_outside = {.words = "owner {inside}\\owned-outside"};
    struct sbx_selftest_box box;
    struct sbx_selftest_box told;
    struct sbx_selftest_box usual;
    if (!sbx_selftest_run_box(t, &plan, &box, result) ||
        !sbx_selftest_run_outside(t, &ask, &told, result) ||
        !sbx_selftest_run_outside(t, &make, &usual, result) ||
        !sbx_selftest_run_outside(t, &ask_outside, &usual, result)) {
        return;
    }
    PSID user = sbx_acl_user(&t->arena);
    const char *name = user == NULL ? "?" : sbx_sid_text(&t->arena, user);
    /* What an elevated user makes belongs to Administrators, in a box or not. */
    bool is_users = told.answer == SBX_ANSWER_DONE &&
                    (sbx_text_eq(told.text, name) || sbx_text_eq(told.text, usual.text));
    sbx_selftest_say(t, result, is_users ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "box: %s; its owner is %s; outside it would be %s; the user is %s",
                     sbx_selftest_describe(t, &box), told.text, usual.text, name);
}

static const struct sbx_selftest_case file_cases[] = {
    {.id = "files.cycle",
     .promise = "a box makes, writes, reads, renames and removes files where it may write",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "cycle {inside}",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE},
    {.id = "files.directory",
     .promise = "a box makes a directory where it may write",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "directory {inside}\\made",
     .wants = SBX_ANSWER_DONE},
    {.id = "files.owner",
     .promise = "what a box makes is owned by whom the user's own files are",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "create {inside}\\owned",
     .run = check_owner},
    {.id = "files.private",
     .promise = "it is measured whether a directory for the owner alone stays usable in a box",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "private {inside}\\private",
     .wants = SBX_ANSWER_ANY,
     .control = SBX_ANSWER_DONE},
    {.id = "files.write-outside",
     .promise = "a box does not write where its manifest does not let it",
     .attempt = "write {outside}\\written",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.write-read-only",
     .promise = "a box does not write what it may only read",
     .manifest = "fs_read_allow = [\"{bin}\", \"{outside}\"]\n",
     .attempt = "write {outside}\\written",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.read-outside",
     .promise = "a box does not read what its manifest does not name",
     .attempt = "read {outside}\\secret",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.list-outside",
     .promise = "nor does it list it",
     .attempt = "list {outside}",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.read-granted",
     .promise = "a box reads what its manifest names",
     .manifest = "fs_read_allow = [\"{bin}\", \"{outside}\"]\n",
     .attempt = "read {outside}\\secret",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE},
    {.id = "files.revoked",
     .promise = "what one box was granted, the next one without the grant does not have",
     .attempt = "read {outside}\\secret",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.home",
     .promise = "a box does not list the user's home directory",
     .attempt = "list {home}",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.state",
     .promise = "a box does not list what sbx keeps about its runs",
     .attempt = "list {state}",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.system",
     .promise = "a box reads the system's own files",
     .attempt = "read {windows}\\System32\\kernel32.dll",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE},
    {.id = "files.system-temp",
     .promise = "a box does not write to the system's temporary directory",
     .attempt = "cycle {windows}\\Temp",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE | SBX_CONTROL_OR_CANNOT},
    {.id = "files.list-change",
     .promise = "a box does not change who may use its own directory",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "list-change {inside}",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.owner-change",
     .promise = "nor who owns it",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "owner-change {inside}",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
};
const struct sbx_selftest_group sbx_selftest_files_group = {"files", file_cases,
                                                            SBX_COUNT(file_cases)};

/* ---- protected names, by every spelling ---- */

/* The command stands elsewhere: a directory in which a process stands cannot be renamed by anybody. */
#define GUARDED "fs_write_allow = [\"{guarded}\"]\n"
#define ROW(ID, PROMISE, ATTEMPT)                                                                  \
    {                                                                                              \
        .id = "paths." ID, .promise = (PROMISE), .manifest = GUARDED, .attempt = (ATTEMPT),        \
        .wants = SBX_ANSWER_DENIED, .control = SBX_ANSWER_DONE                                     \
    }
#define ROW_IF(ID, PROMISE, ATTEMPT)                                                               \
    {                                                                                              \
        .id = "paths." ID, .promise = (PROMISE), .manifest = GUARDED, .attempt = (ATTEMPT),        \
        .wants = SBX_ANSWER_CLOSED, .control = SBX_ANSWER_DONE | SBX_CONTROL_OR_CANNOT             \
    }

static const struct sbx_selftest_case path_cases[] = {
    {.id = "paths.plain",
     .promise = "beside a protected name a box writes",
     .manifest = GUARDED,
     .attempt = "append {guarded}\\plain\\file",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE},
    {.id = "paths.read",
     .promise = "a protected name is read",
     .manifest = GUARDED,
     .attempt = "read {guarded}\\.git\\config",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE},
    ROW("write", "a protected file is not written", "append {guarded}\\.git\\config"),
    ROW("create", "nothing is made in a protected directory",
        "write {guarded}\\.git\\hooks\\post-checkout"),
    ROW("delete", "a protected file cannot be opened to remove it",
        "may {guarded}\\.git\\config 0x10000"),
    ROW("attributes", "its attributes are not changed", "hide {guarded}\\.git\\config"),
    ROW("list", "its access list is not changed", "list-change {guarded}\\.git\\config"),
    ROW("rename", "a protected directory is not renamed",
        "rename {guarded}\\.git {guarded}\\renamed"),
    ROW("rename-parent", "nor is the directory that holds it", "rename {guarded} {root}\\renamed"),
    ROW("case", "another case is the same name", "append {guarded}\\.GIT\\CONFIG"),
    ROW("stream", "a stream of a protected file is not made",
        "write {guarded}\\.git\\config:stream"),
    ROW("data", "its data by the name of the stream is not written",
        "append {guarded}\\.git\\config::$DATA"),
    ROW("index", "nor by the stream that a directory is",
        "append {guarded}\\.git::$INDEX_ALLOCATION\\config"),
    ROW("dot", "a dot at the end is the same name", "append {guarded}\\.git\\config."),
    ROW("verbatim", "the long prefix is the same file", "append \\\\?\\{guarded}\\.git\\config"),
    ROW("device", "the device prefix is the same file", "append \\\\.\\{guarded}\\.git\\config"),
    ROW("root-link", "the name of the object manager is the same file",
        "append \\\\?\\GLOBALROOT\\??\\{guarded}\\.git\\config"),
    ROW_IF("short", "the short name is the same file", "short-name {guarded}\\.aider.conf.yml"),
    ROW_IF("share", "the same file by the network is closed",
           "append {share}\\guarded\\.git\\config"),
    ROW("hard-link", "a protected file gets no second name",
        "hard-link {guarded}\\second {guarded}\\.git\\config"),
    {.id = "paths.hard-link-outside",
     .promise = "a file outside gets no name inside",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "hard-link {inside}\\second {outside}\\other",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "paths.junction",
     .promise = "a junction does not lead out",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "junction {inside}\\junction {outside}",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "paths.symbolic-link",
     .promise = "a symbolic link is not made",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "symbolic-link {inside}\\link {outside}\\secret",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE | SBX_CONTROL_OR_CANNOT},
    {.id = "paths.new-name",
     .promise = "a protected name that is made anew ends the box, and the outcome says so",
     .manifest = GUARDED,
     .attempt = "mark {guarded}\\.envrc {guarded}\\plain\\late 8000",
     .limit = "protected"},
};
const struct sbx_selftest_group sbx_selftest_paths_group = {"paths", path_cases,
                                                            SBX_COUNT(path_cases)};
