/* The Seatbelt profile of a box. */
#include "posix/macos_profile.h"

#include <string.h>

#include "posix/macos_base.h"
#include "posix/macos_region.h"
#include "posix/macos_sbpl.h"

#include "common/base/banned.h"

/* TIOCSTI: types into the terminal. */
#define TYPE_INTO_TERMINAL "#x80017472"

static void add_literals(struct sbx_sbpl *sbpl, const char *const *paths)
{
    for (; *paths != NULL; paths++) {
        sbx_sbpl_filter(sbpl, "literal", sbx_str(*paths));
    }
}

static void begin(struct sbx_sbpl *sbpl, const char *action, const char *const *operations)
{
    sbx_sbpl_open(sbpl, action);
    for (; *operations != NULL; operations++) {
        sbx_sbpl_word(sbpl, *operations);
    }
}

#define OPERATIONS(...)                                                                            \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* ---- files ---- */

/* Everything that may be read: the policy's, devices, and the root itself, without which no program starts. */
static void add_readable(struct sbx_sbpl *sbpl, struct sbx_macos_regions *regions)
{
    add_literals(sbpl, sbx_macos_devices_read);
    sbx_sbpl_filter(sbpl, "subpath", sbx_str("/dev/fd"));
    if (!sbx_macos_regions_reads_root(regions)) {
        sbx_sbpl_filter(sbpl, "literal", sbx_str("/"));
    }
    sbx_macos_regions_write(regions, sbpl, SBX_REGION_READ);
}

/* What may be looked at on the way, where the disk is not readable anyway. */
static void add_ways(struct sbx_sbpl *sbpl, struct sbx_macos_regions *regions)
{
    sbx_sbpl_filter(sbpl, "literal", sbx_str("/dev"));
    if (!sbx_macos_regions_reads_root(regions)) {
        add_literals(sbpl, sbx_macos_links);
    }
    sbx_macos_regions_write(regions, sbpl, SBX_REGION_WAY);
}

static void write_reading(struct sbx_sbpl *sbpl, struct sbx_macos_regions *regions)
{
    begin(sbpl, "allow",
          OPERATIONS("file-read*", "process-exec*", "file-map-executable", "file-clone",
                     "file-test-existence"));
    add_readable(sbpl, regions);
    sbx_sbpl_close(sbpl);
    /* On the way to what is granted a program looks at directories, not into them. */
    begin(sbpl, "allow", OPERATIONS("file-read-metadata", "file-test-existence"));
    add_ways(sbpl, regions);
    sbx_sbpl_close(sbpl);
    /* These do not fall back to the default. */
    begin(sbpl, "deny", OPERATIONS("file-map-executable", "file-clone"));
    sbx_sbpl_open(sbpl, "require-not");
    sbx_sbpl_open(sbpl, "require-any");
    add_readable(sbpl, regions);
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
    begin(sbpl, "deny", OPERATIONS("file-test-existence"));
    sbx_sbpl_open(sbpl, "require-not");
    sbx_sbpl_open(sbpl, "require-any");
    add_readable(sbpl, regions);
    add_ways(sbpl, regions);
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
}

static void write_writing(struct sbx_sbpl *sbpl, struct sbx_macos_regions *regions)
{
    sbx_macos_regions_write_rules(regions, sbpl, regions->policy->network == SBX_NET_INHERIT);
    begin(sbpl, "allow", OPERATIONS("file-write-data"));
    add_literals(sbpl, sbx_macos_devices_write);
    sbx_sbpl_filter(sbpl, "subpath", sbx_str("/dev/fd"));
    sbx_sbpl_close(sbpl);
    begin(sbpl, "allow", OPERATIONS("file-ioctl"));
    sbx_sbpl_filter(sbpl, "literal", sbx_str("/dev/dtracehelper"));
    sbx_sbpl_close(sbpl);
}

/* ---- terminals ---- */

/* Asking it about itself, changing its modes; not typing into it. */
static void allow_ioctl(struct sbx_sbpl *sbpl, const char *path)
{
    begin(sbpl, "allow", OPERATIONS("file-ioctl"));
    sbx_sbpl_open(sbpl, "require-all");
    sbx_sbpl_filter(sbpl, "literal", sbx_str(path));
    sbx_sbpl_open(sbpl, "require-not");
    sbx_sbpl_open(sbpl, "ioctl-command");
    sbx_sbpl_word(sbpl, TYPE_INTO_TERMINAL);
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
}

/* A pair that the box makes itself: the kernel gives its maker an extension for it, so that no other is opened. */
static void write_pairs(struct sbx_sbpl *sbpl)
{
    begin(sbpl, "allow", OPERATIONS("pseudo-tty"));
    sbx_sbpl_close(sbpl);
    begin(sbpl, "allow", OPERATIONS("file-read*", "file-write-data", "file-ioctl"));
    sbx_sbpl_filter(sbpl, "literal", sbx_str("/dev/ptmx"));
    sbx_sbpl_open(sbpl, "require-all");
    sbx_sbpl_filter(sbpl, "regex", sbx_str("^/dev/ttys[0-9]+$"));
    sbx_sbpl_filter(sbpl, "extension", sbx_str("com.apple.sandbox.pty"));
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
}

static void write_terminals(struct sbx_sbpl *sbpl, const struct sbx_macos_box *box)
{
    sbx_sbpl_comment(sbpl, "terminals");
    write_pairs(sbpl);
    if (box->own_terminal != NULL) {
        begin(sbpl, "allow", OPERATIONS("file-read*", "file-write-data"));
        sbx_sbpl_filter(sbpl, "literal", sbx_str(box->own_terminal));
        sbx_sbpl_filter(sbpl, "literal", sbx_str("/dev/tty"));
        sbx_sbpl_close(sbpl);
        allow_ioctl(sbpl, box->own_terminal);
        allow_ioctl(sbpl, "/dev/tty");
    }
    for (const char *const *path = box->lent_terminals; path != NULL && *path != NULL; path++) {
        allow_ioctl(sbpl, *path);
    }
}

/* ---- network ---- */

static void allow_address(struct sbx_sbpl *sbpl, const char *const *operations, const char *side,
                          const char *address)
{
    begin(sbpl, "allow", operations);
    sbx_sbpl_open(sbpl, side);
    sbx_sbpl_word(sbpl, "ip");
    sbx_sbpl_string(sbpl, sbx_str(address));
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
}

/* A socket pair needs the domain; what a socket with a name may reach is said by path. */
static void write_sockets(struct sbx_sbpl *sbpl, struct sbx_macos_regions *regions)
{
    begin(sbpl, "allow", OPERATIONS("system-socket"));
    sbx_sbpl_open(sbpl, "socket-domain");
    sbx_sbpl_word(sbpl, "AF_UNIX");
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
    /* With the host's network the rules for writing say it of every writable place. */
    if (regions->policy->network != SBX_NET_INHERIT) {
        begin(sbpl, "allow", OPERATIONS("network-bind", "network-outbound"));
        sbx_macos_regions_write(regions, sbpl, SBX_REGION_SCRATCH);
        sbx_sbpl_close(sbpl);
    }
    if (sbx_macos_regions_has_socket(regions)) {
        begin(sbpl, "allow", OPERATIONS("network-outbound"));
        sbx_macos_regions_write(regions, sbpl, SBX_REGION_SOCKET);
        sbx_sbpl_close(sbpl);
    }
}

static void allow_domains(struct sbx_sbpl *sbpl, const char *const *domains)
{
    begin(sbpl, "allow", OPERATIONS("system-socket"));
    for (; *domains != NULL; domains++) {
        sbx_sbpl_open(sbpl, "socket-domain");
        sbx_sbpl_word(sbpl, *domains);
        sbx_sbpl_close(sbpl);
    }
    sbx_sbpl_close(sbpl);
}

static void write_network(struct sbx_sbpl *sbpl, struct sbx_macos_regions *regions,
                          const struct sbx_macos_box *box)
{
    sbx_sbpl_comment(sbpl, "network");
    write_sockets(sbpl, regions);
    if (box->policy->network == SBX_NET_INHERIT) {
        allow_domains(sbpl, OPERATIONS("AF_INET", "AF_INET6", "AF_ROUTE", "AF_SYSTEM"));
        allow_address(sbpl, OPERATIONS("network-outbound"), "remote", "*:*");
        allow_address(sbpl, OPERATIONS("network-bind", "network-inbound"), "local", "*:*");
        /* Names are resolved through this socket. */
        begin(sbpl, "allow", OPERATIONS("network-outbound"));
        sbx_sbpl_filter(sbpl, "literal", sbx_str("/private/var/run/mDNSResponder"));
        sbx_sbpl_close(sbpl);
    }
    if (box->policy->network == SBX_NET_ALLOW_HOSTS && box->proxy_port != 0) {
        char address[32];
        sbx_text_format(address, sizeof address, "localhost:%u", box->proxy_port);
        allow_domains(sbpl, OPERATIONS("AF_INET", "AF_INET6"));
        allow_address(sbpl, OPERATIONS("network-outbound"), "remote", address);
    }
}

/* ---- all of it ---- */

static void write_head(struct sbx_sbpl *sbpl, const char *job)
{
    char tag[64];
    sbx_text_format(tag, sizeof tag, SBX_MACOS_TAG "%s", job);
    sbx_sbpl_open(sbpl, "version");
    sbx_sbpl_word(sbpl, "1");
    sbx_sbpl_close(sbpl);
    /* The tag is in every line of the system's log that this profile causes. */
    sbx_sbpl_open(sbpl, "deny");
    sbx_sbpl_word(sbpl, "default");
    sbx_sbpl_open(sbpl, "with");
    sbx_sbpl_word(sbpl, "message");
    sbx_sbpl_string(sbpl, sbx_str(tag));
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
}

static bool is_job(const char *job)
{
    size_t len = strlen(job);
    return len > 0 && len < SBX_MACOS_JOB_BYTES && strspn(job, "0123456789abcdef") == len;
}

enum sbx_code sbx_macos_profile_make(struct sbx_arena *arena, const struct sbx_macos_box *box,
                                     struct sbx_macos_profile *out, struct sbx_err *err)
{
    struct sbx_macos_profile made = {0};
    struct sbx_macos_regions regions = {
        .arena = arena, .policy = box->policy, .rules = &made.rules, .scratch = box->scratch};
    char mark[64];
    if (!is_job(box->job)) {
        return sbx_err_set(err, SBX_E_INTERNAL, "the name of a run is not made of digits");
    }
    enum sbx_code code =
        sbx_macos_rules_make(arena, box->policy, box->host, box->scratch, &made.rules, err);
    if (code != SBX_OK) {
        return code;
    }
    AUTO_SBPL sbpl;
    sbx_sbpl_init(&sbpl, arena);
    write_head(&sbpl, box->job);
    sbx_text_format(mark, sizeof mark, SBX_MACOS_MARK "%s", box->job);
    sbx_macos_base_write(&sbpl, mark, box->policy->network == SBX_NET_INHERIT);
    sbx_sbpl_comment(&sbpl, "files");
    write_reading(&sbpl, &regions);
    write_writing(&sbpl, &regions);
    write_terminals(&sbpl, box);
    write_network(&sbpl, &regions, box);
    code = regions.has_no_memory ? sbx_err_nomem(err) : sbx_sbpl_check(&sbpl, err);
    if (code != SBX_OK) {
        return code;
    }
    made.text = sbx_arena_copy(arena, sbpl.text.data, sbpl.text.len);
    made.len = sbpl.text.len;
    made.parameters = sbpl.parameters.values;
    made.parameter_count = sbpl.parameters.count;
    if (made.text == NULL) {
        return sbx_err_nomem(err);
    }
    *out = made;
    return SBX_OK;
}
