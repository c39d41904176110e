/* A few files behind the table of calls, with what Wine cannot show: reparse points, other volumes, swaps between two
 * calls. The rest of the table is the real one. */
#ifndef SBX_TESTS_NAMES_WORLD_H
#define SBX_TESTS_NAMES_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "win/winapi.h"

struct world_file {
    const wchar_t *name;   /* "C:\\dir\\file", as it is asked for, without case */
    const wchar_t *final;  /* its real name; NULL: the same. "\\\\?\\" is put before a drive's */
    const wchar_t *target; /* of a reparse point: what it leads to; NULL: nowhere (1920) */
    DWORD tag;             /* 0: no reparse point */
    DWORD links;           /* 0: 1 */
    DWORD open_error;      /* CreateFileW fails with it */
    bool is_directory;
    bool is_case_sensitive;
    bool has_no_lists; /* of its volume: no access lists */
    bool has_no_id;    /* its volume does not know FileIdInfo */
    const void *bytes; /* what ReadFile finds */
    size_t size;
};

/* The files there are now; they belong to the caller. Counts begin anew. */
void world_set(struct world_file *files, size_t count);
#define WORLD_SET(files) world_set((files), sizeof(files) / sizeof((files)[0]))

/* What GetDriveTypeW says of every drive; DRIVE_FIXED after world_set. */
void world_drive(UINT type);

/* Right before the n-th call of CreateFileW (1 is the first), `swap` runs. */
void world_before_open(unsigned n, void (*swap)(void));

/* The n-th call of all fails with this last error. 0: none does. */
void world_fail(unsigned n, DWORD error);

unsigned world_calls(void);     /* so far */
const char *world_failed(void); /* the call that was made to fail, or NULL */
unsigned world_handles(void);   /* open now */
DWORD world_last_access(void);  /* of the last CreateFileW */
DWORD world_last_share(void);

#endif
