/* The table of subcommands. */
#include "common/cli/command.h"

#include "common/base/banned.h"

const struct sbx_command_row sbx_command_rows[SBX_CMD_COUNT] = {
    [SBX_CMD_RUN] = {SBX_CMD_RUN, "run", "[OPTION…] [--] COMMAND [ARG…]",
                     "run one command in a box",
                     "The box has exactly the access that the manifest declares: the one named "
                     "with -f, else the "
                     "nearest sbx.toml, else mode workspace-write; options add to it. The "
                     "command's input, output "
                     "and exit status are its own. 124 means a limit ended it, 125 that sbx "
                     "refused or failed and "
                     "nothing ran, 126 that the command cannot be executed, 127 that it was not "
                     "found, 128+N that "
                     "signal N ended it.",
                     "sbx run -- make test\n"
                     "sbx run -p strict -r :cwd -- ./a.out\n"
                     "sbx run --net deny -E PATH -t 2m -- npm test",
                     sbx_cmd_run},
    [SBX_CMD_SHELL] =
        {SBX_CMD_SHELL, "shell", "[OPTION…]", "an interactive shell in a box",
         "The caller's $SHELL if the box may read it, else /bin/bash or /bin/sh (Windows: "
         "%COMSPEC%, "
         "else cmd.exe), with the access "
         "that sbx run would give, a terminal of its own when standard input is one, and the "
         "caller's TERM. It lasts until it is left: a time limit holds only when -t or the "
         "manifest declares it. The exit status is the shell's, or as of sbx run.",
         "sbx shell\nsbx shell --net deny -w :cwd\nsbx shell -p strict --dry-run", sbx_cmd_shell},
    [SBX_CMD_EXPLAIN] =
        {SBX_CMD_EXPLAIN, "explain", "[OPTION…] [--] [COMMAND [ARG…]]",
         "print the plan, tiers and reasons; run nothing",
         "With --platform the plan of another system is printed, with assumed places and facts.",
         "sbx explain -- make test\nsbx explain --platform windows --json -- cmd /c dir",
         sbx_cmd_explain},
    [SBX_CMD_WHY] = {SBX_CMD_WHY, "why",
                     "[OPTION…] --path PATH [--op OP] | --url [METHOD] URL | --env NAME",
                     "the rule that decides, and the line that would change it",
                     "Exits with 0 when it is allowed and with 1 when it is not.",
                     "sbx why --path .git/config --op write\nsbx why --url https://example.com/",
                     sbx_cmd_why},
    [SBX_CMD_VERIFY] = {SBX_CMD_VERIFY, "verify", "[OPTION…] FILE…", "check manifests and units",
                        "Reports everything that is wrong, with stable codes (sbx help codes) and "
                        "places. Exits with "
                        "0 when nothing is wrong and with 1 when something is.",
                        "sbx verify sbx.toml\nsbx verify --json sbx.toml other.json",
                        sbx_cmd_verify},
    [SBX_CMD_INIT] = {SBX_CMD_INIT, "init", "[--template NAME] [FILE]", "write a starter manifest",
                      "Writes sbx.toml, or FILE; an existing file is never overwritten.",
                      "sbx init --template node", sbx_cmd_init},
    [SBX_CMD_PROFILE] = {SBX_CMD_PROFILE, "profile", "list | show NAME",
                         "the profiles and modes, and what they mean here", NULL,
                         "sbx profile list\nsbx profile show strict --platform macos",
                         sbx_cmd_profile},
    [SBX_CMD_TRUST] = {SBX_CMD_TRUST, "trust", "[--list | [--remove] [FILE]]",
                       "accept a manifest that was found, by its content",
                       "A manifest that is found rather than named may tighten the default; to "
                       "widen it, its exact "
                       "content must be accepted once. Any change needs a new sbx trust.",
                       "sbx trust sbx.toml\nsbx trust --list", sbx_cmd_trust},
    [SBX_CMD_WORKSPACE] =
        {SBX_CMD_WORKSPACE, "workspace",
         "[list | add [-w] [PATH] | remove PATH | remove --all | purge]",
         "access entries on a Windows disk: shown, made and taken away",
         "On Windows a box gets its files by access entries. They are written once for each place, "
         "by "
         "the first run that needs it or by add, and stay; alone they give nobody anything, for "
         "they "
         "name a capability that only boxes of this user carry. add without a path writes what the "
         "manifest here grants, with one what a run with just that place would need; written "
         "entries "
         "are made whole again. Interrupted, add takes away what it wrote. remove leaves each "
         "access "
         "list as it was. purge takes away everything that sbx keeps for this user, also what "
         "killed "
         "runs left, its answers and its directory; while a box runs it refuses. Other systems "
         "need "
         "none of this and refuse.",
         "sbx workspace\nsbx workspace add -w .\nsbx workspace remove --all", sbx_cmd_workspace},
    [SBX_CMD_DOCTOR] =
        {SBX_CMD_DOCTOR, "doctor", "", "what this machine can enforce, and what is missing",
         "Changes nothing. Exits with 1 when something fails; -v prints how a backend is chosen.",
         "sbx doctor --json", sbx_cmd_doctor},
    [SBX_CMD_SELFTEST] =
        {SBX_CMD_SELFTEST, "selftest", "[--list] [--only TEXT] [--group NAME] [--long]",
         "try on this machine what boxes promise",
         "Starts real boxes and tries to break out of them; each attempt that must be refused in a "
         "box must succeed outside, with the same rights, or the case fails. A case is pass, fail, "
         "cannot (this machine lacks what it needs; the reason is told) or error. What the cases "
         "make is removed again. Exits with 0 when nothing failed and something passed, else with "
         "1.",
         "sbx selftest\nsbx selftest --group files\nsbx selftest --json > selftest.json",
         sbx_cmd_selftest},
    [SBX_CMD_SERVE] =
        {SBX_CMD_SERVE, "serve", "[--stdio]", "run commands in boxes for local clients",
         "The service of this user, in the foreground, until SIGTERM: at "
         "$XDG_RUNTIME_DIR/sbx/sbx.sock, or with --stdio for the one client that started it. The "
         "program sbxd beside sbx is what runs, and has options of its own: man sbxd. On Windows "
         "only with --stdio; sbx service has the other.",
         "sbx serve --stdio", sbx_cmd_serve},
    [SBX_CMD_SERVICE] =
        {SBX_CMD_SERVICE, "service", "[install | uninstall | start | stop | status | run]",
         "the service of this machine: installed, started, stopped, looked at",
         "On Windows install, as an administrator, registers the service with the system and its "
         "event source; start and stop return when it has started or ended; uninstall removes "
         "every trace; run is what the system itself starts. On other systems a package brings "
         "the units of systemd or launchd, and their commands change the service; here only "
         "status is answered. status exits with 0 when the service runs, else with 1.",
         "sbx service status\nsbx service install", sbx_cmd_service},
    [SBX_CMD_MCP] =
        {SBX_CMD_MCP, "mcp", "[OPTION…]", "boxes as a tool of an agent's host (MCP, stdio)",
         "Speaks the Model Context Protocol on standard input and output until the input ends. "
         "The tools are run and explain; docs/MCP.md has the settings of hosts. Manifest and "
         "options are the ceiling: a model may ask for less, never for more. The manifest is "
         "looked for from the directory where sbx mcp is started, whatever directory a command "
         "runs in.",
         "sbx mcp\nsbx mcp --mode read-only -t 2m\nsbx mcp -f agent.toml", sbx_cmd_mcp},
    [SBX_CMD_SCHEMA] = {SBX_CMD_SCHEMA, "schema", "[manifest | rpc]",
                        "JSON Schema of the manifest, or of the service's messages", NULL,
                        "sbx schema > sbx.schema.json", sbx_cmd_schema},
    [SBX_CMD_COMPLETION] = {SBX_CMD_COMPLETION, "completion", "bash | zsh | fish | powershell",
                            "completion script for a shell", NULL, "source <(sbx completion bash)",
                            sbx_cmd_completion},
    [SBX_CMD_VERSION] = {SBX_CMD_VERSION, "version", "", "which sbx this is", NULL, NULL,
                         sbx_cmd_version},
    [SBX_CMD_HELP] = {SBX_CMD_HELP, "help", "[COMMAND | codes]", "this help, or help on a command",
                      NULL, NULL, sbx_cmd_help},
};
