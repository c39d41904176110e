/* Descriptors of kernel objects as the calls read and write them: this object, nothing below it. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

/* ---- descriptors of objects ----------------------------------------------------------------------------- */

static bool parts_of(SECURITY_INFORMATION which, DWORD *read, DWORD *write)
{
    *read = (which & (OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION |
                      DACL_SECURITY_INFORMATION | LABEL_SECURITY_INFORMATION)) != 0
                ? READ_CONTROL
                : 0;
    *write = (which & DACL_SECURITY_INFORMATION) != 0 ? WRITE_DAC : 0;
    if ((which & (OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION |
                  LABEL_SECURITY_INFORMATION)) != 0) {
        *write |= WRITE_OWNER;
    }
    if ((which & SACL_SECURITY_INFORMATION) != 0) {
        *read |= ACCESS_SYSTEM_SECURITY;
        *write |= ACCESS_SYSTEM_SECURITY;
    }
    return true;
}

/* The parts of `from` that `which` names, as a new self-relative descriptor; those of `rest` (may be NULL) else. */
static unsigned char *mix(const void *from, const void *rest, SECURITY_INFORMATION which,
                          size_t *size)
{
    PSECURITY_DESCRIPTOR one = (PSECURITY_DESCRIPTOR)(ULONG_PTR)from;
    PSECURITY_DESCRIPTOR two = (PSECURITY_DESCRIPTOR)(ULONG_PTR)rest;
    SECURITY_DESCRIPTOR made;
    (void)InitializeSecurityDescriptor(&made, SECURITY_DESCRIPTOR_REVISION);
    PSID sid;
    PACL list;
    BOOL is_default;
    BOOL is_there;
    PSECURITY_DESCRIPTOR source = (which & OWNER_SECURITY_INFORMATION) != 0 ? one : two;
    if (source != NULL && GetSecurityDescriptorOwner(source, &sid, &is_default) && sid != NULL) {
        (void)SetSecurityDescriptorOwner(&made, sid, FALSE);
    }
    source = (which & GROUP_SECURITY_INFORMATION) != 0 ? one : two;
    if (source != NULL && GetSecurityDescriptorGroup(source, &sid, &is_default) && sid != NULL) {
        (void)SetSecurityDescriptorGroup(&made, sid, FALSE);
    }
    SECURITY_DESCRIPTOR_CONTROL control;
    DWORD revision;
    source = (which & DACL_SECURITY_INFORMATION) != 0 ? one : two;
    if (source != NULL && GetSecurityDescriptorDacl(source, &is_there, &list, &is_default) &&
        is_there) {
        (void)SetSecurityDescriptorDacl(&made, TRUE, list, FALSE);
        (void)GetSecurityDescriptorControl(source, &control, &revision);
        SECURITY_DESCRIPTOR_CONTROL bits = SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED;
        (void)SetSecurityDescriptorControl(&made, bits, control & bits);
        /* The protection has bits of its own in `which`, if the caller uses them. */
        if (source == one && (which & PROTECTED_DACL_SECURITY_INFORMATION) != 0) {
            (void)SetSecurityDescriptorControl(&made, SE_DACL_PROTECTED, SE_DACL_PROTECTED);
        } else if (source == one && (which & UNPROTECTED_DACL_SECURITY_INFORMATION) != 0) {
            (void)SetSecurityDescriptorControl(&made, SE_DACL_PROTECTED, 0);
        }
    }
    bool takes_sacl = (which & (SACL_SECURITY_INFORMATION | LABEL_SECURITY_INFORMATION)) != 0;
    source = takes_sacl ? one : two;
    if (source != NULL && GetSecurityDescriptorSacl(source, &is_there, &list, &is_default) &&
        is_there) {
        (void)SetSecurityDescriptorSacl(&made, TRUE, list, FALSE);
    }
    return nt_self_relative(&made, size);
}

/* A driver without lists leaves it to the I/O manager, which answers that everybody may everything. */
static const unsigned char *descriptor_of(struct nt_object *object)
{
    size_t size;
    if (object->kind == NT_FILE) {
        const struct nt_node *node = ((struct nt_file *)object)->node;
        return node->descriptor != NULL
                   ? node->descriptor
                   : nt_described(object->model, "O:WDG:WDD:(A;;FA;;;WD)", &size);
    }
    return object->descriptor != NULL
               ? object->descriptor
               : nt_described(object->model, "O:WDG:WDD:(A;;GA;;;WD)", &size);
}

static BOOL get_security(HANDLE handle, enum nt_kind kind, SECURITY_INFORMATION which,
                         PSECURITY_DESCRIPTOR out, DWORD size, LPDWORD needed)
{
    DWORD read;
    DWORD write;
    (void)parts_of(which, &read, &write);
    struct nt_object *object = nt_handle_get(handle, kind, read);
    if (object == NULL) {
        return FALSE;
    }
    size_t len = 0;
    unsigned char *wanted = mix(descriptor_of(object), NULL, which, &len);
    if (wanted == NULL) {
        return nt_fail(ERROR_INVALID_SECURITY_DESCR);
    }
    *needed = (DWORD)len;
    bool fits = len <= size;
    if (fits) {
        memcpy(out, wanted, len);
    }
    free(wanted);
    return fits ? TRUE : nt_fail(ERROR_INSUFFICIENT_BUFFER);
}

BOOL WINAPI nt_GetKernelObjectSecurity(HANDLE object, SECURITY_INFORMATION which,
                                       PSECURITY_DESCRIPTOR out, DWORD size, LPDWORD needed)
{
    return get_security(object, NT_ANY, which, out, size, needed);
}

BOOL WINAPI nt_GetUserObjectSecurity(HANDLE object, PSECURITY_INFORMATION which,
                                     PSECURITY_DESCRIPTOR out, DWORD size, LPDWORD needed)
{
    return get_security(object, NT_ANY, *which, out, size, needed);
}

/* Of this one object: what lies below it keeps its descriptor. */
BOOL WINAPI nt_SetKernelObjectSecurity(HANDLE handle, SECURITY_INFORMATION which,
                                       PSECURITY_DESCRIPTOR value)
{
    DWORD read;
    DWORD write;
    (void)parts_of(which, &read, &write);
    struct nt_object *object = nt_handle_get(handle, NT_ANY, write);
    if (object == NULL) {
        return FALSE;
    }
    if (!IsValidSecurityDescriptor(value)) {
        return nt_fail(ERROR_INVALID_SECURITY_DESCR);
    }
    struct nt_file *file = object->kind == NT_FILE ? (struct nt_file *)object : NULL;
    if (file != NULL && !file->node->volume->has_acls) {
        return TRUE; /* the I/O manager says so where the driver cannot */
    }
    size_t size = 0;
    unsigned char *mixed = mix(value, descriptor_of(object), which, &size);
    if (mixed == NULL || size > NT_DESCRIPTOR_MAX) {
        free(mixed);
        return nt_fail(ERROR_INVALID_SECURITY_DESCR);
    }
    if (file != NULL) {
        free(file->node->descriptor);
        file->node->descriptor = mixed;
        file->node->descriptor_size = size;
        nt_changed(file->node, file->entry, 0x00000800, FILE_ACTION_MODIFIED);
        return TRUE;
    }
    free(object->descriptor);
    object->descriptor = mixed;
    object->descriptor_size = size;
    return TRUE;
}
