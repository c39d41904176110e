/* What the two files of the link on Windows share. */
#ifndef SBX_LIB_LINK_WIN_H
#define SBX_LIB_LINK_WIN_H

#include <windows.h>

#include "lib/link.h"

/* A connected pipe, or two of them, opened for overlapped use. One read is always under way. */
struct sbx_link_system {
    HANDLE in, out;     /* the same, for a pipe of both directions */
    OVERLAPPED reading; /* its event is set when something was read */
    OVERLAPPED writing;
    bool is_reading; /* and not yet known to be done */
    DWORD at, len;   /* what was read and not handed out */
    char bytes[64 << 10];
    HANDLE job; /* a worker of ours ends with it */
};

/* Takes the handles over and begins to read; on failure they are closed. */
enum sbx_code sbx_link_open_pipes(HANDLE in, HANDLE out, struct sbx_link *link,
                                  struct sbx_err *err) SBX_MUST_USE;

/* UTF-8 to UTF-16 with its NUL, freed with free; NULL when it is not valid text. */
wchar_t *sbx_link_wide(const char *text);
/* The other way, appended; nothing when it is not valid text. */
void sbx_link_add_narrow(struct sbx_buf *out, const wchar_t *wide, int len);

#endif
