/* Cases: what a box must not reach of the user's processes, consoles, desktop and services. */
#include "win/selftest.h"

#include "common/base/banned.h"

#define DENIED(ID, PROMISE, ATTEMPT)                                                               \
    {                                                                                              \
        .id = (ID), .promise = (PROMISE), .attempt = (ATTEMPT), .wants = SBX_ANSWER_CLOSED,        \
        .control = SBX_ANSWER_DONE                                                                 \
    }
/* Where the caller, without rights or in a session without a desktop, cannot do it either. */
#define DENIED_IF(ID, PROMISE, ATTEMPT)                                                            \
    {                                                                                              \
        .id = (ID), .promise = (PROMISE), .attempt = (ATTEMPT), .wants = SBX_ANSWER_CLOSED,        \
        .control = SBX_ANSWER_DONE | SBX_CONTROL_OR_CANNOT                                         \
    }

static const struct sbx_selftest_case attack_cases[] = {
    /* processes of the user */
    DENIED("attack.process-all", "a box does not open a process of the user with all rights",
           "open-process {pid} 0x1fffff"),
    DENIED("attack.process-end", "nor to end it", "open-process {pid} 0x1"),
    DENIED("attack.process-thread", "nor to start a thread in it", "open-process {pid} 0x2"),
    DENIED("attack.process-read", "nor to read its memory", "open-process {pid} 0x10"),
    DENIED("attack.process-write", "nor to write its memory", "open-process {pid} 0x28"),
    DENIED("attack.process-handles", "nor to take its handles", "open-process {pid} 0x40"),
    DENIED("attack.foreign-parent", "nor to have it for a parent", "foreign-parent {pid}"),
    DENIED("attack.other-token", "nor to take its token", "other-token {pid}"),
    DENIED("attack.handle", "a handle that the caller left inheritable does not reach a box",
           "handle {handle}"),
    DENIED_IF("attack.breakaway", "a box does not start a process outside its job", "breakaway"),
    DENIED("attack.raise", "a box does not raise its integrity level", "raise"),
    /* consoles */
    DENIED_IF("attack.attach-console", "a box does not attach to the user's console",
              "attach {pid}"),
    DENIED_IF("attack.console-input", "nor write input for the user's shell", "input {pid}"),
    DENIED_IF("attack.console-peers", "nor does it have that console to begin with", "peers {pid}"),
    /* pipes */
    DENIED("attack.pipe-open", "a box does not open a named pipe of the user",
           "open \\\\.\\pipe\\{name}-host"),
    DENIED("attack.pipe-make", "nor make one under a name that others use",
           "pipe \\\\.\\pipe\\{name}-own"),
    {.id = "attack.pipe-local",
     .promise = "a box makes a named pipe of its own",
     .attempt = "pipe \\\\.\\pipe\\LOCAL\\{name}",
     .wants = SBX_ANSWER_DONE},
    /* others who would do it for the box */
    DENIED("attack.services", "a box does not reach the service manager", "services"),
    DENIED_IF("attack.task", "a box does not make a scheduled task", "task {name}"),
    DENIED_IF("attack.wmi", "a box does not have WMI start a process", "wmi"),
    DENIED_IF("attack.com-shell", "a box gets no object of the user's shell",
              "class {9BA05972-F6A8-11CF-A442-00A0C90A8F39}"),
    DENIED_IF("attack.com-transfer", "a box gets no object of the background transfer service",
              "class {4991D34B-80A1-4291-83B6-3328366B9097}"),
    DENIED_IF("attack.shell", "what a box lets the shell start is in the box too", "shell"),
    /* devices and the registry */
    DENIED_IF("attack.disk", "a box does not open a disk", "open \\\\.\\PhysicalDrive0"),
    DENIED_IF("attack.volume", "nor the volume of the system", "open \\\\.\\C:"),
    DENIED("attack.registry", "a box does not write the user's registry",
           "registry Software\\{name}"),
};
const struct sbx_selftest_group sbx_selftest_attack_group = {"attack", attack_cases,
                                                             SBX_COUNT(attack_cases)};

static const struct sbx_selftest_case ui_cases[] = {
    DENIED_IF("ui.desktop", "a box does not enter the user's desktop", "desktop"),
    DENIED_IF("ui.hook", "a box does not hook the user's keyboard", "hook"),
    DENIED_IF("ui.message", "a box does not send messages to the user's windows", "message"),
    DENIED_IF("ui.clipboard-read", "a box does not read the clipboard", "clipboard-read"),
    {.id = "ui.clipboard-write",
     .promise = "a box does not empty the clipboard (the control outside does)",
     .attempt = "clipboard-write",
     .wants = SBX_ANSWER_CLOSED,
     .control = SBX_ANSWER_DONE | SBX_CONTROL_OR_CANNOT,
     .is_long = true},
    DENIED_IF("ui.parameter", "a box does not set parameters of the system", "parameter"),
    DENIED("ui.atom", "a box does not see global atoms", "atom {name}"),
};
const struct sbx_selftest_group sbx_selftest_ui_group = {"ui", ui_cases, SBX_COUNT(ui_cases)};
