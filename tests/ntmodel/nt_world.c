/* The world that a model begins with, and what a test may put into it. */
#include "tests/ntmodel/nt_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/banned.h"

#define INSTALLER "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

/* As an installation of Windows 11 has them (icacls), written as SDDL. */
static const char root_list[] =
    "O:" INSTALLER "G:" INSTALLER "D:PAI(A;OICIIO;SDGXGWGR;;;AU)(A;;0x4;;;AU)(A;OICI;FA;;;SY)"
    "(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)";
static const char open_root_list[] =
    "O:" INSTALLER "G:" INSTALLER "D:PAI(A;OICIIO;SDGXGWGR;;;AU)(A;;0x4;;;AU)(A;OICI;FA;;;SY)"
    "(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;;0x120088;;;AC)"
    "(A;;0x120088;;;S-1-15-2-2)";
static const char system_list[] =
    "O:" INSTALLER "G:" INSTALLER
    "D:PAI(A;OICIIO;GA;;;CO)(A;OICIIO;GA;;;SY)(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;BA)"
    "(A;;0x1301bf;;;BA)(A;OICIIO;GXGR;;;BU)(A;;0x1200a9;;;BU)(A;CIIO;GA;;;" INSTALLER ")"
    "(A;;FA;;;" INSTALLER ")(A;;0x1200a9;;;AC)(A;OICIIO;GXGR;;;AC)(A;;0x1200a9;;;S-1-15-2-2)"
    "(A;OICIIO;GXGR;;;S-1-15-2-2)";
static const char apps_list[] =
    "O:" INSTALLER "G:" INSTALLER "D:PAI(A;OICI;FA;;;" INSTALLER ")(A;OICI;FA;;;SY)"
    "(A;;0x1200a9;;;S-1-15-3-1024-1-2-3-4-5-6-7-8)";
static const char users_list[] = "O:SYG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
                                 "(A;OICI;0x1200a9;;;BU)(A;OICI;0x1200a9;;;WD)";
static const char profile_list[] = "O:SYG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;$U)";
static const char share_list[] = "O:$UG:$UD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;$U)";

/* ---- putting -------------------------------------------------------------------------------------------- */

static struct nt_node *root_of(struct nt_model *model, const wchar_t *path)
{
    struct nt_drive *drive = &model->drives[(path[0] | 0x20) - 'a'];
    if (path[1] != ':' || path[2] != '\\' || drive->volume == NULL || drive->target[0] != 0) {
        (void)fprintf(stderr, "nt model: \"%ls\" is on no drive\n", path);
        abort();
    }
    return drive->volume->root;
}

static void give_descriptor(struct nt_node *node, const void *descriptor)
{
    if (node->volume->has_acls) {
        free(node->descriptor);
        node->descriptor_size = nt_descriptor_size(descriptor);
        node->descriptor = nt_copy(descriptor, node->descriptor_size);
    }
}

struct nt_node *nt_world_put(struct nt_model *model, const wchar_t *path, DWORD attributes,
                             const struct nt_token *creator, const void *descriptor)
{
    struct nt_node *node = root_of(model, path);
    const wchar_t *at = path + 3;
    while (*at != 0) {
        wchar_t name[NT_NAME_MAX];
        size_t len = 0;
        while (at[len] != 0 && at[len] != '\\') {
            name[len] = at[len];
            len++;
        }
        name[len] = 0;
        bool is_last = at[len] == 0;
        struct nt_entry *entry = nt_entry_find(node, name, len);
        if (entry == NULL) {
            struct nt_node *made =
                nt_node_new(node->volume, is_last ? attributes : FILE_ATTRIBUTE_DIRECTORY);
            nt_node_describe(made, creator, node, NULL);
            entry = nt_entry_add(node, name, made);
            nt_node_unref(made);
            nt_changed(made, entry, USN_REASON_FILE_CREATE | USN_REASON_CLOSE, FILE_ACTION_ADDED);
        }
        node = entry->node;
        at += len + (is_last ? 0 : 1);
    }
    if (descriptor != NULL) {
        give_descriptor(node, descriptor);
    }
    return node;
}

struct nt_node *nt_world_find(struct nt_model *model, const wchar_t *path, struct nt_entry **entry)
{
    struct nt_node *node = root_of(model, path);
    const wchar_t *at = path + 3;
    *entry = NULL;
    while (*at != 0) {
        size_t len = 0;
        while (at[len] != 0 && at[len] != '\\') {
            len++;
        }
        *entry = nt_entry_find(node, at, len);
        if (*entry == NULL) {
            return NULL;
        }
        node = (*entry)->node;
        at += len + (at[len] == 0 ? 0 : 1);
    }
    return node;
}

static bool remove_below(struct nt_node *directory)
{
    bool all = true;
    for (size_t i = directory->child_count; i-- > 0;) {
        struct nt_entry *entry = directory->children[i];
        if (!remove_below(entry->node) || entry->opens > 0) {
            all = false;
            continue;
        }
        nt_changed(entry->node, entry, USN_REASON_FILE_DELETE | USN_REASON_CLOSE,
                   FILE_ACTION_REMOVED);
        nt_entry_remove(entry);
    }
    return all;
}

bool nt_world_remove(struct nt_model *model, const wchar_t *path)
{
    struct nt_entry *entry;
    struct nt_node *node = nt_world_find(model, path, &entry);
    if (node == NULL || entry == NULL) {
        return true;
    }
    if (!remove_below(node) || entry->opens > 0) {
        return false;
    }
    nt_changed(node, entry, USN_REASON_FILE_DELETE | USN_REASON_CLOSE, FILE_ACTION_REMOVED);
    nt_entry_remove(entry);
    return true;
}

/* ---- the test puts ---------------------------------------------------------------------------------------- */

static struct nt_node *put(struct nt_model *model, const wchar_t *path, DWORD attributes,
                           const char *sddl)
{
    static struct nt_token user;
    static struct nt_token machine;
    if (user.group_count == 0) {
        nt_token_user(&user);
        nt_token_system(&machine);
    }
    /* Who makes a file is its owner, and gets what CREATOR OWNER gets. */
    static const wchar_t profile[] = L"C:\\Users\\user\\";
    size_t head = SBX_COUNT(profile) - 1;
    bool is_system = (path[0] | 0x20) == 'c' &&
                     (nt_length(path) < head || nt_compare_names(path, head, profile, head) != 0);
    size_t size;
    return nt_world_put(model, path, attributes, is_system ? &machine : &user,
                        sddl == NULL ? NULL : nt_described(model, sddl, &size));
}

static void put_bytes(struct nt_node *node, const void *bytes, size_t size)
{
    node->bytes.size = 0;
    nt_bytes_put(&node->bytes, 0, bytes, size);
    nt_bytes_free(&node->safe);
    nt_bytes_put(&node->safe, 0, bytes, size);
    node->is_dirty = false;
}

/* Enough of a header for a program that looks: MZ, PE, the machine and the subsystem. */
static void put_image(struct nt_node *node, unsigned image)
{
    unsigned char bytes[512] = {'M', 'Z'};
    unsigned machine = (image & NT_IMAGE_FOREIGN) != 0 ? 0x01C4 : 0x8664;
    node->image = image;
    if ((image & NT_IMAGE_16) != 0) {
        bytes[0x3C] = 0x80;
        bytes[0x80] = 'N';
        bytes[0x81] = 'E';
    } else {
        bytes[0x3C] = 0x80;
        memcpy(bytes + 0x80, "PE\0\0", 4);
        bytes[0x84] = (unsigned char)machine;
        bytes[0x85] = (unsigned char)(machine >> 8);
        bytes[0x94] = 0xF0; /* optional header */
        bytes[0x96] = 0x22; /* executable */
        bytes[0x98] = 0x0B; /* PE32+ */
        bytes[0x99] = 0x02;
        bytes[0x98 + 68] = (image & NT_IMAGE_WINDOWS) != 0 ? 2 : 3; /* subsystem */
    }
    put_bytes(node, bytes, sizeof bytes);
}

void nt_put_directory(struct nt_model *model, const wchar_t *path, const char *sddl)
{
    nt_lock(model);
    (void)put(model, path, FILE_ATTRIBUTE_DIRECTORY, sddl);
    nt_unlock(model);
}

void nt_put_file(struct nt_model *model, const wchar_t *path, const char *text, const char *sddl)
{
    nt_lock(model);
    put_bytes(put(model, path, FILE_ATTRIBUTE_ARCHIVE, sddl), text, strlen(text));
    nt_unlock(model);
}

void nt_put_image(struct nt_model *model, const wchar_t *path, unsigned image)
{
    nt_lock(model);
    put_image(put(model, path, FILE_ATTRIBUTE_ARCHIVE, NULL), image);
    nt_unlock(model);
}

void nt_put_link(struct nt_model *model, const wchar_t *path, DWORD tag, const wchar_t *target,
                 bool is_directory)
{
    nt_lock(model);
    struct nt_node *node =
        put(model, path, is_directory ? FILE_ATTRIBUTE_DIRECTORY : FILE_ATTRIBUTE_ARCHIVE, NULL);
    node->tag = tag;
    free(node->target);
    node->target = nt_wide(target);
    nt_unlock(model);
}

void nt_put_hard_link(struct nt_model *model, const wchar_t *path, const wchar_t *existing)
{
    nt_lock(model);
    struct nt_entry *entry;
    struct nt_node *node = nt_world_find(model, existing, &entry);
    size_t cut = nt_length(path);
    while (path[cut - 1] != '\\') {
        cut--;
    }
    wchar_t parent[NT_PATH_MAX] = {0};
    memcpy(parent, path, (cut > 3 ? cut - 1 : cut) * sizeof *path);
    struct nt_node *directory = nt_world_find(model, parent, &entry);
    if (node == NULL || directory == NULL) {
        (void)fprintf(stderr, "nt model: cannot link \"%ls\"\n", path);
        abort();
    }
    struct nt_entry *made = nt_entry_add(directory, path + cut, node);
    nt_changed(node, made, USN_REASON_HARD_LINK_CHANGE | USN_REASON_CLOSE, FILE_ACTION_ADDED);
    nt_unlock(model);
}

static struct nt_node *must_find(struct nt_model *model, const wchar_t *path)
{
    struct nt_entry *entry;
    struct nt_node *node = nt_world_find(model, path, &entry);
    if (node == NULL) {
        (void)fprintf(stderr, "nt model: there is no \"%ls\"\n", path);
        abort();
    }
    return node;
}

void nt_put_attributes(struct nt_model *model, const wchar_t *path, DWORD attributes)
{
    nt_lock(model);
    struct nt_node *node = must_find(model, path);
    node->attributes = (node->attributes & FILE_ATTRIBUTE_DIRECTORY) | attributes;
    nt_unlock(model);
}

void nt_put_descriptor(struct nt_model *model, const wchar_t *path, const char *sddl)
{
    nt_lock(model);
    size_t size;
    give_descriptor(must_find(model, path), nt_described(model, sddl, &size));
    nt_unlock(model);
}

void nt_put_stream(struct nt_model *model, const wchar_t *path, const wchar_t *name,
                   const char *text)
{
    nt_lock(model);
    struct nt_node *node = must_find(model, path);
    struct nt_stream *stream = nt_alloc(sizeof *stream);
    stream->name = nt_wide(name);
    nt_bytes_put(&stream->bytes, 0, text, strlen(text));
    stream->next = node->streams;
    node->streams = stream;
    nt_unlock(model);
}

void nt_put_pipe(struct nt_model *model, const wchar_t *name, const char *sddl)
{
    nt_lock(model);
    struct nt_pipe *pipe = nt_object_new(model, NT_PIPE, sizeof *pipe);
    const void *descriptor = nt_described(model, sddl, &pipe->object.descriptor_size);
    pipe->object.descriptor = nt_copy(descriptor, pipe->object.descriptor_size);
    nt_object_name(pipe, name);
    if (model->pipe_count == SBX_COUNT(model->pipes)) {
        (void)fprintf(stderr, "nt model: too many named pipes\n");
        abort();
    }
    model->pipes[model->pipe_count++] = &pipe->object;
    nt_unlock(model);
}

void nt_remove(struct nt_model *model, const wchar_t *path)
{
    nt_lock(model);
    (void)nt_world_remove(model, path);
    nt_unlock(model);
}

/* ---- the test looks ------------------------------------------------------------------------------------------ */

bool nt_exists(struct nt_model *model, const wchar_t *path)
{
    nt_lock(model);
    struct nt_entry *entry;
    bool exists = nt_world_find(model, path, &entry) != NULL;
    nt_unlock(model);
    return exists;
}

const char *nt_text(struct nt_model *model, const wchar_t *path, size_t *size)
{
    nt_lock(model);
    struct nt_entry *entry;
    struct nt_node *node = nt_world_find(model, path, &entry);
    const char *text = NULL;
    if (node != NULL) {
        /* A NUL behind it, for those who compare texts. */
        size_t len = node->bytes.size;
        nt_bytes_put(&node->bytes, len, "", 1);
        node->bytes.size = len;
        text = (const char *)node->bytes.data;
        if (size != NULL) {
            *size = len;
        }
    }
    nt_unlock(model);
    return text;
}

const void *nt_descriptor(struct nt_model *model, const wchar_t *path, size_t *size)
{
    nt_lock(model);
    struct nt_entry *entry;
    const struct nt_node *node = nt_world_find(model, path, &entry);
    const void *descriptor = node == NULL ? NULL : node->descriptor;
    if (size != NULL) {
        *size = node == NULL ? 0 : node->descriptor_size;
    }
    nt_unlock(model);
    return descriptor;
}

/* ---- the world ----------------------------------------------------------------------------------------------- */

static const struct {
    const wchar_t *path;
    const char *sddl;
} directories[] = {
    {L"C:\\Windows", system_list},
    {L"C:\\Windows\\System32", NULL},
    {L"C:\\Windows\\System32\\WindowsPowerShell\\v1.0", NULL},
    {L"C:\\Program Files", system_list},
    {L"C:\\Program Files\\WindowsApps", apps_list},
    {L"C:\\ProgramData", users_list},
    {L"C:\\Users", users_list},
    {L"C:\\Users\\user", profile_list},
    {L"C:\\Users\\user\\AppData\\Local\\Temp", NULL},
    {L"C:\\Users\\user\\AppData\\Local\\Packages", NULL},
    {L"C:\\Users\\user\\AppData\\Local\\Microsoft\\WindowsApps", NULL},
    {L"C:\\Users\\user\\project\\src", NULL},
    {L"C:\\Users\\user\\project\\.git\\hooks", NULL},
    {L"D:\\data", NULL},
    {L"N:\\team", NULL},
};

static const struct {
    const wchar_t *path;
    unsigned image;
} images[] = {
    {L"C:\\Windows\\System32\\cmd.exe", NT_IMAGE_CONSOLE},
    {L"C:\\Windows\\System32\\where.exe", NT_IMAGE_CONSOLE},
    {L"C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe",
     NT_IMAGE_CONSOLE | NT_IMAGE_USER32},
    {L"C:\\Windows\\notepad.exe", NT_IMAGE_WINDOWS},
    {L"C:\\Windows\\regedit.exe", NT_IMAGE_WINDOWS | NT_IMAGE_ELEVATE},
    {L"C:\\Program Files\\Git\\cmd\\git.exe", NT_IMAGE_CONSOLE},
    {L"C:\\Program Files\\sbx\\sbx.exe", NT_IMAGE_CONSOLE},
    {L"C:\\Program Files\\WindowsApps\\tool.exe", NT_IMAGE_CONSOLE},
    {L"C:\\Users\\user\\project\\tool.exe", NT_IMAGE_CONSOLE},
    {L"D:\\data\\tool.exe", NT_IMAGE_CONSOLE},
};

static const struct {
    const wchar_t *path;
    const char *text;
} files[] = {
    {L"C:\\Windows\\System32\\ntdll.dll", "ntdll"},
    {L"C:\\Windows\\System32\\kernel32.dll", "kernel32"},
    {L"C:\\Windows\\System32\\kernelbase.dll", "kernelbase"},
    {L"C:\\Windows\\System32\\user32.dll", "user32"},
    {L"C:\\Windows\\win.ini", "[fonts]\r\n"},
    {L"C:\\Program Files\\Git\\cmd\\git.dll", "git"},
    {L"C:\\Users\\user\\project\\README.md", "# project\n"},
    {L"C:\\Users\\user\\project\\.env", "TOKEN=1\n"},
    {L"C:\\Users\\user\\project\\src\\main.c", "int main(void) { return 0; }\n"},
    {L"C:\\Users\\user\\project\\.git\\HEAD", "ref: refs/heads/main\n"},
    {L"C:\\Users\\user\\project\\.git\\config", "[core]\n"},
    {L"C:\\Users\\user\\project\\.git\\hooks\\pre-commit", "#!/bin/sh\n"},
    {L"C:\\Users\\user\\.ssh\\id_rsa", "secret key\n"},
    {L"C:\\Users\\user\\notes.txt", "private\n"},
    {L"D:\\data\\list.txt", "fat\n"},
    {L"N:\\team\\plan.txt", "shared\n"},
};

static void build_files(struct nt_model *model)
{
    size_t size;
    give_descriptor(
        model->volumes[0]->root,
        nt_described(model, model->world.root_is_open ? open_root_list : root_list, &size));
    give_descriptor(model->volumes[2]->root, nt_described(model, share_list, &size));
    for (size_t i = 0; i < SBX_COUNT(directories); i++) {
        (void)put(model, directories[i].path, FILE_ATTRIBUTE_DIRECTORY, directories[i].sddl);
    }
    for (size_t i = 0; i < SBX_COUNT(images); i++) {
        put_image(put(model, images[i].path, FILE_ATTRIBUTE_ARCHIVE, NULL), images[i].image);
    }
    for (size_t i = 0; i < SBX_COUNT(files); i++) {
        put_bytes(put(model, files[i].path, FILE_ATTRIBUTE_ARCHIVE, NULL), files[i].text,
                  strlen(files[i].text));
    }
    struct nt_node *alias =
        put(model, L"C:\\Users\\user\\AppData\\Local\\Microsoft\\WindowsApps\\python.exe",
            FILE_ATTRIBUTE_ARCHIVE, NULL);
    alias->tag = 0x8000001B; /* IO_REPARSE_TAG_APPEXECLINK */
}

void nt_world_build(struct nt_model *model)
{
    model->is_building = true;
    nt_volumes_new(model);
    nt_stations_new(model);
    nt_consoles_new(model);
    for (size_t i = 0; i < 3; i++) {
        model->streams[i] = nt_pipe_buffer_new(NT_STREAM_BYTES);
        model->streams[i]->is_endless = true;
        model->streams[i]->readers = i == 0 ? 0 : 1; /* somebody reads what we write */
    }
    build_files(model);
    model->is_building = false;
}
