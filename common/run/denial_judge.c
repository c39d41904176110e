/* Is a complaint about a path the box's doing? The plan must forbid what fits the words, and the host must
 * not be as likely a cause. */
#include <string.h>

#include "common/run/denial_internal.h"

#include "common/base/banned.h"

/* ---- paths ---- */

static bool is_separator(enum sbx_path_rules rules, char c)
{
    return c == '/' || (rules == SBX_PATH_WINDOWS && c == '\\');
}

/* Appends the components of `text`; ".." takes the last one away again. */
static void add_components(enum sbx_path_rules rules, struct sbx_str text, size_t root,
                           struct sbx_buf *out)
{
    for (size_t at = 0; at < text.len;) {
        size_t end = at;
        while (end < text.len && !is_separator(rules, text.ptr[end])) end++;
        struct sbx_str name = {text.ptr + at, end - at};
        if (sbx_str_is(name, "..")) {
            while (out->len > root && !is_separator(rules, out->data[out->len - 1])) out->len--;
            if (out->len > root) out->len--;
        } else if (name.len > 0 && !sbx_str_is(name, ".")) {
            sbx_buf_add_char(out, '/');
            sbx_buf_add_str(out, name);
        }
        at = end + 1;
    }
}

static bool is_absolute(enum sbx_path_rules rules, struct sbx_str text)
{
    if (rules != SBX_PATH_WINDOWS) return text.len > 0 && text.ptr[0] == '/';
    return text.len > 2 && sbx_is_alpha(text.ptr[0]) && text.ptr[1] == ':' &&
           is_separator(rules, text.ptr[2]);
}

bool sbx_suspect_path(struct sbx_arena *arena, struct sbx_path cwd, struct sbx_str text,
                      struct sbx_path *out)
{
    const size_t drive = 2; /* "C:" */
    enum sbx_path_rules rules = cwd.rules;
    struct sbx_str base = {cwd.text, cwd.len};
    if (is_absolute(rules, text)) {
        base = text;
        text = (struct sbx_str){NULL, 0};
    }
    size_t root = rules == SBX_PATH_WINDOWS ? drive : 0;
    if (base.len < root) return false;
    AUTO_BUF clean;
    sbx_buf_init(&clean, 64u << 10);
    sbx_buf_add(&clean, base.ptr, root);
    add_components(rules, (struct sbx_str){base.ptr + root, base.len - root}, root, &clean);
    add_components(rules, text, root, &clean);
    if (clean.len == root) sbx_buf_add_char(&clean, '/');
    return !clean.failed && sbx_path_make(arena, rules, sbx_buf_str(&clean), out) == SBX_PATH_OK;
}

/* The box has its own; what is written about them says nothing about rules for the host's. */
static bool is_private(const struct sbx_plan *plan, struct sbx_path path)
{
    struct sbx_str first = sbx_path_component(path, 0);
    return plan->platform != SBX_WINDOWS && (sbx_str_is(first, "proc") || sbx_str_is(first, "dev"));
}

/* ---- the plan ---- */

bool sbx_plan_refuses_sockets(const struct sbx_plan *plan)
{
    return plan->platform == SBX_LINUX && plan->policy->network != SBX_NET_INHERIT &&
           plan->facts->has_seccomp;
}

bool sbx_operation_writes(enum sbx_operation operation)
{
    return operation != SBX_TRIED_READ && operation != SBX_TRIED_EXECUTE;
}

/* Where a box is made of mounts, writing to what is only readable is EROFS and not EACCES. */
static bool has_mounts(enum sbx_backend_id backend)
{
    return backend == SBX_BACKEND_NATIVE || backend == SBX_BACKEND_BWRAP ||
           backend == SBX_BACKEND_DOCKER;
}

static enum sbx_outside outside(const struct sbx_denial_input *input, struct sbx_path path,
                                bool is_write)
{
    return input->may == NULL ? SBX_OUTSIDE_UNKNOWN : input->may(input->may_state, path, is_write);
}

static bool is_there(const struct sbx_plan *plan, struct sbx_path path)
{
    enum sbx_node node = sbx_context_lookup(&plan->policy->context, path);
    return node != SBX_NODE_MISSING && node != SBX_NODE_UNKNOWN && node != SBX_NODE_DENIED;
}

/* ---- one class of error each ---- */

/* Not there in the box, but there outside: what was asked for, or where it was to be made. */
static bool judge_missing(const struct sbx_denial_input *input,
                          const struct sbx_complaint *complaint, bool is_closed,
                          struct sbx_path path)
{
    if (!is_closed) return false;
    if (is_there(input->plan, path)) return true;
    if (complaint->intent != SBX_INTENT_WRITE) return false;
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, 1u << 20);
    struct sbx_path parent = sbx_path_parent(&scratch, path);
    return parent.text != NULL && is_there(input->plan, parent);
}

/* EACCES and EPERM are the host's errors too: when the host refuses it just so, or when reading is as likely
 * as writing and only writing is forbidden, nobody is accused. */
static bool judge_access(const struct sbx_denial_input *input,
                         const struct sbx_complaint *complaint, const struct sbx_suspect *suspect,
                         bool is_closed, struct sbx_path path)
{
    bool is_write = sbx_operation_writes(suspect->operation);
    if (outside(input, path, is_write) == SBX_OUTSIDE_NO) return false;
    if (is_closed || suspect->decision.protection != NULL) return true;
    if (complaint->intent == SBX_INTENT_WRITE || !has_mounts(input->plan->backend)) return true;
    /* Root outside may do everything, so that its answer says nothing about root without capabilities. */
    return !input->plan->policy->context.is_root &&
           outside(input, path, false) == SBX_OUTSIDE_YES &&
           outside(input, path, true) == SBX_OUTSIDE_YES;
}

static int rank_of(const struct sbx_complaint *complaint)
{
    if (complaint->class == SBX_COMPLAINT_READ_ONLY) return 80;
    if (complaint->class == SBX_COMPLAINT_MISSING) return 50;
    return complaint->intent == SBX_INTENT_UNKNOWN ? 60 : 70;
}

bool sbx_suspect_judge(const struct sbx_denial_input *input, const struct sbx_complaint *complaint,
                       const struct sbx_complaint_name *name, struct sbx_path path,
                       struct sbx_suspect *out)
{
    const struct sbx_policy *policy = input->plan->policy;
    if (is_private(input->plan, path)) return false;
    if (name->trust == SBX_NAME_MUST_EXIST && !is_there(input->plan, path)) return false;
    struct sbx_suspect made = {.rank = rank_of(complaint), .path = path};
    made.decision = sbx_policy_decide(NULL, policy, path);
    bool is_closed =
        made.decision.access == SBX_ACCESS_NONE || sbx_policy_hides(policy, &made.decision, path);
    made.operation = complaint->operation;
    if (complaint->intent == SBX_INTENT_UNKNOWN)
        made.operation = is_closed ? SBX_TRIED_READ : SBX_TRIED_WRITE;
    bool is_write = sbx_operation_writes(made.operation);
    bool is_forbidden = is_closed || (is_write && made.decision.access < SBX_ACCESS_WRITE);
    if (!is_forbidden) return false;
    if (complaint->class == SBX_COMPLAINT_MISSING &&
        !judge_missing(input, complaint, is_closed, path))
        return false;
    if (complaint->class == SBX_COMPLAINT_ACCESS &&
        !judge_access(input, complaint, &made, is_closed, path))
        return false;
    if (made.decision.protection != NULL) made.kind = SBX_DENIED_PROTECTED;
    if (is_closed && sbx_context_lookup(&policy->context, path) == SBX_NODE_SOCKET) {
        made.kind = SBX_DENIED_SOCKET;
        made.operation = SBX_TRIED_CONNECT;
    }
    made.is_refused_outside = outside(input, path, is_write) == SBX_OUTSIDE_NO;
    *out = made;
    return true;
}
