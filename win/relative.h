/* Names opened relative to an open directory: nobody can swap what is above them. */
#ifndef SBX_WIN_RELATIVE_H
#define SBX_WIN_RELATIVE_H

#include <stdbool.h>

#include "win/winapi.h"

#define SBX_STATUS_ACCESS_DENIED ((NTSTATUS)0xC0000022)

/* Opens one name in the directory, `bytes` long, without following a reparse point, sharing everything. Names from a
 * listing are taken as they are; any_case is for names from elsewhere. Directories are opened like files. */
NTSTATUS sbx_relative_open(HANDLE directory, const wchar_t *name, USHORT bytes, bool any_case,
                           ACCESS_MASK access, HANDLE *out);

/* Does the status say that there is nothing of that name, or soon will not be? */
bool sbx_relative_is_gone(NTSTATUS status);

/* Of an open reparse point: is it a link or a placeholder, and not a file that the system itself compressed or
 * deduplicated? When the system does not say: yes. */
bool sbx_relative_leads_away(HANDLE file);

#endif
