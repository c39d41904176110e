/* A run that a program attends. */
#include "common/cli/attended.h"

#include "common/run/load.h"
#include "common/run/report.h"

#include "common/base/banned.h"

static bool take_number(struct sbx_str *rest, int *out)
{
    struct sbx_str word = *rest;
    uint64_t number;
    if (!sbx_str_split(*rest, ',', &word, rest)) *rest = (struct sbx_str){"", 0};
    *out = -1;
    if (sbx_str_is(word, "-1")) return true;
    if (!sbx_str_to_u64(word, &number) || number < 3 || number > 65535) return false;
    *out = (int)number;
    return true;
}

bool sbx_attended_begin(struct sbx_cli *cli, int *argc, const char *const **argv)
{
    struct sbx_err err = {0};
    struct sbx_attended *attended = &cli->attended;
    int user = -1;
    int net = -1;
    struct sbx_str rest = sbx_str(*argc > 2 ? (*argv)[2] : "");
    attended->is_attended = true;
    bool ok = take_number(&rest, &attended->events_fd) &&
              take_number(&rest, &attended->manifest_fd) && take_number(&rest, &user) &&
              take_number(&rest, &net) && rest.len == 0 && *argc > 3;
    if (!ok) (void)sbx_err_set(&err, SBX_E_USAGE, "attended needs four descriptors and a command");
    if (ok && !sbx_os_end_with_parent(attended->events_fd)) {
        (void)sbx_err_set(&err, SBX_E_UNAVAILABLE, "whoever attended this run is gone");
        ok = false;
    }
    if (ok && user >= 0) ok = sbx_os_share_network(user, net, &err) == SBX_OK;
    if (!ok) {
        AUTO_BUF text;
        sbx_buf_init(&text, 4096);
        sbx_err_print(&err, false, &text);
        (void)sbx_output_write(SBX_STDERR, &text);
        return false;
    }
    *argc -= 2;
    *argv += 2;
    return true;
}

enum sbx_code sbx_attended_manifest(struct sbx_cli *cli, struct sbx_str *out, struct sbx_err *err)
{
    if (!cli->attended.is_attended || cli->attended.manifest_fd < 0) return SBX_OK;
    return sbx_os_read_fd(&cli->arena, cli->attended.manifest_fd, SBX_MANIFEST_MAX_BYTES, out, err);
}

struct expected {
    int fd;
    const struct sbx_prepared *prepared;
    bool has_evidence;
};

static void tell_start(void *state, const struct sbx_evidence *evidence, size_t count)
{
    const struct expected *expected = (const struct expected *)state;
    const struct sbx_prepared *prepared = expected->prepared;
    char digest[SBX_SHA256_HEX];
    struct sbx_err ignored = {0};
    struct sbx_jsonw json;
    AUTO_BUF text;
    sbx_buf_init(&text, 4u << 20);
    sbx_jsonw_init(&json, &text, false);
    sbx_jsonw_object(&json);
    sbx_jsonw_pair_text(&json, "event", "started");
    sbx_jsonw_pair_text(&json, "backend",
                        sbx_name_text(sbx_backend_names, (int)prepared->selection.backend));
    text.failed |= !sbx_plan_digest(&prepared->plan, digest);
    sbx_jsonw_pair_text(&json, "plan_digest", digest);
    if (expected->has_evidence) sbx_evidence_json(evidence, count, &json);
    sbx_jsonw_end(&json);
    sbx_buf_add_char(&text, '\n');
    /* One that cannot be told shows as one that never started. */
    if (!text.failed) (void)!sbx_os_write_fd(expected->fd, sbx_buf_text(&text), text.len, &ignored);
}

void sbx_attended_expect(const struct sbx_cli *cli, const struct sbx_prepared *prepared)
{
    static struct expected expected;
    if (!cli->attended.is_attended || cli->attended.events_fd < 0) return;
    expected =
        (struct expected){cli->attended.events_fd, prepared, cli->args.given[SBX_OPT_EVIDENCE]};
    sbx_run_on_start(tell_start, &expected);
}
