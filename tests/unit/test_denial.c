/* Denials: events, ends, order, explanations. */
#include <stdio.h>
#include <string.h>

#include "common/run/complaint.h"
#include "tests/check.h"
#include "tests/unit/denial_fixture.h"

#include "common/base/banned.h"

static struct sbx_event event(enum sbx_operation operation, const char *path)
{
    return (struct sbx_event){.operation = operation, .path = sbx_str(path), .error = 13};
}

static void find_events(struct denials *d, const struct sbx_event *events, size_t count,
                        const char *text)
{
    d->record.events = events;
    d->record.event_count = count;
    denials_read(d, text);
}

static void check_first(const struct denials *d, const char *want)
{
    char got[512] = "nothing";
    if (d->found.count > 0) {
        denials_describe(&d->found.items[0], got, sizeof got);
    }
    CHECK_TEXT(got, want);
}

/* ---- events ---- */

static void an_event_wins_over_a_guess_for_the_same_path(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    const struct sbx_event events[] = {event(SBX_TRIED_RENAME, "/etc/x")};
    find_events(&d, events, 1,
                "touch: cannot touch '/etc/x': Read-only file system\n"
                "touch: cannot touch '/etc/y': Read-only file system\n"
                "touch: cannot touch '/etc/./x': Read-only file system\n");
    CHECK_U64(d.found.count, 2);
    check_first(&d, "file rename /etc/x");
    CHECK(d.found.items[0].is_exact);
    CHECK_TEXT(d.found.items[1].subject, "/etc/y");
    CHECK(!d.found.items[1].is_exact);
}

static void a_protected_name_says_who_runs_it(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    const struct sbx_event events[] = {
        event(SBX_TRIED_CREATE, "/home/user/project/.vscode/tasks.json")};
    find_events(&d, events, 1, "");
    check_first(&d, "protected create /home/user/project/.vscode/tasks.json");
    const struct sbx_denial *denial = &d.found.items[0];
    CHECK_TEXT(denial->because, "\".vscode\" is protected below \"/home/user/project\": VS Code "
                                "runs its tasks and settings");
    CHECK_TEXT(denial->allow_line, NULL);
    CHECK_TEXT(denial->allow_flag, NULL);
    CHECK_TEXT(denial->note, "do it outside the box, or give protect a list without \".vscode\"");
    CHECK(denial->protection != NULL && denial->rule == NULL);
}

static void git_may_commit_when_told_so(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    const struct sbx_event events[] = {event(SBX_TRIED_WRITE, "/home/user/project/.git/index"),
                                       event(SBX_TRIED_WRITE, "/home/user/project/.git/config")};
    find_events(&d, events, 2, "");
    CHECK_U64(d.found.count, 2);
    CHECK_TEXT(d.found.items[0].allow_line, "git = \"commit\"");
    CHECK_TEXT(d.found.items[0].allow_flag, "--git commit");
    CHECK_TEXT(d.found.items[1].allow_line,
               "fs_write_allow = [\"/home/user/project/.git/config\"]");
    CHECK_TEXT(d.found.items[1].note, "better: do it outside the box");
}

static void names_that_are_no_text_are_told_but_cannot_be_granted(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    const struct sbx_event events[] = {event(SBX_TRIED_CREATE, "/etc/\xff/x"),
                                       event(SBX_TRIED_CREATE, "/etc/a\nb"),
                                       event(SBX_TRIED_CREATE, ""),
                                       {.operation = SBX_TRIED_WRITE, .path = {"/etc/\0x", 7}}};
    find_events(&d, events, SBX_COUNT(events), "");
    CHECK_U64(d.found.count, 2);
    CHECK_TEXT(d.found.items[0].subject, "/etc/\xff/x");
    CHECK_TEXT(d.found.items[0].allow_line, NULL);
    CHECK_TEXT(d.found.items[0].note, "its name is not valid text, and a manifest cannot name it");
    CHECK_TEXT(d.found.items[1].subject, "/etc/a\nb");
}

/* ---- what would allow it ---- */

static void the_rule_and_the_line_are_those_of_why(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    denials_read(&d, "touch: cannot touch '/etc/x': Read-only file system");
    check_first(&d, "file write /etc/x");
    const struct sbx_denial *denial = &d.found.items[0];
    CHECK_TEXT(denial->by, "/ = read  mode workspace-write");
    CHECK_TEXT(denial->because, "\"/\" is read-only in this box (mode workspace-write)");
    CHECK_TEXT(denial->allow_line, "fs_write_allow = [\"/etc/x\"]");
    CHECK_TEXT(denial->allow_flag, "-w /etc/x");
    CHECK_TEXT(denial->note, NULL);
    CHECK(denial->rule != NULL && denial->protection == NULL);
}

static void what_is_not_there_needs_its_directory_or_to_be_made_first(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    denials_read(&d, "touch: cannot touch '/opt/data/new': Read-only file system\n"
                     "touch: cannot touch '/etc/new': Read-only file system\n"
                     "touch: cannot touch '/home/user/new': Read-only file system\n");
    CHECK_U64(d.found.count, 3);
    CHECK_TEXT(d.found.items[0].allow_line, "fs_write_allow = [\"/opt/data\"]");
    CHECK_TEXT(d.found.items[0].note, NULL);
    CHECK_TEXT(d.found.items[1].allow_line, "fs_write_allow = [\"/etc/new\"]");
    CHECK_TEXT(d.found.items[2].allow_line, "fs_write_allow = [\"/home/user/new\"]");
    for (size_t i = 1; i < d.found.count; i++) {
        CHECK(d.found.items[i].note != NULL &&
              strstr(d.found.items[i].note, "does not exist") != NULL);
    }
}

static void what_the_host_refuses_too_is_offered_to_nobody(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    denials_read(&d, "sh: 1: cannot create /etc/locked: Read-only file system");
    check_first(&d, "file create /etc/locked");
    CHECK_TEXT(d.found.items[0].allow_line, NULL);
    CHECK_TEXT(d.found.items[0].note, "the host refuses it to you outside the box too");
}

static void what_the_administrator_closes_only_he_opens(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    struct fixture *f = &d.fixture;
    CHECK(fixture_ceiling(f, "forbid_paths = [\"/opt\"]\n"));
    if (!sbx_findings_ok(&f->findings)) {
        fixture_print_findings(f);
    }
    fixture_resolve(f);
    denials_read(&d, "cat: /opt/tool: No such file or directory");
    check_first(&d, "file read /opt/tool");
    CHECK(strstr(d.found.items[0].because, "closed by the administrator") != NULL);
    CHECK_TEXT(d.found.items[0].allow_line, NULL);
    CHECK_TEXT(d.found.items[0].note, "only the administrator's policy can open it");
}

static void hidden_files_say_what_hides_them(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_STRICT);
    denials_read(&d, "cat: /tmp/of-the-host: No such file or directory\n"
                     "cat: /opt/tool: No such file or directory\n"
                     "cat: /etc/shadow: Permission denied\n");
    CHECK_U64(d.found.count, 3);
    CHECK_TEXT(d.found.items[0].because, "\"/etc/shadow\" is closed in this box (profile strict)");
    CHECK_TEXT(d.found.items[1].because,
               "\"/tmp\" is private and empty in this box (profile strict)");
    CHECK_TEXT(d.found.items[2].because, "no rule grants it, so it is not in this box");
    CHECK_TEXT(d.found.items[2].allow_flag, "-r /opt/tool");
}

static void a_host_is_offered_as_a_line_of_the_network(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    denials_read(&d, "ping: connect: Network is unreachable\n"
                     "curl: (6) Could not resolve host: example.com\n"
                     "curl: (6) Could not resolve host: example.com\n");
    CHECK_U64(d.found.count, 1);
    CHECK_TEXT(d.found.items[0].allow_line,
               "network = { kind = \"allow_hosts\", hosts = [\"example.com\"] }");
    CHECK_TEXT(d.found.items[0].allow_flag, "--net example.com");
    AUTO_DENIALS with_list;
    denials_start(&with_list, BOX_HOSTS);
    denials_read(&with_list, "Failed to connect to example.com port 8443: Network is unreachable");
    CHECK_TEXT(
        with_list.found.items[0].allow_line,
        "network = { kind = \"allow_hosts\", hosts = [\"pypi.org\", \"example.com:8443\"] }");
}

static void a_socket_is_offered_by_its_path(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_STRICT);
    denials_read(&d, "dial unix /run/docker.sock: connect: no such file or directory");
    check_first(&d, "socket connect /run/docker.sock");
    CHECK_TEXT(d.found.items[0].allow_line, "unix_sockets = [\"/run/docker.sock\"]");
    CHECK_TEXT(d.found.items[0].allow_flag, "--unix-socket /run/docker.sock");
}

/* ---- the end ---- */

static void a_killed_call_is_named_and_comes_first(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_STRICT);
    const struct sbx_event events[] = {event(SBX_TRIED_WRITE, "/etc/x")};
    d.record = (struct sbx_run_record){.outcome = {.started = true, .signal = 31},
                                       .events = events,
                                       .event_count = 1,
                                       .killed_call = "ptrace"};
    denials_find(&d);
    CHECK_U64(d.found.count, 2);
    check_first(&d, "call call ptrace");
    CHECK(d.found.items[0].is_exact);
    CHECK_TEXT(d.found.items[0].allow_line, "syscall_policy = \"inherit\"");
    CHECK_TEXT(d.found.items[0].allow_flag, "--syscalls inherit");
}

static void a_shell_that_ends_with_159_may_tell_of_a_killed_call(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    d.record.outcome = (struct sbx_outcome){.started = true, .exit_code = 159};
    denials_find(&d);
    check_first(&d, "call call");
    CHECK(!d.found.items[0].is_exact);
    CHECK_TEXT(d.found.items[0].allow_line, NULL);
    CHECK(d.found.items[0].note != NULL);
    d.record.outcome.exit_code = 158;
    denials_find(&d);
    CHECK_U64(d.found.count, 0);
    d.record.outcome = (struct sbx_outcome){.started = true, .signal = 9};
    denials_find(&d);
    CHECK_U64(d.found.count, 0);
}

/* ---- bounds ---- */

static void the_most_relevant_come_first_and_the_rest_is_counted(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    sbx_buf_add_text(&text, "curl: (6) Could not resolve host: example.com\n");
    for (int i = 0; i < 20; i++) {
        sbx_buf_printf(&text, "touch: cannot touch '/etc/n%d': Read-only file system\n", i);
    }
    denials_read(&d, sbx_buf_text(&text));
    CHECK_U64(d.found.count, SBX_DENIALS_MAX);
    CHECK_U64(d.found.left_out, 5);
    check_first(&d, "file write /etc/n0");
    for (int i = 20; i < 400; i++) {
        sbx_buf_printf(&text, "touch: cannot touch '/etc/n%d': Read-only file system\n", i);
    }
    denials_read(&d, sbx_buf_text(&text));
    CHECK_U64(d.found.count, SBX_DENIALS_MAX);
    CHECK_U64(d.found.left_out, 401 - SBX_DENIALS_MAX);
}

static void the_first_line_of_a_cut_tail_is_not_read(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_READ_ONLY);
    const char *text = "tc/x: Read-only file system\nbash: /etc/y: Read-only file system\n";
    denials_read(&d, text);
    CHECK_U64(d.found.count, 2);
    d.record.outcome.stderr_bytes = strlen(text) + 1;
    denials_find(&d);
    CHECK_U64(d.found.count, 1);
    check_first(&d, "file write /etc/y");
    d.record.stderr_tail = sbx_str("tc/x: Read-only file system");
    denials_find(&d);
    CHECK_U64(d.found.count, 0);
}

static void hostile_bytes_are_read_to_the_end(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_READ_ONLY);
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    static const char *const pieces[] = {" 'a", "\x1b[", "\x1b]", "/",   "\xff",
                                         "‘",   "::",    "''",    "../", " /x"};
    for (size_t i = 0; i < SBX_COUNT(pieces); i++) {
        sbx_buf_reset(&text);
        while (text.len < 8000) {
            sbx_buf_add_text(&text, pieces[i]);
        }
        sbx_buf_add_text(&text, ": Read-only file system");
        sbx_buf_add_text(&text, "\nbash: /etc/y: Read-only file system\n");
        denials_read(&d, sbx_buf_text(&text));
        CHECK(d.found.count >= 1);
        CHECK_TEXT(d.found.items[d.found.count - 1].subject, "/etc/y");
    }
    sbx_buf_reset(&text);
    sbx_buf_add_repeat(&text, 'x', SBX_COMPLAINT_LINE_MAX);
    sbx_buf_add_text(&text, " /etc/x: Read-only file system\n");
    denials_read(&d, sbx_buf_text(&text));
    CHECK_U64(d.found.count, 0);
}

static void without_a_sandbox_nothing_is_denied(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_NONE);
    const struct sbx_event events[] = {event(SBX_TRIED_WRITE, "/etc/x")};
    find_events(&d, events, 1, "touch: cannot touch '/etc/x': Read-only file system\n");
    d.record.outcome.signal = 31;
    denials_find(&d);
    CHECK_U64(d.found.count, 0);
}

static void without_memory_fewer_are_found(void)
{
    AUTO_DENIALS d;
    denials_start(&d, BOX_WORKSPACE);
    d.fixture.arena.max_bytes = d.fixture.arena.used_bytes;
    AUTO_BUF text;
    sbx_buf_init(&text, 1u << 20);
    for (int i = 0; i < 400; i++) {
        sbx_buf_printf(&text, "touch: cannot touch '/etc/n%0200d': Read-only file system\n", i);
    }
    const struct sbx_event events[] = {event(SBX_TRIED_CREATE, "/etc/\xff/x/y//"),
                                       event(SBX_TRIED_CREATE, "/"), event(SBX_TRIED_READ, "x")};
    find_events(&d, events, SBX_COUNT(events), sbx_buf_text(&text));
    CHECK(d.found.count <= SBX_DENIALS_MAX && d.found.count + d.found.left_out < 400);
    for (size_t i = 0; i < d.found.count; i++) {
        CHECK(d.found.items[i].by != NULL && d.found.items[i].because != NULL);
    }
}

static const struct sbx_test tests[] = {
    {"an event wins over a guess for the same path", an_event_wins_over_a_guess_for_the_same_path},
    {"a protected name says who runs it", a_protected_name_says_who_runs_it},
    {"git may commit when told so", git_may_commit_when_told_so},
    {"names that are no text are told but cannot be granted",
     names_that_are_no_text_are_told_but_cannot_be_granted},
    {"the rule and the line are those of why", the_rule_and_the_line_are_those_of_why},
    {"what is not there needs its directory, or to be made first",
     what_is_not_there_needs_its_directory_or_to_be_made_first},
    {"what the host refuses too is offered to nobody",
     what_the_host_refuses_too_is_offered_to_nobody},
    {"what the administrator closes only the administrator opens",
     what_the_administrator_closes_only_he_opens},
    {"hidden files say what hides them", hidden_files_say_what_hides_them},
    {"a host is offered as a line of the network", a_host_is_offered_as_a_line_of_the_network},
    {"a socket is offered by its path", a_socket_is_offered_by_its_path},
    {"a killed call is named and comes first", a_killed_call_is_named_and_comes_first},
    {"a shell that ends with 159 may tell of a killed call",
     a_shell_that_ends_with_159_may_tell_of_a_killed_call},
    {"the most relevant come first and the rest is counted",
     the_most_relevant_come_first_and_the_rest_is_counted},
    {"the first line of a cut tail is not read", the_first_line_of_a_cut_tail_is_not_read},
    {"hostile bytes are read to the end", hostile_bytes_are_read_to_the_end},
    {"without a sandbox nothing is denied", without_a_sandbox_nothing_is_denied},
    {"without memory fewer are found", without_memory_fewer_are_found},
};
SBX_TEST_MAIN("denial", tests)
