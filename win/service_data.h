/* What the service is called and who may do what to it: every name and every descriptor in one place (service_data.c). */
#ifndef SBX_WIN_SERVICE_DATA_H
#define SBX_WIN_SERVICE_DATA_H

#include <wchar.h>

#define SBX_SERVICE_NAME L"sbx"
#define SBX_SERVICE_DISPLAY L"sbx sandbox service"
#define SBX_SERVICE_DESCRIPTION                                                                    \
    L"Runs commands in sandboxes for the users of this machine, each with the rights of the user " \
    L"who asks."

/* Where clients connect. */
#define SBX_SERVICE_PIPE L"\\\\.\\pipe\\sbx"
#define SBX_SERVICE_PIPE_TEXT "\\\\.\\pipe\\sbx"

/* Below HKEY_LOCAL_MACHINE. */
#define SBX_EVENT_SOURCE_KEY L"SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\sbx"
/* Volatile, there while the service runs: one that is found at the start is of a service that crashed. A reboot
 * removes it. */
#define SBX_SERVICE_ALIVE_KEY L"SYSTEM\\CurrentControlSet\\Services\\sbx\\Alive"

/* Who may use the pipe, as SDDL. SYSTEM everything; people at this machine (INTERACTIVE) may read and write, without
 * FILE_CREATE_PIPE_INSTANCE (4), so that nobody else can offer an instance of it; network logons and the anonymous one
 * are refused by name; packages (AppContainers) are not named, so they have nothing. The Medium label with no-read-up and
 * no-write-up keeps Low processes out whoever they run as. Protected: nothing is inherited. */
extern const wchar_t sbx_service_pipe_sddl[];

/* Who may use the pipe between the service and a launcher: nobody opens it by name but the service. */
extern const wchar_t sbx_service_control_sddl[];

/* Who may do what to the service: users may ask how it is, administrators and SYSTEM may change it. */
extern const wchar_t sbx_service_sddl[];

/* A list of texts, as the SCM wants it: the only privileges that the service keeps. It needs them to take on the
 * identity of a client and to start a process with it. */
extern const wchar_t sbx_service_privileges[];

enum {
    SBX_SERVICE_PRESHUTDOWN_MS = 10000,
    SBX_SERVICE_RESTART_FIRST_MS = 5000,
    SBX_SERVICE_RESTART_SECOND_MS = 60000,
    SBX_SERVICE_FAILURE_RESET_SECS = 86400,
};

#endif
