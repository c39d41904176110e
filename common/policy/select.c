/* Which backend runs this policy: the decision table. */
#include "common/policy/select.h"

#include "common/base/banned.h"

const struct sbx_name sbx_verdict_names[] = {
    {SBX_VERDICT_CHOSEN, "chosen"},           {SBX_VERDICT_UNAVAILABLE, "unavailable"},
    {SBX_VERDICT_CANNOT, "cannot-represent"}, {SBX_VERDICT_BELOW_REQUIRE, "below-require"},
    {SBX_VERDICT_NOT_REACHED, "not-reached"}, {SBX_VERDICT_NOT_ASKED, "not-asked"},
    {SBX_VERDICT_FORBIDDEN, "forbidden"},     {0, NULL}};

/* Everything the rows look at. */
struct walk {
    struct sbx_arena *arena;
    const struct sbx_select_input *in;
    struct sbx_selection *out;
    bool has_request; /* SBX_SANDBOX is set to something */
    bool is_known;    /* … to a name of the table */
    enum sbx_backend_id request;
    bool is_opted_in;
    bool wants_none;     /* profile none or mode danger-full-access */
    bool wants_external; /* mode external-sandbox */
};

bool sbx_opt_in_is_set(const char *text)
{
    return text != NULL && (sbx_text_eq(text, "1") || sbx_str_is_nocase(sbx_str(text), "true"));
}

static void note_tried(struct walk *walk, enum sbx_backend_id backend, enum sbx_verdict verdict,
                       const char *reason, const char *remedy)
{
    struct sbx_selection *out = walk->out;
    if (out->tried_count < SBX_BACKEND_COUNT)
        out->tried[out->tried_count++] = (struct sbx_tried){
            backend, verdict, walk->in->facts->probe[backend].state != SBX_PROBE_NOT_BUILT, reason,
            remedy};
}

static void refuse(struct walk *walk, const char *why, const char *remedy)
{
    walk->out->backend = SBX_BACKEND_FAIL_CLOSED;
    walk->out->why = why;
    walk->out->remedy = remedy;
}

/* The first entry the backend cannot represent, as a sentence. */
static const char *why_not_accepted(struct walk *walk, enum sbx_backend_id id)
{
    struct sbx_findings findings;
    sbx_findings_init(&findings, walk->arena);
    (void)sbx_backend_accepts(id, walk->in->policy, walk->in->facts, &findings);
    return findings.count > 0 ? findings.items[0].text : "it cannot represent this manifest";
}

/* The first required dimension that would not be enforced, or NULL. */
static const char *why_below_require(struct walk *walk, enum sbx_backend_id id)
{
    struct sbx_tier_entry tiers[SBX_DIM_COUNT];
    const struct sbx_policy *policy = walk->in->policy;
    sbx_backend_tiers(id, policy, walk->in->facts, tiers);
    for (int i = 0; i < SBX_DIM_COUNT; i++) {
        bool is_required = (policy->require & (1u << i)) != 0;
        if (!is_required || !tiers[i].is_asked || tiers[i].tier == SBX_TIER_ENFORCED) continue;
        const char *text =
            sbx_arena_printf(walk->arena, "require lists \"%s\", which would be %s: %s",
                             sbx_name_text(sbx_dimension_names, i),
                             sbx_name_text(sbx_tier_names, (int)tiers[i].tier),
                             tiers[i].reason == NULL ? tiers[i].mechanism : tiers[i].reason);
        return text == NULL ? "a required dimension would not be enforced" : text;
    }
    return NULL;
}

/* True when the backend is chosen, or when it must be probed first. */
static bool try_backend(struct walk *walk, enum sbx_backend_id id)
{
    const struct sbx_probe *probe = &walk->in->facts->probe[id];
    const struct sbx_backend_row *row = sbx_backend_row(id);
    if (probe->state == SBX_PROBE_UNTRIED) {
        walk->out->needs_probe = true;
        walk->out->backend = id;
        return true;
    }
    if (probe->state != SBX_PROBE_PASSED) {
        note_tried(walk, id, SBX_VERDICT_UNAVAILABLE, probe->reason,
                   probe->remedy == NULL ? row->remedy : probe->remedy);
        return false;
    }
    if (!sbx_backend_accepts(id, walk->in->policy, walk->in->facts, NULL)) {
        note_tried(walk, id, SBX_VERDICT_CANNOT, why_not_accepted(walk, id),
                   "change the entry, or use a backend that can represent it");
        return false;
    }
    const char *below = why_below_require(walk, id);
    if (below != NULL) {
        note_tried(
            walk, id, SBX_VERDICT_BELOW_REQUIRE, below,
            "make the dimension enforceable on this machine (sbx doctor), or shorten require");
        return false;
    }
    note_tried(walk, id, SBX_VERDICT_CHOSEN, NULL, NULL);
    walk->out->backend = id;
    return true;
}

static bool is_here(struct walk *walk, enum sbx_backend_id id)
{
    return (sbx_backend_row(id)->platforms & (1u << walk->in->platform)) != 0;
}

/* ---- rows: each decides and returns true, or lets the next one look ---- */

/* A ceiling forces one backend: anything else is as if it did not exist. */
static bool row_forced(struct walk *walk)
{
    const struct sbx_ceiling *ceiling = walk->in->ceiling;
    if (!ceiling->has_backend) return false;
    bool asks_other = walk->has_request && !(walk->is_known && walk->request == ceiling->backend);
    if (asks_other) {
        refuse(walk, "the administrator's policy forces another backend than SBX_SANDBOX asks for",
               "unset SBX_SANDBOX");
        return true;
    }
    enum sbx_backend_id id = ceiling->backend;
    bool is_sandbox = sbx_backend_row(id)->is_sandbox;
    if (!is_sandbox || walk->wants_none || !is_here(walk, id)) {
        refuse(walk, "the administrator's policy forces a backend that cannot be used here",
               "ask the administrator");
        return true;
    }
    if (!try_backend(walk, id))
        refuse(walk, "the backend that the administrator's policy forces cannot run this", NULL);
    return true;
}

static bool row_unknown(struct walk *walk)
{
    if (!walk->has_request || walk->is_known) return false;
    struct sbx_str name = sbx_str(walk->in->request);
    const char *nearest = sbx_name_nearest_in(name, sbx_backend_names);
    AUTO_BUF text;
    sbx_buf_init(&text, 1024);
    sbx_buf_add_text(&text, "SBX_SANDBOX names no backend sbx knows: ");
    sbx_buf_add_visible(&text, (struct sbx_str){name.ptr, name.len > 64 ? 64 : name.len}, true);
    if (nearest != NULL) sbx_buf_printf(&text, "; did you mean \"%s\"?", nearest);
    const char *why = sbx_arena_copy(walk->arena, sbx_buf_text(&text), text.len);
    refuse(walk, why == NULL ? "SBX_SANDBOX names no backend sbx knows" : why,
           "unset SBX_SANDBOX, or name a backend that sbx doctor lists");
    return true;
}

static bool row_none(struct walk *walk)
{
    bool asks_none = walk->has_request && walk->request == SBX_BACKEND_NONE;
    if (!asks_none && !walk->wants_none) return false;
    /* Two keys, always both; a profile in a file is not one of them. */
    if (!asks_none) {
        refuse(walk,
               "the manifest asks for no sandbox, which needs SBX_SANDBOX=none and "
               "SBX_ALLOW_NO_SANDBOX=1",
               "choose another profile or mode");
    } else if (!walk->is_opted_in) {
        refuse(walk, "SBX_SANDBOX=none also needs SBX_ALLOW_NO_SANDBOX=1",
               "unset SBX_SANDBOX to run in a sandbox");
    } else if (!walk->in->ceiling->allow_none) {
        refuse(walk, "the administrator's policy does not allow running without a sandbox",
               "unset SBX_SANDBOX and SBX_ALLOW_NO_SANDBOX, or ask the administrator");
    } else if (walk->in->policy->require_is_explicit && walk->in->policy->require != 0) {
        refuse(walk, "the manifest requires enforcement, and without a sandbox nothing is enforced",
               "remove require from the manifest, or unset SBX_SANDBOX");
    } else {
        walk->out->backend = SBX_BACKEND_NONE;
        walk->out->warns = true;
        note_tried(walk, SBX_BACKEND_NONE, SBX_VERDICT_CHOSEN, NULL, NULL);
    }
    return true;
}

static bool row_engine(struct walk *walk, enum sbx_backend_id id, bool is_wanted,
                       const char *refusal)
{
    if (!is_wanted) return false;
    if (!try_backend(walk, id)) refuse(walk, refusal, "unset SBX_SANDBOX to let sbx choose");
    return true;
}

static bool row_docker(struct walk *walk)
{
    return row_engine(walk, SBX_BACKEND_DOCKER,
                      walk->has_request && walk->request == SBX_BACKEND_DOCKER,
                      "SBX_SANDBOX=docker, and the engine cannot be used");
}

static bool row_external(struct walk *walk)
{
    bool asked = walk->has_request && walk->request == SBX_BACKEND_EXTERNAL;
    bool other = walk->has_request && !asked;
    return row_engine(walk, SBX_BACKEND_EXTERNAL, asked || (walk->wants_external && !other),
                      "the external engine cannot be used");
}

static bool row_named(struct walk *walk)
{
    if (!walk->has_request) return false;
    enum sbx_backend_id id = walk->request;
    if (id == SBX_BACKEND_FAIL_CLOSED) {
        refuse(walk, "SBX_SANDBOX=fail-closed asks for the refusal itself", "unset SBX_SANDBOX");
    } else if (!is_here(walk, id)) {
        note_tried(walk, id, SBX_VERDICT_UNAVAILABLE, "it does not exist on this platform",
                   "unset SBX_SANDBOX");
        refuse(walk, "SBX_SANDBOX names a backend of another platform", "unset SBX_SANDBOX");
    } else if (!try_backend(walk, id)) {
        refuse(walk, "the backend that SBX_SANDBOX names cannot run this",
               "unset SBX_SANDBOX to let sbx choose");
    }
    return true;
}

static bool row_platform(struct walk *walk)
{
    const enum sbx_backend_id *order = sbx_backend_order(walk->in->platform);
    for (size_t i = 0; order[i] != SBX_BACKEND_COUNT; i++) {
        if (!try_backend(walk, order[i])) continue;
        for (size_t k = i + 1; !walk->out->needs_probe && order[k] != SBX_BACKEND_COUNT; k++)
            note_tried(walk, order[k], SBX_VERDICT_NOT_REACHED, NULL, NULL);
        return true;
    }
    return false;
}

/* The opt-in is for machines without a sandbox. A manifest that a working backend cannot represent is a
 * mistake to be told, not a reason to run without walls. */
static bool row_opted_in(struct walk *walk)
{
    if (!walk->is_opted_in) return false;
    for (size_t i = 0; i < walk->out->tried_count; i++) {
        if (walk->out->tried[i].verdict == SBX_VERDICT_UNAVAILABLE) continue;
        refuse(walk,
               "a sandbox works on this machine but cannot hold this manifest; "
               "SBX_ALLOW_NO_SANDBOX does not apply",
               "change what was refused above");
        return true;
    }
    if (!walk->in->ceiling->allow_none) {
        refuse(walk, "the administrator's policy does not allow running without a sandbox",
               "unset SBX_SANDBOX and SBX_ALLOW_NO_SANDBOX, or ask the administrator");
        return true;
    }
    if (walk->in->policy->require_is_explicit && walk->in->policy->require != 0) {
        refuse(walk, "the manifest requires enforcement, and without a sandbox nothing is enforced",
               "remove require from the manifest, or unset SBX_SANDBOX");
        return true;
    }
    walk->out->backend = SBX_BACKEND_NONE;
    walk->out->warns = true;
    note_tried(walk, SBX_BACKEND_NONE, SBX_VERDICT_CHOSEN, NULL, NULL);
    return true;
}

static bool row_nothing(struct walk *walk)
{
    bool any_works = false;
    for (size_t i = 0; i < walk->out->tried_count; i++)
        any_works |= walk->out->tried[i].verdict != SBX_VERDICT_UNAVAILABLE;
    if (any_works)
        refuse(walk, "no backend on this machine can hold this manifest",
               "change what was refused above");
    else
        refuse(walk, "no sandbox backend works on this machine", NULL);
    return true;
}

struct select_row {
    const char *condition, *backend;
    bool (*decide)(struct walk *walk);
};

static const struct select_row select_rows[] = {
    {"the administrator's policy forces a backend", "that one, or fail-closed", row_forced},
    {"SBX_SANDBOX is a name sbx does not know", "fail-closed", row_unknown},
    {"SBX_SANDBOX=docker", "docker if the engine answers, else fail-closed", row_docker},
    {"SBX_SANDBOX=external, or mode external-sandbox",
     "external if the endpoint answers, else fail-closed", row_external},
    {"SBX_SANDBOX=none, profile none or mode danger-full-access",
     "none with both keys (SBX_SANDBOX=none, SBX_ALLOW_NO_SANDBOX=1), else fail-closed", row_none},
    {"SBX_SANDBOX=<any other backend>", "that one, or fail-closed", row_named},
    {"SBX_SANDBOX unset",
     "the strongest backend of this platform that works and can represent the manifest",
     row_platform},
    {"nothing works here, SBX_ALLOW_NO_SANDBOX=1", "none, with a warning", row_opted_in},
    {"nothing fits", "fail-closed", row_nothing},
};

bool sbx_select_row_at(size_t index, const char **condition, const char **backend)
{
    if (index >= SBX_COUNT(select_rows)) return false;
    *condition = select_rows[index].condition;
    *backend = select_rows[index].backend;
    return true;
}

void sbx_select(struct sbx_arena *arena, const struct sbx_select_input *input,
                struct sbx_selection *out)
{
    *out = (struct sbx_selection){.backend = SBX_BACKEND_FAIL_CLOSED};
    struct walk walk = {.arena = arena, .in = input, .out = out};
    walk.has_request = input->request != NULL && input->request[0] != '\0';
    int id = 0;
    walk.is_known =
        walk.has_request && sbx_name_value(sbx_backend_names, sbx_str(input->request), &id);
    walk.request = (enum sbx_backend_id)id;
    walk.is_opted_in = sbx_opt_in_is_set(input->opt_in);
    walk.wants_none = input->policy->preset->needs_two_keys;
    walk.wants_external = input->policy->preset->is_external;
    out->may_opt_in = input->ceiling->allow_none && !input->ceiling->has_backend &&
                      !(input->policy->require_is_explicit && input->policy->require != 0);
    for (size_t i = 0; i < SBX_COUNT(select_rows); i++) {
        if (!select_rows[i].decide(&walk)) continue;
        out->row = select_rows[i].condition;
        return;
    }
}

/* ---- the refusal ---- */

void sbx_selection_findings(const struct sbx_selection *selection, struct sbx_findings *findings)
{
    static const struct {
        enum sbx_verdict verdict;
        enum sbx_finding_code code;
    } codes[] = {{SBX_VERDICT_UNAVAILABLE, SBX_F_BACKEND_MISSING},
                 {SBX_VERDICT_CANNOT, SBX_F_POLICY_UNSUPPORTED},
                 {SBX_VERDICT_BELOW_REQUIRE, SBX_F_REQUIRE_UNMET}};
    for (size_t i = 0; i < selection->tried_count; i++) {
        const struct sbx_tried *tried = &selection->tried[i];
        for (size_t k = 0; k < SBX_COUNT(codes); k++) {
            if (tried->verdict != codes[k].verdict) continue;
            struct sbx_finding *finding = sbx_findings_add(
                findings, codes[k].code, NULL, "",
                sbx_str(sbx_name_text(sbx_backend_names, (int)tried->backend)), "backend %s: %s",
                sbx_name_text(sbx_backend_names, (int)tried->backend),
                tried->reason == NULL ? "it cannot be used" : tried->reason);
            if (tried->remedy != NULL && tried->is_built)
                sbx_finding_hint(findings, finding, "%s", tried->remedy);
        }
    }
    if (selection->tried_count > 0) return;
    sbx_findings_add(findings, SBX_F_BACKEND_MISSING, NULL, "", (struct sbx_str){0}, "%s",
                     selection->why);
}

const char *sbx_selection_remedy(const struct sbx_selection *selection, enum sbx_platform platform)
{
    if (selection->remedy != NULL) return selection->remedy;
    static const char *const remedies[SBX_PLATFORM_COUNT] = {
        [SBX_LINUX] = "install bubblewrap (apt-get install bubblewrap)",
        [SBX_MACOS] = "run sbx outside any other sandbox (sandbox-exec must be usable)",
        [SBX_WINDOWS] = "run sbx on Windows 10 1809 or newer outside any AppContainer",
    };
    /* The strongest backend of this build knows best what it lacks; and advice that cannot help is worse than
     * none. */
    bool any_built = selection->tried_count == 0;
    for (size_t i = 0; i < selection->tried_count; i++) {
        const struct sbx_tried *tried = &selection->tried[i];
        if (tried->is_built && tried->remedy != NULL) return tried->remedy;
        any_built |= tried->is_built;
    }
    return any_built ? remedies[platform]
                     : "use a build of sbx that contains a sandbox for this platform";
}

void sbx_selection_refusal(const struct sbx_selection *selection, enum sbx_platform platform,
                           struct sbx_buf *out)
{
    sbx_buf_add_text(out, "sandbox UNAVAILABLE and unsandboxed execution is not permitted");
    sbx_buf_printf(out, "\n  why: %s", selection->why);
    const char *remedy = sbx_selection_remedy(selection, platform);
    for (size_t i = 0; i < selection->tried_count; i++) {
        const struct sbx_tried *tried = &selection->tried[i];
        sbx_buf_printf(out, "\n  tried: %-12s %s",
                       sbx_name_text(sbx_backend_names, (int)tried->backend),
                       tried->reason == NULL ? sbx_name_text(sbx_verdict_names, (int)tried->verdict)
                                             : tried->reason);
        if (tried->remedy != NULL && tried->is_built && tried->remedy != remedy)
            sbx_buf_printf(out, "\n    fix: %s", tried->remedy);
    }
    sbx_buf_printf(out, "\n  fix: %s", remedy);
    if (selection->may_opt_in)
        sbx_buf_add_text(out, "\n       to accept NO isolation set both SBX_SANDBOX=none and "
                              "SBX_ALLOW_NO_SANDBOX=1");
    sbx_buf_add_text(out, "\n  more: sbx doctor\n");
}
