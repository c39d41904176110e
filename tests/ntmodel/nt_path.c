/* Paths: from what a program writes to a place on a volume, and the walk along it. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/base/banned.h"

enum { LINKS_MAX = 63, FIRST_WINDOWS_11 = 22000 };

static bool has_head(const wchar_t *path, const wchar_t *head)
{
    size_t len = nt_length(head);
    return nt_length(path) >= len && nt_compare_names(path, len, head, len) == 0;
}

static bool is_letter(wchar_t unit)
{
    return (unit >= 'A' && unit <= 'Z') || (unit >= 'a' && unit <= 'z');
}

static bool is_slash(wchar_t unit)
{
    return unit == '\\' || unit == '/';
}

static struct nt_drive *drive_of(struct nt_model *model, wchar_t letter)
{
    if (!is_letter(letter)) {
        return NULL;
    }
    struct nt_drive *drive = &model->drives[(letter | 0x20) - 'a'];
    return drive->volume == NULL ? NULL : drive;
}

/* ---- devices ------------------------------------------------------------------------------------------ */

static const struct {
    const wchar_t *name;
    int device;
} devices[] = {
    {L"NUL", NT_DEVICE_NULL},
    {L"CON", NT_DEVICE_CONOUT},
    {L"CONIN$", NT_DEVICE_CONIN},
    {L"CONOUT$", NT_DEVICE_CONOUT},
};

static bool find_device(const wchar_t *name, size_t len, struct nt_place *out)
{
    for (size_t i = 0; i < SBX_COUNT(devices); i++) {
        if (nt_compare_names(name, len, devices[i].name, nt_length(devices[i].name)) == 0) {
            out->is_device = true;
            out->device = devices[i].device;
            return true;
        }
    }
    return false;
}

/* A reserved name as the last of a path means the device in whatever directory; before Windows 11 also with an
 * extension. */
static bool is_reserved(const struct nt_model *model, const wchar_t *path, struct nt_place *out)
{
    const wchar_t *leaf = path;
    for (const wchar_t *at = path; *at != 0; at++) {
        if (is_slash(*at) || (*at == ':' && at == path + 1)) {
            leaf = at + 1;
        }
    }
    size_t len = 0;
    while (leaf[len] != 0 && leaf[len] != ':' &&
           !(leaf[len] == '.' && model->world.build < FIRST_WINDOWS_11)) {
        len++;
    }
    while (len > 0 && leaf[len - 1] == ' ') {
        len--;
    }
    return find_device(leaf, len, out);
}

/* ---- names ------------------------------------------------------------------------------------------------ */

static bool is_name(const wchar_t *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (name[i] < 0x20 || name[i] == '<' || name[i] == '>' || name[i] == '"' ||
            name[i] == '|' || name[i] == '?' || name[i] == '*' || name[i] == '/') {
            return false;
        }
    }
    return len > 0 && len < NT_NAME_MAX;
}

struct writer {
    wchar_t *text;
    size_t len;
};

static bool put_part(struct writer *writer, const wchar_t *part, size_t len)
{
    if (writer->len + len + 2 >= NT_PATH_MAX) {
        return false;
    }
    if (writer->len > 0) {
        writer->text[writer->len++] = '\\';
    }
    memcpy(writer->text + writer->len, part, len * sizeof *part);
    writer->len += len;
    writer->text[writer->len] = 0;
    return true;
}

static void drop_part(struct writer *writer)
{
    while (writer->len > 0 && writer->text[writer->len - 1] != '\\') {
        writer->len--;
    }
    writer->len -= writer->len > 0 ? 1 : 0;
    writer->text[writer->len] = 0;
}

/* Adds the names of `path`. Win32 rules: both slashes, dots, and no dot or space at the end; raw: as it is. */
static NTSTATUS put_path(struct writer *writer, const wchar_t *path, bool is_raw, bool *ends_open)
{
    *ends_open = false;
    while (*path != 0) {
        size_t len = 0;
        while (path[len] != 0 && path[len] != '\\' && (is_raw || path[len] != '/')) {
            len++;
        }
        bool is_last = path[len] == 0;
        size_t kept = len;
        while (!is_raw && is_last && kept > 0 && (path[kept - 1] == '.' || path[kept - 1] == ' ') &&
               !(kept <= 2 && path[0] == '.')) {
            kept--;
        }
        bool is_dot = kept == 1 && path[0] == '.';
        bool is_up = kept == 2 && path[0] == '.' && path[1] == '.';
        if (is_raw && (is_dot || is_up)) {
            return NT_STATUS_OBJECT_NAME_INVALID;
        }
        if (is_up) {
            drop_part(writer);
        } else if (!is_dot && kept > 0) {
            if (!put_part(writer, path, kept)) {
                return NT_STATUS_OBJECT_NAME_INVALID;
            }
        } else if (is_raw && !is_last) {
            return NT_STATUS_OBJECT_NAME_INVALID; /* two backslashes */
        }
        *ends_open = !is_last && path[len + 1] == 0;
        path += len + (is_last ? 0 : 1);
    }
    return 0;
}

/* name:stream, name:stream:$DATA, name::$DATA, name::$INDEX_ALLOCATION */
static NTSTATUS split_stream(struct nt_place *out)
{
    wchar_t *leaf = out->rest;
    for (wchar_t *at = out->rest; *at != 0; at++) {
        leaf = *at == '\\' ? at + 1 : leaf;
    }
    wchar_t *colon = leaf;
    while (*colon != 0 && *colon != ':') {
        colon++;
    }
    if (*colon == 0) {
        return 0;
    }
    wchar_t *name = colon + 1;
    wchar_t *type = name;
    while (*type != 0 && *type != ':') {
        type++;
    }
    bool has_type = *type == ':';
    size_t len = (size_t)(type - name);
    const wchar_t *kind = has_type ? type + 1 : L"$DATA";
    bool is_index = nt_same_name(kind, L"$INDEX_ALLOCATION");
    if ((!nt_same_name(kind, L"$DATA") && !is_index) || (len > 0 && !is_name(name, len)) ||
        (len == 0 && !has_type)) {
        return NT_STATUS_OBJECT_NAME_INVALID;
    }
    *colon = 0;
    out->wants_directory = out->wants_directory || is_index;
    if (len > 0 && !is_index) {
        out->has_stream = true;
        memcpy(out->stream, name, len * sizeof *name);
        out->stream[len] = 0;
    }
    return 0;
}

static NTSTATUS check_names(const struct nt_place *out)
{
    const wchar_t *at = out->rest;
    while (*at != 0) {
        size_t len = 0;
        while (at[len] != 0 && at[len] != '\\') {
            len++;
        }
        if (!is_name(at, len)) {
            return NT_STATUS_OBJECT_NAME_INVALID;
        }
        for (size_t i = 0; i < len; i++) {
            if (at[i] == ':') {
                return NT_STATUS_OBJECT_NAME_INVALID;
            }
        }
        at += len + (at[len] == 0 ? 0 : 1);
    }
    return 0;
}

/* What follows the root of a volume. `before` is what the path is relative to, NULL for the root. */
static NTSTATUS finish(struct nt_volume *volume, const wchar_t *target, const wchar_t *before,
                       const wchar_t *path, bool is_raw, struct nt_place *out)
{
    struct writer writer = {out->rest, 0};
    bool ends_open = false;
    out->volume = volume;
    out->base = volume->root;
    NTSTATUS status = target == NULL ? 0 : put_path(&writer, target, true, &ends_open);
    if (status == 0 && before != NULL) {
        status = put_path(&writer, before, true, &ends_open);
    }
    if (status == 0) {
        status = put_path(&writer, path, is_raw, &ends_open);
    }
    out->wants_directory = ends_open;
    if (status == 0) {
        status = split_stream(out);
    }
    return status == 0 ? check_names(out) : status;
}

static NTSTATUS on_share(struct nt_model *model, const wchar_t *path, bool is_raw,
                         struct nt_place *out)
{
    for (size_t i = 0; i < SBX_COUNT(model->volumes); i++) {
        struct nt_volume *volume = model->volumes[i];
        if (volume != NULL && volume->share != NULL && has_head(path, volume->share)) {
            const wchar_t *rest = path + nt_length(volume->share);
            if (*rest == 0 || is_slash(*rest)) {
                return finish(volume, NULL, NULL, *rest == 0 ? rest : rest + 1, is_raw, out);
            }
        }
    }
    return NT_STATUS_BAD_NETWORK_PATH;
}

static NTSTATUS on_drive(struct nt_model *model, const wchar_t *path, bool is_raw,
                         struct nt_place *out)
{
    struct nt_drive *drive = drive_of(model, path[0]);
    if (drive == NULL || path[1] != ':') {
        return NT_STATUS_OBJECT_PATH_NOT_FOUND;
    }
    const wchar_t *rest = path + 2;
    if (*rest == 0) {
        out->is_volume = true;
    }
    return finish(drive->volume, drive->target, NULL, *rest == '\\' ? rest + 1 : rest, is_raw, out);
}

/* After \\?\ or \??\ or \\.\ . */
static NTSTATUS in_devices(struct nt_model *model, const wchar_t *path, bool is_raw,
                           struct nt_place *out)
{
    if (has_head(path, L"UNC\\")) {
        return on_share(model, path + 4, is_raw, out);
    }
    if (has_head(path, L"pipe\\")) {
        out->pipe = path + 5;
        return 0;
    }
    if (has_head(path, L"GLOBALROOT\\")) {
        path += 11;
        path -= *path == '\\' ? 0 : 1;
    }
    for (size_t i = 0; i < SBX_COUNT(model->volumes); i++) {
        struct nt_volume *volume = model->volumes[i];
        const wchar_t *const heads[2] = {volume == NULL ? NULL : volume->guid,
                                         volume == NULL ? NULL : volume->device};
        for (size_t j = 0; j < 2; j++) {
            if (heads[j] != NULL && has_head(path, heads[j])) {
                const wchar_t *rest = path + nt_length(heads[j]);
                return finish(volume, NULL, NULL, *rest == '\\' ? rest + 1 : rest, is_raw, out);
            }
        }
    }
    if (find_device(path, nt_length(path), out)) {
        return 0;
    }
    return is_letter(path[0]) && path[1] == ':' ? on_drive(model, path, is_raw, out)
                                                : NT_STATUS_OBJECT_NAME_NOT_FOUND;
}

NTSTATUS nt_parse_path(struct nt_process *process, const wchar_t *path, struct nt_place *out)
{
    struct nt_model *model = process->object.model;
    *out = (struct nt_place){0};
    if (path == NULL || *path == 0) {
        return NT_STATUS_OBJECT_PATH_NOT_FOUND;
    }
    if (has_head(path, L"\\\\?\\") || has_head(path, L"\\??\\")) {
        return in_devices(model, path + 4, true, out);
    }
    if (has_head(path, L"\\\\.\\") || has_head(path, L"//./")) {
        return in_devices(model, path + 4, false, out);
    }
    if (is_slash(path[0]) && is_slash(path[1])) {
        return on_share(model, path + 2, false, out);
    }
    if (is_reserved(model, path, out)) {
        return 0;
    }
    if (is_letter(path[0]) && path[1] == ':' && is_slash(path[2])) {
        struct nt_drive *drive = drive_of(model, path[0]);
        return drive == NULL ? NT_STATUS_OBJECT_PATH_NOT_FOUND
                             : finish(drive->volume, drive->target, NULL, path + 3, false, out);
    }
    const wchar_t *here = process->directory == NULL ? L"C:\\" : process->directory;
    wchar_t letter = here[0];
    const wchar_t *before = here + 3;
    if (is_letter(path[0]) &&
        path[1] == ':') { /* C:name, relative to the directory of that drive */
        before = (path[0] | 0x20) == (letter | 0x20) ? before : NULL;
        letter = path[0];
        path += 2;
    } else if (is_slash(path[0])) {
        before = NULL;
        path++;
    }
    struct nt_drive *drive = drive_of(model, letter);
    return drive == NULL ? NT_STATUS_OBJECT_PATH_NOT_FOUND
                         : finish(drive->volume, drive->target, before, path, false, out);
}

/* ---- the walk --------------------------------------------------------------------------------------------- */

static NTSTATUS walk(struct nt_process *process, const struct nt_place *place, bool opens_link,
                     unsigned depth, struct nt_walk *out);

static bool is_followed(const struct nt_node *node)
{
    return node->tag == IO_REPARSE_TAG_SYMLINK || node->tag == IO_REPARSE_TAG_MOUNT_POINT;
}

/* Cloud placeholders are served by their filter; anything else that is not a link is nobody's. */
static bool is_served(const struct nt_node *node)
{
    return node->tag == 0 || (node->tag & 0xFFFF0FFF) == 0x9000001A;
}

static NTSTATUS follow(struct nt_process *process, const struct nt_place *place,
                       const struct nt_node *parent, const struct nt_node *link,
                       const wchar_t *rest, bool opens_link, unsigned depth, struct nt_walk *out)
{
    if (depth >= LINKS_MAX) {
        return NT_STATUS_IO_REPARSE_TAG_NOT_HANDLED;
    }
    wchar_t path[NT_PATH_MAX];
    bool is_absolute = is_letter(link->target[0]) || link->target[0] == '\\';
    wchar_t head[NT_PATH_MAX] = {0};
    if (!is_absolute) {
        (void)nt_node_path(parent, parent->entry, head);
    }
    int len = swprintf(path, NT_PATH_MAX, L"%ls%ls%ls%ls%ls", is_absolute ? L"" : L"C:", head,
                       is_absolute ? L"" : L"\\", link->target, *rest == 0 ? L"" : L"\\");
    if (len < 0 || (size_t)len + nt_length(rest) >= NT_PATH_MAX) {
        return NT_STATUS_OBJECT_NAME_INVALID;
    }
    memcpy(path + len, rest, (nt_length(rest) + 1) * sizeof *path);
    struct nt_place there;
    NTSTATUS status = nt_parse_path(process, path, &there);
    if (status != 0) {
        return status;
    }
    if (!is_absolute) { /* on the volume of the link, which need not be C: */
        there.volume = parent->volume;
        there.base = parent->volume->root;
    }
    there.wants_directory = place->wants_directory;
    there.has_stream = place->has_stream;
    memcpy(there.stream, place->stream, sizeof there.stream);
    return walk(process, &there, opens_link, depth + 1, out);
}

/* Without the privilege that everybody has, each directory on the way must let the process through. */
static bool may_traverse(const struct nt_process *process, const struct nt_node *directory)
{
    const struct nt_token *token = &process->token->token;
    return nt_token_has_privilege(token, 23) || directory->descriptor == NULL ||
           nt_has_access(token, directory->descriptor, FILE_TRAVERSE, &nt_file_mapping, NULL);
}

static NTSTATUS walk(struct nt_process *process, const struct nt_place *place, bool opens_link,
                     unsigned depth, struct nt_walk *out)
{
    *out = (struct nt_walk){.node = place->base,
                            .entry =
                                place->base_entry != NULL ? place->base_entry : place->base->entry,
                            .has_stream = place->has_stream,
                            .wants_directory = place->wants_directory};
    memcpy(out->stream, place->stream, sizeof out->stream);
    out->parent = out->entry == NULL ? NULL : out->entry->parent;
    const wchar_t *at = place->rest;
    while (*at != 0) {
        size_t len = 0;
        while (at[len] != 0 && at[len] != '\\') {
            len++;
        }
        bool is_last = at[len] == 0;
        struct nt_node *directory = out->node;
        if (!nt_is_directory(directory)) {
            return NT_STATUS_OBJECT_PATH_NOT_FOUND;
        }
        if (!process->object.model->is_building && !may_traverse(process, directory)) {
            return NT_STATUS_ACCESS_DENIED;
        }
        struct nt_entry *entry = nt_entry_find(directory, at, len);
        out->parent = directory;
        out->entry = entry;
        out->node = entry == NULL ? NULL : entry->node;
        if (entry == NULL) {
            memcpy(out->leaf, at, len * sizeof *at);
            out->leaf[len] = 0;
            return is_last ? 0 : NT_STATUS_OBJECT_PATH_NOT_FOUND;
        }
        const wchar_t *rest = at + len + (is_last ? 0 : 1);
        if (entry->node->tag != 0 && place->refuses_links && !(is_last && opens_link)) {
            return (NTSTATUS)0xC000050BL; /* STATUS_REPARSE_POINT_ENCOUNTERED */
        }
        if (is_followed(entry->node) && (!is_last || !opens_link)) {
            return follow(process, place, directory, entry->node, rest, opens_link, depth, out);
        }
        if (!is_served(entry->node) && (!is_last || !opens_link)) {
            return NT_STATUS_IO_REPARSE_TAG_NOT_HANDLED;
        }
        at = rest;
    }
    return 0;
}

NTSTATUS nt_walk_path(struct nt_process *process, const struct nt_place *place, bool opens_link,
                      struct nt_walk *out)
{
    return walk(process, place, opens_link, 0, out);
}
