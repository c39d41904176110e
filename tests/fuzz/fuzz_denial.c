/* Fuzz: the scanner of standard error. The first byte chooses the box and whether the text was cut; each line is
 * also an event. Whatever is called denied is forbidden by the plan, is explained, and is safe to print. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/policy/toml.h"
#include "common/run/complaint.h"
#include "common/run/denial.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 64 << 20, MAX_BYTES = 96 << 10, BOXES = 4, EVENTS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool held)
{
    if (!held) {
        abort();
    }
}

static bool is_safe(const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    for (size_t at = 0; at < len;) {
        uint32_t character = 0;
        size_t step = sbx_utf8_decode(text + at, len - at, &character);
        if (step == 0 || sbx_utf8_is_unsafe(character)) {
            return false;
        }
        at += step;
    }
    return true;
}

/* ---- boxes: made once, kept to the end ---- */

struct box {
    struct sbx_arena arena;
    struct sbx_context context;
    struct sbx_ceiling ceiling;
    struct sbx_document document;
    struct sbx_policy policy;
    struct sbx_facts facts;
    struct sbx_plan plan;
};

struct box_row {
    enum sbx_platform platform;
    enum sbx_backend_id backend;
    const char *toml;
};

static const struct box_row rows[BOXES] = {
    {SBX_LINUX, SBX_BACKEND_BWRAP, "[sandbox]\nmode = \"workspace-write\"\n"},
    {SBX_LINUX, SBX_BACKEND_LANDLOCK, "[sandbox]\nmode = \"read-only\"\ncwd = \":project\"\n"},
    {SBX_LINUX, SBX_BACKEND_NATIVE,
     "[sandbox]\nprofile = \"strict\"\nfs_write_allow = [\":project\"]\ncwd = \":project\"\n"
     "network = { kind = \"allow_hosts\", hosts = [\"pypi.org\"] }\n"},
    {SBX_WINDOWS, SBX_BACKEND_APPCONTAINER, "[sandbox]\nmode = \"workspace-write\"\n"},
};

/* Any path may be there, and always the same ones are. */
static enum sbx_node look_up(void *state, struct sbx_path path)
{
    (void)state;
    unsigned sum = 0;
    for (size_t i = 0; i < path.len; i++) {
        sum = sum * 31 + (unsigned char)path.text[i];
    }
    static const enum sbx_node nodes[] = {SBX_NODE_DIRECTORY, SBX_NODE_FILE, SBX_NODE_MISSING,
                                          SBX_NODE_SOCKET};
    return sbx_path_depth(path) < 4 && sum % 4 == 2 ? SBX_NODE_DIRECTORY : nodes[sum % 4];
}

static enum sbx_outside may(void *state, struct sbx_path path, bool is_write)
{
    (void)state;
    return (enum sbx_outside)((path.len + is_write) % 3);
}

static const struct box *box_of(size_t index)
{
    static struct box boxes[BOXES];
    static const char *const command[] = {"true", NULL};
    struct box *box = &boxes[index];
    if (box->plan.policy != NULL) {
        return box;
    }
    struct sbx_value root;
    struct sbx_findings findings;
    sbx_arena_init(&box->arena, ARENA_BYTES);
    sbx_findings_init(&findings, &box->arena);
    sbx_ceiling_init(&box->ceiling);
    sbx_facts_assume(rows[index].platform, &box->facts);
    must(sbx_context_assume(&box->arena, rows[index].platform, &box->context, NULL) == SBX_OK);
    must(sbx_toml_read(&box->arena, "sbx.toml", sbx_str(rows[index].toml), NULL, &root, NULL,
                       NULL) == SBX_OK);
    sbx_document_read(&box->arena, "sbx.toml", &root, &findings, &box->document);
    sbx_policy_resolve(&box->arena, &box->document.sandbox, &box->context, &box->ceiling, &findings,
                       &box->policy);
    must(sbx_findings_ok(&findings));
    box->policy.context.lookup = look_up;
    must(sbx_plan_make(&box->arena, &box->policy, &box->facts, rows[index].backend, command,
                       &box->plan, NULL) == SBX_OK);
    return box;
}

/* ---- promises ---- */

static void check_denial(struct sbx_arena *arena, const struct box *box,
                         const struct sbx_denial *denial)
{
    must(denial->by[0] != '\0' && denial->because[0] != '\0');
    must(is_safe(denial->because) && is_safe(denial->note));
    must((denial->allow_line == NULL) == (denial->allow_flag == NULL));
    must(denial->is_exact || denial->allow_line != NULL || denial->note != NULL);
    bool is_file = denial->kind == SBX_DENIED_FILE || denial->kind == SBX_DENIED_PROTECTED;
    must(!is_file || denial->subject != NULL);
    if (!is_file || denial->is_exact) {
        return;
    }
    /* What was read from a text is a clean path that the plan does not let the box write, or hides. */
    struct sbx_path path = {0};
    must(sbx_path_make(arena, box->context.cwd.rules, sbx_str(denial->subject), &path) ==
         SBX_PATH_OK);
    must(sbx_text_eq(path.text, denial->subject));
    struct sbx_decision decision = sbx_policy_decide(arena, &box->policy, path);
    must(decision.access < SBX_ACCESS_WRITE || decision.rule->kind == SBX_RULE_TMPFS);
    must((denial->kind == SBX_DENIED_PROTECTED) == (decision.protection != NULL));
}

static void check_complaint(enum sbx_path_rules rules, struct sbx_str line)
{
    struct sbx_complaint complaint;
    if (!sbx_complaint_read(rules, line, &complaint)) {
        return;
    }
    const char *end = line.ptr + line.len;
    must(complaint.error.ptr >= line.ptr && complaint.error.ptr + complaint.error.len <= end);
    must(complaint.name_count <= SBX_COMPLAINT_NAMES_MAX);
    for (size_t i = 0; i < complaint.name_count; i++) {
        struct sbx_str name = complaint.names[i].text;
        must(name.len > 0 && name.ptr >= line.ptr && name.ptr + name.len <= end);
        must(name.ptr + name.len <= complaint.error.ptr ||
             name.ptr >= complaint.error.ptr + complaint.error.len);
    }
    must(memchr(complaint.host.ptr == NULL ? "" : complaint.host.ptr, '\0', complaint.host.len) ==
         NULL);
}

static size_t read_lines(enum sbx_path_rules rules, struct sbx_str text, struct sbx_event *events)
{
    char line[SBX_COMPLAINT_LINE_MAX];
    size_t len = 0;
    size_t count = 0;
    struct sbx_str rest = text;
    while (sbx_complaint_line(&rest, line, &len)) {
        must(len < SBX_COMPLAINT_LINE_MAX);
        check_complaint(rules, (struct sbx_str){line, len});
    }
    struct sbx_str path;
    for (bool more = true; more && count < EVENTS; count++) {
        more = sbx_str_split(text, '\n', &path, &text);
        events[count] =
            (struct sbx_event){.operation = (enum sbx_operation)(path.len % 8), .path = path};
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > MAX_BYTES) {
        return 0;
    }
    const struct box *box = box_of(data[0] % BOXES);
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    struct sbx_event events[EVENTS];
    struct sbx_str text = {(const char *)data + 1, size - 1};
    struct sbx_run_record record = {
        .outcome = {.started = true, .exit_code = data[0]}, .stderr_tail = text, .events = events};
    record.outcome.stderr_bytes = (data[0] & 0x40) != 0 ? size : 0;
    size_t count = read_lines(box->context.cwd.rules, text, events);
    record.event_count = (data[0] & 0x80) != 0 ? count : 0;
    struct sbx_denial_input input = {.plan = &box->plan,
                                     .record = &record,
                                     .manifest = &box->document.sandbox,
                                     .ceiling = &box->ceiling,
                                     .may = (data[0] & 0x20) != 0 ? may : NULL};
    struct sbx_denials found;
    sbx_denials_find(&arena, &input, &found);
    must(found.count <= SBX_DENIALS_MAX);
    must(found.left_out == 0 || found.count > 0);
    for (size_t i = 0; i < found.count; i++) {
        check_denial(&arena, box, &found.items[i]);
    }
    return 0;
}
