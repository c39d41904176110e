/* From a manifest, wherever it is, to something that can be planned. */
#include "common/run/setup.h"

#include "common/policy/widen.h"
#include "common/policy/word.h"
#include "common/run/load.h"
#include "common/run/trust.h"

#include "common/base/banned.h"

#define MANIFEST_NAME "sbx.toml"

bool sbx_discover(struct sbx_arena *arena, const struct sbx_context *context, struct sbx_path *out)
{
    struct sbx_path dir = context->cwd;
    while (dir.text != NULL) {
        struct sbx_path file;
        struct sbx_path repository;
        struct sbx_file_info info;
        if (sbx_path_join(arena, dir, sbx_str(MANIFEST_NAME), &file) != SBX_PATH_OK ||
            sbx_path_join(arena, dir, sbx_str(".git"), &repository) != SBX_PATH_OK)
            return false;
        sbx_os_file_info(file.text, &info);
        if (info.node != SBX_NODE_MISSING) {
            *out = file;
            return true;
        }
        sbx_os_file_info(repository.text, &info);
        bool is_top = info.node != SBX_NODE_MISSING || sbx_path_is_root(dir) ||
                      (context->home.len > 0 && sbx_path_eq(dir, context->home));
        if (is_top) return false;
        dir = sbx_path_parent(arena, dir);
    }
    return false;
}

/* A manifest nobody named must at least be the caller's own. */
static bool is_callers(const struct sbx_setup_input *input, const struct sbx_setup *setup,
                       const struct sbx_file_info *info)
{
    if (setup->found != SBX_FOUND_NEARBY || info->is_callers) return true;
    struct sbx_origin at = {.source = setup->manifest_shown};
    struct sbx_finding *finding =
        sbx_findings_add(input->findings, SBX_F_USER_UNTRUSTED, &at, "", (struct sbx_str){0},
                         "the manifest that was found belongs to another user");
    AUTO_BUF word;
    sbx_buf_init(&word, 64u << 10);
    sbx_word_add(&word, setup->context.platform, setup->manifest_shown);
    sbx_finding_hint(input->findings, finding,
                     "name it with -f %s to use it, or ignore it with --no-manifest",
                     sbx_buf_text(&word));
    return false;
}

void sbx_setup_project(struct sbx_arena *arena, struct sbx_context *context, const char *path,
                       struct sbx_path *real)
{
    struct sbx_err ignored = {0};
    context->project = context->cwd;
    if (context->is_assumed || sbx_text_eq(path, "-")) return;
    if (sbx_os_real_path(arena, path, real, &ignored) != SBX_OK) return;
    struct sbx_path parent = sbx_path_parent(arena, *real);
    if (parent.text != NULL) context->project = parent;
}

static void default_manifest(struct sbx_manifest *out)
{
    *out = (struct sbx_manifest){.mode = SBX_MODE_WORKSPACE_WRITE, .set = 1u << SBX_KEY_MODE};
    out->at[SBX_KEY_MODE].source = "default";
}

static enum sbx_code read_manifest(const struct sbx_setup_input *input, struct sbx_setup *setup,
                                   struct sbx_manifest *out, struct sbx_err *err)
{
    struct sbx_loaded loaded;
    const char *path =
        setup->found == SBX_FOUND_NAMED ? setup->manifest_shown : setup->manifest_path.text;
    bool is_given = input->manifest_text.ptr != NULL;
    loaded = (struct sbx_loaded){0};
    if (is_given ? !sbx_load_text(input->arena, input->manifest_text, setup->manifest_shown,
                                  input->findings, &loaded)
                 : !sbx_load_document(input->arena, path, setup->manifest_shown, input->findings,
                                      &loaded))
        return sbx_err_set(err, SBX_E_INVALID, "the manifest cannot be read");
    for (size_t i = 0; i < SBX_SHA256_HEX; i++) setup->manifest_digest[i] = loaded.digest[i];
    if (!is_callers(input, setup, &loaded.info))
        return sbx_err_set(err, SBX_E_UNTRUSTED, "the manifest belongs to another user");
    if (!is_given) sbx_setup_project(input->arena, &setup->context, path, &setup->manifest_path);
    /* Units alone say nothing about this run. */
    if (loaded.document.has_sandbox)
        *out = loaded.document.sandbox;
    else
        default_manifest(out);
    return SBX_OK;
}

static enum sbx_code find_manifest(const struct sbx_setup_input *input, struct sbx_setup *setup,
                                   struct sbx_err *err)
{
    const char *named = input->manifest_named;
    if (named != NULL && input->ignores_manifest) {
        (void)sbx_err_set(err, SBX_E_USAGE, "-f and --no-manifest exclude each other");
        return sbx_err_hint(err, "keep one of them");
    }
    if (named != NULL) {
        setup->found = SBX_FOUND_NAMED;
        setup->manifest_shown = named;
        setup->manifest_path =
            (struct sbx_path){named, sbx_str(named).len, setup->context.cwd.rules};
        return SBX_OK;
    }
    if (input->manifest_text.ptr != NULL) {
        setup->found = SBX_FOUND_NAMED;
        setup->manifest_shown = SBX_SETUP_GIVEN_NAME;
        setup->manifest_path = (struct sbx_path){
            SBX_SETUP_GIVEN_NAME, sizeof SBX_SETUP_GIVEN_NAME - 1, setup->context.cwd.rules};
        return SBX_OK;
    }
    struct sbx_context here;
    if (input->ignores_manifest) return SBX_OK;
    if (!setup->context.is_assumed) {
        here = setup->context;
    } else {
        enum sbx_code code = sbx_os_context(input->arena, &here, err);
        if (code != SBX_OK) return code;
    }
    if (sbx_discover(input->arena, &here, &setup->manifest_path)) {
        setup->found = SBX_FOUND_NEARBY;
        setup->manifest_shown = setup->manifest_path.text;
    }
    return SBX_OK;
}

/* A discovered manifest may tighten the default, or was accepted by content. */
static enum sbx_code check_trust(const struct sbx_setup_input *input,
                                 const struct sbx_manifest *file, struct sbx_setup *setup,
                                 struct sbx_err *err)
{
    if (setup->found != SBX_FOUND_NEARBY || setup->context.is_assumed) return SBX_OK;
    struct sbx_trust_store store;
    enum sbx_code code = sbx_trust_load(input->arena, &setup->context, &store, err);
    if (code != SBX_OK) return code;
    setup->is_trusted = sbx_trust_has(&store, setup->manifest_path.text, setup->manifest_digest);
    if (setup->is_trusted) return SBX_OK;
    struct sbx_findings unused;
    struct sbx_policy base;
    struct sbx_policy wanted;
    struct sbx_manifest nothing;
    default_manifest(&nothing);
    sbx_findings_init(&unused, input->arena);
    sbx_policy_resolve(input->arena, &nothing, &setup->context, &setup->ceiling, &unused, &base);
    sbx_policy_resolve(input->arena, file, &setup->context, &setup->ceiling, &unused, &wanted);
    const char **reasons = NULL;
    size_t count = 0;
    if (!sbx_policy_widens(input->arena, &base, &wanted, &reasons, &count))
        return sbx_err_nomem(err);
    if (count == 0) return SBX_OK;
    AUTO_BUF text;
    sbx_buf_init(&text, 4096);
    const size_t most = 5;
    for (size_t i = 0; i < count && i < most; i++)
        sbx_buf_printf(&text, "%s%s", i == 0 ? "" : "; ", reasons[i]);
    if (count > most) sbx_buf_printf(&text, "; and %zu more", count - most);
    struct sbx_origin at = {.source = setup->manifest_shown};
    struct sbx_finding *finding =
        sbx_findings_add(input->findings, SBX_F_MANIFEST_UNTRUSTED, &at, "", (struct sbx_str){0},
                         "this manifest was found, not named, and allows more than the default: %s",
                         sbx_buf_text(&text));
    AUTO_BUF word;
    sbx_buf_init(&word, 64u << 10);
    sbx_word_add(&word, setup->context.platform, setup->manifest_shown);
    sbx_finding_hint(input->findings, finding,
                     "read it, then accept this content with: sbx trust %s", sbx_buf_text(&word));
    return sbx_err_set(err, SBX_E_UNTRUSTED, "the manifest is not trusted");
}

enum sbx_code sbx_setup_read(const struct sbx_setup_input *input, const struct sbx_context *context,
                             struct sbx_setup *out, struct sbx_err *err)
{
    *out = (struct sbx_setup){
        .manifest_shown = "", .manifest_path = {.text = ""}, .context = *context};
    sbx_ceiling_init(&out->ceiling);
    if (!out->context.is_assumed && !sbx_load_ceiling(input->arena, input->findings, &out->ceiling))
        return sbx_err_set(err, SBX_E_INVALID, "the administrator's policy cannot be used");
    enum sbx_code code = find_manifest(input, out, err);
    if (code != SBX_OK) return code;
    struct sbx_manifest file;
    default_manifest(&file);
    if (out->found != SBX_FOUND_NOTHING) {
        code = read_manifest(input, out, &file, err);
        if (code != SBX_OK) return code;
    }
    if (!sbx_findings_ok(input->findings))
        return sbx_err_set(err, SBX_E_INVALID, "the manifest has errors");
    code = check_trust(input, &file, out, err);
    if (code != SBX_OK) return code;
    return sbx_manifest_merge(input->arena, &file, input->flags, &out->manifest, err);
}
