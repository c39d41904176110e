/* sbx-plans: manifests in, what each platform would make of them out, as JSON.
 *
 *     sbx-plans FILE.toml…            per manifest: the backend, what it refuses and the tier of each dimension on every
 *                                     platform, and the Seatbelt profile
 *     sbx-plans --decide FILE.toml    paths on standard input, what the policy decides about each on standard output
 *
 * Everything is assumed (common/policy/context.h), so every machine prints the same. */
#include <stdio.h>
#include <string.h>

#include "common/base/jsonw.h"
#include "common/os.h"
#include "common/policy/plan.h"
#include "common/policy/toml.h"
#include "posix/macos_profile.h"

#include "common/base/banned.h"

#define MANIFEST_MAX ((size_t)1 << 20)
#define OUTPUT_MAX ((size_t)64 << 20)
#define PROXY_PORT 8123

/* One manifest on one platform. */
struct made {
    struct sbx_arena arena;
    struct sbx_findings findings;
    struct sbx_context context;
    struct sbx_facts facts;
    struct sbx_ceiling ceiling;
    struct sbx_document document;
    struct sbx_policy policy;
    struct sbx_plan plan;
    bool is_accepted;
};

static void release(struct made *made)
{
    sbx_arena_release(&made->arena);
}
#define AUTO_MADE SBX_CLEANUP(release) struct made

static enum sbx_code make(struct made *made, const char *file, enum sbx_platform platform,
                          struct sbx_err *err)
{
    static const char *const no_command[] = {NULL};
    struct sbx_str text;
    struct sbx_value root;
    *made = (struct made){0};
    sbx_arena_init(&made->arena, (size_t)256 << 20);
    sbx_findings_init(&made->findings, &made->arena);
    sbx_ceiling_init(&made->ceiling);
    sbx_facts_assume(platform, &made->facts);
    made->facts.has_egress = made->facts.has_service = true;
    enum sbx_code code = sbx_context_assume(&made->arena, platform, &made->context, err);
    if (code == SBX_OK) {
        code = sbx_os_read_file(&made->arena, file, MANIFEST_MAX, &text, NULL, err);
    }
    if (code == SBX_OK) {
        code = sbx_toml_read(&made->arena, file, text, NULL, &root, NULL, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    sbx_document_read(&made->arena, file, &root, &made->findings, &made->document);
    sbx_policy_resolve(&made->arena, &made->document.sandbox, &made->context, &made->ceiling,
                       &made->findings, &made->policy);
    enum sbx_backend_id backend = sbx_backend_order(platform)[0];
    if (sbx_findings_ok(&made->findings)) {
        made->is_accepted =
            sbx_backend_accepts(backend, &made->policy, &made->facts, &made->findings);
    }
    return sbx_plan_make(&made->arena, &made->policy, &made->facts, backend, no_command,
                         &made->plan, err);
}

/* What would run it: fail-closed where a required dimension is not enforced. */
static const char *chosen(struct made *made)
{
    struct sbx_selection selection;
    struct sbx_select_input input = {.platform = made->context.platform,
                                     .policy = &made->policy,
                                     .facts = &made->facts,
                                     .ceiling = &made->ceiling};
    sbx_select(&made->arena, &input, &selection);
    return sbx_name_text(sbx_backend_names, (int)selection.backend);
}

static void print_tiers(struct sbx_jsonw *json, const struct made *made)
{
    sbx_jsonw_key(json, "tiers");
    sbx_jsonw_object(json);
    for (int i = 0; i < SBX_DIM_COUNT; i++) {
        const struct sbx_tier_entry *entry = &made->plan.tiers[i];
        sbx_jsonw_pair_text(json, sbx_name_text(sbx_dimension_names, i),
                            entry->is_asked ? sbx_name_text(sbx_tier_names, (int)entry->tier)
                                            : "not asked");
    }
    sbx_jsonw_end(json);
}

static void print_findings(struct sbx_jsonw *json, const struct made *made)
{
    sbx_jsonw_key(json, "refused");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < made->findings.count && !made->is_accepted; i++) {
        sbx_jsonw_text(json,
                       sbx_name_text(sbx_finding_code_names, (int)made->findings.items[i].code));
    }
    sbx_jsonw_end(json);
}

/* A host on which every name is real, and that has the workspace of the fence: "work/tree/.git" names "work/store". */
static const char *real_name(void *state, struct sbx_arena *arena, const char *path)
{
    (void)state;
    return sbx_arena_copy(arena, path, strlen(path));
}

static enum sbx_code find_git(const struct sbx_macos_host *host, struct sbx_arena *arena,
                              const struct sbx_policy *policy, struct sbx_macos_rules *rules,
                              struct sbx_err *err)
{
    const char *store = sbx_arena_printf(arena, "%s/work/store", policy->context.home.text);
    (void)host;
    return store == NULL
               ? sbx_err_nomem(err)
               : sbx_macos_rules_add_git(arena, policy,
                                         (struct sbx_path){store, strlen(store), SBX_PATH_MACOS},
                                         rules, err);
}

static const struct sbx_macos_host fence_host = {.real = real_name, .find_git = find_git};

static enum sbx_code print_profile(struct sbx_jsonw *json, struct made *made, const char *file,
                                   struct sbx_err *err)
{
    static const char *const lent[] = {"/dev/ttys001", NULL};
    static const char scratch[] = "/private/tmp/sbx-0000000000000001";
    bool has_terminal = strstr(file, "terminal") != NULL;
    struct sbx_macos_box box = {
        .policy = &made->policy,
        .host = &fence_host,
        .job = "00000000000000ff",
        .scratch = {scratch, sizeof scratch - 1, SBX_PATH_MACOS},
        .own_terminal = has_terminal ? "/dev/ttys007" : NULL,
        .lent_terminals = has_terminal ? NULL : lent,
        .proxy_port = made->policy.network == SBX_NET_ALLOW_HOSTS ? PROXY_PORT : 0,
    };
    struct sbx_macos_profile profile;
    enum sbx_code code = sbx_macos_profile_make(&made->arena, &box, &profile, err);
    if (code != SBX_OK) {
        return code;
    }
    sbx_jsonw_pair_str(json, "profile", (struct sbx_str){profile.text, profile.len});
    sbx_jsonw_key(json, "parameters");
    sbx_jsonw_array(json);
    for (size_t i = 0; i < profile.parameter_count; i++) {
        sbx_jsonw_text(json, profile.parameters[i]);
    }
    sbx_jsonw_end(json);
    return SBX_OK;
}

static enum sbx_code print_manifest(struct sbx_jsonw *json, const char *file, struct sbx_err *err)
{
    enum sbx_code code = SBX_OK;
    sbx_jsonw_object(json);
    sbx_jsonw_pair_text(json, "file", file);
    for (int platform = 0; platform < SBX_PLATFORM_COUNT && code == SBX_OK; platform++) {
        AUTO_MADE made;
        code = make(&made, file, (enum sbx_platform)platform, err);
        if (code != SBX_OK) {
            break;
        }
        sbx_jsonw_key(json, sbx_name_text(sbx_platform_names, platform));
        sbx_jsonw_object(json);
        sbx_jsonw_pair_text(json, "backend",
                            sbx_name_text(sbx_backend_names, (int)made.plan.backend));
        sbx_jsonw_pair_text(json, "chosen", chosen(&made));
        print_findings(json, &made);
        print_tiers(json, &made);
        sbx_jsonw_pair_text(json, "network",
                            sbx_name_text(sbx_net_kind_names, (int)made.policy.network));
        if (platform == SBX_MACOS && made.is_accepted) {
            code = print_profile(json, &made, file, err);
        }
        sbx_jsonw_end(json);
    }
    sbx_jsonw_end(json);
    return code;
}

static enum sbx_code print_all(char **files, size_t count, struct sbx_err *err)
{
    AUTO_BUF out;
    struct sbx_jsonw json;
    enum sbx_code code = SBX_OK;
    sbx_buf_init(&out, OUTPUT_MAX);
    sbx_jsonw_init(&json, &out, false);
    sbx_jsonw_array(&json);
    for (size_t i = 0; i < count && code == SBX_OK; i++) {
        code = print_manifest(&json, files[i], err);
    }
    sbx_jsonw_end(&json);
    if (code == SBX_OK) {
        code = sbx_buf_check(&out, err);
    }
    return code == SBX_OK ? sbx_os_write(SBX_STDOUT, out.data, out.len, err) : code;
}

static enum sbx_code decide(const char *file, struct sbx_err *err)
{
    AUTO_MADE made;
    char line[4096];
    enum sbx_code code = make(&made, file, SBX_MACOS, err);
    while (code == SBX_OK && fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        struct sbx_path path;
        if (sbx_path_make(&made.arena, SBX_PATH_MACOS, sbx_str(line), &path) != SBX_PATH_OK) {
            return sbx_err_set(err, SBX_E_INVALID, "\"%s\" is no path", line);
        }
        struct sbx_decision decision = sbx_policy_decide(&made.arena, &made.policy, path);
        printf("%s%s\n", sbx_name_text(sbx_access_names, (int)decision.access),
               decision.maybe_writable ? " file" : "");
    }
    return code;
}

int main(int argc, char **argv)
{
    struct sbx_err err = {0};
    bool decides = argc == 3 && strcmp(argv[1], "--decide") == 0;
    enum sbx_code code = decides    ? decide(argv[2], &err)
                         : argc > 1 ? print_all(argv + 1, (size_t)argc - 1, &err)
                                    : sbx_err_set(&err, SBX_E_USAGE, "no manifest");
    if (code != SBX_OK) {
        (void)fprintf(stderr, "sbx-plans: %s\n", err.text);
        return 1;
    }
    return 0;
}
