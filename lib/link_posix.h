/* What the two files of the link on POSIX share. */
#ifndef SBX_LIB_LINK_POSIX_H
#define SBX_LIB_LINK_POSIX_H

#include <unistd.h>

#include "lib/link.h"

#ifdef __APPLE__
#include <crt_externs.h>
#endif

/* The caller's environment. A shared library of macOS cannot name the variable itself. */
static inline char **sbx_link_variables(void)
{
#ifdef __APPLE__
    return *_NSGetEnviron();
#else
    return environ;
#endif
}

/* Makes a new socket one that no program we start inherits and that never signals; passes -1 on. */
int sbx_link_socket(int fd);

/* Closes *fd unless it is negative. */
void sbx_link_socket_close(int *fd);
#define AUTO_SOCKET SBX_CLEANUP(sbx_link_socket_close) int

#endif
