/* Exhaustive test of backend selection against an independent statement of when `none` may run. */
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

/* When `none` may run, in other words than the table: both keys turned and nobody against it, or the opt-in on a
 * machine where nothing works at all and a sandbox was wanted. */
static bool may_run_without(const struct fixture *f, const char *request, const char *opt_in,
                            bool any_works)
{
    bool says_one = opt_in != NULL && (strcmp(opt_in, "1") == 0 || strcmp(opt_in, "tRUE") == 0);
    bool asks = request != NULL && strcmp(request, "none") == 0;
    bool silent = request == NULL || request[0] == '\0';
    bool special = f->policy.preset->needs_two_keys || f->policy.preset->is_external;
    bool vetoed = !f->ceiling.allow_none || f->ceiling.has_backend ||
                  (f->policy.require_is_explicit && f->policy.require != 0);
    if (!says_one || vetoed) {
        return false;
    }
    return asks || (silent && !special && !any_works);
}

static void sweep_one(struct fixture *f, const char *request, const char *opt_in, unsigned states,
                      size_t *nones)
{
    bool any_works = false;
    for (int i = 0; i < SBX_BACKEND_NONE; i++) {
        bool works = (states & (1u << i)) != 0;
        f->facts.probe[i].state =
            works ? SBX_PROBE_PASSED : (i % 2 == 0 ? SBX_PROBE_FAILED : SBX_PROBE_NOT_BUILT);
        f->facts.probe[i].reason = "x";
    }
    const enum sbx_backend_id *order = sbx_backend_order(f->context.platform);
    for (; *order != SBX_BACKEND_COUNT; order++) {
        any_works |= f->facts.probe[*order].state == SBX_PROBE_PASSED;
    }
    struct sbx_selection got = fixture_choose(f, request, opt_in);
    bool want = may_run_without(f, request, opt_in, any_works);
    *nones += got.backend == SBX_BACKEND_NONE;
    CHECK((got.backend == SBX_BACKEND_NONE) == want);
    CHECK(!got.needs_probe && got.row != NULL);
    bool real = got.backend < SBX_BACKEND_NONE;
    CHECK(!real || f->facts.probe[got.backend].state == SBX_PROBE_PASSED);
    CHECK(!real || (sbx_backend_row(got.backend)->platforms & (1u << f->context.platform)) != 0);
    CHECK(!real || sbx_backend_accepts(got.backend, &f->policy, &f->facts, NULL));
    bool named = request != NULL && request[0] != '\0';
    CHECK(!real || !named ||
          sbx_text_eq(request, sbx_name_text(sbx_backend_names, (int)got.backend)));
    CHECK(!real || !f->ceiling.has_backend || f->ceiling.backend == got.backend);
}

static void none_runs_only_under_its_exact_conditions(void)
{
    static const char *const manifests[] = {
        "[sandbox]\nprofile = \"strict\"\n",
        "[sandbox]\nmode = \"workspace-write\"\n",
        "[sandbox]\nprofile = \"strict\"\nrequire = []\n",
        "[sandbox]\nmode = \"external-sandbox\"\nrequire = []\n",
        "[sandbox]\nprofile = \"none\"\n",
        "[sandbox]\nmode = \"danger-full-access\"\n",
        "[sandbox]\nprofile = \"none\"\nrequire = [\"filesystem\"]\n",
        "[sandbox]\nprofile = \"strict\"\nrequire = [\"network\"]\n",
    };
    static const char *const requests[] = {
        NULL,       "",       "native",   "bwrap", "landlock",    "appcontainer",
        "seatbelt", "docker", "external", "none",  "fail-closed", "nonsense"};
    static const char *const opt_ins[] = {NULL, "", "0", "1", "tRUE", "yes", " 1"};
    static const char *const ceilings[] = {"", "allow_none = false\n", "backend = \"docker\"\n"};
    size_t nones = 0;
    size_t runs = 0;
    for (int platform = 0; platform < SBX_PLATFORM_COUNT; platform++) {
        for (size_t m = 0; m < SBX_COUNT(manifests) * SBX_COUNT(ceilings); m++) {
            AUTO_FIXTURE f;
            fixture_start(&f, (enum sbx_platform)platform);
            CHECK(fixture_ceiling(&f, ceilings[m % SBX_COUNT(ceilings)]));
            CHECK(fixture_read(&f, manifests[m / SBX_COUNT(ceilings)]));
            fixture_resolve(&f);
            for (unsigned states = 0; states < 1u << SBX_BACKEND_NONE; states++) {
                for (size_t k = 0; k < SBX_COUNT(requests) * SBX_COUNT(opt_ins); k++, runs++) {
                    sweep_one(&f, requests[k / SBX_COUNT(opt_ins)], opt_ins[k % SBX_COUNT(opt_ins)],
                              states, &nones);
                }
            }
        }
    }
    printf("# %zu combinations, %zu of them without a sandbox\n", runs, nones);
    CHECK(nones > 0 && nones < runs / 10);
}

static const struct sbx_test tests[] = {
    {"none runs only under its exact conditions", none_runs_only_under_its_exact_conditions},
};
SBX_TEST_MAIN("select, every combination", tests)
