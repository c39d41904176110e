/* Host patterns: what is accepted and in which normal form, what is refused and with which remedy,
 * and what a pattern allows. */
#include <stdio.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/egress/host_parts.h"
#include "common/egress/hosts.h"
#include "tests/check.h"
#include "tests/unit/host_entries.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 1 << 20, LONG_TEXT = 512 };

typedef enum sbx_host_problem parse_fn(struct sbx_arena *arena, struct sbx_str text,
                                       struct sbx_host_pattern *out, const char **why);

/* ---- accepted entries ------------------------------------------------------------------------ */

static bool same_pattern(const struct sbx_host_pattern *a, const struct sbx_host_pattern *b)
{
    return a->form == b->form && a->port == b->port && strcmp(a->host, b->host) == 0;
}

static void check_accepted(parse_fn *parse, const struct accepted *row)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_host_pattern first = {0};
    struct sbx_host_pattern again = {0};
    const char *why = NULL;
    bool held = CHECK_INT(parse(&arena, sbx_str(row->entry), &first, &why), SBX_HOST_OK);
    held = CHECK_TEXT(why, NULL) && held;
    if (held) {
        const char *text = sbx_host_text(&arena, &first);
        held = CHECK_INT(first.form, row->form);
        held = CHECK_TEXT(text, row->text != NULL ? row->text : row->entry) && held;
        held = CHECK_INT(parse(&arena, sbx_str(text), &again, &why), SBX_HOST_OK) && held;
        held = held && CHECK(same_pattern(&first, &again));
        held = held && CHECK_INT(sbx_host_compare(&first, &again), 0);
    }
    if (!held) {
        printf("# entry \"%s\": %s\n", row->entry, why == NULL ? "" : why);
    }
}

static void an_accepted_host_has_one_normal_form(void)
{
    for (size_t i = 0; i < SBX_COUNT(hosts_accepted); i++) {
        check_accepted(sbx_host_parse, &hosts_accepted[i]);
    }
}

static void an_accepted_local_target_has_one_normal_form(void)
{
    for (size_t i = 0; i < SBX_COUNT(local_accepted); i++) {
        check_accepted(sbx_host_parse_local, &local_accepted[i]);
    }
}

static void the_order_of_patterns_is_total(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_host_pattern all[SBX_COUNT(hosts_accepted)];
    for (size_t i = 0; i < SBX_COUNT(all); i++) {
        CHECK_INT(sbx_host_parse(&arena, sbx_str(hosts_accepted[i].entry), &all[i], NULL), 0);
    }
    for (size_t i = 0; i < SBX_COUNT(all); i++) {
        for (size_t j = 0; j < SBX_COUNT(all); j++) {
            int order = sbx_host_compare(&all[i], &all[j]);
            int reverse = sbx_host_compare(&all[j], &all[i]);
            bool held = (order == 0) == same_pattern(&all[i], &all[j]);
            held = held && (order > 0) == (reverse < 0);
            for (size_t k = 0; k < SBX_COUNT(all); k++) {
                bool chain = order <= 0 && sbx_host_compare(&all[j], &all[k]) <= 0;
                held = held && (!chain || sbx_host_compare(&all[i], &all[k]) <= 0);
            }
            CHECK(held);
        }
    }
}

/* ---- refused entries ------------------------------------------------------------------------- */

/* A reason is one sentence part, one "; ", one remedy, and safe to print. */
static bool well_said(const char *why)
{
    const char *middle = why == NULL ? NULL : strstr(why, "; ");
    if (middle == NULL || middle == why || middle[2] == '\0' || strstr(middle + 2, "; ") != NULL) {
        return false;
    }
    for (const char *at = why; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            return false;
        }
    }
    return true;
}

static void check_refused(parse_fn *parse, const struct refused *row)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_host_pattern out = {SBX_HOST_GROUP, "untouched", 7};
    const char *why = NULL;
    bool held = CHECK_INT(parse(&arena, sbx_str(row->entry), &out, &why), row->problem);
    held = CHECK(well_said(why)) && held;
    held = CHECK(why != NULL && strstr(why, row->why) != NULL) && held;
    held = CHECK(out.form == SBX_HOST_GROUP && out.port == 7) && held;
    held = CHECK_TEXT(out.host, "untouched") && held;
    held = CHECK_INT(parse(&arena, sbx_str(row->entry), &out, NULL), row->problem) && held;
    if (!held) {
        printf("# entry \"%s\": %s\n", row->entry, why == NULL ? "" : why);
    }
}

static void a_refused_host_comes_with_its_remedy(void)
{
    for (size_t i = 0; i < SBX_COUNT(hosts_refused); i++) {
        check_refused(sbx_host_parse, &hosts_refused[i]);
    }
}

static void a_refused_local_target_comes_with_its_remedy(void)
{
    for (size_t i = 0; i < SBX_COUNT(local_refused); i++) {
        check_refused(sbx_host_parse_local, &local_refused[i]);
    }
}

static void metadata_services_are_refused_everywhere(void)
{
    static const char *const entries[] = {
        "169.254.169.254:80",
        "169.254.169.253:80",
        "169.254.170.2:80",
        "169.254.170.23:80",
        "169.254.42.42:80",
        "100.100.100.200:80",
        "168.63.129.16:80",
        "192.0.0.192:80",
        "[fd00:ec2::254]:80",
        "[fd00:ec2::23]:80",
        "[fd20:ce::254]:80",
        "[fd00:c1::a9fe:a9fe]:80",
        "[fd00:42::42]:80",
        "metadata:80",
        "metadata.google.internal:80",
        "METADATA.goog.:80",
        "kubernetes.default:443",
        "kubernetes.default.svc:443",
        "kubernetes.default.svc.cluster.local:443",
    };
    for (size_t i = 0; i < SBX_COUNT(entries); i++) {
        struct refused row = {entries[i], SBX_HOST_INVALID, "metadata service"};
        check_refused(sbx_host_parse, &row);
        check_refused(sbx_host_parse_local, &row);
    }
    struct refused above = {"*.google.internal", SBX_HOST_INVALID, "metadata service"};
    check_refused(sbx_host_parse, &above);
    struct refused mapped = {"[::ffff:169.254.169.254]:80", SBX_HOST_INVALID,
                             "IPv4 address inside"};
    check_refused(sbx_host_parse, &mapped);
    check_refused(sbx_host_parse_local, &mapped);
}

/* Labels of `label` letters joined by dots, `total` characters in all. */
static void fill_name(char out[LONG_TEXT], size_t label, size_t total)
{
    for (size_t i = 0; i < total; i++) {
        out[i] = i % (label + 1) == label ? '.' : 'a';
    }
    out[total] = '\0';
}

static void a_name_may_be_253_long_and_a_label_63(void)
{
    char name[LONG_TEXT];
    fill_name(name, 63, 253);
    check_accepted(sbx_host_parse, &(struct accepted){name, NULL, SBX_HOST_EXACT});
    fill_name(name, 62, 254);
    check_refused(sbx_host_parse,
                  &(struct refused){name, SBX_HOST_INVALID, "longer than 253 characters"});
    fill_name(name, 64, 100);
    check_refused(sbx_host_parse,
                  &(struct refused){name, SBX_HOST_INVALID, "label longer than 63 characters"});
}

static void a_nul_byte_does_not_end_an_entry(void)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_host_pattern out;
    const char *why = NULL;
    struct sbx_str text = {"example.com\0.evil.test", 22};
    CHECK_INT(sbx_host_parse(&arena, text, &out, &why), SBX_HOST_INVALID);
    CHECK(why != NULL && strstr(why, "control character") != NULL);
}

static void without_memory_the_answer_is_still_right(void)
{
    for (size_t i = 0; i < SBX_COUNT(hosts_refused); i++) {
        AUTO_ARENA arena;
        sbx_arena_init(&arena, 0);
        struct sbx_host_pattern out;
        const char *why = NULL;
        struct sbx_str text = sbx_str(hosts_refused[i].entry);
        CHECK_INT(sbx_host_parse(&arena, text, &out, &why), hosts_refused[i].problem);
        CHECK(well_said(why));
    }
    AUTO_ARENA arena;
    sbx_arena_init(&arena, 0);
    struct sbx_host_pattern out = {SBX_HOST_EXACT, "untouched", 7};
    const char *why = NULL;
    CHECK_INT(sbx_host_parse(&arena, sbx_str("example.com"), &out, &why), SBX_HOST_NO_MEMORY);
    CHECK(well_said(why));
    CHECK_TEXT(out.host, "untouched");
    CHECK_TEXT(sbx_host_text(&arena, &out), NULL);
}

static const struct sbx_test tests[] = {
    {"an accepted host has one normal form", an_accepted_host_has_one_normal_form},
    {"an accepted local target has one normal form", an_accepted_local_target_has_one_normal_form},
    {"the order of patterns is total", the_order_of_patterns_is_total},
    {"a refused host comes with its remedy", a_refused_host_comes_with_its_remedy},
    {"a refused local target comes with its remedy", a_refused_local_target_comes_with_its_remedy},
    {"metadata services are refused everywhere", metadata_services_are_refused_everywhere},
    {"a name may be 253 long and a label 63", a_name_may_be_253_long_and_a_label_63},
    {"a NUL byte does not end an entry", a_nul_byte_does_not_end_an_entry},
    {"without memory the answer is still right", without_memory_the_answer_is_still_right},
};

SBX_TEST_MAIN("hosts", tests)
