/* A name that is held: opened once, without following a link, checked by its handle, and kept open. */
#include "win/pin.h"

#include "win/fault.h"
#include "win/handle.h"
#include "win/wide.h"

#include "common/base/banned.h"

/* The kernel weighs sharing only for handles that may read, write or delete data: one for attributes alone holds
 * nothing, and the name could be swapped under it. So directories are opened for listing, files for reading.
 * Nobody may delete or rename what is held; a program, beside that, nobody may write. The loader maps it
 * with reading and executing, which FILE_SHARE_READ leaves it. */
static const struct {
    DWORD access;
    DWORD share;
    enum sbx_code refused;
} uses[] = {
    [SBX_PIN_PROGRAM] = {FILE_READ_DATA | FILE_EXECUTE | FILE_READ_ATTRIBUTES | READ_CONTROL |
                             SYNCHRONIZE,
                         FILE_SHARE_READ, SBX_E_DENIED},
    [SBX_PIN_DIRECTORY] = {FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES | READ_CONTROL | SYNCHRONIZE,
                           FILE_SHARE_READ | FILE_SHARE_WRITE, SBX_E_INVALID},
    [SBX_PIN_ROOT] = {FILE_READ_DATA | FILE_READ_ATTRIBUTES | READ_CONTROL | SYNCHRONIZE,
                      FILE_SHARE_READ | FILE_SHARE_WRITE, SBX_E_INVALID},
};

/* A current directory may not be longer, with the backslash that Windows adds and the NUL. */
enum { DIRECTORY_MAX = MAX_PATH - 2 };

/* ---- opening ------------------------------------------------------------------------------- */

static enum sbx_code cannot_open(const char *path, DWORD raw, struct sbx_err *err)
{
    enum sbx_code code = sbx_err_win32(err, raw, "CreateFileW", "cannot open \"%s\"", path);
    switch (raw) {
    case ERROR_SHARING_VIOLATION:
        return sbx_err_hint(err, "close the program that is deleting, renaming or writing it");
    case ERROR_ACCESS_DENIED:
        return sbx_err_hint(err, "a box gets at most what you may open yourself");
    case ERROR_CANT_ACCESS_FILE:
        return sbx_err_hint(err, "use the real file, or a copy of it");
    default:
        return code;
    }
}

/* ---- what it is ---------------------------------------------------------------------------- */

/* Not in every header. */
#define TAG_AF_UNIX 0x80000023
#define TAG_LX_SYMLINK 0xa000001d
#define TAG_DEDUP 0x80000013
#define TAG_WOF 0x80000017
#define TAG_PROJFS 0x9000001c
#define TAG_ONEDRIVE 0x80000021
/* CLOUD to CLOUD_F differ in these bits only, WCI and WCI_1 in the first of them too. */
#define TAG_FAMILY 0x0000f000
#define TAG_CLOUD 0x9000001a
#define TAG_WCI 0x90000018

/* What a reparse point is, for a person, and what to do instead; NULL: the same file all the same, compressed
 * or deduplicated by the system. */
static const struct reparse {
    DWORD tag;
    DWORD mask; /* of the tag's bits that count */
    const char *what;
    const char *instead;
} reparses[] = {
    {IO_REPARSE_TAG_SYMLINK, 0xffffffff, "a symbolic link", "name what it leads to"},
    {IO_REPARSE_TAG_MOUNT_POINT, 0xffffffff, "a junction or a mounted volume",
     "name what it leads to"},
    {TAG_LX_SYMLINK, 0xffffffff, "a symbolic link of a Linux system", "name what it leads to"},
    {SBX_TAG_APPEXECLINK, 0xffffffff,
     "an alias of the Microsoft Store, which starts an app outside every box",
     "install the program with its ordinary installer, or name its real file"},
    {TAG_CLOUD, ~(DWORD)TAG_FAMILY, "a placeholder for a file in the cloud",
     "copy it to a directory that is not synchronised"},
    {TAG_ONEDRIVE, 0xffffffff, "a placeholder for a file in the cloud",
     "copy it to a directory that is not synchronised"},
    {TAG_PROJFS, 0xffffffff, "a file that a provider projects", "copy it to an ordinary directory"},
    {TAG_WCI, ~(DWORD)TAG_FAMILY & ~(DWORD)0x10000000, "a file of a container's layer",
     "copy it to an ordinary directory"},
    {TAG_AF_UNIX, 0xffffffff, "a socket", "name a file or a directory"},
    {TAG_WOF, 0xffffffff, NULL, NULL},
    {TAG_DEDUP, 0xffffffff, NULL, NULL},
};

static enum sbx_code check_tag(const char *path, DWORD tag, enum sbx_pin_use use,
                               struct sbx_err *err)
{
    const struct reparse *found = NULL;
    for (size_t i = 0; i < SBX_COUNT(reparses) && found == NULL; i++) {
        if ((tag & reparses[i].mask) == (reparses[i].tag & reparses[i].mask)) {
            found = &reparses[i];
        }
    }
    if (found != NULL && found->what == NULL) {
        return SBX_OK;
    }
    (void)sbx_err_set(err, uses[use].refused, "\"%s\" is %s (reparse tag 0x%08lx)", path,
                      found != NULL ? found->what : "a reparse point of an unknown kind", tag);
    return sbx_err_hint(err, "%s", found != NULL ? found->instead : "name an ordinary file");
}

static enum sbx_code check_reparse(HANDLE file, const char *path, DWORD attributes,
                                   enum sbx_pin_use use, struct sbx_err *err)
{
    FILE_ATTRIBUTE_TAG_INFO info = {0};
    if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) {
        return SBX_OK;
    }
    if (!sbx_win()->GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info, sizeof info)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetFileInformationByHandleEx",
                             "cannot tell what kind of link \"%s\" is", path);
    }
    return check_tag(path, info.ReparseTag, use, err);
}

static enum sbx_code check_kind(const char *path, bool is_directory, enum sbx_pin_use use,
                                struct sbx_err *err)
{
    if (use == SBX_PIN_PROGRAM && is_directory) {
        return sbx_err_set(err, SBX_E_DENIED, "\"%s\" is a directory, not a program", path);
    }
    if (use == SBX_PIN_DIRECTORY && !is_directory) {
        return sbx_err_set(err, SBX_E_INVALID, "\"%s\" is a file, not a directory", path);
    }
    return SBX_OK;
}

/* ---- its real name ------------------------------------------------------------------------- */

static enum sbx_code on_network(const wchar_t *real, struct sbx_arena *arena, struct sbx_err *err)
{
    const char *text = NULL;
    if (sbx_wide_to(arena, real, &text, NULL) != SBX_OK) {
        text = "\\\\…";
    }
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED, "it is on another machine: \"%s\"", text);
    return sbx_err_hint(err, "copy it to a drive of this machine");
}

enum sbx_code sbx_pin_real_path(struct sbx_arena *arena, HANDLE file, struct sbx_path *out,
                                struct sbx_err *err)
{
    DWORD size = MAX_PATH;
    DWORD raw = ERROR_FILENAME_EXCED_RANGE;
    /* The name may grow between two calls: then the next round has it. */
    for (int round = 0; round < 4; round++) {
        wchar_t *real = SBX_NEW_ARRAY(arena, wchar_t, size);
        if (real == NULL) {
            return sbx_err_nomem(err);
        }
        DWORD len = sbx_win()->GetFinalPathNameByHandleW(file, real, size,
                                                         FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
        if (len == 0) {
            raw = GetLastError();
            break;
        }
        if (len < size) {
            real[len] = L'\0';
            return wcsncmp(real, L"\\\\?\\UNC\\", 8) == 0 ? on_network(real, arena, err)
                                                          : sbx_wide_final(arena, real, out, err);
        }
        if (len > SBX_WIDE_PATH_MAX) {
            break;
        }
        size = len + 1;
    }
    (void)sbx_err_win32(err, raw, "GetFinalPathNameByHandleW", "the system does not tell the name");
    return sbx_err_hint(err, "use a drive that has a letter");
}

static enum sbx_code check_name(struct sbx_path asked, struct sbx_path real, enum sbx_pin_use use,
                                struct sbx_err *err)
{
    if (sbx_path_eq(asked, real)) {
        return SBX_OK;
    }
    (void)sbx_err_set(err, uses[use].refused,
                      "\"%s\" is another name of \"%s\": a link, a junction, a short name or a "
                      "substituted drive is on the way",
                      asked.text, real.text);
    return sbx_err_hint(err, "use the real name: %s", real.text);
}

/* ---- where it is --------------------------------------------------------------------------- */

static enum sbx_code check_drive(struct sbx_path real, struct sbx_err *err)
{
    static const char *const kinds[] = {
        [DRIVE_UNKNOWN] = "an unknown drive",  [DRIVE_NO_ROOT_DIR] = "no drive",
        [DRIVE_REMOVABLE] = "a removable one", [DRIVE_REMOTE] = "on another machine",
        [DRIVE_CDROM] = "an optical one",      [DRIVE_RAMDISK] = "one in memory",
    };
    wchar_t root[] = {(wchar_t)real.text[0], L':', L'\\', L'\0'};
    UINT type = sbx_win()->GetDriveTypeW(root);
    if (type == DRIVE_FIXED) {
        return SBX_OK;
    }
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                      "\"%s\" cannot be granted: drive %c: is not a fixed drive but %s", real.text,
                      real.text[0], type < SBX_COUNT(kinds) ? kinds[type] : "of an unknown kind");
    return sbx_err_hint(err, "copy it to a fixed drive of this machine");
}

/* FILE_INFO_BY_HANDLE_CLASS and FILE_CASE_SENSITIVE_INFO.Flags as Windows 10 1803 has them; MinGW's headers
 * count the class wrongly (two members before it are left out). */
#define CASE_SENSITIVE_CLASS ((FILE_INFO_BY_HANDLE_CLASS)23)
#define CASE_SENSITIVE_DIRECTORY 1

/* Linux tools make directories in which names differ by case, and what is made below inherits that; our rules
 * fold case and cannot tell two such names apart. So neither such a directory nor what is in one is
 * granted. */
static bool is_case_sensitive(HANDLE directory)
{
    ULONG flags = 0;
    /* A system or a volume that does not know the question has no such directories. */
    return sbx_win()->GetFileInformationByHandleEx(directory, CASE_SENSITIVE_CLASS, &flags,
                                                   sizeof flags) &&
           (flags & CASE_SENSITIVE_DIRECTORY) != 0;
}

static enum sbx_code refuse_case(const char *path, struct sbx_err *err)
{
    (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                      "\"%s\" cannot be granted: names in its directory differ by case", path);
    return sbx_err_hint(err, "copy it to an ordinary directory, or switch that off: fsutil file "
                             "setCaseSensitiveInfo <directory> disable");
}

static enum sbx_code check_case(struct sbx_arena *arena, const struct sbx_pin *pin,
                                struct sbx_err *err)
{
    if (pin->is_directory && is_case_sensitive(pin->handle)) {
        return refuse_case(pin->path.text, err);
    }
    struct sbx_path parent = sbx_path_parent(arena, pin->path);
    wchar_t *wide = NULL;
    if (parent.text == NULL) {
        return sbx_err_nomem(err);
    }
    enum sbx_code code = sbx_wide_prefixed(arena, parent, &wide, err);
    if (code != SBX_OK) {
        return code;
    }
    /* Only its attributes: our own handle below holds it in place. One that the user may not look at was not
     * made by the user's tools. */
    AUTO_HANDLE directory = sbx_win()->CreateFileW(
        wide, FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
        OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    return sbx_handle_is_open(directory) && is_case_sensitive(directory)
               ? refuse_case(pin->path.text, err)
               : SBX_OK;
}

static enum sbx_code check_volume(struct sbx_pin *pin, enum sbx_pin_use use, struct sbx_err *err)
{
    DWORD flags = 0;
    if (!sbx_win()->GetVolumeInformationByHandleW(pin->handle, NULL, 0, NULL, NULL, &flags, NULL,
                                                  0)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetVolumeInformationByHandleW",
                             "cannot tell on what volume \"%s\" is", pin->path.text);
    }
    pin->has_acls = (flags & FILE_PERSISTENT_ACLS) != 0;
    if (use == SBX_PIN_ROOT && !pin->has_acls) {
        (void)sbx_err_set(err, SBX_E_UNSUPPORTED,
                          "\"%s\" cannot be granted: its volume keeps no access lists (FAT, exFAT)",
                          pin->path.text);
        return sbx_err_hint(err, "copy it to an NTFS volume");
    }
    return SBX_OK;
}

/* ---- which one ----------------------------------------------------------------------------- */

static bool is_unknown_question(DWORD raw)
{
    return raw == ERROR_INVALID_PARAMETER || raw == ERROR_NOT_SUPPORTED ||
           raw == ERROR_INVALID_FUNCTION || raw == ERROR_CALL_NOT_IMPLEMENTED;
}

static enum sbx_code identify(struct sbx_pin *pin, const BY_HANDLE_FILE_INFORMATION *old,
                              struct sbx_err *err)
{
    FILE_ID_INFO info = {0};
    if (!sbx_win()->GetFileInformationByHandleEx(pin->handle, FileIdInfo, &info, sizeof info)) {
        DWORD raw = GetLastError();
        if (!is_unknown_question(raw)) {
            return sbx_err_win32(err, raw, "GetFileInformationByHandleEx", "cannot identify \"%s\"",
                                 pin->path.text);
        }
        /* FAT and old systems have only the 64 bits. */
        info.VolumeSerialNumber = old->dwVolumeSerialNumber;
        DWORD index[] = {old->nFileIndexLow, old->nFileIndexHigh};
        for (size_t i = 0; i < sizeof index; i++) {
            info.FileId.Identifier[i] = (BYTE)(index[i / 4] >> (8 * (i % 4)));
        }
    }
    pin->volume = info.VolumeSerialNumber;
    pin->id = info.FileId;
    return SBX_OK;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static enum sbx_code check(struct sbx_arena *arena, struct sbx_path asked, enum sbx_pin_use use,
                           struct sbx_pin *pin, struct sbx_err *err)
{
    BY_HANDLE_FILE_INFORMATION info = {0};
    if (!sbx_win()->GetFileInformationByHandle(pin->handle, &info)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "GetFileInformationByHandle", "cannot look at \"%s\"",
                             asked.text);
    }
    pin->is_directory = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    pin->links = pin->is_directory ? 1 : info.nNumberOfLinks;
    enum sbx_code code = check_reparse(pin->handle, asked.text, info.dwFileAttributes, use, err);
    if (code == SBX_OK) {
        code = check_kind(asked.text, pin->is_directory, use, err);
    }
    if (code == SBX_OK) {
        code = sbx_pin_real_path(arena, pin->handle, &pin->path, err);
        if (code != SBX_OK) {
            (void)sbx_err_context(err, "\"%s\"", asked.text);
        }
    }
    if (code == SBX_OK) {
        code = check_name(asked, pin->path, use, err);
    }
    if (code == SBX_OK) {
        code = sbx_wide_prefixed(arena, pin->path, &pin->wide, err);
    }
    if (code == SBX_OK) {
        code = identify(pin, &info, err);
    }
    if (code == SBX_OK) {
        code = check_volume(pin, use, err);
    }
    if (code == SBX_OK && use == SBX_PIN_ROOT) {
        code = check_drive(pin->path, err);
    }
    if (code == SBX_OK && use == SBX_PIN_ROOT) {
        code = check_case(arena, pin, err);
    }
    return code;
}

static enum sbx_code check_length(const wchar_t *wide, const char *path, enum sbx_pin_use use,
                                  struct sbx_err *err)
{
    if (use != SBX_PIN_DIRECTORY || wcslen(wide) - SBX_WIDE_PREFIX_LEN <= DIRECTORY_MAX) {
        return SBX_OK;
    }
    (void)sbx_err_set(err, SBX_E_LIMIT,
                      "\"%s\" is longer than %d characters: no program can start in it", path,
                      DIRECTORY_MAX);
    return sbx_err_hint(err, "start in a directory with a shorter name");
}

enum sbx_code sbx_pin_open(struct sbx_arena *arena, struct sbx_path path, enum sbx_pin_use use,
                           struct sbx_pin *out, struct sbx_err *err)
{
    wchar_t *wide = NULL;
    enum sbx_code code = sbx_wide_prefixed(arena, path, &wide, err);
    if (code == SBX_OK) {
        code = check_length(wide, path.text, use, err);
    }
    if (code != SBX_OK) {
        return code;
    }
    SBX_CLEANUP(sbx_pin_close) struct sbx_pin pin = {0};
    pin.handle =
        sbx_win()->CreateFileW(wide, uses[use].access, uses[use].share, NULL, OPEN_EXISTING,
                               FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (!sbx_handle_is_open(pin.handle)) {
        DWORD raw = GetLastError();
        return cannot_open(path.text, raw, err);
    }
    code = check(arena, path, use, &pin, err);
    if (code == SBX_OK) {
        *out = SBX_TAKE(pin, (struct sbx_pin){0});
    }
    return code;
}

void sbx_pin_close(struct sbx_pin *pin)
{
    if (pin != NULL) {
        sbx_handle_close(&pin->handle);
    }
}
