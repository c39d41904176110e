/* What the two files of the link on POSIX share. */
#ifndef SBX_LIB_LINK_POSIX_H
#define SBX_LIB_LINK_POSIX_H

#include "lib/link.h"

/* Makes a new socket one that no program we start inherits and that never signals; passes -1 on. */
int sbx_link_socket(int fd);

/* Closes *fd unless it is negative. */
void sbx_link_socket_close(int *fd);
#define AUTO_SOCKET SBX_CLEANUP(sbx_link_socket_close) int

#endif
