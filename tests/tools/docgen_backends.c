/* docgen: what the backends can represent and how well they hold it, from the functions that decide it. */
#include <inttypes.h>

#include "common/policy/backends.h"
#include "common/policy/profile.h"
#include "tests/tools/docgen_markdown.h"

#include "common/base/banned.h"

/* The order of the columns: by platform, strongest first. */
static const enum sbx_backend_id shown[] = {
    SBX_BACKEND_BWRAP,    SBX_BACKEND_NATIVE, SBX_BACKEND_LANDLOCK, SBX_BACKEND_APPCONTAINER,
    SBX_BACKEND_SEATBELT, SBX_BACKEND_DOCKER, SBX_BACKEND_EXTERNAL, SBX_BACKEND_NONE};

static const char *name_of(enum sbx_backend_id id)
{
    return sbx_name_text(sbx_backend_names, (int)id);
}

static enum sbx_platform home_of(enum sbx_backend_id id)
{
    unsigned platforms = sbx_backend_row(id)->platforms;
    for (int i = 0; i < SBX_PLATFORM_COUNT; i++)
        if (platforms & (1U << i)) return (enum sbx_platform)i;
    return SBX_LINUX;
}

/* Everything a policy can restrict is restricted, so that every dimension is asked for. */
static void tiers_of(enum sbx_backend_id id, const struct sbx_facts *facts,
                     struct sbx_tier_entry out[SBX_DIM_COUNT])
{
    const struct sbx_policy policy = {
        .preset = &sbx_preset_rows[SBX_PROFILE_STRICT],
        .network = SBX_NET_DENY,
        .syscalls = SBX_SYSCALLS_STRICT,
        .limits = {
            .timeout_ns = 1, .memory_bytes = 1, .cpu_secs = 1, .processes = 1, .output_bytes = 1}};
    sbx_backend_tiers(id, &policy, facts, out);
}

static const char *tier_text(const struct sbx_tier_entry *entry)
{
    return sbx_name_text(sbx_tier_names, (int)entry->tier);
}

static void head_of_backends(struct sbx_buf *out, const char *first)
{
    const char *cells[SBX_COUNT(shown) + 1] = {first};
    for (size_t i = 0; i < SBX_COUNT(shown); i++) cells[i + 1] = name_of(shown[i]);
    docgen_head(out, cells, SBX_COUNT(cells));
}

void docgen_print_tiers(struct sbx_buf *out)
{
    head_of_backends(out, "");
    for (int d = 0; d < SBX_DIM_COUNT; d++) {
        sbx_buf_printf(out, "| %s |", sbx_name_text(sbx_dimension_names, d));
        for (size_t i = 0; i < SBX_COUNT(shown); i++) {
            struct sbx_facts facts;
            struct sbx_tier_entry best[SBX_DIM_COUNT];
            struct sbx_tier_entry bare[SBX_DIM_COUNT];
            sbx_facts_assume(home_of(shown[i]), &facts);
            tiers_of(shown[i], &facts, best);
            facts.cgroup = SBX_CGROUP_NONE;
            tiers_of(shown[i], &facts, bare);
            sbx_buf_printf(out, " %s%s |", tier_text(&best[d]),
                           best[d].tier == bare[d].tier ? "" : " ¹");
        }
        sbx_buf_add_char(out, '\n');
    }
}

void docgen_print_mechanisms(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "backend", "dimension", "tier", "by", "why not better");
    for (size_t i = 0; i < SBX_COUNT(shown); i++) {
        struct sbx_facts facts;
        struct sbx_tier_entry tiers[SBX_DIM_COUNT];
        sbx_facts_assume(home_of(shown[i]), &facts);
        tiers_of(shown[i], &facts, tiers);
        for (int d = 0; d < SBX_DIM_COUNT; d++) {
            sbx_buf_printf(out, "| %s | %s | %s | ", d == 0 ? name_of(shown[i]) : "",
                           sbx_name_text(sbx_dimension_names, d), tier_text(&tiers[d]));
            docgen_text(out, tiers[d].mechanism);
            sbx_buf_add_text(out, " | ");
            docgen_text(out, tiers[d].reason == NULL ? "" : tiers[d].reason);
            sbx_buf_add_text(out, " |\n");
        }
    }
}

/* ---- what a machine may lack ---- */

static void without_cgroup(struct sbx_facts *facts)
{
    facts->cgroup = SBX_CGROUP_NONE;
}

static void without_cgroup_as_root(struct sbx_facts *facts)
{
    facts->cgroup = SBX_CGROUP_NONE;
    facts->is_root = true;
}

static void without_landlock(struct sbx_facts *facts)
{
    facts->landlock_abi = 0;
}

static void without_seccomp(struct sbx_facts *facts)
{
    facts->has_seccomp = false;
}

struct variant {
    const char *missing;
    void (*base)(struct sbx_facts *); /* what was taken away before; NULL: nothing */
    void (*take_away)(struct sbx_facts *);
};

/* The entry without it; false when it is the same as with it. */
static bool is_changed(const struct variant *variant, enum sbx_backend_id id, int dimension,
                       struct sbx_tier_entry *out)
{
    struct sbx_facts facts;
    struct sbx_tier_entry with[SBX_DIM_COUNT];
    struct sbx_tier_entry without[SBX_DIM_COUNT];
    sbx_facts_assume(SBX_LINUX, &facts);
    if (variant->base != NULL) variant->base(&facts);
    tiers_of(id, &facts, with);
    variant->take_away(&facts);
    tiers_of(id, &facts, without);
    *out = without[dimension];
    return with[dimension].tier != out->tier ||
           !sbx_text_eq(with[dimension].mechanism, out->mechanism);
}

static bool is_same(const struct sbx_tier_entry *a, const struct sbx_tier_entry *b)
{
    return a->tier == b->tier && sbx_text_eq(a->mechanism, b->mechanism) &&
           sbx_text_eq(a->reason, b->reason);
}

/* One row per way in which a dimension changes, with the backends it is so for. */
static void add_changes(struct sbx_buf *out, const struct variant *variant, int dimension)
{
    const enum sbx_backend_id *order = sbx_backend_order(SBX_LINUX);
    unsigned done = 0;
    for (size_t i = 0; order[i] != SBX_BACKEND_COUNT; i++) {
        struct sbx_tier_entry entry;
        if ((done & (1U << i)) || !is_changed(variant, order[i], dimension, &entry)) continue;
        sbx_buf_printf(out, "| %s |", variant->missing);
        for (size_t k = i; order[k] != SBX_BACKEND_COUNT; k++) {
            struct sbx_tier_entry other;
            if (!is_changed(variant, order[k], dimension, &other) || !is_same(&entry, &other))
                continue;
            sbx_buf_printf(out, " %s", name_of(order[k]));
            done |= 1U << k;
        }
        sbx_buf_printf(out, " | %s | %s | ", sbx_name_text(sbx_dimension_names, dimension),
                       tier_text(&entry));
        docgen_text(out, entry.mechanism);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, entry.reason == NULL ? "" : entry.reason);
        sbx_buf_add_text(out, " |\n");
    }
}

void docgen_print_missing(struct sbx_buf *out)
{
    static const struct variant variants[] = {
        {"a cgroup of its own", NULL, without_cgroup},
        {"the same, as root", without_cgroup, without_cgroup_as_root},
        {"Landlock", NULL, without_landlock},
        {"seccomp filters", NULL, without_seccomp}};
    DOCGEN_HEAD(out, "what it lacks", "backends", "dimension", "then", "by", "why");
    for (size_t v = 0; v < SBX_COUNT(variants); v++)
        for (int d = 0; d < SBX_DIM_COUNT; d++) add_changes(out, &variants[v], d);
}

/* ---- what they are ---- */

void docgen_print_backends(struct sbx_buf *out)
{
    DOCGEN_HEAD(out, "backend", "platforms", "default timeout", "what it is");
    for (size_t i = 0; i < SBX_COUNT(shown); i++) {
        const struct sbx_backend_row *row = sbx_backend_row(shown[i]);
        sbx_buf_add_text(out, "| ");
        docgen_code(out, name_of(shown[i]));
        sbx_buf_printf(out, " | %s | ", docgen_platforms(row->platforms));
        sbx_duration_print(row->default_timeout_ns, out);
        sbx_buf_add_text(out, " | ");
        docgen_text(out, row->summary);
        sbx_buf_add_text(out, " |\n");
    }
}

void docgen_print_shapes(struct sbx_buf *out)
{
    static const struct {
        unsigned can;
        const char *text;
    } shapes[] = {{SBX_CAN_MASK_READ, "a narrower entry below a readable path"},
                  {SBX_CAN_CARVE_WRITE, "a narrower entry below a writable path"},
                  {SBX_CAN_PROTECT, "protected names at any depth, also absent ones"},
                  {SBX_CAN_DEEP_GLOBS, "globs with `**`"},
                  {SBX_CAN_TMPFS, "`tmpfs`"},
                  {SBX_CAN_SOCKETS, "`unix_sockets`"},
                  {SBX_CAN_NET_DENY, "network `deny`"},
                  {SBX_CAN_ALLOW_HOSTS, "network `allow_hosts`"},
                  {SBX_CAN_IDENTITY, "`user` and `group`"},
                  {SBX_CAN_RAW_ARGS, "`raw_args`"},
                  {SBX_CAN_IMAGE, "`image`"},
                  {SBX_CAN_TERMINAL, "a terminal of the command's own (`--tty`, `sbx shell`)"}};
    head_of_backends(out, "can represent");
    for (size_t s = 0; s < SBX_COUNT(shapes); s++) {
        sbx_buf_add_text(out, "| ");
        docgen_text(out, shapes[s].text);
        sbx_buf_add_text(out, " |");
        for (size_t i = 0; i < SBX_COUNT(shown); i++) {
            const struct sbx_backend_row *row = sbx_backend_row(shown[i]);
            bool can = row->is_sandbox && (row->can & shapes[s].can) != 0;
            sbx_buf_add_text(out, can ? " yes |" : " |");
        }
        sbx_buf_add_char(out, '\n');
    }
}
