/* AppContainer profiles and the SIDs of packages and capabilities. */
#include "tests/ntmodel/nt_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/sha256.h"

#include "common/base/banned.h"

enum { PROFILE_NAME_MAX = 64, DISPLAY_MAX = 512, DESCRIPTION_MAX = 2048 };

#define PACKAGES L"C:\\Users\\user\\AppData\\Local\\Packages\\"

static struct nt_profile *find(struct nt_model *model, const wchar_t *name)
{
    for (struct nt_profile *at = model->profiles; at != NULL; at = at->next) {
        if (nt_same_name(at->name, name)) {
            return at;
        }
    }
    return NULL;
}

bool nt_model_has_profile(struct nt_model *model, const wchar_t *name)
{
    nt_lock(model);
    bool has = find(model, name) != NULL;
    nt_unlock(model);
    return has;
}

static bool is_name(const wchar_t *name)
{
    static const wchar_t allowed[] =
        L"-_. ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    size_t len = name == NULL ? 0 : nt_length(name);
    for (size_t i = 0; i < len; i++) {
        size_t at = 0;
        while (allowed[at] != 0 && allowed[at] != name[i]) {
            at++;
        }
        if (allowed[at] == 0) {
            return false;
        }
    }
    return len > 0 && len <= PROFILE_NAME_MAX;
}

/* The digest of a name as Windows makes it: UTF-16 in one case, without a NUL. */
static void digest(const wchar_t *name, bool is_upper, unsigned char out[SBX_SHA256_BYTES])
{
    struct sbx_sha256 hash;
    sbx_sha256_init(&hash);
    for (size_t i = 0; name[i] != 0; i++) {
        wchar_t unit = name[i];
        if (is_upper && unit >= 'a' && unit <= 'z') {
            unit = (wchar_t)(unit - 'a' + 'A');
        } else if (!is_upper && unit >= 'A' && unit <= 'Z') {
            unit = (wchar_t)(unit - 'A' + 'a');
        }
        sbx_sha256_add(&hash, &unit, sizeof unit);
    }
    sbx_sha256_end(&hash, out);
}

/* S-1-<authority>-<head…>-<numbers of the digest>. */
static void sid_of(struct nt_sid *out, BYTE authority, const DWORD *head, size_t head_count,
                   const unsigned char *bytes, size_t numbers)
{
    memset(out, 0, sizeof *out);
    out->bytes[0] = SID_REVISION;
    out->bytes[1] = (BYTE)(head_count + numbers);
    out->bytes[7] = authority;
    memcpy(out->bytes + 8, head, head_count * sizeof(DWORD));
    memcpy(out->bytes + 8 + head_count * sizeof(DWORD), bytes, numbers * sizeof(DWORD));
}

static void package_sid(const wchar_t *name, struct nt_sid *out)
{
    unsigned char bytes[SBX_SHA256_BYTES];
    digest(name, false, bytes);
    sid_of(out, 15, (const DWORD[]){2}, 1, bytes, 7);
}

static PSID give_sid(const struct nt_sid *sid, enum sbx_winapi_id by)
{
    size_t size = nt_sid_size(sid->bytes);
    void *copy = nt_local_give(nt_model_of_call(), size, by);
    memcpy(copy, sid->bytes, size);
    return copy;
}

static void path_of(const wchar_t *name, const wchar_t *tail, wchar_t out[NT_PATH_MAX])
{
    (void)swprintf(out, NT_PATH_MAX, PACKAGES L"%ls%ls", name, tail);
}

static void make_folder(struct nt_model *model, const struct nt_profile *profile)
{
    char sid[NT_SID_TEXT_MAX];
    char text[1024];
    (void)nt_sid_print(profile->sid.bytes, sid, sizeof sid);
    (void)snprintf(text, sizeof text,
                   "O:$UG:$UD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;$U)(A;OICI;FA;;;%s)"
                   "S:(ML;OICI;NW;;;LW)",
                   sid);
    const struct nt_token *token = &nt_process_now()->token->token;
    struct nt_sddl_name name = {"$U", token->user};
    _Alignas(8) unsigned char descriptor[NT_DESCRIPTOR_MAX];
    if (nt_sddl_parse_names(text, &name, 1, descriptor, sizeof descriptor) == 0) {
        (void)fprintf(stderr, "nt model: cannot read the descriptor \"%s\"\n", text);
        abort();
    }
    wchar_t path[NT_PATH_MAX];
    path_of(profile->name, L"", path);
    (void)nt_world_put(model, path, FILE_ATTRIBUTE_DIRECTORY, token, descriptor);
    path_of(profile->name, L"\\AC", path);
    (void)nt_world_put(model, path, FILE_ATTRIBUTE_DIRECTORY, token, NULL);
    path_of(profile->name, L"\\AC\\Temp", path);
    (void)nt_world_put(model, path, FILE_ATTRIBUTE_DIRECTORY, token, NULL);
}

HRESULT WINAPI nt_CreateAppContainerProfile(PCWSTR name, PCWSTR display, PCWSTR description,
                                            PSID_AND_ATTRIBUTES capabilities, DWORD count,
                                            PSID *out)
{
    struct nt_model *model = nt_model_of_call();
    if (nt_process_now()->token->token.is_appcontainer) {
        return HRESULT_FROM_WIN32(ERROR_NOT_SUPPORTED);
    }
    if (!is_name(name) || display == NULL || nt_length(display) == 0 ||
        nt_length(display) > DISPLAY_MAX || description == NULL || nt_length(description) == 0 ||
        nt_length(description) > DESCRIPTION_MAX || (count > 0 && capabilities == NULL) ||
        out == NULL) {
        return E_INVALIDARG;
    }
    if (find(model, name) != NULL) {
        return HRESULT_FROM_WIN32(ERROR_ALREADY_EXISTS);
    }
    struct nt_profile *profile = nt_alloc(sizeof *profile);
    profile->name = nt_wide(name);
    package_sid(name, &profile->sid);
    profile->next = model->profiles;
    model->profiles = profile;
    make_folder(model, profile);
    *out = give_sid(&profile->sid, SBX_CALL_CreateAppContainerProfile);
    return S_OK;
}

static void forget(struct nt_model *model, struct nt_profile *profile)
{
    struct nt_profile **at = &model->profiles;
    while (*at != profile) {
        at = &(*at)->next;
    }
    *at = profile->next;
    free(profile->name);
    free(profile);
}

/* Deleting one that does not exist is documented to succeed. */
HRESULT WINAPI nt_DeleteAppContainerProfile(PCWSTR name)
{
    struct nt_model *model = nt_model_of_call();
    if (nt_process_now()->token->token.is_appcontainer) {
        return HRESULT_FROM_WIN32(ERROR_NOT_SUPPORTED);
    }
    if (!is_name(name)) {
        return E_INVALIDARG;
    }
    struct nt_profile *profile = find(model, name);
    if (profile == NULL) {
        return S_OK;
    }
    wchar_t path[NT_PATH_MAX];
    path_of(profile->name, L"", path);
    if (!nt_world_remove(model, path)) {
        return HRESULT_FROM_WIN32(ERROR_SHARING_VIOLATION);
    }
    forget(model, profile);
    return S_OK;
}

void nt_profiles_free(struct nt_model *model)
{
    while (model->profiles != NULL) {
        forget(model, model->profiles);
    }
}

HRESULT WINAPI nt_DeriveAppContainerSidFromAppContainerName(PCWSTR name, PSID *out)
{
    if (!is_name(name) || out == NULL) {
        return E_INVALIDARG;
    }
    struct nt_sid sid;
    package_sid(name, &sid);
    *out = give_sid(&sid, SBX_CALL_DeriveAppContainerSidFromAppContainerName);
    return S_OK;
}

HRESULT WINAPI nt_GetAppContainerFolderPath(PCWSTR text, PWSTR *path)
{
    struct nt_model *model = nt_model_of_call();
    if (text == NULL || path == NULL) {
        return E_INVALIDARG;
    }
    for (const struct nt_profile *at = model->profiles; at != NULL; at = at->next) {
        char narrow[NT_SID_TEXT_MAX];
        wchar_t wide[NT_SID_TEXT_MAX];
        (void)nt_sid_print(at->sid.bytes, narrow, sizeof narrow);
        (void)swprintf(wide, NT_SID_TEXT_MAX, L"%hs", narrow);
        if (nt_same_name(wide, text)) {
            wchar_t folder[NT_PATH_MAX];
            path_of(at->name, L"\\AC", folder);
            size_t size = (nt_length(folder) + 1) * sizeof *folder;
            *path = nt_local_give(model, size, SBX_CALL_GetAppContainerFolderPath);
            memcpy(*path, folder, size);
            return S_OK;
        }
    }
    return HRESULT_FROM_WIN32(ERROR_FILE_NOT_FOUND);
}

/* ---- capabilities --------------------------------------------------------------------------------------- */

static const struct {
    const wchar_t *name;
    DWORD number;
} known[] = {
    {L"internetClient", 1},    {L"internetClientServer", 2}, {L"privateNetworkClientServer", 3},
    {L"picturesLibrary", 4},   {L"documentsLibrary", 7},     {L"enterpriseAuthentication", 8},
    {L"removableStorage", 10},
};

static PSID *give_array(const struct nt_sid *sid)
{
    PSID *array =
        nt_local_give(nt_model_of_call(), sizeof *array, SBX_CALL_DeriveCapabilitySidsFromName);
    array[0] = give_sid(sid, SBX_CALL_DeriveCapabilitySidsFromName);
    return array;
}

BOOL WINAPI nt_DeriveCapabilitySidsFromName(LPCWSTR name, PSID **groups, DWORD *group_count,
                                            PSID **capabilities, DWORD *capability_count)
{
    if (name == NULL || nt_length(name) == 0) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    unsigned char bytes[SBX_SHA256_BYTES];
    struct nt_sid sid;
    digest(name, true, bytes);
    sid_of(&sid, 5, (const DWORD[]){32}, 1, bytes, 8);
    *groups = give_array(&sid);
    *group_count = 1;
    sid_of(&sid, 15, (const DWORD[]){3, 1024}, 2, bytes, 8);
    for (size_t i = 0; i < SBX_COUNT(known); i++) {
        if (nt_same_name(known[i].name, name)) {
            sid_of(&sid, 15, (const DWORD[]){3, known[i].number}, 2, bytes, 0);
        }
    }
    *capabilities = give_array(&sid);
    *capability_count = 1;
    return TRUE;
}
