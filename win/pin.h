/* A name that is held: opened once, without following a link, checked, and kept open without sharing
 * deletion, so that it cannot be renamed, removed or swapped while the box lives. What acts on it later acts
 * on the handle. */
#ifndef SBX_WIN_PIN_H
#define SBX_WIN_PIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/path.h"
#include "win/winapi.h"

/* The reparse tag of an alias of the Microsoft Store. */
#define SBX_TAG_APPEXECLINK 0x8000001bUL

struct sbx_pin {
    HANDLE handle;        /* reads data or lists, attributes, the descriptor */
    struct sbx_path path; /* the real name: long, in the disk's spelling */
    wchar_t *wide;        /* the same with the \\?\ prefix */
    uint64_t volume;      /* serial number and */
    FILE_ID_128 id;       /* identity on it */
    DWORD links;          /* names of a file; 1 for a directory */
    bool is_directory;
    bool has_acls; /* the volume keeps access lists */
};

enum sbx_pin_use {
    SBX_PIN_PROGRAM,   /* a file that is executed */
    SBX_PIN_DIRECTORY, /* the working directory */
    SBX_PIN_ROOT,      /* what is granted or denied: file or directory */
};

/* Refuses, with the reason and a remedy: a reparse point (link, junction, Store alias, cloud placeholder; not
 * what the system itself compressed or deduplicated); a path that is not the real name but for case, because
 * a link, a junction, a short name, a mapped or substituted drive is on the way (the real name is told); what is
 * on another machine; a directory longer than a current directory may be. For a root also: a drive that is not
 * fixed, a volume without access lists, and a directory in which names differ by case, or what is in one,
 * because our rules fold case. Devices and streams are no paths (common/base/path.h).
 * SBX_E_NOT_FOUND when there is nothing; else SBX_E_DENIED for a program, SBX_E_INVALID, SBX_E_UNSUPPORTED (the
 * place cannot hold a box) or that of a failed call. Tries nothing twice. What *out points to lives in
 * `arena`, the handle until sbx_pin_close. */
enum sbx_code sbx_pin_open(struct sbx_arena *arena, struct sbx_path path, enum sbx_pin_use use,
                           struct sbx_pin *out, struct sbx_err *err) SBX_MUST_USE;

/* NULL-handle pins are allowed. */
void sbx_pin_close(struct sbx_pin *pin);

/* The path of an open file as ours, by its handle: long names, real case, no links. SBX_E_UNSUPPORTED when it is
 * on another machine. */
enum sbx_code sbx_pin_real_path(struct sbx_arena *arena, HANDLE file, struct sbx_path *out,
                                struct sbx_err *err) SBX_MUST_USE;

#endif
