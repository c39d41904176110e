/* What an open file is to the loader: its headers, read through the handle. */
#ifndef SBX_WIN_IMAGE_H
#define SBX_WIN_IMAGE_H

#include "common/base/path.h"
#include "win/winapi.h"

/* Why MSYS2's and Cygwin's programs start in no AppContainer, and what does. */
extern const char sbx_image_unix_note[];

/* SBX_OK for a program that Windows can start: a PE image for amd64, i386 or arm64, not a DLL, for the console or
 * the desktop. SBX_E_DENIED for anything else, saying what it is and what to do: a script (name its
 * interpreter), a DLL, a 16-bit program, one for another processor. Reads only headers and, bounded, the names of
 * imported DLLs; `path` is for messages.
 * *note, when it is one that no AppContainer can start, says why and what to use instead (sbx_image_unix_note), else
 * NULL. */
enum sbx_code sbx_image_check(HANDLE file, struct sbx_path path, const char **note,
                              struct sbx_err *err) SBX_MUST_USE;

#endif
