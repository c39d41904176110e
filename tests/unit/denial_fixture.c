/* What the tests of denials share; see denial_fixture.h. */
#include "tests/unit/denial_fixture.h"

#include "tests/check.h"

#include "common/base/banned.h"

static const struct fake_node posix_nodes[] = {{"/", SBX_NODE_DIRECTORY},
                                               {"/bin", SBX_NODE_DIRECTORY},
                                               {"/etc", SBX_NODE_DIRECTORY},
                                               {"/etc/passwd", SBX_NODE_FILE},
                                               {"/etc/x", SBX_NODE_FILE},
                                               {"/etc/my file", SBX_NODE_FILE},
                                               {"/etc/shadow", SBX_NODE_FILE},
                                               {"/etc/locked", SBX_NODE_FILE},
                                               {"/home", SBX_NODE_DIRECTORY},
                                               {"/home/user", SBX_NODE_DIRECTORY},
                                               {"/home/user/.ssh", SBX_NODE_DIRECTORY},
                                               {"/home/user/.ssh/id_rsa", SBX_NODE_FILE},
                                               {"/home/user/project", SBX_NODE_DIRECTORY},
                                               {"/home/user/project/.git", SBX_NODE_DIRECTORY},
                                               {"/home/user/project/.git/config", SBX_NODE_FILE},
                                               {"/home/user/project/.git/index", SBX_NODE_FILE},
                                               {"/home/user/project/mine", SBX_NODE_FILE},
                                               {"/opt", SBX_NODE_DIRECTORY},
                                               {"/opt/tool", SBX_NODE_FILE},
                                               {"/opt/data", SBX_NODE_DIRECTORY},
                                               {"/run/docker.sock", SBX_NODE_SOCKET},
                                               {"/tmp", SBX_NODE_DIRECTORY},
                                               {"/tmp/of-the-host", SBX_NODE_FILE},
                                               {"/usr", SBX_NODE_DIRECTORY},
                                               {"/var/lib", SBX_NODE_DIRECTORY},
                                               {NULL, SBX_NODE_MISSING}};

static const struct fake_node windows_nodes[] = {{"C:\\Windows", SBX_NODE_DIRECTORY},
                                                 {"C:\\Program Files", SBX_NODE_DIRECTORY},
                                                 {"C:\\Users\\user\\project", SBX_NODE_DIRECTORY},
                                                 {NULL, SBX_NODE_MISSING}};

struct box_row {
    enum sbx_platform platform;
    enum sbx_backend_id backend;
    const char *toml;
};

static const struct box_row boxes[BOX_COUNT] = {
    [BOX_WORKSPACE] = {SBX_LINUX, SBX_BACKEND_BWRAP, "[sandbox]\nmode = \"workspace-write\"\n"},
    [BOX_LANDLOCK] = {SBX_LINUX, SBX_BACKEND_LANDLOCK, "[sandbox]\nmode = \"workspace-write\"\n"},
    [BOX_READ_ONLY] = {SBX_LINUX, SBX_BACKEND_BWRAP,
                       "[sandbox]\nmode = \"read-only\"\ncwd = \":project\"\n"},
    [BOX_STRICT] = {SBX_LINUX, SBX_BACKEND_NATIVE,
                    "[sandbox]\nprofile = \"strict\"\nfs_read_allow = [\":project\"]\n"
                    "cwd = \":project\"\n"},
    [BOX_HOSTS] = {SBX_LINUX, SBX_BACKEND_BWRAP,
                   "[sandbox]\nmode = \"workspace-write\"\n"
                   "network = { kind = \"allow_hosts\", hosts = [\"pypi.org\"] }\n"},
    [BOX_NETWORK] = {SBX_LINUX, SBX_BACKEND_BWRAP,
                     "[sandbox]\nmode = \"workspace-write\"\nnetwork = \"inherit\"\n"},
    [BOX_WINDOWS] = {SBX_WINDOWS, SBX_BACKEND_APPCONTAINER,
                     "[sandbox]\nmode = \"workspace-write\"\n"},
    [BOX_NONE] = {SBX_LINUX, SBX_BACKEND_NONE, "[sandbox]\nmode = \"workspace-write\"\n"},
};

void denials_start(struct denials *d, enum box box)
{
    const struct box_row *row = &boxes[box];
    struct fixture *f = &d->fixture;
    static const char *const command[] = {"sh", NULL};
    struct sbx_err err = {0};
    *d = (struct denials){.found = {.count = 0}};
    fixture_start(f, row->platform);
    fixture_host(f, row->platform == SBX_WINDOWS ? windows_nodes : posix_nodes);
    if (fixture_read(f, row->toml)) {
        fixture_resolve(f);
    }
    if (!CHECK(sbx_findings_ok(&f->findings))) {
        fixture_print_findings(f);
    }
    CHECK_CODE(
        sbx_plan_make(&f->arena, &f->policy, &f->facts, row->backend, command, &f->plan, &err),
        SBX_OK, &err);
}

void denials_release(struct denials *d)
{
    fixture_release(&d->fixture);
}

/* The user may do everything but touch one file. */
static enum sbx_outside may(void *state, struct sbx_path path, bool is_write)
{
    (void)state;
    (void)is_write;
    return sbx_text_eq(path.text, "/etc/locked") ? SBX_OUTSIDE_NO : SBX_OUTSIDE_YES;
}

void denials_find(struct denials *d)
{
    struct sbx_denial_input input = {.plan = &d->fixture.plan,
                                     .record = &d->record,
                                     .manifest = &d->fixture.document.sandbox,
                                     .ceiling = &d->fixture.ceiling,
                                     .may = may};
    sbx_denials_find(&d->fixture.arena, &input, &d->found);
}

void denials_read(struct denials *d, const char *text)
{
    d->record.outcome = (struct sbx_outcome){.started = true, .exit_code = 1};
    d->record.stderr_tail = sbx_str(text);
    denials_find(d);
}

void denials_describe(const struct sbx_denial *denial, char *out, size_t size)
{
    sbx_text_format(out, size, "%s %s%s%s", sbx_name_text(sbx_denial_kind_names, (int)denial->kind),
                    sbx_name_text(sbx_operation_names, (int)denial->operation),
                    denial->subject == NULL ? "" : " ",
                    denial->subject == NULL ? "" : denial->subject);
}
