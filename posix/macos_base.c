/* What every macOS box is given. */
#include "posix/macos_base.h"

#include "common/base/banned.h"

/* libSystem opens dtracehelper at start; /dev/fd are the streams a program has anyway. */
const char *const sbx_macos_devices_read[] = {
    "/dev/null", "/dev/zero",  "/dev/random", "/dev/urandom", "/dev/dtracehelper",
    "/dev/fd",   "/dev/stdin", "/dev/stdout", "/dev/stderr",  NULL};
const char *const sbx_macos_devices_write[] = {"/dev/null",   "/dev/zero",   "/dev/dtracehelper",
                                               "/dev/stdout", "/dev/stderr", NULL};

const char *const sbx_macos_links[] = {"/tmp", "/var", "/etc", NULL};

struct row {
    const char *filter, *text;
};

/* "hw." and "kern.": zsh and node do not start, or find no processor, without them. "kern.proc" is taken back: the
 * arguments and variables of other processes, and their list. */
static const struct row values_read[] = {{"sysctl-name-prefix", "hw."},
                                         {"sysctl-name-prefix", "machdep.cpu."},
                                         {"sysctl-name-prefix", "machdep.ptrauth"},
                                         {"sysctl-name", "vm.loadavg"},
                                         {"sysctl-name", "vm.swapusage"},
                                         {"sysctl-name", "sysctl.name2oid"},
                                         {"sysctl-name", "sysctl.proc_cputype"},
                                         {"sysctl-name", "sysctl.proc_translated"},
                                         {"sysctl-name", "security.mac.lockdown_mode_state"},
                                         {NULL, NULL}};

/* How libSystem asks for fast cores and for a translated program's own mode: hints about the caller alone. */
static const struct row values_written[] = {
    {"sysctl-name", "kern.grade_cputype"}, {"sysctl-name", "kern.tcsm_enable"}, {NULL, NULL}};

/* Names of users and groups, the time zone's changes, the log, temporary directories of the caller's (their paths,
 * not their contents), file events (which tell names below readable paths). None of them starts a program, opens a
 * document or reads a credential: launchservicesd, lsd, SecurityServer, securityd, cfprefsd and pasteboard are not here. */
static const struct row services[] = {{"global-name", "com.apple.system.opendirectoryd.libinfo"},
                                      {"global-name", "com.apple.system.opendirectoryd.membership"},
                                      {"global-name", "com.apple.system.notification_center"},
                                      {"global-name", "com.apple.system.logger"},
                                      {"global-name", "com.apple.logd"},
                                      {"global-name", "com.apple.bsd.dirhelper"},
                                      {"global-name", "com.apple.FSEvents"},
                                      {NULL, NULL}};

/* trustd: Go and everything on Apple's libraries judge a certificate by it. It fetches over the network itself, so it is
 * only for a box that has the network anyway. */
static const struct row network_services[] = {
    {"global-name", "com.apple.trustd"},
    {"global-name", "com.apple.trustd.agent"},
    {"global-name", "com.apple.SystemConfiguration.configd"},
    {"global-name", "com.apple.SystemConfiguration.DNSConfiguration"},
    {"global-name", "com.apple.dnssd.service"},
    {NULL, NULL}};

/* Python's multiprocessing and joblib; the names are random. The namespace is the machine's, so others are closed. */
static const struct row semaphores[] = {{"ipc-posix-name-regex", "^/mp-[0-9A-Za-z_]+$"},
                                        {"ipc-posix-name-regex", "^/loky-[0-9A-Za-z_-]+$"},
                                        {NULL, NULL}};

/* Python's shared memory, and the registration of OpenMP's runtime, without which PyTorch aborts. */
static const struct row shared_memory[] = {
    {"ipc-posix-name-regex", "^/psm_[0-9A-Za-z_]+$"},
    {"ipc-posix-name-regex", "^/__KMP_REGISTERED_LIB_[0-9]+"},
    {NULL, NULL}};

static void add_rows(struct sbx_sbpl *sbpl, const struct row *rows)
{
    for (; rows->filter != NULL; rows++) {
        sbx_sbpl_filter(sbpl, rows->filter, sbx_str(rows->text));
    }
}

static void allow_rows(struct sbx_sbpl *sbpl, const char *operation, const struct row *rows)
{
    sbx_sbpl_open(sbpl, "allow");
    sbx_sbpl_word(sbpl, operation);
    add_rows(sbpl, rows);
    sbx_sbpl_close(sbpl);
}

static void add_own(struct sbx_sbpl *sbpl)
{
    sbx_sbpl_open(sbpl, "target");
    sbx_sbpl_word(sbpl, "same-sandbox");
    sbx_sbpl_close(sbpl);
}

/* Of its own kind, and of nobody else's. The second half is for operations that do not fall back to the default. */
static void allow_own(struct sbx_sbpl *sbpl, const char *operation, bool has_own_default)
{
    sbx_sbpl_open(sbpl, "allow");
    sbx_sbpl_word(sbpl, operation);
    add_own(sbpl);
    sbx_sbpl_close(sbpl);
    if (has_own_default) {
        sbx_sbpl_open(sbpl, "deny");
        sbx_sbpl_word(sbpl, operation);
        sbx_sbpl_open(sbpl, "require-not");
        add_own(sbpl);
        sbx_sbpl_close(sbpl);
        sbx_sbpl_close(sbpl);
    }
}

static void write_values(struct sbx_sbpl *sbpl)
{
    sbx_sbpl_open(sbpl, "allow");
    sbx_sbpl_word(sbpl, "sysctl-read");
    add_rows(sbpl, values_read);
    sbx_sbpl_open(sbpl, "require-all");
    sbx_sbpl_filter(sbpl, "sysctl-name-prefix", sbx_str("kern."));
    sbx_sbpl_open(sbpl, "require-not");
    sbx_sbpl_filter(sbpl, "sysctl-name-prefix", sbx_str("kern.proc"));
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
    sbx_sbpl_close(sbpl);
    allow_rows(sbpl, "sysctl-write", values_written);
}

void sbx_macos_base_write(struct sbx_sbpl *sbpl, const char *mark, bool has_network)
{
    sbx_sbpl_comment(sbpl, "processes");
    sbx_sbpl_open(sbpl, "allow");
    sbx_sbpl_word(sbpl, "process-fork");
    sbx_sbpl_close(sbpl);
    allow_own(sbpl, "signal", false);
    allow_own(sbpl, "process-info*", true);
    sbx_sbpl_open(sbpl, "deny");
    sbx_sbpl_word(sbpl, "nvram*");
    sbx_sbpl_close(sbpl);
    sbx_sbpl_comment(sbpl, "kernel values, services, shared objects");
    write_values(sbpl);
    allow_rows(sbpl, "mach-lookup", services);
    if (has_network) {
        allow_rows(sbpl, "mach-lookup", network_services);
    }
    /* By this name sbx knows the processes of this box: every descendant has the profile, and none can drop it. */
    sbx_sbpl_open(sbpl, "allow");
    sbx_sbpl_word(sbpl, "mach-lookup");
    sbx_sbpl_filter(sbpl, "global-name", sbx_str(mark));
    sbx_sbpl_close(sbpl);
    allow_rows(sbpl, "ipc-posix-sem*", semaphores);
    allow_rows(sbpl, "ipc-posix-shm*", shared_memory);
}
