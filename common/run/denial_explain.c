/* By what something was denied, why, and what would allow it. */
#include "common/run/denial_internal.h"

#include "common/base/banned.h"

#define TEXT_BYTES ((size_t)64 << 10)

static const char *keep(struct sbx_arena *arena, const struct sbx_buf *text)
{
    return text->failed ? NULL : sbx_arena_copy(arena, sbx_buf_text(text), text->len);
}

static void add_path(struct sbx_path path, struct sbx_buf *out)
{
    sbx_buf_add_visible(out, (struct sbx_str){path.text, path.len}, true);
}

/* ---- why ---- */

static void because_rule(const struct sbx_rule *rule, bool is_hidden, bool is_refused_outside,
                         struct sbx_buf *out)
{
    const char *what = rule->access == SBX_ACCESS_READ ? "is read-only in this box" : NULL;
    if (rule->access == SBX_ACCESS_NONE) what = "is closed in this box";
    if (is_hidden) what = "is private and empty in this box";
    if (rule->by == SBX_BY_ADMINISTRATOR) what = "is closed by the administrator";
    if (rule->by == SBX_BY_SBX) what = "belongs to sbx";
    if (what == NULL) {
        sbx_buf_add_text(out, is_refused_outside
                                  ? "this box allows it, the host does not"
                                  : "the box refused it, although the plan allows that name; a "
                                    "link may lead elsewhere");
        return;
    }
    add_path(rule->path, out);
    sbx_buf_printf(out, " %s (", what);
    sbx_origin_print(&rule->at, out);
    sbx_buf_add_char(out, ')');
}

static void because_path(const struct sbx_policy *policy, const struct sbx_suspect *suspect,
                         struct sbx_buf *out)
{
    const struct sbx_decision *decision = &suspect->decision;
    if (decision->protection != NULL) {
        sbx_buf_add_visible(out, sbx_str(decision->protection->pattern), true);
        sbx_buf_add_text(out, " is protected below ");
        add_path(decision->protected_root, out);
        sbx_buf_add_text(out, ": ");
        sbx_buf_add_visible(out, sbx_str(decision->protection->reason), false);
    } else if (decision->rule != NULL) {
        because_rule(decision->rule, sbx_policy_hides(policy, decision, suspect->path),
                     suspect->is_refused_outside, out);
    } else {
        sbx_buf_add_text(out, "no rule grants it, so it is not in this box");
    }
}

static void because(const struct sbx_policy *policy, const struct sbx_suspect *suspect,
                    struct sbx_buf *out)
{
    bool is_strict = policy->syscalls == SBX_SYSCALLS_STRICT;
    bool is_list = policy->network == SBX_NET_ALLOW_HOSTS;
    switch (suspect->kind) {
    case SBX_DENIED_FILE:
    case SBX_DENIED_PROTECTED:
        because_path(policy, suspect, out);
        break;
    case SBX_DENIED_CALL:
        sbx_buf_add_text(out, is_strict ? "it is not in the strict set of system calls"
                                        : "the filter of system calls ends what tries it");
        break;
    case SBX_DENIED_NETWORK:
        sbx_buf_add_text(out, is_list ? "the list of hosts of this box does not have it"
                                      : "this box has no network");
        break;
    case SBX_DENIED_SOCKET:
        sbx_buf_add_text(out, "this box may not connect to sockets of the host");
        break;
    }
}

/* ---- what would allow it ---- */

static struct sbx_question question_of(const struct sbx_suspect *suspect)
{
    static const enum sbx_question_kind kinds[] = {
        [SBX_DENIED_FILE] = SBX_ASK_PATH,     [SBX_DENIED_PROTECTED] = SBX_ASK_PATH,
        [SBX_DENIED_CALL] = SBX_ASK_CALLS,    [SBX_DENIED_NETWORK] = SBX_ASK_HOST,
        [SBX_DENIED_SOCKET] = SBX_ASK_SOCKET,
    };
    return (struct sbx_question){.kind = kinds[suspect->kind],
                                 .path = suspect->path,
                                 .is_write = sbx_operation_writes(suspect->operation),
                                 .host = suspect->host,
                                 .port = suspect->port};
}

/* Why no line is worth looking for; NULL when one is. */
static const char *hopeless(const struct sbx_denial_input *input, const struct sbx_suspect *suspect)
{
    const struct sbx_rule *rule = suspect->decision.rule;
    bool is_file = suspect->kind == SBX_DENIED_FILE || suspect->kind == SBX_DENIED_PROTECTED;
    if (suspect->is_unclean) return "its name is not valid text, and a manifest cannot name it";
    if (is_file && suspect->is_refused_outside)
        return "the host refuses it to you outside the box too";
    if (rule != NULL && rule->by == SBX_BY_ADMINISTRATOR)
        return "only the administrator's policy can open it";
    if (rule != NULL && rule->by == SBX_BY_SBX) return "no box may change what belongs to sbx";
    if (suspect->kind == SBX_DENIED_CALL && input->plan->policy->syscalls != SBX_SYSCALLS_STRICT)
        return "no box allows it; run the command outside if it must";
    if (suspect->kind == SBX_DENIED_NETWORK && suspect->subject == NULL)
        return "name the host with --net HOST";
    if (suspect->kind == SBX_DENIED_SOCKET && suspect->path.text == NULL)
        return "name the socket with --unix-socket PATH";
    return NULL;
}

static const char *note_of(struct sbx_arena *arena, const struct sbx_suspect *suspect,
                           const struct sbx_remedy *remedy)
{
    const struct sbx_protect_row *protection = suspect->decision.protection;
    bool is_gits = remedy->flag != NULL && sbx_str_starts(sbx_str(remedy->flag), "--git ");
    if (suspect->kind == SBX_DENIED_PROTECTED && remedy->line != NULL)
        return is_gits ? "hooks and configuration stay protected" : "better: do it outside the box";
    if (suspect->kind == SBX_DENIED_PROTECTED)
        return sbx_arena_printf(arena,
                                "do it outside the box, or give protect a list without \"%s\"",
                                protection->pattern);
    if (remedy->needs_file)
        return "it does not exist yet: make it outside the box first, or open its directory";
    if (remedy->line != NULL) return NULL;
    return sbx_arena_printf(arena, "no manifest line allows it as things are: %s",
                            remedy->obstacle);
}

bool sbx_suspect_explain(struct sbx_arena *arena, const struct sbx_denial_input *input,
                         const struct sbx_suspect *suspect, struct sbx_denial *out)
{
    const struct sbx_policy *policy = input->plan->policy;
    struct sbx_question question = question_of(suspect);
    struct sbx_remedy_input made_from = {input->manifest, &policy->context, input->ceiling};
    struct sbx_remedy remedy = {0};
    AUTO_BUF by;
    AUTO_BUF why;
    sbx_buf_init(&by, TEXT_BYTES);
    sbx_buf_init(&why, TEXT_BYTES);
    bool is_allowed = sbx_question_allowed(arena, policy, &question, &by);
    because(policy, suspect, &why);
    const char *note = hopeless(input, suspect);
    if (note == NULL && !is_allowed) {
        if (!sbx_remedy_find(arena, &made_from, &question, &remedy)) return false;
        /* Nobody should make a protected file only to open it to the box. */
        if (suspect->kind == SBX_DENIED_PROTECTED && remedy.needs_file)
            remedy = (struct sbx_remedy){.obstacle = "it is protected"};
        note = note_of(arena, suspect, &remedy);
    }
    struct sbx_denial made = {.kind = suspect->kind,
                              .operation = suspect->operation,
                              .is_exact = suspect->is_exact,
                              .subject = suspect->subject,
                              .rule = suspect->decision.rule,
                              .protection = suspect->decision.protection,
                              .by = keep(arena, &by),
                              .because = keep(arena, &why),
                              .allow_line = remedy.line,
                              .allow_flag = remedy.flag,
                              .note = note};
    if (made.by == NULL || made.because == NULL) return false;
    *out = made;
    return true;
}
