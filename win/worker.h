/* sbx.exe as the worker of the service (common/service/service.h): for the clients that the service hands over, or for one
 * on the standard streams. */
#ifndef SBX_WIN_WORKER_H
#define SBX_WIN_WORKER_H

/* `sbx.exe sbx-launcher`: standard input is the pipe to the service (win/handover.h). Ends when the service says so or is
 * gone. The exit status. */
int sbx_worker_launcher(void);

/* `sbx.exe serve --stdio`: ends with its client. The exit status. */
int sbx_worker_stdio(void);

#endif
