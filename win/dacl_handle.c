/* Access lists of open objects: read, written, and read again. */
#include <stdlib.h>

#include "win/dacl.h"
#include "win/fault.h"

#include "common/base/banned.h"

/* A descriptor with nothing but a list of the largest size. */
#define DESCRIPTOR_MAX (SBX_DACL_BYTES_MAX + sizeof(SECURITY_DESCRIPTOR))

static void free_bytes(void *pointer)
{
    free(*(void **)pointer);
}

/* Most lists are short; a long one is fetched a second time. NULL: *out holds all that came. */
static enum sbx_code fetch(HANDLE object, const char *name, void *small, DWORD size, void **large,
                           struct sbx_err *err)
{
    DWORD needed = 0;
    if (sbx_win()->GetKernelObjectSecurity(object, DACL_SECURITY_INFORMATION, small, size,
                                           &needed)) {
        return SBX_OK;
    }
    DWORD raw = GetLastError();
    if (raw != ERROR_INSUFFICIENT_BUFFER) {
        return sbx_err_win32(err, raw, "GetKernelObjectSecurity",
                             "cannot read the access list of \"%s\"", name);
    }
    if (needed > DESCRIPTOR_MAX) {
        return sbx_err_set(err, SBX_E_LIMIT, "the access list of \"%s\" has %lu bytes", name,
                           needed);
    }
    *large = malloc(needed);
    if (*large == NULL) {
        return sbx_err_nomem(err);
    }
    if (!sbx_win()->GetKernelObjectSecurity(object, DACL_SECURITY_INFORMATION, *large, needed,
                                            &needed)) {
        raw = GetLastError();
        return sbx_err_win32(err, raw, "GetKernelObjectSecurity",
                             "cannot read the access list of \"%s\"", name);
    }
    return SBX_OK;
}

enum sbx_code sbx_dacl_read(HANDLE object, const char *name, struct sbx_dacl *out,
                            struct sbx_err *err)
{
    _Alignas(8) BYTE small[2048];
    SBX_CLEANUP(free_bytes) void *large = NULL;
    enum sbx_code code = fetch(object, name, small, sizeof small, &large, err);
    if (code != SBX_OK) {
        return code;
    }
    PSECURITY_DESCRIPTOR descriptor = large != NULL ? large : (void *)small;
    SECURITY_DESCRIPTOR_CONTROL control = 0;
    DWORD revision;
    BOOL is_present = FALSE;
    BOOL is_default;
    PACL acl = NULL;
    if (!GetSecurityDescriptorControl(descriptor, &control, &revision) ||
        !GetSecurityDescriptorDacl(descriptor, &is_present, &acl, &is_default) ||
        !sbx_dacl_set(out, is_present ? acl : NULL, acl == NULL ? 0 : acl->AclSize)) {
        return sbx_err_set(err, SBX_E_INVALID, "the access list of \"%s\" is damaged", name);
    }
    out->is_protected = (control & SE_DACL_PROTECTED) != 0;
    out->auto_inherited = (control & SE_DACL_AUTO_INHERITED) != 0;
    return SBX_OK;
}

/* The system keeps SE_DACL_AUTO_INHERITED only when SE_DACL_AUTO_INHERIT_REQ asks for it. */
static bool describe(const struct sbx_dacl *list, SECURITY_DESCRIPTOR *out)
{
    const SECURITY_DESCRIPTOR_CONTROL bits =
        SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED | SE_DACL_AUTO_INHERIT_REQ;
    SECURITY_DESCRIPTOR_CONTROL control = 0;
    control |= list->is_protected ? SE_DACL_PROTECTED : 0;
    control |= list->auto_inherited ? SE_DACL_AUTO_INHERITED | SE_DACL_AUTO_INHERIT_REQ : 0;
    PACL acl = (PACL)(ULONG_PTR)sbx_dacl_acl(list);
    return InitializeSecurityDescriptor(out, SECURITY_DESCRIPTOR_REVISION) &&
           SetSecurityDescriptorDacl(out, TRUE, acl, FALSE) &&
           SetSecurityDescriptorControl(out, bits, control);
}

enum sbx_code sbx_dacl_write(HANDLE object, const char *name, const struct sbx_dacl *list,
                             struct sbx_dacl *again, struct sbx_err *err)
{
    SECURITY_DESCRIPTOR descriptor;
    if (!list->has_list || !describe(list, &descriptor)) {
        /* To write no list would open the object to everybody. */
        return sbx_err_set(err, SBX_E_INTERNAL, "there is no access list to write to \"%s\"", name);
    }
    if (!sbx_win()->SetKernelObjectSecurity(object, DACL_SECURITY_INFORMATION, &descriptor)) {
        DWORD raw = GetLastError();
        return sbx_err_win32(err, raw, "SetKernelObjectSecurity",
                             "cannot change the access list of \"%s\"", name);
    }
    enum sbx_code code = sbx_dacl_read(object, name, again, err);
    if (code == SBX_OK && !sbx_dacl_eq(list, again)) {
        return sbx_err_set(err, SBX_E_VERIFY,
                           "the access list of \"%s\" is not what was written to it", name);
    }
    return code;
}
