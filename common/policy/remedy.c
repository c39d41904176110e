/* What would allow something: candidates, narrowest first, each tried on a policy of its own. */
#include "common/policy/remedy.h"

#include "common/policy/value_print.h"
#include "common/policy/word.h"

#include "common/base/banned.h"

/* Of the policies that are made to try a candidate. */
#define SCRATCH_BYTES ((size_t)64 << 20)
#define LINE_BYTES ((size_t)256 << 10)
#define CANDIDATES_MAX 4

struct candidate {
    const char *flag; /* "-w" */
    enum sbx_key key;
    const char *text;   /* the flag's value */
    const char *prefix; /* of the value as the key's reader takes it (--local is --net local=…) */
};

struct candidates {
    struct candidate items[CANDIDATES_MAX];
    size_t count;
};

/* Without memory for its text, or without room, it is not tried. */
static void add(struct candidates *list, const char *flag, enum sbx_key key, const char *text,
                const char *prefix)
{
    if (text == NULL || list->count == CANDIDATES_MAX) return;
    list->items[list->count++] = (struct candidate){flag, key, text, prefix};
}

/* ---- the line ---- */

static void add_list(const char *key, const struct sbx_texts *list, struct sbx_buf *out)
{
    sbx_buf_printf(out, "%s = [", key);
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0) sbx_buf_add_text(out, ", ");
        sbx_toml_print_string(list->items[i].text, out);
    }
    sbx_buf_add_char(out, ']');
}

/* The whole line, with what the key held already: pasted over the old one it takes nothing away. */
static void add_line(const struct sbx_manifest *with, const struct candidate *candidate,
                     struct sbx_buf *out)
{
    enum sbx_key key = candidate->key;
    if (key == SBX_KEY_FS_READ_ALLOW) add_list("fs_read_allow", &with->fs_read_allow, out);
    if (key == SBX_KEY_FS_WRITE_ALLOW) add_list("fs_write_allow", &with->fs_write_allow, out);
    if (key == SBX_KEY_UNIX_SOCKETS) add_list("unix_sockets", &with->unix_sockets, out);
    if (key == SBX_KEY_ENV_PASS) add_list("env_pass", &with->env_pass, out);
    if (key == SBX_KEY_GIT) sbx_buf_printf(out, "git = \"%s\"", candidate->text);
    if (key == SBX_KEY_SYSCALL_POLICY)
        sbx_buf_printf(out, "syscall_policy = \"%s\"", candidate->text);
    if (key != SBX_KEY_NETWORK) return;
    sbx_buf_add_text(out, "network = { kind = \"allow_hosts\", ");
    add_list("hosts", &with->network.hosts, out);
    if (with->network.local.count > 0) {
        sbx_buf_add_text(out, ", ");
        add_list("local", &with->network.local, out);
    }
    sbx_buf_add_text(out, " }");
}

/* ---- one candidate ---- */

struct attempt {
    struct sbx_buf line, flag;
    const char *obstacle; /* of the first candidate that was refused; in the scratch arena */
};

/* Makes the policy with the candidate in it and asks again. */
static bool try_candidate(struct sbx_arena *scratch, const struct sbx_remedy_input *input,
                          const struct sbx_question *question, const struct candidate *candidate,
                          struct attempt *attempt)
{
    struct sbx_manifest over = {0};
    struct sbx_manifest with = {0};
    struct sbx_policy policy = {0};
    struct sbx_findings findings;
    struct sbx_err ignored = {0};
    const char *text = sbx_arena_printf(scratch, "%s%s", candidate->prefix, candidate->text);
    sbx_findings_init(&findings, scratch);
    if (text == NULL) return false;
    sbx_manifest_read_flag(scratch, candidate->flag, candidate->key, sbx_str(text), &findings,
                           &over);
    if (sbx_manifest_merge(scratch, input->manifest, &over, &with, &ignored) != SBX_OK)
        return false;
    sbx_policy_resolve(scratch, &with, input->context, input->ceiling, &findings, &policy);
    for (size_t i = 0; i < findings.count && attempt->obstacle == NULL; i++)
        if (findings.items[i].level == SBX_LEVEL_ERROR) attempt->obstacle = findings.items[i].text;
    if (!sbx_findings_ok(&findings)) return false;
    AUTO_BUF rule;
    sbx_buf_init(&rule, 64u << 10);
    if (!sbx_question_allowed(scratch, &policy, question, &rule)) return false;
    add_line(&with, candidate, &attempt->line);
    sbx_buf_printf(&attempt->flag, "%s ", candidate->flag);
    sbx_word_add(&attempt->flag, policy.context.platform, candidate->text);
    return !attempt->line.failed && !attempt->flag.failed;
}

/* ---- which ones ---- */

/* The directory a missing file would be made in, unless that opens far more than was asked for: a directory
 * right below the root, the caller's home, or what holds it. */
static const char *directory_for(struct sbx_arena *scratch, const struct sbx_remedy_input *input,
                                 struct sbx_path path)
{
    if (sbx_context_lookup(input->context, path) != SBX_NODE_MISSING) return NULL;
    struct sbx_path parent = sbx_path_parent(scratch, path);
    bool is_broad = sbx_path_depth(parent) < 2 || (input->context->home.len > 0 &&
                                                   sbx_path_contains(parent, input->context->home));
    if (parent.text == NULL || is_broad) return NULL;
    bool is_there = sbx_context_lookup(input->context, parent) == SBX_NODE_DIRECTORY;
    return is_there ? parent.text : NULL;
}

static void path_candidates(struct sbx_arena *scratch, const struct sbx_remedy_input *input,
                            const struct sbx_question *question, struct candidates *out)
{
    if (!question->is_write) {
        add(out, "-r", SBX_KEY_FS_READ_ALLOW, question->path.text, "");
        return;
    }
    add(out, "--git", SBX_KEY_GIT, "commit", "");
    add(out, "-w", SBX_KEY_FS_WRITE_ALLOW, question->path.text, "");
    add(out, "-w", SBX_KEY_FS_WRITE_ALLOW, directory_for(scratch, input, question->path), "");
}

static void host_candidates(struct sbx_arena *scratch, const struct sbx_question *question,
                            struct candidates *out)
{
    bool is_web = question->port == 80 || question->port == 443;
    const char *with_port =
        sbx_arena_printf(scratch, "%.*s:%u", SBX_STR_ARG(question->host), (unsigned)question->port);
    const char *host = sbx_arena_printf(scratch, "%.*s", SBX_STR_ARG(question->host));
    add(out, "--net", SBX_KEY_NETWORK, is_web ? host : with_port, "");
    add(out, "--local", SBX_KEY_NETWORK, with_port, "local=");
}

/* Narrowest first. */
static void list_candidates(struct sbx_arena *scratch, const struct sbx_remedy_input *input,
                            const struct sbx_question *question, struct candidates *out)
{
    switch (question->kind) {
    case SBX_ASK_PATH:
        path_candidates(scratch, input, question, out);
        break;
    case SBX_ASK_SOCKET:
        add(out, "--unix-socket", SBX_KEY_UNIX_SOCKETS, question->path.text, "");
        break;
    case SBX_ASK_HOST:
        host_candidates(scratch, question, out);
        break;
    case SBX_ASK_VARIABLE:
        add(out, "-E", SBX_KEY_ENV_PASS, question->name, "");
        break;
    case SBX_ASK_CALLS:
        add(out, "--syscalls", SBX_KEY_SYSCALL_POLICY, "inherit", "");
        break;
    }
}

static bool keep(struct sbx_arena *arena, const struct attempt *attempt, bool found,
                 struct sbx_remedy *out)
{
    struct sbx_remedy made = {0};
    const char *obstacle = attempt->obstacle;
    if (obstacle == NULL) obstacle = "another rule or sbx itself closes it";
    if (found) {
        made.line = sbx_arena_copy(arena, sbx_buf_text(&attempt->line), attempt->line.len);
        made.flag = sbx_arena_copy(arena, sbx_buf_text(&attempt->flag), attempt->flag.len);
        if (made.line == NULL || made.flag == NULL) return false;
    } else {
        made.obstacle = sbx_arena_copy(arena, obstacle, sbx_str(obstacle).len);
        if (made.obstacle == NULL) return false;
    }
    *out = made;
    return true;
}

bool sbx_remedy_find(struct sbx_arena *arena, const struct sbx_remedy_input *input,
                     const struct sbx_question *question, struct sbx_remedy *out)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, SCRATCH_BYTES);
    struct candidates list = {0};
    struct attempt attempt = {0};
    sbx_buf_init(&attempt.line, LINE_BYTES);
    sbx_buf_init(&attempt.flag, LINE_BYTES);
    list_candidates(&scratch, input, question, &list);
    bool found = false;
    for (size_t i = 0; i < list.count && !found; i++)
        found = try_candidate(&scratch, input, question, &list.items[i], &attempt);
    bool kept = keep(arena, &attempt, found, out);
    sbx_buf_release(&attempt.line);
    sbx_buf_release(&attempt.flag);
    return kept;
}
