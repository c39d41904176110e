/* sbx selftest: a box for a case is a run of the product, and its outcome is read as a program reads it. */
#include <string.h>

#include "common/os.h"
#include "common/policy/json_read.h"
#include "common/run/selftest.h"

#include "common/base/banned.h"

#define WORDS_MAX 64
#define TIMEOUT_NS ((uint64_t)90 * 1000000000u)
#define SHOWN_STDERR 300

/* What a case's manifest has unless it says otherwise. */
static const char *const usual_lines[] = {
    "network = \"deny\"\n",
    "fs_read_allow = [\"{bin}\"]\n",
    "cwd = \"{bin}\"\n",
    "timeout = \"60s\"\n",
};

struct words {
    const char *at[WORDS_MAX + 1];
    size_t count;
    bool failed;
};

static void add_word(struct words *words, const char *word)
{
    if (word == NULL || words->count == WORDS_MAX)
        words->failed = true;
    else
        words->at[words->count++] = word;
}

/* Words are split before places are filled in: a path with a space stays one word. */
static void add_words(struct sbx_selftest *t, struct words *words, const char *text)
{
    struct sbx_str rest = sbx_str(text);
    bool more = text != NULL && text[0] != '\0';
    while (more) {
        struct sbx_str word;
        more = sbx_str_split(rest, ' ', &word, &rest);
        const char *copy = sbx_arena_copy(&t->arena, word.ptr, word.len);
        add_word(words, copy == NULL ? NULL : sbx_selftest_expand(t, copy));
    }
}

/* ---- the manifest ---- */

static bool says(const char *lines, const char *line)
{
    size_t key = (size_t)(strchr(line, '=') - line) + 1;
    for (const char *at = lines; at != NULL; at = strchr(at, '\n')) {
        while (*at == '\n') at++;
        if (strncmp(at, line, key) == 0) return true;
    }
    return false;
}

static void add_toml(struct sbx_selftest *t, struct sbx_buf *out, const char *line)
{
    const char *text = sbx_selftest_expand_toml(t, line);
    if (text == NULL)
        out->failed = true;
    else
        sbx_buf_add_text(out, text);
}

static enum sbx_code write_manifest(struct sbx_selftest *t, const char *lines, const char *path,
                                    struct sbx_err *err)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 256u << 10);
    sbx_buf_add_text(&text, "[sandbox]\n");
    for (size_t i = 0; i < SBX_COUNT(usual_lines); i++)
        if (!says(lines, usual_lines[i])) add_toml(t, &text, usual_lines[i]);
    if (lines != NULL) add_toml(t, &text, lines);
    enum sbx_code code = sbx_buf_check(&text, err);
    return code != SBX_OK ? code : sbx_os_write_new(path, sbx_buf_str(&text), err);
}

/* ---- what came of it ---- */

/* The last line that is an answer; a command may have said more before it. */
static void read_answer(struct sbx_selftest *t, struct sbx_selftest_box *box)
{
    struct sbx_str rest = box->ended.out;
    bool more = true;
    box->answer = SBX_ANSWER_NONE;
    box->text = "";
    while (more) {
        struct sbx_str line;
        struct sbx_str word;
        struct sbx_str text;
        int answer;
        more = sbx_str_split(rest, '\n', &line, &rest);
        (void)sbx_str_split(line, ' ', &word, &text);
        if (!sbx_name_value(sbx_answer_names, word, &answer) || answer == SBX_ANSWER_NONE) continue;
        if (text.len > 0 && text.ptr[text.len - 1] == '\r') text.len--;
        const char *copy = sbx_arena_copy(&t->arena, text.ptr, text.len);
        box->answer = (enum sbx_answer)answer;
        box->text = copy == NULL ? "" : copy;
    }
}

static const char *text_of(struct sbx_selftest *t, const struct sbx_value *table, const char *key)
{
    const struct sbx_value *value = sbx_value_get(table, key);
    if (value == NULL || value->type != SBX_VALUE_STRING) return NULL;
    return sbx_arena_copy(&t->arena, value->string.ptr, value->string.len);
}

static void read_report(struct sbx_selftest *t, const char *path, struct sbx_selftest_box *box)
{
    struct sbx_str text;
    const size_t most = 4u << 20;
    box->has_report = sbx_os_read_file(&t->arena, path, most, &text, NULL, NULL) == SBX_OK &&
                      sbx_json_read(&t->arena, "result", text, &box->report, NULL) == SBX_OK;
    if (!box->has_report) return;
    const struct sbx_value *started = sbx_value_get(&box->report, "started");
    const struct sbx_value *code = sbx_value_get(&box->report, "exit_code");
    const struct sbx_value *error = sbx_value_get(&box->report, "error");
    box->started = started != NULL && started->type == SBX_VALUE_BOOL && started->boolean;
    if (code != NULL && code->type == SBX_VALUE_INTEGER) box->exit_code = (uint32_t)code->integer;
    box->limit = text_of(t, &box->report, "limit");
    box->error_code = text_of(t, error, "code");
    box->error_text = text_of(t, error, "text");
}

/* The end of what was said on standard error, on one line. */
static const char *last_words(struct sbx_selftest *t, struct sbx_str said)
{
    while (said.len > 0 && (said.ptr[said.len - 1] == '\n' || said.ptr[said.len - 1] == '\r'))
        said.len--;
    if (said.len > SHOWN_STDERR) {
        said.ptr += said.len - SHOWN_STDERR;
        said.len = SHOWN_STDERR;
    }
    AUTO_BUF text;
    sbx_buf_init(&text, 16u << 10);
    sbx_buf_add_visible(&text, said, false);
    const char *copy = sbx_arena_copy(&t->arena, sbx_buf_text(&text), text.len);
    return copy == NULL ? "" : copy;
}

const char *sbx_selftest_describe(struct sbx_selftest *t, const struct sbx_selftest_box *box)
{
    const char *text;
    if (box->limit != NULL)
        text = sbx_arena_printf(&t->arena, "ended by the limit \"%s\"", box->limit);
    else if (box->answer != SBX_ANSWER_NONE)
        text = sbx_arena_printf(&t->arena, "%s %s",
                                sbx_name_text(sbx_answer_names, (int)box->answer), box->text);
    else
        text = sbx_arena_printf(&t->arena, "no answer, status %u (0x%08x)%s%s",
                                (unsigned)box->ended.status, (unsigned)box->ended.status,
                                box->ended.err.len > 0 ? ": " : "", last_words(t, box->ended.err));
    return text == NULL ? "" : text;
}

/* ---- running ---- */

static bool start(struct sbx_selftest *t, const struct sbx_selftest_plan *plan, struct words *words,
                  struct sbx_selftest_box *out, struct sbx_selftest_result *result)
{
    struct sbx_err err = {0};
    words->at[words->count] = NULL;
    struct sbx_selftest_spawn spawn = {
        .argv = words->at,
        .cwd = sbx_selftest_place(t, "bin"),
        .timeout_ns = plan->timeout_ns == 0 ? TIMEOUT_NS : plan->timeout_ns,
        .kill_when = plan->kill_when,
    };
    if (words->failed) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "out of memory");
        return false;
    }
    enum sbx_code code = plan->spawn != NULL
                             ? plan->spawn(plan->spawn_state, &t->arena, &spawn, &out->ended, &err)
                             : sbx_selftest_spawn(&t->arena, &spawn, &out->ended, &err);
    if (code != SBX_OK) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "%s", err.text);
        return false;
    }
    read_answer(t, out);
    if (!out->ended.is_timeout) return true;
    sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "it did not end within %u s and was killed: %s",
                     (unsigned)(spawn.timeout_ns / 1000000000u), last_words(t, out->ended.err));
    return false;
}

static void add_command(struct sbx_selftest *t, const struct sbx_selftest_plan *plan,
                        const char *program, struct words *words)
{
    if (!plan->is_program) {
        add_word(words, sbx_selftest_place(t, program));
        add_word(words, "selftest");
        add_word(words, "--probe");
    }
    add_words(t, words, plan->words);
}

bool sbx_selftest_run_outside(struct sbx_selftest *t, const struct sbx_selftest_plan *plan,
                              struct sbx_selftest_box *out, struct sbx_selftest_result *result)
{
    struct words words = {0};
    *out = (struct sbx_selftest_box){0};
    add_command(t, plan, "copy", &words);
    return start(t, plan, &words, out, result);
}

static void add_text(struct sbx_buf *out, const char *before, const struct sbx_value *value)
{
    if (value == NULL || value->type != SBX_VALUE_STRING) return;
    sbx_buf_add_text(out, before);
    sbx_buf_add_str(out, value->string);
}

/* Why no backend took it: what was tried, and what each lacks. */
static void add_selection(struct sbx_buf *out, const struct sbx_value *report)
{
    const struct sbx_value *selection = sbx_value_get(report, "selection");
    const struct sbx_value *tried = sbx_value_get(selection, "tried");
    add_text(out, "", sbx_value_get(selection, "why"));
    for (size_t i = 0; tried != NULL && tried->type == SBX_VALUE_ARRAY && i < tried->array.count;
         i++) {
        add_text(out, "; ", sbx_value_get(&tried->array.items[i], "backend"));
        add_text(out, ": ", sbx_value_get(&tried->array.items[i], "reason"));
    }
}

/* The first finding, of a manifest that is not accepted. */
static void add_finding(struct sbx_buf *out, const struct sbx_value *report)
{
    const struct sbx_value *findings = sbx_value_get(report, "findings");
    if (findings != NULL && findings->type == SBX_VALUE_ARRAY && findings->array.count > 0)
        add_text(out, ": ", sbx_value_get(&findings->array.items[0], "text"));
}

/* What sbx itself says about a run that it did not carry out. */
static bool settle(struct sbx_selftest *t, const struct sbx_selftest_box *box,
                   struct sbx_selftest_result *result)
{
    if (box->ended.is_killed) return true;
    if (!box->has_report) {
        sbx_selftest_say(t, result, SBX_SELFTEST_FAIL, "sbx run ended with %u and no outcome: %s",
                         (unsigned)box->ended.status, last_words(t, box->ended.err));
        return false;
    }
    if (box->error_code == NULL) return true;
    bool is_unavailable = sbx_text_eq(box->error_code, sbx_code_text(SBX_E_UNAVAILABLE));
    bool is_lack = is_unavailable || sbx_text_eq(box->error_code, sbx_code_text(SBX_E_UNSUPPORTED));
    AUTO_BUF reason;
    sbx_buf_init(&reason, 8u << 10);
    if (is_unavailable)
        add_selection(&reason, &box->report);
    else
        sbx_buf_add_text(&reason, box->error_text == NULL ? "" : box->error_text);
    if (sbx_text_eq(box->error_code, sbx_code_text(SBX_E_INVALID)))
        add_finding(&reason, &box->report);
    sbx_selftest_say(t, result, is_lack ? SBX_SELFTEST_CANNOT : SBX_SELFTEST_FAIL,
                     "sbx run refused (%s): %s", box->error_code, sbx_buf_text(&reason));
    return false;
}

static bool run_box(struct sbx_selftest *t, const struct sbx_selftest_plan *plan,
                    struct sbx_selftest_box *out, struct sbx_selftest_result *result)
{
    struct words words = {0};
    struct sbx_err err = {0};
    const char *root = sbx_selftest_place(t, "root");
    *out = (struct sbx_selftest_box){0};
    t->serial++;
    const char *manifest = sbx_arena_printf(&t->arena, "%s/%u.toml", root, t->serial);
    const char *outcome = sbx_arena_printf(&t->arena, "%s/%u.json", root, t->serial);
    if (manifest == NULL || outcome == NULL ||
        write_manifest(t, plan->manifest, manifest, &err) != SBX_OK) {
        sbx_selftest_say(t, result, SBX_SELFTEST_ERROR, "no manifest could be written: %s",
                         err.text);
        return false;
    }
    add_word(&words, sbx_selftest_place(t, "program"));
    add_words(t, &words, "run --evidence --color never -f");
    add_word(&words, manifest);
    add_word(&words, "--result");
    add_word(&words, outcome);
    add_words(t, &words, plan->options);
    add_word(&words, "--");
    add_command(t, plan, "copy", &words);
    if (!start(t, plan, &words, out, result)) return false;
    read_report(t, outcome, out);
    return settle(t, out, result);
}

bool sbx_selftest_has_box(struct sbx_selftest *t, struct sbx_selftest_result *result)
{
    if (!t->has_tried) {
        struct sbx_selftest_plan plan = {.words = "nothing"};
        struct sbx_selftest_box box;
        struct sbx_selftest_result tried = {SBX_SELFTEST_PASS, ""};
        t->has_tried = true;
        /* A failure is each case's own to find; only a refusal speaks for all of them. */
        if (!run_box(t, &plan, &box, &tried) && tried.verdict == SBX_SELFTEST_CANNOT)
            t->refusal = sbx_arena_copy(&t->kept, tried.evidence, strlen(tried.evidence));
    }
    if (t->refusal == NULL) return true;
    *result = (struct sbx_selftest_result){SBX_SELFTEST_CANNOT, t->refusal};
    return false;
}

bool sbx_selftest_run_box(struct sbx_selftest *t, const struct sbx_selftest_plan *plan,
                          struct sbx_selftest_box *out, struct sbx_selftest_result *result)
{
    return sbx_selftest_has_box(t, result) && run_box(t, plan, out, result);
}
