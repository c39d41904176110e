/* Messages: what a line means, what is refused and why, and that what is written is read as it was. */
#include <stdlib.h>
#include <string.h>

#include "common/wire/frame.h"
#include "common/wire/wire.h"
#include "tests/check.h"

#include "common/base/banned.h"

static struct sbx_json_reader reader;

/* A line that may be written, as the reader wants it. */
struct given {
    char text[8192];
    struct sbx_wire_message message;
    union sbx_wire_body body;
    struct sbx_err err;
    enum sbx_wire_code code;
};

static void give(struct given *g, const char *line)
{
    *g = (struct given){0};
    sbx_text_format(g->text, sizeof g->text, "%s", line);
    g->code = sbx_wire_read(&reader, sbx_str(g->text), &g->message, &g->err);
    bool has_params = g->message.sort == SBX_WIRE_REQUEST || g->message.sort == SBX_WIRE_NOTICE;
    if (g->code == SBX_WIRE_OK && has_params && g->message.method != SBX_WIRE_METHOD_COUNT)
        g->code = sbx_wire_take_params(&g->message, &g->body, &g->err);
}

static void a_request_has_its_members(void)
{
    struct given g;
    give(&g,
         "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0062\",\"method\":\"run\\u002estart\",\"params\":{"
         "\"argv\":[\"sh\",\"\",\"\\u00e9\\n\"],\"env\":{\"A\":\"1\",\"B\\\"\":\"x\\ty\"},"
         "\"\\u0063wd\":\"/w\",\"tty\":{\"rows\":3,\"cols\":4},\"manifest\":{\"a\":\"\\u0041\"},"
         "\"stdin\":\"pipe\",\"credit\":0,\"evidence\":true,\"timeoutMs\":5}}");
    CHECK_INT(g.code, SBX_WIRE_OK);
    CHECK(g.message.sort == SBX_WIRE_REQUEST && g.message.method == SBX_WIRE_RUN_START);
    CHECK(g.message.id.is_given && g.message.id.is_text);
    CHECK_TEXT(g.message.id.text, "ab");
    struct sbx_wire_run_start *run = &g.body.run_start;
    struct sbx_wire_texts texts = run->argv;
    struct sbx_str text;
    CHECK_U64(texts.count, 3);
    CHECK(sbx_wire_next_text(&texts, &text) && sbx_str_is(text, "sh"));
    CHECK(sbx_wire_next_text(&texts, &text) && sbx_str_is(text, ""));
    CHECK(sbx_wire_next_text(&texts, &text) && sbx_str_is(text, "\xc3\xa9\n"));
    CHECK(!sbx_wire_next_text(&texts, &text));
    CHECK_U64(run->env.count, 4);
    CHECK_MEM(run->env.first, run->env.len, "A\0001\0B\"\0x\ty", 11);
    CHECK_TEXT(run->cwd.ptr, "/w");
    CHECK_STR(run->manifest, "{\"a\":\"\\u0041\"}");
    CHECK(run->tty.rows == 3 && run->tty.cols == 4 && run->stdin_kind == SBX_WIRE_STDIN_PIPE);
    CHECK(run->credit == 0 && run->timeout_ms == 5 && run->evidence && !run->fds);
    CHECK(run->label.ptr == NULL && run->session.ptr == NULL && !run->allow_no_sandbox);
}

static void absent_members_have_their_defaults(void)
{
    struct given g;
    give(&g,
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run.start\",\"params\":{\"argv\":[\"a\"]}}");
    CHECK_INT(g.code, SBX_WIRE_OK);
    CHECK(g.body.run_start.credit == -1 && g.body.run_start.tty.rows == 0);
    CHECK(g.body.run_start.env.first == NULL && g.body.run_start.manifest.ptr == NULL);
    give(&g, "{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"ping\"}");
    CHECK(g.code == SBX_WIRE_OK && g.message.id.number == -7 && g.message.method == SBX_WIRE_PING);
}

static void what_is_no_message_of_json_rpc_is_an_invalid_request(void)
{
    static const char *const lines[] = {
        "{}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":2,\"id\":1,\"method\":\"ping\"}",
        "{\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000b\",\"method\":\"ping\"}",
        ("{\"jsonrpc\":\"2.0\",\"id\":"
         "\"12345678901234567890123456789012345678901234567890123456789012345\",\"method\":"
         "\"ping\"}"),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"more\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"result\":{}}",
    };
    for (size_t i = 0; i < SBX_COUNT(lines); i++) {
        struct given g;
        give(&g, lines[i]);
        if (g.code != SBX_WIRE_INVALID_REQUEST || g.err.text[0] == '\0')
            CHECK_TEXT(lines[i], "is an invalid request");
        else
            CHECK(true);
    }
    struct given g;
    give(&g, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}");
    CHECK(g.message.id.is_given && g.message.id.number == 5);
}

static void wrong_members_are_named(void)
{
    static const char *const rows[][2] = {
        {"run.start {}", "member \"argv\" is missing"},
        {"run.start {\"argv\":[]}", "member \"argv\" must have 1 to 65536 items"},
        {"run.start {\"argv\":[1]}", "member \"argv\" must be an array of strings without NUL"},
        {"run.start {\"argv\":[\"a\\u0000\"]}",
         "member \"argv\" must be an array of strings without NUL"},
        {"run.start {\"argv\":[\"a\"],\"environ\":{}}", "there is no member \"environ\""},
        {"run.start {\"argv\":[\"a\"],\"\\u001b[31m\":1}", "there is no member \"\\x1b[31m\""},
        {"run.start {\"argv\":[\"a\"],\"tty\":{\"rows\":0,\"cols\":1}}",
         "member \"tty.rows\" must be an integer from 1 to 4096"},
        {"run.start {\"argv\":[\"a\"],\"tty\":{\"rows\":1}}", "member \"tty.cols\" is missing"},
        {"run.start {\"argv\":[\"a\"],\"tty\":{\"rows\":1,\"cols\":1,\"x\":1}}",
         "there is no member \"tty.x\""},
        {"run.start {\"argv\":[\"a\"],\"tty\":null}", "member \"tty\" must be an object"},
        {"run.start {\"argv\":[\"a\"],\"stdin\":\"file\"}",
         "member \"stdin\" must be one of \"null\" \"pipe\""},
        {"run.start {\"argv\":[\"a\"],\"credit\":-1}",
         "member \"credit\" must be an integer from 0 to 9007199254740992"},
        {"run.start {\"argv\":[\"a\"],\"env\":{\"A\":1}}",
         "member \"env\" must be an object of strings without NUL"},
        {"run.start {\"argv\":[\"a\"],\"manifest\":\"x\"}",
         "member \"manifest\" must be an object"},
        {"run.start {\"argv\":[\"a\"],\"evidence\":1}",
         "member \"evidence\" must be true or false"},
        {"hello {\"protocol\":[],\"client\":{\"name\":\"a\",\"version\":\"1\"}}",
         "member \"protocol\" must be an array of 1 to 8 integers"},
        {"hello {\"protocol\":[1],\"client\":{\"name\":\"a\"}}",
         "member \"client.version\" is missing"},
        {"hello {\"protocol\":[1],\"client\":{\"name\":\"a\",\"version\":\"1\"},\"maxLine\":4095}",
         "member \"maxLine\" must be an integer from 4096 to 1048576"},
        {"run.stdin {\"run\":\"r1\",\"data\":\"Zg=\",\"encoding\":\"base64\"}",
         "member \"data\" must be base64 with padding, and nothing else"},
        {"run.stdin {\"run\":\"r1\",\"encoding\":\"base64\"}", "member \"data\" is missing"},
        {"run.signal {\"run\":\"r1\",\"signal\":\"SIGINT\"}",
         "member \"signal\" must be one of \"INT\" \"TERM\" \"HUP\" \"QUIT\" \"KILL\" \"USR1\" "
         "\"USR2\""},
        {"run.wait {\"run\":1}", "member \"run\" must be a string without NUL"},
        {"run.start {\"argv\":[\"a\"],\"manifest\":{},\"manifestFile\":\"/m\"}",
         "members \"manifest\" and \"manifestFile\" exclude each other"},
        {"manifest.verify {}",
         "one of the members \"manifest\" and \"manifestFile\" must be there, not both"},
        {"ping {\"x\":1}", "there is no member \"x\""},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        struct sbx_str method, params;
        CHECK(sbx_str_split(sbx_str(rows[i][0]), ' ', &method, &params));
        char line[1024];
        sbx_text_format(line, sizeof line,
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" SBX_STR_FMT
                        "\",\"params\":" SBX_STR_FMT "}",
                        SBX_STR_ARG(method), SBX_STR_ARG(params));
        struct given g;
        give(&g, line);
        CHECK_INT(g.code, SBX_WIRE_INVALID_PARAMS);
        CHECK_TEXT(g.err.text, rows[i][1]);
    }
}

static void notices_are_lenient_and_requests_are_not(void)
{
    struct given g;
    give(&g, "{\"jsonrpc\":\"2.0\",\"method\":\"run.credit\",\"params\":{\"run\":\"r1\","
             "\"stream\":\"stdout\",\"bytes\":5,\"later\":{}}}");
    CHECK(g.code == SBX_WIRE_OK && g.body.credit.bytes == 5);
    give(&g, "{\"jsonrpc\":\"2.0\",\"method\":\"some.thing\",\"params\":{}}");
    CHECK(g.code == SBX_WIRE_OK && g.message.method == SBX_WIRE_METHOD_COUNT);
    give(&g,
         "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}"); /* a question that wants no answer is none */
    CHECK(g.code == SBX_WIRE_OK && g.message.method == SBX_WIRE_METHOD_COUNT);
    give(&g, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"some.thing\"}");
    CHECK(g.code == SBX_WIRE_NO_METHOD && g.message.id.number == 1);
    CHECK_TEXT(g.err.text, "there is no method \"some.thing\"");
    give(&g, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"exited\",\"params\":{}}");
    CHECK_INT(g.code, SBX_WIRE_NO_METHOD);
}

static void bytes_come_back_as_they_were_in_either_encoding(void)
{
    static const struct {
        const char *bytes;
        size_t len;
        bool is_base64;
    } rows[] = {{"", 0, false},
                {"plain\n", 6, false},
                {"a\0b", 3, true},
                {"\xc3\xa9", 2, false},
                {"\xc3", 1, true},
                {"\x1b[0m", 4, true},
                {"\x1b[31mred text of some length\x1b[0m", 31, false},
                {"\"\\", 2, false}};
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_BUF out;
        sbx_buf_init(&out, 4096);
        const struct sbx_wire_output sent = {.run = {"r1", 2},
                                             .stream = SBX_WIRE_STDERR,
                                             .data = {.bytes = {rows[i].bytes, rows[i].len}}};
        sbx_wire_add_notice(&out, SBX_WIRE_OUTPUT, &sent);
        CHECK(!out.failed && out.data[out.len - 1] == '\n');
        CHECK(sbx_str_contains(sbx_buf_str(&out), "\"encoding\":\"base64\"") == rows[i].is_base64);
        out.data[out.len - 1] = '\0';
        struct given g;
        give(&g, out.data);
        CHECK(g.code == SBX_WIRE_OK && g.body.output.stream == SBX_WIRE_STDERR);
        CHECK_MEM(g.body.output.data.bytes.ptr, g.body.output.data.bytes.len, rows[i].bytes,
                  rows[i].len);
    }
}

static void a_chunk_is_never_longer_than_its_base64(void)
{
    static const char *const fillers[] = {"\x01", "\"", "x", "\n", "\xff"};
    static const size_t lines[] = {SBX_FRAME_LINE_MIN, 16384, SBX_FRAME_LINE_MAX};
    char *chunk = malloc(SBX_WIRE_CHUNK);
    if (chunk == NULL) abort();
    for (size_t i = 0; i < SBX_COUNT(fillers) * SBX_COUNT(lines); i++) {
        AUTO_BUF out;
        sbx_buf_init(&out, 1u << 20);
        size_t line_max = lines[i % SBX_COUNT(lines)];
        size_t size = sbx_wire_chunk(line_max);
        CHECK(size > line_max / 2 || size == SBX_WIRE_CHUNK);
        memset(chunk, fillers[i / SBX_COUNT(lines)][0], size);
        const struct sbx_wire_output sent = {
            .run = {"r1", 2}, .stream = SBX_WIRE_STDOUT, .data = {.bytes = {chunk, size}}};
        sbx_wire_add_notice(&out, SBX_WIRE_OUTPUT, &sent);
        CHECK(!out.failed && out.len <= line_max + 1);
    }
    free(chunk);
}

static void results_and_errors_are_read_as_they_were_written(void)
{
    AUTO_BUF out;
    sbx_buf_init(&out, 65536);
    const struct sbx_wire_id id = {.is_given = true, .is_text = true, .text = "x\"y"};
    const struct sbx_wire_run_start_result sent = {.run = sbx_str("r1"),
                                                   .backend = sbx_str("native"),
                                                   .digest = sbx_str("sha256:1"),
                                                   .warm = true};
    sbx_wire_add_result(&out, &id, SBX_WIRE_RUN_START, &sent);
    out.data[out.len - 1] = '\0';
    struct given g;
    give(&g, out.data);
    CHECK(g.message.sort == SBX_WIRE_RESULT && sbx_wire_id_eq(&g.message.id, &id));
    CHECK_INT(sbx_wire_take_result(&g.message, SBX_WIRE_RUN_START, &g.body, &g.err), SBX_WIRE_OK);
    CHECK_STR(g.body.run_start_result.backend, "native");
    CHECK(g.body.run_start_result.warm);

    sbx_buf_reset(&out);
    const struct sbx_wire_error error = {
        .code = SBX_WIRE_POLICY_INVALID,
        .message = sbx_str("no"),
        .data = {.hint = sbx_str("do"), .findings = sbx_str("[1]")}};
    sbx_wire_add_error(&out, NULL, &error);
    CHECK_TEXT(
        sbx_buf_text(&out),
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-33001,\"message\":\"no\",\"data\":{"
        "\"name\":\"policy_invalid\",\"retryable\":false,\"hint\":\"do\",\"findings\":[1]}}}\n");
    out.data[out.len - 1] = '\0';
    give(&g, out.data);
    struct sbx_wire_error back;
    CHECK(g.message.sort == SBX_WIRE_ERROR && !g.message.id.is_given);
    CHECK_INT(sbx_wire_take_error(&g.message, &back, &g.err), SBX_WIRE_OK);
    CHECK(back.code == SBX_WIRE_POLICY_INVALID && back.number == -33001 && !back.data.retryable);
    CHECK_STR(back.data.hint, "do");
    CHECK_STR(back.data.findings, "[1]");
}

static void lists_are_written_and_read_item_by_item(void)
{
    AUTO_BUF items;
    AUTO_BUF out;
    sbx_buf_init(&items, 65536);
    sbx_buf_init(&out, 65536);
    sbx_buf_add_char(&items, '[');
    for (int i = 0; i < 3; i++) {
        struct sbx_wire_run_item item = {.run = sbx_str("r1"),
                                         .state = sbx_str("running"),
                                         .argv0 = sbx_str("a\nb"),
                                         .backend = sbx_str("native"),
                                         .ms = i};
        if (i == 1) item.label = sbx_str("l");
        if (i > 0) sbx_buf_add_char(&items, ',');
        sbx_wire_add_item(&items, &sbx_wire_run_item_members, &item);
    }
    sbx_buf_add_char(&items, ']');
    const struct sbx_wire_id id = {.is_given = true, .number = 3};
    const struct sbx_wire_list list = {sbx_buf_str(&items)};
    sbx_wire_add_result(&out, &id, SBX_WIRE_RUN_LIST, &list);
    out.data[out.len - 1] = '\0';
    struct given g;
    give(&g, out.data);
    CHECK_INT(sbx_wire_take_result(&g.message, SBX_WIRE_RUN_LIST, &g.body, &g.err), SBX_WIRE_OK);
    struct sbx_json_walk walk;
    struct sbx_wire_run_item item;
    int count = 0;
    sbx_json_enter(g.body.list.items, &walk);
    while (sbx_wire_next_item(&walk, &sbx_wire_run_item_members, &item)) {
        CHECK_INT(item.ms, count);
        CHECK(sbx_str_is(item.argv0, "a\nb") && (item.label.ptr != NULL) == (count == 1));
        count++;
    }
    CHECK_INT(count, 3);
}

static void what_must_be_there_cannot_be_forgotten_in_writing(void)
{
    AUTO_BUF out;
    sbx_buf_init(&out, 65536);
    const struct sbx_wire_exited exited = {.run = sbx_str("r1")};
    sbx_wire_add_notice(&out, SBX_WIRE_EXITED, &exited);
    CHECK(out.failed);
    sbx_buf_reset(&out);
    const struct sbx_wire_closed closed = {.run = sbx_str("r1")};
    sbx_wire_add_notice(&out, SBX_WIRE_CLOSED, &closed);
    CHECK(out.failed);
}

static void the_tables_are_whole(void)
{
    for (size_t i = 0; i < SBX_WIRE_METHOD_COUNT; i++) {
        const struct sbx_wire_row *row = &sbx_wire_rows[i];
        CHECK(row->name != NULL && row->params != NULL && row->help != NULL);
        CHECK((row->result != NULL) == (row->way == SBX_WIRE_ASKS));
        CHECK_INT(sbx_wire_method_of(sbx_str(row->name)), i);
        const struct sbx_wire_members *both[] = {row->params, row->result};
        for (size_t k = 0; k < 2 && both[k] != NULL; k++) {
            CHECK(both[k]->size <= sizeof(union sbx_wire_body));
            size_t count = 0;
            while (both[k]->rows[count].name != NULL) CHECK(both[k]->rows[count++].help != NULL);
            CHECK(count <= 32);
        }
    }
    for (size_t i = 1; i < SBX_WIRE_CODE_COUNT; i++) {
        const struct sbx_wire_error_row *row = &sbx_wire_error_rows[i];
        CHECK(row->name != NULL && row->help != NULL && row->number <= -32001);
        CHECK_INT(sbx_wire_code_of(row->number), i);
    }
    CHECK_INT(sbx_wire_code_of(-1), SBX_WIRE_INTERNAL);
}

static const struct sbx_test tests[] = {
    {"a request has its members", a_request_has_its_members},
    {"absent members have their defaults", absent_members_have_their_defaults},
    {"what is no message of JSON-RPC is an invalid request",
     what_is_no_message_of_json_rpc_is_an_invalid_request},
    {"wrong members are named", wrong_members_are_named},
    {"notices are lenient and requests are not", notices_are_lenient_and_requests_are_not},
    {"bytes come back as they were in either encoding",
     bytes_come_back_as_they_were_in_either_encoding},
    {"a chunk is never longer than its base64", a_chunk_is_never_longer_than_its_base64},
    {"results and errors are read as they were written",
     results_and_errors_are_read_as_they_were_written},
    {"lists are written and read item by item", lists_are_written_and_read_item_by_item},
    {"what must be there cannot be forgotten in writing",
     what_must_be_there_cannot_be_forgotten_in_writing},
    {"the tables are whole", the_tables_are_whole},
};
SBX_TEST_MAIN("wire_message", tests)
