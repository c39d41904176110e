/* Programs that are nothing but headers: a DOS header, a PE header, one section with the table of imports and its
 * names. */
#include "tests/unit/image_fixture.h"

#include <string.h>

#include "common/base/banned.h"

enum { HEADER_AT = 0x80, SECTION_AT = 0x400, SECTION_RVA = 0x1000, SECTION_SIZE = 0x800 };

static size_t put_optional(const struct image_fixture *image, unsigned char *at)
{
    WORD subsystem = image->subsystem != 0 ? image->subsystem : IMAGE_SUBSYSTEM_WINDOWS_CUI;
    IMAGE_DATA_DIRECTORY imports = {SECTION_RVA + (image->names_first ? 0x400U : 0U), 0x100};
    if (image->imports[0] == NULL) {
        imports = (IMAGE_DATA_DIRECTORY){0, 0};
    }
    if (image->is_32) {
        IMAGE_OPTIONAL_HEADER32 header = {
            .Magic = IMAGE_NT_OPTIONAL_HDR32_MAGIC,
            .Subsystem = subsystem,
            .NumberOfRvaAndSizes = IMAGE_NUMBEROF_DIRECTORY_ENTRIES,
        };
        header.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT] = imports;
        memcpy(at, &header, sizeof header);
        return sizeof header;
    }
    IMAGE_OPTIONAL_HEADER64 header = {
        .Magic = IMAGE_NT_OPTIONAL_HDR64_MAGIC,
        .Subsystem = subsystem,
        .NumberOfRvaAndSizes = IMAGE_NUMBEROF_DIRECTORY_ENTRIES,
    };
    header.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT] = imports;
    memcpy(at, &header, sizeof header);
    return sizeof header;
}

static void put_imports(const struct image_fixture *image, unsigned char *section)
{
    size_t table = image->names_first ? 0x400 : 0;
    size_t names = image->names_first ? 0 : 0x400;
    for (size_t i = 0; i < sizeof image->imports / sizeof image->imports[0]; i++) {
        if (image->imports[i] == NULL) {
            break;
        }
        IMAGE_IMPORT_DESCRIPTOR import = {.Name = (DWORD)(SECTION_RVA + names)};
        memcpy(section + table, &import, sizeof import);
        memcpy(section + names, image->imports[i], strlen(image->imports[i]) + 1);
        table += sizeof import;
        names += 64;
    }
}

size_t image_make(const struct image_fixture *image, unsigned char *out)
{
    memset(out, 0, IMAGE_BYTES_MAX);
    IMAGE_DOS_HEADER dos = {.e_magic = IMAGE_DOS_SIGNATURE, .e_lfanew = HEADER_AT};
    memcpy(out, &dos, sizeof dos);
    memcpy(out + HEADER_AT, "PE\0", 4);
    unsigned char *optional = out + HEADER_AT + 4 + sizeof(IMAGE_FILE_HEADER);
    size_t size = put_optional(image, optional);
    IMAGE_FILE_HEADER file = {
        .Machine = image->machine != 0 ? image->machine : IMAGE_FILE_MACHINE_AMD64,
        .NumberOfSections = 1,
        .SizeOfOptionalHeader = (WORD)size,
        .Characteristics =
            image->characteristics != 0 ? image->characteristics : IMAGE_FILE_EXECUTABLE_IMAGE,
    };
    memcpy(out + HEADER_AT + 4, &file, sizeof file);
    IMAGE_SECTION_HEADER section = {
        .Name = ".idata",
        .Misc.VirtualSize = SECTION_SIZE,
        .VirtualAddress = SECTION_RVA,
        .SizeOfRawData = SECTION_SIZE,
        .PointerToRawData = SECTION_AT,
    };
    memcpy(optional + size, &section, sizeof section);
    put_imports(image, out + SECTION_AT);
    return SECTION_AT + SECTION_SIZE;
}
