/* What an open file is to the loader: its headers, read through the handle. Every offset comes from the file
 * and is believed only as far as the file goes. */
#include "win/image.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/arena.h"
#include "win/fault.h"

#include "common/base/banned.h"

/* ---- reading ------------------------------------------------------------------------------- */

enum { WINDOW = 64 << 10, READS_MAX = 64 };

/* A window on the file; what is asked for moves it, so many times and no more. */
struct reader {
    HANDLE file;
    uint64_t at;
    size_t len;
    unsigned reads;
    DWORD raw; /* of a read that failed: then everything is empty */
    unsigned char bytes[WINDOW];
};

/* What is asked next may lie a little before. */
static void move(struct reader *reader, uint64_t wanted)
{
    uint64_t at = wanted > WINDOW / 4 ? wanted - WINDOW / 4 : 0;
    OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
    DWORD got = 0;
    BOOL done = sbx_win()->ReadFile(reader->file, reader->bytes, WINDOW, &got, &place);
    DWORD raw = done ? ERROR_SUCCESS : GetLastError();
    reader->reads++;
    reader->at = at;
    reader->len = done && got <= WINDOW ? got : 0;
    if (raw != ERROR_SUCCESS && raw != ERROR_HANDLE_EOF) {
        reader->raw = raw;
    }
}

/* `size` bytes at `at`, or NULL past the end of the file; valid until the next call. */
static const unsigned char *bytes_at(struct reader *reader, uint64_t at, size_t size)
{
    if (at < reader->at || at - reader->at + size > reader->len) {
        if (reader->raw != ERROR_SUCCESS || reader->reads == READS_MAX) {
            return NULL;
        }
        move(reader, at);
    }
    return at - reader->at + size <= reader->len ? reader->bytes + (size_t)(at - reader->at) : NULL;
}

static bool copy_at(struct reader *reader, uint64_t at, void *out, size_t size)
{
    const unsigned char *bytes = bytes_at(reader, at, size);
    if (bytes != NULL) {
        memcpy(out, bytes, size);
    }
    return bytes != NULL;
}

/* ---- headers ------------------------------------------------------------------------------- */

/* The loader takes as many sections; names of DLLs past the maxima are not looked at. */
enum { SECTIONS_MAX = 96, IMPORTS_MAX = 1024, NAME_MAX_LEN = 16 };

struct image {
    IMAGE_FILE_HEADER file;
    WORD magic; /* of the optional header */
    WORD subsystem;
    IMAGE_DATA_DIRECTORY imports;
    IMAGE_SECTION_HEADER section[SECTIONS_MAX];
    size_t sections;
};

/* Both optional headers begin with the magic, have the subsystem at the same place, and differ in where the
 * directories are. */
static bool read_optional(struct reader *reader, uint64_t at, struct image *out)
{
    bool is_wide = out->magic == IMAGE_NT_OPTIONAL_HDR64_MAGIC;
    size_t count_at = is_wide ? offsetof(IMAGE_OPTIONAL_HEADER64, NumberOfRvaAndSizes)
                              : offsetof(IMAGE_OPTIONAL_HEADER32, NumberOfRvaAndSizes);
    size_t import_at =
        count_at + sizeof(DWORD) + IMAGE_DIRECTORY_ENTRY_IMPORT * sizeof(IMAGE_DATA_DIRECTORY);
    DWORD count = 0;
    if (!copy_at(reader, at + offsetof(IMAGE_OPTIONAL_HEADER32, Subsystem), &out->subsystem,
                 sizeof out->subsystem) ||
        !copy_at(reader, at + count_at, &count, sizeof count)) {
        return false;
    }
    bool has_imports = count > IMAGE_DIRECTORY_ENTRY_IMPORT &&
                       out->file.SizeOfOptionalHeader >= import_at + sizeof out->imports;
    return !has_imports || copy_at(reader, at + import_at, &out->imports, sizeof out->imports);
}
_Static_assert(offsetof(IMAGE_OPTIONAL_HEADER32, Subsystem) ==
                   offsetof(IMAGE_OPTIONAL_HEADER64, Subsystem),
               "the subsystem is at one place in both");

/* NULL when the headers are whole; else what the file is instead. */
static const char *read_headers(struct reader *reader, struct image *out)
{
    WORD magic = 0;
    LONG at = 0;
    DWORD signature = 0;
    if (!copy_at(reader, 0, &magic, sizeof magic) || magic != IMAGE_DOS_SIGNATURE) {
        return "is not a program";
    }
    if (!copy_at(reader, offsetof(IMAGE_DOS_HEADER, e_lfanew), &at, sizeof at) || at <= 0 ||
        !copy_at(reader, (uint64_t)at, &signature, sizeof signature) ||
        signature != IMAGE_NT_SIGNATURE) {
        return "is a program for DOS or 16-bit Windows";
    }
    uint64_t header = (uint64_t)at + sizeof signature;
    uint64_t optional = header + sizeof out->file;
    if (!copy_at(reader, header, &out->file, sizeof out->file) ||
        !copy_at(reader, optional, &out->magic, sizeof out->magic) ||
        (out->magic != IMAGE_NT_OPTIONAL_HDR32_MAGIC &&
         out->magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC) ||
        !read_optional(reader, optional, out)) {
        return "is a damaged program";
    }
    out->sections = out->file.NumberOfSections;
    return out->sections <= SECTIONS_MAX &&
                   copy_at(reader, optional + out->file.SizeOfOptionalHeader, out->section,
                           out->sections * sizeof out->section[0])
               ? NULL
               : "is a damaged program";
}

/* Not in every header. */
#define MACHINE_ARM64EC 0xa641

static const char *judge(const struct image *image)
{
    switch (image->file.Machine) {
    case IMAGE_FILE_MACHINE_AMD64:
    case IMAGE_FILE_MACHINE_I386:
    case IMAGE_FILE_MACHINE_ARM64:
    case MACHINE_ARM64EC:
        break;
    default:
        return "is a program for another processor";
    }
    if ((image->file.Characteristics & IMAGE_FILE_DLL) != 0) {
        return "is a DLL, not a program";
    }
    if ((image->file.Characteristics & IMAGE_FILE_EXECUTABLE_IMAGE) == 0) {
        return "is a damaged program";
    }
    if (image->subsystem != IMAGE_SUBSYSTEM_WINDOWS_CUI &&
        image->subsystem != IMAGE_SUBSYSTEM_WINDOWS_GUI) {
        return "is a program for no Windows session (a driver or firmware)";
    }
    return NULL;
}

/* ---- imports ------------------------------------------------------------------------------- */

/* Where in the file what is loaded at `rva` is; 0 when nowhere. */
static uint64_t place_of(const struct image *image, DWORD rva)
{
    for (size_t i = 0; i < image->sections; i++) {
        const IMAGE_SECTION_HEADER *section = &image->section[i];
        if (rva >= section->VirtualAddress &&
            rva - section->VirtualAddress < section->SizeOfRawData) {
            return (uint64_t)section->PointerToRawData + (rva - section->VirtualAddress);
        }
    }
    return 0;
}

static bool is_name(struct reader *reader, uint64_t at, const char *name)
{
    char text[NAME_MAX_LEN] = {0};
    size_t len = strlen(name);
    return at != 0 && copy_at(reader, at, text, len + 1) && text[len] == '\0' &&
           sbx_str_is_nocase((struct sbx_str){text, len}, name);
}

static bool has_unix_runtime(struct reader *reader, const struct image *image)
{
    static const char *const runtimes[] = {"msys-2.0.dll", "cygwin1.dll", "msys-1.0.dll"};
    uint64_t table = place_of(image, image->imports.VirtualAddress);
    for (size_t i = 0; table != 0 && i < IMPORTS_MAX; i++) {
        IMAGE_IMPORT_DESCRIPTOR import;
        if (!copy_at(reader, table + i * sizeof import, &import, sizeof import) ||
            import.Name == 0) {
            break;
        }
        uint64_t at = place_of(image, import.Name);
        for (size_t k = 0; k < SBX_COUNT(runtimes); k++) {
            if (is_name(reader, at, runtimes[k])) {
                return true;
            }
        }
    }
    return false;
}

const char sbx_image_unix_note[] =
    "it is built on MSYS2 or Cygwin, whose runtime needs an object directory that Windows closes "
    "to "
    "every AppContainer: it would die before its first line; use git.exe, busybox, PowerShell or "
    "cmd "
    "instead";

/* ---- the verdict --------------------------------------------------------------------------- */

/* What runs a file of this ending. */
static const char *interpreter_of(struct sbx_str name)
{
    static const char *const rows[][2] = {
        {".ps1", "powershell -NoProfile -File"},
        {".py", "python"},
        {".js", "node"},
        {".mjs", "node"},
        {".cjs", "node"},
        {".pl", "perl"},
        {".rb", "ruby"},
        {".jar", "java -jar"},
        {".vbs", "cscript //nologo"},
        {".wsf", "cscript //nologo"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        size_t len = strlen(rows[i][0]);
        if (name.len > len &&
            sbx_str_is_nocase((struct sbx_str){name.ptr + name.len - len, len}, rows[i][0])) {
            return rows[i][1];
        }
    }
    return NULL;
}

static enum sbx_code refuse(struct sbx_path path, const char *verdict, struct sbx_err *err)
{
    (void)sbx_err_os(err, SBX_E_DENIED, SBX_OS_WIN32, ERROR_BAD_EXE_FORMAT, "ReadFile", "\"%s\" %s",
                     path.text, verdict);
    const char *interpreter = interpreter_of(sbx_path_name(path));
    if (interpreter != NULL) {
        return sbx_err_hint(err, "name its interpreter first: sbx run -- %s \"%s\" …", interpreter,
                            path.text);
    }
    return sbx_err_hint(err, "Windows runs .exe and .com files; name the interpreter of a script "
                             "first");
}

enum sbx_code sbx_image_check(HANDLE file, struct sbx_path path, const char **note,
                              struct sbx_err *err)
{
    AUTO_ARENA arena;
    sbx_arena_init(&arena, (size_t)256 << 10);
    struct reader *reader = SBX_NEW(&arena, struct reader);
    struct image *image = SBX_NEW(&arena, struct image);
    if (reader == NULL || image == NULL) {
        return sbx_err_nomem(err);
    }
    reader->file = file;
    const char *verdict = read_headers(reader, image);
    if (verdict == NULL) {
        verdict = judge(image);
    }
    bool is_unix = verdict == NULL && has_unix_runtime(reader, image);
    if (reader->raw != ERROR_SUCCESS) {
        return sbx_err_win32(err, reader->raw, "ReadFile", "cannot read the program \"%s\"",
                             path.text);
    }
    if (verdict != NULL) {
        return refuse(path, verdict, err);
    }
    *note = is_unix ? sbx_image_unix_note : NULL;
    return SBX_OK;
}
