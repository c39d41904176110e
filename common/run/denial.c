/* What the box denied: suspects from events, from the end and from standard error; the likeliest first. */
#include "common/run/denial.h"

#include <string.h>

#include "common/run/denial_internal.h"

#include "common/base/banned.h"

const struct sbx_name sbx_denial_kind_names[] = {
    {SBX_DENIED_FILE, "file"},       {SBX_DENIED_PROTECTED, "protected"}, {SBX_DENIED_CALL, "call"},
    {SBX_DENIED_NETWORK, "network"}, {SBX_DENIED_SOCKET, "socket"},       {0, NULL}};

#define SUSPECTS_MAX 128
/* Names that are looked at: each costs a decision. */
#define NAMES_MAX 4096

struct search {
    struct sbx_arena *arena;
    const struct sbx_denial_input *input;
    struct sbx_suspect items[SUSPECTS_MAX];
    size_t count;
    size_t dropped; /* for want of room */
    size_t names;
};

/* ---- the list ---- */

static bool is_same(const struct sbx_suspect *a, const struct sbx_suspect *b)
{
    bool has_paths = a->path.text != NULL && b->path.text != NULL;
    if (a->is_unclean || b->is_unclean) return sbx_text_eq(a->subject, b->subject);
    if (has_paths) return sbx_path_eq(a->path, b->path);
    /* Without a name it is one more sign of what has one. */
    return a->kind == b->kind &&
           (a->subject == NULL || b->subject == NULL || sbx_text_eq(a->subject, b->subject));
}

/* Keeps what the suspect points to. What is known already is not added again; a name completes what had none. */
static void add(struct search *search, struct sbx_suspect suspect)
{
    for (size_t i = 0; i < search->count; i++) {
        struct sbx_suspect *known = &search->items[i];
        if (!is_same(known, &suspect)) continue;
        bool is_better = known->subject == NULL && suspect.subject != NULL && !known->is_exact;
        if (!is_better) return;
        *known = suspect;
        return;
    }
    if (search->count == SUSPECTS_MAX)
        search->dropped++;
    else
        search->items[search->count++] = suspect;
}

static bool keep_path(struct search *search, struct sbx_suspect *suspect)
{
    char *text = sbx_arena_copy(search->arena, suspect->path.text, suspect->path.len);
    if (text == NULL) return false;
    suspect->path.text = text;
    if (suspect->subject == NULL) suspect->subject = text;
    return true;
}

/* ---- from the box ---- */

/* A name that is not valid text has no rule of its own: what is above it decides. */
static bool event_path(struct search *search, struct sbx_str text, struct sbx_path *out,
                       bool *is_unclean)
{
    struct sbx_path cwd = search->input->plan->policy->cwd;
    *is_unclean = false;
    if (text.ptr == NULL) return false;
    /* Each turn is shorter by a name; the root is the last. */
    while (text.len > 0) {
        if (sbx_suspect_path(search->arena, cwd, text, out)) return true;
        if (text.len == 1) return false;
        *is_unclean = true;
        text.len--;
        while (text.len > 1 && text.ptr[text.len - 1] != '/') text.len--;
    }
    return false;
}

static void add_event(struct search *search, const struct sbx_event *event)
{
    const struct sbx_denial_input *input = search->input;
    struct sbx_suspect suspect = {.operation = event->operation, .is_exact = true, .rank = 90};
    if (memchr(event->path.ptr == NULL ? "" : event->path.ptr, '\0', event->path.len) != NULL ||
        !event_path(search, event->path, &suspect.path, &suspect.is_unclean))
        return;
    suspect.subject = suspect.is_unclean
                          ? sbx_arena_copy(search->arena, event->path.ptr, event->path.len)
                          : suspect.path.text;
    if (suspect.subject == NULL) return;
    bool is_write = sbx_operation_writes(event->operation);
    suspect.decision = sbx_policy_decide(NULL, input->plan->policy, suspect.path);
    if (suspect.decision.protection != NULL && is_write) suspect.kind = SBX_DENIED_PROTECTED;
    if (event->operation == SBX_TRIED_CONNECT) suspect.kind = SBX_DENIED_SOCKET;
    suspect.is_refused_outside = input->may != NULL && input->may(input->may_state, suspect.path,
                                                                  is_write) == SBX_OUTSIDE_NO;
    add(search, suspect);
}

static void search_events(struct search *search)
{
    const struct sbx_run_record *record = search->input->record;
    for (size_t i = 0; i < record->event_count && i < SBX_EVENT_MAX; i++)
        add_event(search, &record->events[i]);
}

/* ---- from the end ---- */

/* The number of SIGSYS; 0 where there is none. */
static int bad_call_signal(enum sbx_platform platform)
{
    static const int numbers[SBX_PLATFORM_COUNT] = {[SBX_LINUX] = 31, [SBX_MACOS] = 12};
    return numbers[platform];
}

static bool filters_calls(const struct sbx_plan *plan)
{
    return plan->tiers[SBX_DIM_SYSCALLS].tier != SBX_TIER_NONE;
}

/* Ended by it, or a shell says with 128 + n that what it started was. */
static void search_end(struct search *search)
{
    const struct sbx_run_record *record = search->input->record;
    const struct sbx_plan *plan = search->input->plan;
    int number = bad_call_signal(plan->platform);
    bool was_killed = number != 0 && record->outcome.signal == number;
    bool was_told = number != 0 && record->outcome.signal == 0 &&
                    record->outcome.exit_code == 128u + (uint32_t)number;
    if (!filters_calls(plan) || (!was_killed && !was_told && record->killed_call == NULL)) return;
    struct sbx_suspect suspect = {.kind = SBX_DENIED_CALL,
                                  .operation = SBX_TRIED_CALL,
                                  .is_exact = was_killed || record->killed_call != NULL,
                                  .rank = 100,
                                  .subject = record->killed_call};
    add(search, suspect);
}

/* ---- from standard error ---- */

static void add_file(struct search *search, const struct sbx_complaint *complaint)
{
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, 1u << 20);
    for (size_t i = 0; i < complaint->name_count && search->names < NAMES_MAX; i++) {
        const struct sbx_complaint_name *name = &complaint->names[i];
        struct sbx_path path = {0};
        struct sbx_suspect suspect = {0};
        search->names++;
        if (!sbx_suspect_path(&scratch, search->input->plan->policy->cwd, name->text, &path) ||
            !sbx_suspect_judge(search->input, complaint, name, path, &suspect))
            continue;
        if (keep_path(search, &suspect)) add(search, suspect);
        return;
    }
}

/* With hosts allowed, only one that is named and not among them counts; a box of its own has a loopback. */
static void add_network(struct search *search, const struct sbx_complaint *complaint)
{
    const struct sbx_policy *policy = search->input->plan->policy;
    bool has_host = complaint->host.len > 0;
    if (policy->network == SBX_NET_INHERIT) return;
    if (policy->network == SBX_NET_ALLOW_HOSTS && !has_host) return;
    struct sbx_suspect suspect = {.kind = SBX_DENIED_NETWORK,
                                  .operation = SBX_TRIED_CONNECT,
                                  .rank = has_host ? 65 : 40,
                                  .port = complaint->port};
    if (has_host) {
        AUTO_ARENA scratch;
        AUTO_BUF rule;
        sbx_arena_init(&scratch, 1u << 20);
        sbx_buf_init(&rule, 64u << 10);
        struct sbx_question question = {
            .kind = SBX_ASK_HOST, .host = complaint->host, .port = complaint->port};
        if (sbx_question_allowed(&scratch, policy, &question, &rule)) return;
        suspect.subject = sbx_arena_copy(search->arena, complaint->host.ptr, complaint->host.len);
        if (suspect.subject == NULL) return;
        suspect.host = sbx_str(suspect.subject);
    }
    add(search, suspect);
}

/* Machines without IPv6 say the same of it, and netlink may be refused for reasons of its own. */
static bool is_other_family(struct sbx_str line)
{
    static const char *const words[] = {"::", "ipv6", "inet6", "af_inet6", "netlink", "vsock"};
    for (size_t i = 0; i < SBX_COUNT(words); i++)
        if (sbx_complaint_find(line, words[i]) < line.len) return true;
    return false;
}

static void add_socket(struct search *search, struct sbx_str line,
                       const struct sbx_complaint *complaint)
{
    const struct sbx_plan *plan = search->input->plan;
    const struct sbx_policy *policy = plan->policy;
    /* Without a namespace for the network its families are refused like that of unix sockets. */
    bool is_network = plan->backend == SBX_BACKEND_LANDLOCK;
    if (!sbx_plan_refuses_sockets(plan) || (!is_network && is_other_family(line))) return;
    struct sbx_suspect suspect = {
        .kind = SBX_DENIED_SOCKET, .operation = SBX_TRIED_CONNECT, .rank = 55};
    AUTO_ARENA scratch;
    sbx_arena_init(&scratch, 1u << 20);
    for (size_t i = 0; i < complaint->name_count && suspect.path.text == NULL; i++) {
        struct sbx_path path = {0};
        if (sbx_suspect_path(&scratch, policy->cwd, complaint->names[i].text, &path) &&
            sbx_context_lookup(&policy->context, path) == SBX_NODE_SOCKET)
            suspect.path = path;
    }
    if (suspect.path.text == NULL && is_network)
        add_network(search, complaint);
    else if (suspect.path.text == NULL || keep_path(search, &suspect))
        add(search, suspect);
}

static void add_call(struct search *search)
{
    struct sbx_suspect suspect = {.kind = SBX_DENIED_CALL, .operation = SBX_TRIED_CALL, .rank = 85};
    if (filters_calls(search->input->plan)) add(search, suspect);
}

static void add_complaint(struct search *search, struct sbx_str line)
{
    struct sbx_complaint complaint;
    if (!sbx_complaint_read(search->input->plan->policy->cwd.rules, line, &complaint)) return;
    switch (complaint.class) {
    case SBX_COMPLAINT_READ_ONLY:
    case SBX_COMPLAINT_ACCESS:
    case SBX_COMPLAINT_MISSING:
        add_file(search, &complaint);
        break;
    case SBX_COMPLAINT_NETWORK:
        add_network(search, &complaint);
        break;
    case SBX_COMPLAINT_FAMILY:
        add_socket(search, line, &complaint);
        break;
    case SBX_COMPLAINT_CALL:
        add_call(search);
        break;
    case SBX_COMPLAINT_NO_CALL:
        /* The strict filter's answer; else it is that of an old kernel. */
        if (search->input->plan->policy->syscalls == SBX_SYSCALLS_STRICT) add_call(search);
        break;
    case SBX_COMPLAINT_NONE:
        break;
    }
}

/* The first line of a tail that was cut says less than it looks like: half a path is another path. */
static struct sbx_str whole_lines(const struct sbx_run_record *record)
{
    struct sbx_str text = record->stderr_tail;
    bool is_cut = text.len >= SBX_STDERR_TAIL_MAX || record->outcome.stderr_bytes > text.len;
    if (!is_cut) return text;
    struct sbx_str first;
    struct sbx_str rest;
    return sbx_str_split(text, '\n', &first, &rest) ? rest : (struct sbx_str){NULL, 0};
}

static void search_stderr(struct search *search)
{
    struct sbx_str rest = whole_lines(search->input->record);
    char line[SBX_COMPLAINT_LINE_MAX];
    size_t len = 0;
    if (rest.len > SBX_STDERR_TAIL_MAX) rest.len = SBX_STDERR_TAIL_MAX;
    while (sbx_complaint_line(&rest, line, &len))
        if (len > 0) add_complaint(search, (struct sbx_str){line, len});
}

/* ---- the likeliest ---- */

static size_t best_left(const struct search *search, const bool *taken)
{
    size_t best = search->count;
    for (size_t i = 0; i < search->count; i++)
        if (!taken[i] &&
            (best == search->count || search->items[i].rank > search->items[best].rank))
            best = i;
    return best;
}

void sbx_denials_find(struct sbx_arena *arena, const struct sbx_denial_input *input,
                      struct sbx_denials *out)
{
    struct search search = {.arena = arena, .input = input};
    bool taken[SUSPECTS_MAX] = {false};
    *out = (struct sbx_denials){.count = 0};
    if (input->plan->backend == SBX_BACKEND_NONE) return;
    search_end(&search);
    search_events(&search);
    search_stderr(&search);
    for (size_t i = 0; i < search.count && out->count < SBX_DENIALS_MAX; i++) {
        size_t best = best_left(&search, taken);
        taken[best] = true;
        if (!sbx_suspect_explain(arena, input, &search.items[best], &out->items[out->count])) break;
        out->count++;
    }
    out->left_out = search.count - out->count + search.dropped;
}
