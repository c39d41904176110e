/* docgen: what Linux boxes may call, from the tables that the programs are compiled from. */
#include "posix/linux_calls.h"
#include "tests/tools/docgen_markdown.h"

#include "common/base/banned.h"

/* Rows that differ only in a bit read the same. */
static bool reads_alike(const struct sbx_call_rule *a, const struct sbx_call_rule *b)
{
    return a->answer == b->answer && sbx_text_eq(a->why, b->why) &&
           (a->when == NULL ? b->when == NULL : b->when != NULL && sbx_text_eq(a->when, b->when));
}

static bool is_told(const struct sbx_call_rule *rules, const struct sbx_call_rule *row)
{
    for (const struct sbx_call_rule *before = rules; before != row; before++)
        if (reads_alike(before, row)) return true;
    return false;
}

/* The names of a row and of those below it that read the same, each once. */
static void add_names(struct sbx_buf *out, const struct sbx_call_rule *rules,
                      const struct sbx_call_rule *row)
{
    for (const struct sbx_call_rule *like = row; like->name != NULL; like++) {
        bool is_new = reads_alike(like, row);
        for (const struct sbx_call_rule *before = rules; is_new && before != like; before++)
            is_new = !reads_alike(before, row) || !sbx_text_eq(before->name, like->name);
        if (!is_new) continue;
        if (like != row) sbx_buf_add_char(out, ' ');
        docgen_code(out, like->name);
    }
}

static void add_rules(struct sbx_buf *out, const struct sbx_call_rule *rules, const char *program)
{
    for (const struct sbx_call_rule *row = rules; row->name != NULL; row++) {
        if (is_told(rules, row)) continue;
        sbx_buf_add_text(out, "| ");
        if (program != NULL) sbx_buf_printf(out, "`%s` | ", program);
        add_names(out, rules, row);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, row->when == NULL ? "" : row->when);
        sbx_buf_printf(out, " | %s | ", sbx_call_answer_text(row->answer));
        docgen_text(out, row->why);
        sbx_buf_add_text(out, " |\n");
    }
}

void docgen_print_call_refusals(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "calls", "when", "answer", "why");
    add_rules(out, sbx_call_refusals, NULL);
}

void docgen_print_call_layers(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "program", "calls", "when", "answer", "why");
    add_rules(out, sbx_call_no_unix, "deny");
    add_rules(out, sbx_call_creating, "names");
    add_rules(out, sbx_call_metadata, "metadata");
    add_rules(out, sbx_call_changing, "changes");
    add_rules(out, sbx_call_landlock, "no-landlock");
    add_rules(out, sbx_call_networks, "no-network");
    add_rules(out, sbx_call_neighbours, "neighbours");
}

void docgen_print_call_families(struct sbx_buf *out)
{
    static const char *const rules[] = {[SBX_FAMILY_ALWAYS] = "allowed",
                                        [SBX_FAMILY_UNIX] = "only where the network is `inherit`",
                                        [SBX_FAMILY_ROUTE_ONLY] = "only NETLINK_ROUTE"};
    DOCGEN_HEAD(out, "family", "`socket`", "why");
    for (const struct sbx_call_family *row = sbx_call_families; row->name != NULL; row++) {
        sbx_buf_printf(out, "| %s | %s | ", row->name, rules[row->rule]);
        docgen_text(out, row->why);
        sbx_buf_add_text(out, " |\n");
    }
    sbx_buf_add_text(out, "| every other | EAFNOSUPPORT | nothing everyday needs it |\n");
}

void docgen_print_call_strict(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "for", "calls", "why it does no harm");
    for (const struct sbx_call_group *group = sbx_call_strict; group->title != NULL; group++) {
        sbx_buf_printf(out, "| %s |", group->title);
        for (size_t i = 0; group->names[i] != NULL; i++) {
            sbx_buf_add_char(out, ' ');
            docgen_code(out, group->names[i]);
        }
        sbx_buf_add_text(out, " | ");
        docgen_text(out, group->why);
        sbx_buf_add_text(out, " |\n");
    }
}
