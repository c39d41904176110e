/* docgen: facts for the documents whose table is the code itself. tests/docs checks them against it: the
 * variables by reading the sources, the statuses by running sbx. */
#include <inttypes.h>
#include <stdio.h>

#include "common/cli/command.h"
#include "tests/tools/docgen.h"

#include "common/base/banned.h"

#define TEXT_OF(number) #number
#define DECIMAL(number) TEXT_OF(number)

const struct docgen_fact docgen_exits[] = {
    {"any", "`run`: the command's own status (32 bits on Windows)"},
    {DECIMAL(SBX_EXIT_LIMIT), "`run`: a limit ended the command: time or output"},
    {DECIMAL(SBX_EXIT_REFUSED),
     "`run`: sbx refused or failed, and nothing ran. Also any command with an argument that is not "
     "valid UTF-8"},
    {DECIMAL(SBX_EXIT_CANNOT_EXECUTE), "`run`: the command was found but cannot be executed"},
    {DECIMAL(SBX_EXIT_NOT_FOUND), "`run`: the command was not found"},
    {"128+N", "`run`: signal N ended the command"},
    {DECIMAL(SBX_EXIT_OK),
     "other commands: done; `why`: allowed; `verify`: no errors (warnings and "
     "notes may be there)"},
    {DECIMAL(SBX_EXIT_NEGATIVE),
     "other commands: a negative answer: `verify` found errors, `why` "
     "says denied, `doctor` has a row that fails, `selftest` a case, or it failed"},
    {DECIMAL(SBX_EXIT_USAGE), "other commands: a wrong command line; `why`: also a manifest that "
                              "cannot be used"},
    {NULL, NULL}};

const struct docgen_fact docgen_environment[] = {
    {"SBX_SANDBOX",
     "name of the backend to use: one of the backends, `docker`, `external` or `none`. "
     "An unknown name is refused. Unset or empty: the strongest that fits"},
    {"SBX_ALLOW_NO_SANDBOX",
     "`1` or `true` (in any case) is one of the two keys for running without a "
     "sandbox; any other value is ignored"},
    {"SBX_SOCKET", "where `service status` looks for the service first, but on Windows; then in "
                   "`XDG_RUNTIME_DIR`, then in `/run/sbx`"},
    {"SBX_LOG",
     "`error`, `warn`, `info`, `debug` or `off`: how sbx came to its decisions, on standard error"},
    {"NO_COLOR", "any value but the empty one: no colours"},
    {"CLICOLOR_FORCE",
     "any value but the empty one and `0`: colours also where there is no terminal. "
     "`NO_COLOR` is stronger, `--color` strongest"},
    {"TERM",
     "`dumb`, empty or unset: no colours. With `--tty` and in `shell` the command gets it too"},
    {"PATH", "where `run` looks for the command, and on Linux for bwrap; an entry that is not "
             "absolute is not "
             "used. The command itself gets it only when it is passed"},
    {"SHELL", "what `shell` starts, when the box may read it; else `/bin/bash`, else `/bin/sh`"},
    {"COMSPEC", "what `shell` starts on Windows, when the box may read it; else `cmd.exe`"},
    {"HOME",
     "the place `:home`, and where the search for sbx.toml ends. Not used when it is not an "
     "absolute path: then the account's. Windows: the profile's directory"},
    {"TMPDIR", "the place `:tmp`; `/tmp` without it. Windows: the system's answer (TMP, TEMP)"},
    {"XDG_STATE_HOME",
     "Linux: the directory above that of sbx's own files; `~/.local/state` without it"},
    {"XDG_CONFIG_HOME", "Linux: the directory above sbx's own settings; `~/.config` without it"},
    {"XDG_RUNTIME_DIR",
     "Linux: where profile `desktop` looks for the display, bus and audio sockets"},
    {NULL, NULL}};

const struct docgen_fact docgen_files[] = {
    {"sbx.toml",
     "the manifest. Looked for in the working directory and its parents, up to the first "
     "directory with a `.git`, the home directory, or the root"},
    {"/etc/sbx/policy.toml",
     "the administrator's policy. Windows: `%ProgramData%\\sbx\\policy.toml`. "
     "It must belong to root (Windows: an administrators' account) and be "
     "writable by no one else; otherwise nothing runs"},
    {"~/.local/state/sbx/trust",
     "the trust store: one line per accepted manifest, its SHA-256 and its "
     "path. macOS: `~/Library/Application Support/sbx/trust`. Windows: "
     "`%LOCALAPPDATA%\\sbx\\trust`. It must be the caller's and writable "
     "by no one else"},
    {"~/.local/state/sbx/native-probe", "Linux: that a box of sbx's own was tried with success, "
                                        "under which circumstances. Tried again when one of them "
                                        "changes; may be removed"},
    {"~/.local/state/sbx/bwrap-probe", "Linux: which bwrap was tried with success, under which "
                                       "circumstances. Asked again when one of them "
                                       "changes; may be removed"},
    {"~/.local/state/sbx/names", "Linux: what earlier runs saw of directories below writable "
                                 "paths, so that protected names are found "
                                 "quickly. Not used when others can write there; may be removed"},
    {"%LOCALAPPDATA%\\sbx\\leases",
     "Windows: one file per running box, what the next sbx has to undo if this one is killed. "
     "Damaged ones are moved to `quarantine` in it"},
    {"%LOCALAPPDATA%\\sbx\\workspaces",
     "Windows: one file per place with access entries of sbx, which `sbx workspace` lists and "
     "removes. Removing the file instead leaves the entries"},
    {"~/.config/sbx",
     "reserved for settings of this user; nothing is read from it yet. Like the trust "
     "store's directory it is never writable in a box"},
    {NULL, NULL}};

const struct docgen_fact docgen_places[] = {
    {":root", "the root of the disk. Alone, without anything below it; read-only; not on Windows"},
    {":cwd", "the caller's working directory"},
    {":project",
     "the directory of the manifest; the working directory when there is none, and for a "
     "manifest from standard input"},
    {":home", "the caller's home directory"},
    {":tmp", "the host's temporary directory, not the box's private one"},
    {NULL, NULL}};

const struct docgen_fact docgen_host_forms[] = {
    {"example.com", "the host and everything below it, on ports 80 and 443"},
    {"example.com:8443", "the same on this port only"},
    {"*.example.com", "everything below it, not the host itself"},
    {"user.github.io", "on a shared platform: that host alone"},
    {"203.0.113.7", "a public IPv4 address; IPv6 in brackets: `[2001:db8::1]:8443`"},
    {"@llm", "every member of a group, exactly; `@git:22` on this port"},
    {NULL, NULL}};

const char *docgen_platforms(unsigned bits)
{
    static char text[64];
    const unsigned every = (1U << SBX_PLATFORM_COUNT) - 1;
    if ((bits & every) == every) return "all";
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < SBX_PLATFORM_COUNT; i++) {
        if (!(bits & (1U << i))) continue;
        int more = snprintf(text + used, sizeof text - used, "%s%s", used == 0 ? "" : ", ",
                            sbx_name_text(sbx_platform_names, i));
        if (more > 0) used += (size_t)more;
    }
    return text;
}

static void print_bound(enum sbx_kind_id kind, uint64_t bound, struct sbx_buf *out)
{
    if (kind == SBX_KIND_DURATION)
        sbx_duration_print(bound, out);
    else if (kind == SBX_KIND_BYTES)
        sbx_bytes_print(bound, out);
    else
        sbx_buf_printf(out, "%" PRIu64, bound);
}

void docgen_range(const struct sbx_key_row *row, struct sbx_buf *out)
{
    if (row->max == 0) return;
    print_bound(row->kind, row->min, out);
    sbx_buf_add_text(out, " to ");
    print_bound(row->kind, row->max, out);
}
