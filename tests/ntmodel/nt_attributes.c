/* The attribute list of a process to be: what may be put into it, and what comes out. */
#include "tests/ntmodel/nt_internal.h"

#include <string.h>

#include "common/base/banned.h"

enum { LIST_MAGIC = 0x4c54414e, ATTRIBUTES_MAX = 32 };

/* The numbers of the documentation; not every header has them all. */
enum attribute {
    ATTRIBUTE_PARENT = 0x20000,
    ATTRIBUTE_HANDLES = 0x20002,
    ATTRIBUTE_MITIGATIONS = 0x20007,
    ATTRIBUTE_CAPABILITIES = 0x20009,
    ATTRIBUTE_JOBS = 0x2000D,
    ATTRIBUTE_CHILDREN = 0x2000E,
    ATTRIBUTE_PACKAGES = 0x2000F,
    ATTRIBUTE_CONSOLE = 0x20016,
};

/* ---- the attribute list --------------------------------------------------------------------------------- */

static size_t list_size(DWORD count)
{
    struct nt_attribute_list *list = NULL;
    return sizeof *list + count * sizeof list->rows[0];
}

BOOL WINAPI nt_InitializeProcThreadAttributeList(LPPROC_THREAD_ATTRIBUTE_LIST any, DWORD count,
                                                 DWORD flags, PSIZE_T size)
{
    struct nt_attribute_list *list = (struct nt_attribute_list *)(void *)any;
    if (count > ATTRIBUTES_MAX || flags != 0) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    size_t needed = list_size(count);
    bool fits = list != NULL && *size >= needed;
    *size = needed;
    if (!fits) {
        return nt_fail(ERROR_INSUFFICIENT_BUFFER);
    }
    memset(list, 0, needed);
    list->magic = LIST_MAGIC;
    list->room = count;
    return TRUE;
}

static bool size_fits(DWORD_PTR attribute, SIZE_T size)
{
    switch (attribute) {
    case ATTRIBUTE_PARENT:
    case ATTRIBUTE_CONSOLE:
        return size == sizeof(HANDLE);
    case ATTRIBUTE_HANDLES:
    case ATTRIBUTE_JOBS:
        return size > 0 && size % sizeof(HANDLE) == 0;
    case ATTRIBUTE_MITIGATIONS:
        return size == 4 || size == 8 || size == 16;
    case ATTRIBUTE_CAPABILITIES:
        return size == sizeof(SECURITY_CAPABILITIES);
    case ATTRIBUTE_CHILDREN:
    case ATTRIBUTE_PACKAGES:
        return size == sizeof(DWORD);
    default:
        return false;
    }
}

static bool is_known(DWORD_PTR attribute)
{
    return attribute == ATTRIBUTE_PARENT || attribute == ATTRIBUTE_HANDLES ||
           attribute == ATTRIBUTE_MITIGATIONS || attribute == ATTRIBUTE_CAPABILITIES ||
           attribute == ATTRIBUTE_JOBS || attribute == ATTRIBUTE_CHILDREN ||
           attribute == ATTRIBUTE_PACKAGES || attribute == ATTRIBUTE_CONSOLE;
}

/* Keeps the pointer: the value must live until the list is deleted. */
BOOL WINAPI nt_UpdateProcThreadAttribute(LPPROC_THREAD_ATTRIBUTE_LIST any, DWORD flags,
                                         DWORD_PTR attribute, PVOID value, SIZE_T size,
                                         PVOID previous, PSIZE_T returned)
{
    struct nt_attribute_list *list = (struct nt_attribute_list *)(void *)any;
    (void)previous;
    (void)returned;
    if (list == NULL || list->magic != LIST_MAGIC || flags != 0) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    if (!is_known(attribute)) {
        return nt_fail(ERROR_NOT_SUPPORTED);
    }
    if (!size_fits(attribute, size)) {
        return nt_fail(ERROR_BAD_LENGTH);
    }
    if (list->count == list->room) {
        return nt_fail(ERROR_GEN_FAILURE);
    }
    for (DWORD i = 0; i < list->count; i++) {
        if (list->rows[i].attribute == attribute) {
            return nt_fail(ERROR_OBJECT_NAME_EXISTS);
        }
    }
    list->rows[list->count].attribute = attribute;
    list->rows[list->count].value = value;
    list->rows[list->count++].size = size;
    return TRUE;
}

void WINAPI nt_DeleteProcThreadAttributeList(LPPROC_THREAD_ATTRIBUTE_LIST any)
{
    struct nt_attribute_list *list = (struct nt_attribute_list *)(void *)any;
    if (list == NULL || list->magic != LIST_MAGIC) {
        nt_bad_handle(nt_model_of_call(), list, "no attribute list");
        return;
    }
    list->magic = 0;
}

/* ---- what a birth asks for --------------------------------------------------------------------------------- */

static void read_wish(struct nt_wishes *out, DWORD_PTR attribute, void *value, SIZE_T size)
{
    switch (attribute) {
    case ATTRIBUTE_HANDLES:
        out->has_handles = true;
        out->handles = value;
        out->handle_count = size / sizeof(HANDLE);
        break;
    case ATTRIBUTE_JOBS:
        out->jobs = value;
        out->job_count = size / sizeof(HANDLE);
        break;
    case ATTRIBUTE_CAPABILITIES:
        out->capabilities = value;
        break;
    case ATTRIBUTE_PACKAGES:
        out->is_lpac = (*(const DWORD *)value & 1) != 0;
        break;
    case ATTRIBUTE_MITIGATIONS:
        memcpy(out->mitigations, value, size);
        break;
    case ATTRIBUTE_CHILDREN:
        out->has_no_children = (*(const DWORD *)value & 1) != 0;
        break;
    case ATTRIBUTE_CONSOLE:
        out->console = value; /* the handle itself, not where it is */
        break;
    default: /* another parent: known to Windows, not to the model */
        nt_model_of_call()->not_modelled++;
        break;
    }
}

DWORD nt_wishes_read(const struct nt_birth *birth, struct nt_wishes *out)
{
    *out = (struct nt_wishes){0};
    if ((birth->flags & EXTENDED_STARTUPINFO_PRESENT) == 0) {
        return 0;
    }
    if (birth->info->cb != sizeof(STARTUPINFOEXW)) {
        return ERROR_INVALID_PARAMETER;
    }
    const STARTUPINFOEXW *info = (const STARTUPINFOEXW *)(const void *)birth->info;
    const struct nt_attribute_list *list =
        (const struct nt_attribute_list *)(const void *)info->lpAttributeList;
    if (list == NULL) {
        return 0;
    }
    if (list->magic != LIST_MAGIC) {
        return ERROR_INVALID_PARAMETER;
    }
    for (DWORD i = 0; i < list->count; i++) {
        read_wish(out, list->rows[i].attribute, list->rows[i].value, list->rows[i].size);
    }
    return 0;
}
