/* What every macOS box is given, whatever its policy: tables of names, each with the reason it is there. */
#ifndef SBX_POSIX_MACOS_BASE_H
#define SBX_POSIX_MACOS_BASE_H

#include "posix/macos_sbpl.h"

/* Devices every program may open; file-ioctl is none of them but where a row of the profile says so. */
extern const char *const sbx_macos_devices_read[];  /* ends with NULL */
extern const char *const sbx_macos_devices_write[]; /* likewise */

/* Names at the root that are links: programs look at them on the way, and their real places are rules of their own. */
extern const char *const sbx_macos_links[]; /* ends with NULL */

/* Processes, signals, System V and POSIX objects, kernel values, services. `has_network` adds what a program with a
 * network needs: name resolution, certificates. */
void sbx_macos_base_write(struct sbx_sbpl *sbpl, const char *mark, bool has_network);

#endif
