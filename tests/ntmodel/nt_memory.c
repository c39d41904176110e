/* Memory that the system gives out and takes back, and descriptors from text. */
#include "tests/ntmodel/nt_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

/* ---- what the caller frees ---------------------------------------------------------------------------- */

static void remember(struct nt_model *model, void *memory, enum sbx_winapi_id by)
{
    model->locals =
        nt_grow(model->locals, &model->local_room, model->local_count, sizeof model->locals[0]);
    model->locals[model->local_count++] = (struct nt_local){memory, by};
}

void *nt_local_give(struct nt_model *model, size_t size, enum sbx_winapi_id by)
{
    void *memory = LocalAlloc(LPTR, size);
    if (memory == NULL) {
        (void)fprintf(stderr, "nt model: out of memory\n");
        abort();
    }
    remember(model, memory, by);
    return memory;
}

static bool take_back(struct nt_model *model, const void *memory)
{
    for (size_t i = model->local_count; i-- > 0;) {
        if (model->locals[i].memory == memory) {
            model->locals[i] = model->locals[--model->local_count];
            return true;
        }
    }
    return false;
}

HLOCAL WINAPI nt_LocalFree(HLOCAL memory)
{
    struct nt_model *model = nt_model_of_call();
    if (memory == NULL) {
        return NULL;
    }
    if (!take_back(model, memory)) {
        nt_bad_handle(model, memory, "not given out");
        return memory;
    }
    return LocalFree(memory);
}

PVOID WINAPI nt_FreeSid(PSID sid)
{
    return nt_LocalFree(sid);
}

void WINAPI nt_CoTaskMemFree(LPVOID memory)
{
    (void)nt_LocalFree(memory);
}

BOOL WINAPI nt_ConvertStringSecurityDescriptorToSecurityDescriptorW(LPCWSTR text, DWORD revision,
                                                                    PSECURITY_DESCRIPTOR *out,
                                                                    PULONG size)
{
    if (revision != SDDL_REVISION_1 || text == NULL || out == NULL) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    char narrow[NT_SDDL_MAX];
    size_t len = nt_length(text);
    if (len >= sizeof narrow) {
        return nt_fail(ERROR_INVALID_PARAMETER);
    }
    for (size_t i = 0; i <= len; i++) {
        narrow[i] = (char)(text[i] < 0x80 ? text[i] : '?');
    }
    _Alignas(8) unsigned char room[NT_DESCRIPTOR_MAX];
    size_t bytes = nt_sddl_parse(narrow, room, sizeof room);
    if (bytes == 0) { /* words that the model does not know: the system's own reading */
        PSECURITY_DESCRIPTOR other = NULL;
        ULONG other_size = 0;
        if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(text, revision, &other,
                                                                  &other_size)) {
            return FALSE;
        }
        bytes = other_size;
        if (bytes <= sizeof room) {
            memcpy(room, other, bytes);
        }
        (void)LocalFree(other);
        if (bytes > sizeof room) {
            return nt_fail(ERROR_INVALID_PARAMETER);
        }
    }
    *out = nt_local_give(nt_model_of_call(), bytes,
                         SBX_CALL_ConvertStringSecurityDescriptorToSecurityDescriptorW);
    memcpy(*out, room, bytes);
    if (size != NULL) {
        *size = (ULONG)bytes;
    }
    return TRUE;
}

/* ---- descriptors from text ------------------------------------------------------------------------------ */

/* The texts are few and the same for every model of a test, the user is one. */
struct described {
    struct described *next;
    char *text;
    size_t size;
    _Alignas(8) unsigned char bytes[];
};

const void *nt_described(struct nt_model *model, const char *sddl, size_t *size)
{
    static struct described *cache;
    (void)model;
    for (const struct described *at = cache; at != NULL; at = at->next) {
        if (strcmp(at->text, sddl) == 0) {
            *size = at->size;
            return at->bytes;
        }
    }
    static struct nt_token user;
    nt_token_user(&user);
    struct nt_sddl_name name = {"$U", user.user};
    _Alignas(8) unsigned char room[NT_DESCRIPTOR_MAX];
    size_t len = nt_sddl_parse_names(sddl, &name, 1, room, sizeof room);
    if (len == 0) {
        (void)fprintf(stderr, "nt model: cannot read the descriptor \"%s\"\n", sddl);
        abort();
    }
    struct described *made = nt_alloc(sizeof *made + len);
    made->text = nt_copy(sddl, strlen(sddl) + 1);
    made->size = len;
    memcpy(made->bytes, room, len);
    made->next = cache;
    cache = made;
    *size = len;
    return made->bytes;
}
