/* The one parser of options. */
#include <string.h>

#include "common/cli/options.h"

#include "common/base/banned.h"

struct parser {
    struct sbx_arena *arena;
    struct sbx_findings *findings;
    struct sbx_cli_args *args;
    struct sbx_err *err;
    int argc;
    const char *const *argv;
    int next;
    const char **operands;
    size_t operand_count, operand_capacity;
};

static bool find_flag(enum sbx_command_id command, struct sbx_str name, char short_flag,
                      struct sbx_flag_view *out)
{
    for (size_t i = 0; sbx_flag_at(command, i, out); i++) {
        if (short_flag != 0 ? out->short_flag == short_flag : sbx_str_is(name, out->flag))
            return true;
    }
    return false;
}

struct flag_names {
    enum sbx_command_id command;
};

static const char *flag_name_at(const void *context, size_t index)
{
    struct sbx_flag_view view;
    const struct flag_names *names = (const struct flag_names *)context;
    return sbx_flag_at(names->command, index, &view) ? view.flag : NULL;
}

static enum sbx_code unknown_flag(struct parser *p, struct sbx_str name, const char *typed)
{
    struct flag_names names = {p->args->command};
    const char *nearest = sbx_name_nearest(name, flag_name_at, &names);
    (void)sbx_err_set(p->err, SBX_E_USAGE, "unknown option \"%s\"", typed);
    if (nearest != NULL) return sbx_err_hint(p->err, "did you mean --%s?", nearest);
    return sbx_err_hint(p->err, "sbx help lists the options; put -- before a command that starts "
                                "with a dash");
}

static enum sbx_code store_key(struct parser *p, const struct sbx_flag_view *view,
                               const char *typed, const char *value)
{
    enum sbx_key key = view->alias != NULL ? view->alias->key : view->key->key;
    const char *text = value;
    if (view->alias != NULL) {
        text = sbx_arena_printf(p->arena, "%s%s%s", view->alias->prefix, value == NULL ? "" : value,
                                view->alias->suffix);
        if (text == NULL) return sbx_err_nomem(p->err);
    }
    sbx_manifest_read_flag(p->arena, typed, key, sbx_str(text), p->findings, &p->args->flags);
    return SBX_OK;
}

static enum sbx_code missing_value(struct parser *p, const struct sbx_flag_view *view,
                                   const char *typed)
{
    (void)sbx_err_set(p->err, SBX_E_USAGE, "%s needs a value", typed);
    return sbx_err_hint(p->err, "write %s %s", typed, view->meta);
}

static enum sbx_code store_option(struct parser *p, const struct sbx_flag_view *view,
                                  const char *typed, const char *value)
{
    enum sbx_option_id id = view->option->id;
    bool is_switch = view->meta == NULL;
    if (!is_switch && (value == NULL || value[0] == '\0')) return missing_value(p, view, typed);
    if (p->args->given[id] && !is_switch) {
        (void)sbx_err_set(p->err, SBX_E_USAGE, "%s is given twice", typed);
        return sbx_err_hint(p->err, "give it once");
    }
    int unused;
    if (view->words != NULL && !sbx_name_value(view->words, sbx_str(value), &unused)) {
        const char *nearest = sbx_name_nearest_in(sbx_str(value), view->words);
        (void)sbx_err_set(p->err, SBX_E_USAGE, "%s does not know \"%s\"", typed, value);
        if (nearest != NULL) return sbx_err_hint(p->err, "did you mean \"%s\"?", nearest);
        return sbx_err_hint(p->err, "%s", view->help);
    }
    p->args->given[id] = true;
    p->args->values[id] = value;
    return SBX_OK;
}

static enum sbx_code store(struct parser *p, const struct sbx_flag_view *view, const char *typed,
                           const char *value)
{
    return view->option != NULL ? store_option(p, view, typed, value)
                                : store_key(p, view, typed, value);
}

/* --flag, --flag VALUE, --flag=VALUE */
static enum sbx_code parse_long(struct parser *p, const char *word)
{
    struct sbx_str name;
    struct sbx_str value;
    bool has_value = sbx_str_split(sbx_str(word + 2), '=', &name, &value);
    struct sbx_flag_view view;
    if (!find_flag(p->args->command, name, 0, &view)) return unknown_flag(p, name, word);
    const char *typed = sbx_arena_printf(p->arena, "--%s", view.flag);
    if (typed == NULL) return sbx_err_nomem(p->err);
    if (view.meta == NULL) {
        if (!has_value) return store(p, &view, typed, NULL);
        return sbx_err_set(p->err, SBX_E_USAGE, "%s takes no value", typed);
    }
    if (has_value) return store(p, &view, typed, value.ptr);
    if (p->next >= p->argc) return missing_value(p, &view, typed);
    return store(p, &view, typed, p->argv[p->next++]);
}

/* -q, -qv, -r PATH, -rPATH */
static enum sbx_code parse_short(struct parser *p, const char *word)
{
    for (const char *c = word + 1; *c != '\0'; c++) {
        struct sbx_flag_view view;
        const char *typed = sbx_arena_printf(p->arena, "-%c", *c);
        if (typed == NULL) return sbx_err_nomem(p->err);
        if (!find_flag(p->args->command, (struct sbx_str){0}, *c, &view))
            return unknown_flag(p, sbx_str(typed), word);
        if (view.meta == NULL) {
            enum sbx_code code = store(p, &view, typed, NULL);
            if (code != SBX_OK) return code;
            continue;
        }
        if (c[1] != '\0') return store(p, &view, typed, c + 1);
        if (p->next >= p->argc) return missing_value(p, &view, typed);
        return store(p, &view, typed, p->argv[p->next++]);
    }
    return SBX_OK;
}

static enum sbx_code push_operand(struct parser *p, const char *word)
{
    const char **slot = (const char **)sbx_arena_push(p->arena, &p->operands, &p->operand_count,
                                                      &p->operand_capacity, sizeof *slot);
    if (slot == NULL) return sbx_err_nomem(p->err);
    *slot = word;
    return SBX_OK;
}

/* Everything from here on is the command, untouched: its options are not ours. */
static void take_rest(struct parser *p)
{
    p->args->rest = p->argv + p->next;
    p->args->rest_count = (size_t)(p->argc - p->next);
    p->next = p->argc;
}

static enum sbx_code parse_word(struct parser *p, bool runs_something)
{
    const char *word = p->argv[p->next];
    bool is_option = word[0] == '-' && word[1] != '\0';
    if (strcmp(word, "--") == 0) {
        p->next++;
        if (runs_something) {
            take_rest(p);
            return SBX_OK;
        }
        while (p->next < p->argc) {
            enum sbx_code code = push_operand(p, p->argv[p->next++]);
            if (code != SBX_OK) return code;
        }
        return SBX_OK;
    }
    if (!is_option) {
        if (runs_something) {
            take_rest(p);
            return SBX_OK;
        }
        p->next++;
        return push_operand(p, word);
    }
    p->next++;
    return word[1] == '-' ? parse_long(p, word) : parse_short(p, word);
}

/* As in a file: of two starting points neither is the one that counts. */
static void check_presets(const struct sbx_manifest *flags, struct sbx_findings *findings)
{
    if (!sbx_manifest_has(flags, SBX_KEY_PROFILE) || !sbx_manifest_has(flags, SBX_KEY_MODE)) return;
    struct sbx_finding *finding =
        sbx_findings_add(findings, SBX_F_CONFLICT, &flags->at[SBX_KEY_MODE], "mode",
                         (struct sbx_str){0}, "\"profile\" and \"mode\" exclude each other");
    sbx_finding_hint(findings, finding, "keep one of them");
}

enum sbx_code sbx_cli_parse(struct sbx_arena *arena, enum sbx_command_id command, int argc,
                            const char *const *argv, struct sbx_findings *findings,
                            struct sbx_cli_args *out, struct sbx_err *err)
{
    *out = (struct sbx_cli_args){.command = command, .words = argv, .word_count = (size_t)argc};
    struct parser p = {
        .arena = arena, .findings = findings, .args = out, .err = err, .argc = argc, .argv = argv};
    bool runs_something = command == SBX_CMD_RUN || command == SBX_CMD_EXPLAIN;
    while (p.next < argc) {
        enum sbx_code code = parse_word(&p, runs_something);
        if (code != SBX_OK) return code;
    }
    if (out->rest == NULL) {
        if (push_operand(&p, NULL) != SBX_OK) return SBX_E_NOMEM;
        out->rest = p.operands;
        out->rest_count = p.operand_count - 1;
    }
    check_presets(&out->flags, findings);
    if (findings->out_of_memory) return sbx_err_nomem(err);
    return SBX_OK;
}
