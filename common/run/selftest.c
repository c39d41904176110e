/* sbx selftest: attempts, places, and what two answers say. */
#include "common/run/selftest.h"

#include <string.h>

#include "common/os.h"

#include "common/base/banned.h"

const struct sbx_name sbx_answer_names[] = {
    {SBX_ANSWER_NONE, "no answer"}, {SBX_ANSWER_DONE, "DONE"},     {SBX_ANSWER_DENIED, "DENIED"},
    {SBX_ANSWER_ABSENT, "ABSENT"},  {SBX_ANSWER_BROKEN, "BROKEN"}, {0, NULL},
};

const struct sbx_name sbx_selftest_verdict_names[] = {{SBX_SELFTEST_PASS, "pass"},
                                                      {SBX_SELFTEST_FAIL, "fail"},
                                                      {SBX_SELFTEST_CANNOT, "cannot"},
                                                      {SBX_SELFTEST_ERROR, "error"},
                                                      {0, NULL}};

/* ---- attempts ---- */

void sbx_reply(struct sbx_reply *reply, enum sbx_answer answer, const char *format, ...)
{
    va_list arguments;
    reply->answer = answer;
    va_start(arguments, format);
    sbx_text_vformat(reply->text, sizeof reply->text, format, arguments);
    va_end(arguments);
}

static int answer_status(enum sbx_answer answer)
{
    switch (answer) {
    case SBX_ANSWER_DONE:
        return 0;
    case SBX_ANSWER_DENIED:
        return 41;
    case SBX_ANSWER_ABSENT:
        return 42;
    case SBX_ANSWER_NONE:
    case SBX_ANSWER_BROKEN:
        break;
    }
    return 43;
}

static void try_words(const char *const *words, size_t count, struct sbx_reply *reply)
{
    if (count == 0) {
        sbx_reply(reply, SBX_ANSWER_BROKEN, "no attempt is named");
        return;
    }
    for (const struct sbx_attempt *row = sbx_selftest_attempts(); row->name != NULL; row++) {
        if (!sbx_text_eq(row->name, words[0])) continue;
        if (count - 1 < row->least)
            sbx_reply(reply, SBX_ANSWER_BROKEN, "%s needs %s", row->name, row->parameters);
        else
            row->run(words + 1, count - 1, reply);
        return;
    }
    sbx_reply(reply, SBX_ANSWER_BROKEN, "there is no attempt \"%s\"", words[0]);
}

int sbx_attempt_main(const char *const *words, size_t count)
{
    struct sbx_reply reply = {SBX_ANSWER_BROKEN, "it said nothing"};
    try_words(words, count, &reply);
    AUTO_BUF line;
    sbx_buf_init(&line, 16u << 10);
    sbx_buf_printf(&line, "%s ", sbx_name_text(sbx_answer_names, (int)reply.answer));
    sbx_buf_add_visible(&line, sbx_str(reply.text), false);
    sbx_buf_add_char(&line, '\n');
    (void)!sbx_os_write(SBX_STDOUT, sbx_buf_text(&line), line.len, NULL);
    return answer_status(reply.answer);
}

/* ---- places ---- */

static const char *find_place(const struct sbx_selftest *t, struct sbx_str name)
{
    for (size_t i = 0; i < t->place_count; i++)
        if (sbx_str_is(name, t->places[i].name)) return t->places[i].value;
    return NULL;
}

const char *sbx_selftest_place(const struct sbx_selftest *t, const char *name)
{
    const char *value = find_place(t, sbx_str(name));
    return value == NULL ? "" : value;
}

enum sbx_code sbx_selftest_place_add(struct sbx_selftest *t, const char *name, const char *value,
                                     struct sbx_err *err)
{
    if (t->place_count == SBX_SELFTEST_PLACES)
        return sbx_err_set(err, SBX_E_INTERNAL, "the self-test has too many places");
    const char *copy = sbx_arena_copy(&t->kept, value, strlen(value));
    if (copy == NULL) return sbx_err_nomem(err);
    t->places[t->place_count++] = (struct sbx_selftest_place){name, copy};
    return SBX_OK;
}

/* The next "{name}" that is a place: false when there is none. */
static bool next_place(const struct sbx_selftest *t, const char *text, const char **begin,
                       const char **end, const char **value)
{
    for (const char *open = strchr(text, '{'); open != NULL; open = strchr(open + 1, '{')) {
        const char *close = strchr(open, '}');
        if (close == NULL) return false;
        *value = find_place(t, (struct sbx_str){open + 1, (size_t)(close - open - 1)});
        if (*value == NULL) continue;
        *begin = open;
        *end = close + 1;
        return true;
    }
    return false;
}

/* Inside quotes of TOML, what it would read otherwise is escaped. */
static const char *expand(struct sbx_selftest *t, const char *text, bool is_toml)
{
    AUTO_BUF out;
    sbx_buf_init(&out, 64u << 10);
    const char *begin;
    const char *end;
    const char *value;
    while (next_place(t, text, &begin, &end, &value)) {
        sbx_buf_add(&out, text, (size_t)(begin - text));
        for (const char *c = value; *c != '\0'; c++) {
            if (is_toml && (*c == '"' || *c == '\\')) sbx_buf_add_char(&out, '\\');
            sbx_buf_add_char(&out, *c);
        }
        text = end;
    }
    sbx_buf_add_text(&out, text);
    return out.failed ? NULL : sbx_arena_copy(&t->arena, sbx_buf_text(&out), out.len);
}

const char *sbx_selftest_expand(struct sbx_selftest *t, const char *text)
{
    return expand(t, text, false);
}

const char *sbx_selftest_expand_toml(struct sbx_selftest *t, const char *text)
{
    return expand(t, text, true);
}

/* ---- results ---- */

void sbx_selftest_say(struct sbx_selftest *t, struct sbx_selftest_result *result,
                      enum sbx_selftest_verdict verdict, const char *format, ...)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 16u << 10);
    va_list arguments;
    va_start(arguments, format);
    sbx_buf_vprintf(&text, format, arguments);
    va_end(arguments);
    const char *kept = sbx_arena_copy(&t->arena, sbx_buf_text(&text), text.len);
    *result = (struct sbx_selftest_result){verdict, kept == NULL ? "" : kept};
}

void sbx_selftest_time(struct sbx_selftest *t, const char *name, uint64_t ns)
{
    const char *kept = sbx_arena_copy(&t->kept, name, strlen(name));
    struct sbx_selftest_timing *slot = (struct sbx_selftest_timing *)sbx_arena_push(
        &t->kept, &t->timings, &t->timing_count, &t->timing_capacity, sizeof *slot);
    if (slot != NULL) *slot = (struct sbx_selftest_timing){kept == NULL ? "" : kept, ns};
}

enum sbx_selftest_verdict sbx_selftest_judge(unsigned control_wants, enum sbx_answer control,
                                             unsigned wants, enum sbx_answer answer)
{
    if (control_wants != 0) {
        if (control == SBX_ANSWER_NONE || control == SBX_ANSWER_BROKEN) return SBX_SELFTEST_ERROR;
        bool is_optional =
            control == SBX_ANSWER_ABSENT || (control_wants & SBX_CONTROL_OR_CANNOT) != 0;
        if ((control_wants & (unsigned)control) == 0)
            return is_optional ? SBX_SELFTEST_CANNOT : SBX_SELFTEST_FAIL;
    }
    if (answer == SBX_ANSWER_BROKEN) return SBX_SELFTEST_ERROR;
    return (wants & (unsigned)answer) != 0 ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL;
}

static void run_attempt(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                        struct sbx_selftest_result *result)
{
    struct sbx_selftest_plan plan = {.manifest = row->manifest, .words = row->attempt};
    struct sbx_selftest_box outside = {0};
    struct sbx_selftest_box box = {0};
    const char *said = "not asked";
    if (!sbx_selftest_has_box(t, result)) return;
    if (row->control != 0) {
        if (!sbx_selftest_run_outside(t, &plan, &outside, result)) return;
        said = sbx_selftest_describe(t, &outside);
        enum sbx_selftest_verdict verdict =
            sbx_selftest_judge(row->control, outside.answer, SBX_ANSWER_DONE, SBX_ANSWER_DONE);
        if (verdict != SBX_SELFTEST_PASS) {
            sbx_selftest_say(t, result, verdict, "the control outside the box: %s", said);
            return;
        }
    }
    if (!sbx_selftest_run_box(t, &plan, &box, result)) return;
    enum sbx_selftest_verdict verdict =
        sbx_selftest_judge(row->control, outside.answer, row->wants, box.answer);
    if (row->limit != NULL)
        verdict = sbx_text_eq(row->limit, box.limit) ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL;
    if (row->control != 0)
        sbx_selftest_say(t, result, verdict, "box: %s; outside: %s", sbx_selftest_describe(t, &box),
                         said);
    else
        sbx_selftest_say(t, result, verdict, "box: %s", sbx_selftest_describe(t, &box));
}

void sbx_selftest_run_case(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                           struct sbx_selftest_result *result)
{
    *result = (struct sbx_selftest_result){SBX_SELFTEST_ERROR, "the case said nothing"};
    if (row->run != NULL)
        row->run(t, row, result);
    else
        run_attempt(t, row, result);
}
