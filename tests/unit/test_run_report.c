/* What is told after a run: denials and evidence as text and JSON. */
#include <string.h>

#include "common/cli/run_report.h"
#include "tests/check.h"
#include "tests/unit/denial_fixture.h"

#include "common/base/banned.h"

struct report {
    struct denials denials;
    struct sbx_cli cli;
    struct sbx_setup setup;
    struct sbx_prepared prepared;
    struct sbx_buf text;
};

static struct report r;

static void start(enum box box)
{
    r = (struct report){.setup = {.found = SBX_FOUND_NOTHING}};
    denials_start(&r.denials, box);
    r.prepared.policy = r.denials.fixture.policy;
    sbx_buf_init(&r.text, 1u << 20);
}

static void end(void)
{
    sbx_buf_release(&r.text);
    denials_release(&r.denials);
}

static const char *shown(void)
{
    sbx_buf_reset(&r.text);
    sbx_denials_print(&r.cli, &r.setup, &r.prepared, &r.denials.found, &r.text);
    return sbx_buf_text(&r.text);
}

static const char *json(void)
{
    struct sbx_jsonw writer;
    sbx_buf_reset(&r.text);
    sbx_jsonw_init(&writer, &r.text, false);
    sbx_jsonw_object(&writer);
    sbx_denials_json(&r.denials.found, &writer);
    sbx_jsonw_end(&writer);
    CHECK(writer.done && !r.text.failed);
    return sbx_buf_text(&r.text);
}

static void a_denial_says_what_why_and_what_to_do(void)
{
    start(BOX_WORKSPACE);
    denials_read(&r.denials, "touch: cannot touch '/etc/x': Read-only file system\n");
    CHECK_TEXT(shown(), "sbx: probably denied: write to \"/etc/x\": \"/\" is read-only in this box "
                        "(mode workspace-write)\n"
                        "  fix: -w /etc/x, or in sbx.toml: fs_write_allow = [\"/etc/x\"]\n"
                        "  writable here: /home/user/project, /tmp\n");
    r.setup.found = SBX_FOUND_NAMED;
    r.setup.manifest_shown = "box\x1b.toml";
    CHECK(strstr(shown(), "or in box\\x1b.toml: ") != NULL);
    end();
}

static void what_the_box_saw_is_told_without_a_doubt(void)
{
    start(BOX_WORKSPACE);
    const struct sbx_event events[] = {
        {.operation = SBX_TRIED_CREATE, .path = sbx_str("/home/user/project/.git/hooks/x")},
        {.operation = SBX_TRIED_RENAME, .path = sbx_str("/etc/\x1b[2J\xe2\x80\xaex")}};
    r.denials.record.events = events;
    r.denials.record.event_count = SBX_COUNT(events);
    denials_read(&r.denials, "");
    CHECK_TEXT(shown(),
               "sbx: denied: creation of \"/home/user/project/.git/hooks/x\": \".git\" is "
               "protected below \"/home/user/project\": git runs hooks and configured programs\n"
               "  note: do it outside the box, or give protect a list without \".git\"\n"
               "sbx: denied: renaming of \"/etc/\\x1b[2J\\u{202e}x\": \"/\" is read-only in this "
               "box (mode workspace-write)\n"
               "  note: its name is not valid text, and a manifest cannot name it\n"
               "  writable here: /home/user/project, /tmp\n");
    end();
}

static void what_has_no_name_is_told_too(void)
{
    start(BOX_WORKSPACE);
    denials_read(&r.denials, "OSError: [Errno 101] Network is unreachable\n"
                             "socket: Address family not supported by protocol\n"
                             "Bad system call\n");
    CHECK_TEXT(shown(), "sbx: probably denied: a system call: the filter of system calls ends what "
                        "tries it\n"
                        "  note: no box allows it; run the command outside if it must\n"
                        "sbx: probably denied: connection to a unix socket: this box may not "
                        "connect to sockets of the host\n"
                        "  note: name the socket with --unix-socket PATH\n"
                        "sbx: probably denied: connection to the network: this box has no network\n"
                        "  note: name the host with --net HOST\n");
    end();
}

static void three_are_shown_and_all_when_asked(void)
{
    start(BOX_WORKSPACE);
    denials_read(&r.denials, "bash: /etc/a: Read-only file system\n"
                             "bash: /etc/b: Read-only file system\n"
                             "bash: /etc/c: Read-only file system\n"
                             "bash: /etc/d: Read-only file system\n"
                             "bash: /etc/e: Read-only file system\n");
    CHECK(strstr(shown(), "\"/etc/c\"") != NULL);
    CHECK(strstr(shown(), "\"/etc/d\"") == NULL);
    CHECK(strstr(shown(), "sbx: 2 more were denied; -v shows more\n") != NULL);
    r.cli.out.verbose = true;
    CHECK(strstr(shown(), "\"/etc/e\"") != NULL);
    CHECK(strstr(shown(), "more were denied") == NULL);
    r.denials.found.left_out = 1;
    CHECK(strstr(shown(), "sbx: 1 more was denied\n") != NULL);
    end();
}

static void nothing_denied_is_nothing_said(void)
{
    start(BOX_WORKSPACE);
    denials_read(&r.denials, "make: *** [all] Error 1\n");
    CHECK_TEXT(shown(), "");
    CHECK_TEXT(json(), "{\"denials\":[],\"denials_left_out\":0}");
    end();
}

static void programs_get_every_part(void)
{
    start(BOX_STRICT);
    denials_read(&r.denials, "cat: /opt/tool: No such file or directory\n");
    CHECK_TEXT(json(),
               "{\"denials\":[{\"kind\":\"file\",\"operation\":\"read\",\"path\":\"/opt/tool\","
               "\"rule\":\"no rule covers it, so it is not there\","
               "\"because\":\"no rule grants it, so it is not in this box\","
               "\"allow\":\"fs_read_allow = [\\\":project\\\", \\\"/opt/tool\\\"]\","
               "\"flag\":\"-r /opt/tool\",\"note\":null,\"exact\":false}],"
               "\"denials_left_out\":0}");
    denials_read(&r.denials, "curl: (6) Could not resolve host: example.com\n");
    CHECK(strstr(json(), "\"host\":\"example.com\"") != NULL);
    r.denials.record.stderr_tail = sbx_str("");
    r.denials.record.outcome.signal = 31;
    r.denials.record.killed_call = "ptrace";
    denials_find(&r.denials);
    CHECK(strstr(json(), "\"kind\":\"call\",\"operation\":\"call\",\"call\":\"ptrace\"") != NULL);
    CHECK(strstr(json(), "\"exact\":true") != NULL);
    end();
}

static void evidence_is_a_table(void)
{
    start(BOX_WORKSPACE);
    static const struct sbx_evidence rows[] = {
        {"namespaces.user", "own", "own", true},
        {"seccomp", "filter", "none", false},
    };
    struct sbx_run_record record = {.evidence = rows, .evidence_count = SBX_COUNT(rows)};
    sbx_evidence_print(&r.cli, &r.prepared, &record, &r.text);
    CHECK_TEXT(sbx_buf_text(&r.text),
               "sbx: evidence: namespaces.user  wanted own     got own   ok\n"
               "sbx: evidence: seccomp          wanted filter  got none  BAD\n");
    struct sbx_jsonw writer;
    sbx_buf_reset(&r.text);
    sbx_jsonw_init(&writer, &r.text, false);
    sbx_jsonw_object(&writer);
    sbx_evidence_json(record.evidence, record.evidence_count, &writer);
    sbx_jsonw_end(&writer);
    CHECK_TEXT(sbx_buf_text(&r.text),
               "{\"evidence\":[{\"what\":\"namespaces.user\",\"wanted\":\"own\",\"got\":\"own\","
               "\"ok\":true},{\"what\":\"seccomp\",\"wanted\":\"filter\",\"got\":\"none\","
               "\"ok\":false}]}");
    end();
}

static void without_evidence_the_backend_is_named(void)
{
    start(BOX_WORKSPACE);
    const struct sbx_run_record nothing = {.event_count = 0};
    r.prepared.selection.backend = SBX_BACKEND_NONE;
    sbx_evidence_print(&r.cli, &r.prepared, &nothing, &r.text);
    r.prepared.selection.backend = SBX_BACKEND_BWRAP;
    sbx_evidence_print(&r.cli, &r.prepared, &nothing, &r.text);
    CHECK_TEXT(sbx_buf_text(&r.text), "sbx: no evidence: backend none isolates nothing\n"
                                      "sbx: no evidence: backend bwrap brought none\n");
    end();
}

static const struct sbx_test tests[] = {
    {"a denial says what, why and what to do", a_denial_says_what_why_and_what_to_do},
    {"what the box saw is told without a doubt", what_the_box_saw_is_told_without_a_doubt},
    {"what has no name is told too", what_has_no_name_is_told_too},
    {"three are shown, and all when asked", three_are_shown_and_all_when_asked},
    {"nothing denied is nothing said", nothing_denied_is_nothing_said},
    {"programs get every part", programs_get_every_part},
    {"evidence is a table", evidence_is_a_table},
    {"without evidence the backend is named", without_evidence_the_backend_is_named},
};
SBX_TEST_MAIN("run report", tests)
