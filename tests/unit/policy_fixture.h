/* What the tests of the policy room share: text in, policy, plan and findings out. */
#ifndef SBX_TESTS_UNIT_POLICY_FIXTURE_H
#define SBX_TESTS_UNIT_POLICY_FIXTURE_H

#include "common/policy/plan.h"

/* A host that has exactly these paths; ends with path NULL. */
struct fake_node {
    const char *path;
    enum sbx_node node;
};

struct fixture {
    struct sbx_arena arena;
    struct sbx_findings findings;
    struct sbx_context context; /* assumed, so that every machine gives the same */
    struct sbx_ceiling ceiling;
    struct sbx_facts facts;
    struct sbx_document document;
    struct sbx_policy policy;
    struct sbx_plan plan;
    char digest[SBX_SHA256_HEX]; /* of the plan */
};

void fixture_start(struct fixture *f, enum sbx_platform platform);
void fixture_release(struct fixture *f);
#define AUTO_FIXTURE SBX_CLEANUP(fixture_release) struct fixture

/* From now on the host is asked, and has only `nodes`. */
void fixture_host(struct fixture *f, const struct fake_node *nodes);

/* The text's document into f->document; false (and a failed check) when it is not TOML. */
bool fixture_read(struct fixture *f, const char *toml);
bool fixture_read_json(struct fixture *f, const char *json);
/* The administrator's policy. */
bool fixture_ceiling(struct fixture *f, const char *toml);
/* f->document.sandbox, with flags on top ("--write", "/x", …), into f->policy. */
void fixture_resolve(struct fixture *f);
/* All of it. */
void fixture_policy(struct fixture *f, enum sbx_platform platform, const char *toml);

/* Arguments as sbx_manifest_print_flags gives them, on top of *out. */
void fixture_flags(struct fixture *f, const char *const *args, size_t count,
                   struct sbx_manifest *out);

struct sbx_path fixture_path(struct fixture *f, const char *text);
enum sbx_access fixture_access(struct fixture *f, const char *path);
struct sbx_decision fixture_decide(struct fixture *f, const char *path);

/* The rule for exactly this path, or NULL. */
const struct sbx_rule *fixture_rule(const struct fixture *f, const char *path);

/* The first finding of that code, or NULL; how many there are. */
const struct sbx_finding *fixture_finding(const struct fixture *f, enum sbx_finding_code code);
size_t fixture_findings(const struct fixture *f, enum sbx_finding_code code);
void fixture_forget(struct fixture *f); /* the findings so far */
void fixture_print_findings(const struct fixture *f);

/* f->plan for the first backend of the platform, without a command; a failed check without one. */
void fixture_plan(struct fixture *f);

/* What selection says about the fixture's policy, facts and ceiling. */
struct sbx_selection fixture_choose(struct fixture *f, const char *request, const char *opt_in);

#endif
