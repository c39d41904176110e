/* What the tests of denials share: boxes on a made-up host, a record in, denials out. */
#ifndef SBX_TESTS_UNIT_DENIAL_FIXTURE_H
#define SBX_TESTS_UNIT_DENIAL_FIXTURE_H

#include "common/run/denial.h"
#include "tests/unit/policy_fixture.h"

enum box {
    BOX_WORKSPACE, /* mode workspace-write, made of mounts */
    BOX_LANDLOCK,  /* the same without mounts */
    BOX_READ_ONLY,
    BOX_STRICT,  /* the system and the project readable, no home */
    BOX_HOSTS,   /* workspace-write, and pypi.org */
    BOX_NETWORK, /* workspace-write with the host's network */
    BOX_WINDOWS,
    BOX_NONE, /* no sandbox */
    BOX_COUNT
};

struct denials {
    struct fixture fixture;
    struct sbx_run_record record;
    struct sbx_denials found;
};

void denials_start(struct denials *d, enum box box);
void denials_release(struct denials *d);
#define AUTO_DENIALS SBX_CLEANUP(denials_release) struct denials

/* d->found from d->record; or from a command that wrote just that and failed. */
void denials_find(struct denials *d);
void denials_read(struct denials *d, const char *text);

/* "kind operation subject" */
void denials_describe(const struct sbx_denial *denial, char *out, size_t size);

#endif
