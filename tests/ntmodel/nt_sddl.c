/* A small reader and writer of security descriptor texts: MS-DTYP 2.5.1. */
#include <stdio.h>
#include <string.h>

#include "tests/ntmodel/nt_layout.h"

#include "common/base/banned.h"

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

struct word {
    const char *text;
    DWORD value;
};

static const struct word ace_types[] = {
    {"A", ACCESS_ALLOWED_ACE_TYPE},         {"D", ACCESS_DENIED_ACE_TYPE},
    {"OA", ACCESS_ALLOWED_OBJECT_ACE_TYPE}, {"OD", ACCESS_DENIED_OBJECT_ACE_TYPE},
    {"AU", SYSTEM_AUDIT_ACE_TYPE},          {"ML", NT_LABEL_ACE},
};

static const struct word ace_flags[] = {
    {"OI", OBJECT_INHERIT_ACE},
    {"CI", CONTAINER_INHERIT_ACE},
    {"NP", NO_PROPAGATE_INHERIT_ACE},
    {"IO", INHERIT_ONLY_ACE},
    {"ID", INHERITED_ACE},
    {"SA", SUCCESSFUL_ACCESS_ACE_FLAG},
    {"FA", FAILED_ACCESS_ACE_FLAG},
};

static const struct word rights[] = {
    {"GA", GENERIC_ALL},       {"GR", GENERIC_READ},       {"GW", GENERIC_WRITE},
    {"GX", GENERIC_EXECUTE},   {"RC", READ_CONTROL},       {"SD", DELETE},
    {"WD", WRITE_DAC},         {"WO", WRITE_OWNER},        {"FA", FILE_ALL_ACCESS},
    {"FR", FILE_GENERIC_READ}, {"FW", FILE_GENERIC_WRITE}, {"FX", FILE_GENERIC_EXECUTE},
    {"KA", KEY_ALL_ACCESS},    {"KR", KEY_READ},           {"KW", KEY_WRITE},
};

static const struct word label_rights[] = {
    {"NW", SYSTEM_MANDATORY_LABEL_NO_WRITE_UP},
    {"NR", SYSTEM_MANDATORY_LABEL_NO_READ_UP},
    {"NX", SYSTEM_MANDATORY_LABEL_NO_EXECUTE_UP},
};

static const struct word dacl_flags[] = {
    {"P", SE_DACL_PROTECTED}, {"AI", SE_DACL_AUTO_INHERITED}, {"AR", SE_DACL_AUTO_INHERIT_REQ}};
static const struct word sacl_flags[] = {
    {"P", SE_SACL_PROTECTED}, {"AI", SE_SACL_AUTO_INHERITED}, {"AR", SE_SACL_AUTO_INHERIT_REQ}};

static const struct {
    const char *alias;
    const char *sid;
} aliases[] = {
    {"WD", "S-1-1-0"},      {"CO", "S-1-3-0"},      {"CG", "S-1-3-1"},      {"OW", "S-1-3-4"},
    {"NU", "S-1-5-2"},      {"IU", "S-1-5-4"},      {"SU", "S-1-5-6"},      {"AN", "S-1-5-7"},
    {"PS", "S-1-5-10"},     {"AU", "S-1-5-11"},     {"RC", "S-1-5-12"},     {"SY", "S-1-5-18"},
    {"LS", "S-1-5-19"},     {"NS", "S-1-5-20"},     {"WR", "S-1-5-33"},     {"BA", "S-1-5-32-544"},
    {"BU", "S-1-5-32-545"}, {"BG", "S-1-5-32-546"}, {"PU", "S-1-5-32-547"}, {"BO", "S-1-5-32-551"},
    {"AC", "S-1-15-2-1"},   {"LW", "S-1-16-4096"},  {"ME", "S-1-16-8192"},  {"MP", "S-1-16-8448"},
    {"HI", "S-1-16-12288"}, {"SI", "S-1-16-16384"},
};

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
    const char *at;
    const struct nt_sddl_name *names;
    size_t name_count;
};

enum { FIELD_MAX = 256 };

/* The text up to one of `ends`, which stays. */
static bool read_field(struct reader *reader, const char *ends, char field[FIELD_MAX])
{
    size_t length = strcspn(reader->at, ends);
    if (length >= FIELD_MAX) return false;
    memcpy(field, reader->at, length);
    field[length] = '\0';
    reader->at += length;
    return true;
}

/* The text up to one of `ends` or the next part, whose letter stands before a colon. */
static bool read_to_part(struct reader *reader, const char *ends, char field[FIELD_MAX])
{
    const char *start = reader->at;
    if (!read_field(reader, ends, field)) return false;
    if (*reader->at != ':') return true;
    if (reader->at == start) return false;
    reader->at--;
    field[reader->at - start] = '\0';
    return true;
}

static bool take(struct reader *reader, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(reader->at, text, length) != 0) return false;
    reader->at += length;
    return true;
}

/* Words without anything between them: "OICI". */
static bool read_words(const char *text, const struct word *words, size_t count, DWORD *out)
{
    DWORD value = 0;
    while (*text != '\0') {
        size_t i = 0;
        while (i < count && strncmp(text, words[i].text, strlen(words[i].text)) != 0) i++;
        if (i == count) return false;
        value |= words[i].value;
        text += strlen(words[i].text);
    }
    *out = value;
    return true;
}

static bool read_hex(const char *text, DWORD *out)
{
    DWORD value = 0;
    size_t digits = strspn(text, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > 8 || text[digits] != '\0') return false;
    for (size_t i = 0; i < digits; i++) {
        int digit = text[i] <= '9' ? text[i] - '0' : (text[i] | 0x20) - 'a' + 10;
        value = value << 4 | (DWORD)digit;
    }
    *out = value;
    return true;
}

static bool read_mask(const char *text, unsigned type, DWORD *out)
{
    if (strncmp(text, "0x", 2) == 0) return read_hex(text + 2, out);
    if (type == NT_LABEL_ACE) return read_words(text, label_rights, COUNT(label_rights), out);
    return read_words(text, rights, COUNT(rights), out);
}

static bool read_sid(const struct reader *reader, const char *text, struct nt_sid *out)
{
    for (size_t i = 0; i < reader->name_count; i++) {
        if (strcmp(text, reader->names[i].name) == 0) {
            *out = reader->names[i].sid;
            return nt_sid_size(out->bytes) != 0;
        }
    }
    for (size_t i = 0; i < COUNT(aliases); i++) {
        if (strcmp(text, aliases[i].alias) == 0) return nt_sid_parse(aliases[i].sid, out);
    }
    return nt_sid_parse(text, out);
}

/* "(A;OICI;FA;;;WD)", after the opening bracket. */
static bool read_ace_text(struct reader *reader, struct nt_acl_writer *list)
{
    char fields[6][FIELD_MAX];
    for (size_t i = 0; i < 6; i++) {
        if (!read_field(reader, i < 5 ? ";)" : ")", fields[i])) return false;
        if (!take(reader, i < 5 ? ";" : ")")) return false;
    }
    DWORD type = MAXDWORD;
    DWORD flags;
    DWORD mask;
    struct nt_sid sid;
    for (size_t i = 0; i < COUNT(ace_types); i++) {
        if (strcmp(fields[0], ace_types[i].text) == 0) type = ace_types[i].value;
    }
    bool is_read = type != MAXDWORD && fields[3][0] == '\0' && fields[4][0] == '\0' &&
                   read_words(fields[1], ace_flags, COUNT(ace_flags), &flags) &&
                   read_mask(fields[2], (unsigned)type, &mask) && read_sid(reader, fields[5], &sid);
    if (is_read) nt_acl_put(list, (unsigned)type, (unsigned)flags, mask, sid.bytes);
    return is_read && !list->failed;
}

/* "D:PAI(...)(...)", after the colon. */
static bool read_list(struct reader *reader, const struct word *words, size_t count,
                      struct nt_acl_writer *list, DWORD *control, bool *is_null)
{
    char flags[FIELD_MAX];
    *is_null = take(reader, "NO_ACCESS_CONTROL");
    if (!read_to_part(reader, "(:", flags) || !read_words(flags, words, count, control)) {
        return false;
    }
    nt_acl_begin(list);
    while (take(reader, "(")) {
        if (!read_ace_text(reader, list)) return false;
    }
    return !*is_null || list->count == 0;
}

static bool read_sid_part(struct reader *reader, struct nt_sid *out)
{
    char field[FIELD_MAX];
    return read_to_part(reader, ":", field) && read_sid(reader, field, out);
}

struct parts {
    struct nt_sid owner;
    struct nt_sid group;
    struct nt_acl_writer dacl;
    struct nt_acl_writer sacl;
    bool has_owner;
    bool has_group;
    bool is_dacl_null;
    bool is_sacl_null;
    DWORD control;
};

static bool read_part(struct reader *reader, struct parts *parts)
{
    DWORD flags = 0;
    if (!parts->has_owner && take(reader, "O:")) {
        parts->has_owner = true;
        return read_sid_part(reader, &parts->owner);
    }
    if (!parts->has_group && take(reader, "G:")) {
        parts->has_group = true;
        return read_sid_part(reader, &parts->group);
    }
    if ((parts->control & SE_DACL_PRESENT) == 0 && take(reader, "D:")) {
        bool is_read = read_list(reader, dacl_flags, COUNT(dacl_flags), &parts->dacl, &flags,
                                 &parts->is_dacl_null);
        parts->control |= flags | SE_DACL_PRESENT;
        return is_read;
    }
    if ((parts->control & SE_SACL_PRESENT) == 0 && take(reader, "S:")) {
        bool is_read = read_list(reader, sacl_flags, COUNT(sacl_flags), &parts->sacl, &flags,
                                 &parts->is_sacl_null);
        parts->control |= flags | SE_SACL_PRESENT;
        return is_read;
    }
    return false;
}

size_t nt_sddl_parse_names(const char *text, const struct nt_sddl_name *names, size_t name_count,
                           void *out, size_t max)
{
    struct reader reader = {text, names, name_count};
    struct parts parts = {0};
    while (*reader.at != '\0') {
        if (!read_part(&reader, &parts)) return 0;
    }
    bool has_dacl = (parts.control & SE_DACL_PRESENT) != 0 && !parts.is_dacl_null;
    bool has_sacl = (parts.control & SE_SACL_PRESENT) != 0 && !parts.is_sacl_null;
    return nt_descriptor_pack((unsigned)parts.control, parts.has_owner ? parts.owner.bytes : NULL,
                              parts.has_group ? parts.group.bytes : NULL,
                              has_dacl ? &parts.dacl : NULL, has_sacl ? &parts.sacl : NULL, out,
                              max);
}

size_t nt_sddl_parse(const char *text, void *out, size_t max)
{
    return nt_sddl_parse_names(text, NULL, 0, out, max);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct printer {
    char *out;
    size_t max;
    size_t length; /* max once it did not fit */
};

static void print(struct printer *printer, const char *text)
{
    size_t length = strlen(text);
    if (printer->length >= printer->max || length >= printer->max - printer->length) {
        printer->length = printer->max;
        return;
    }
    memcpy(printer->out + printer->length, text, length + 1);
    printer->length += length;
}

static void print_sid(struct printer *printer, const void *sid)
{
    char text[NT_SID_TEXT_MAX];
    for (size_t i = 0; i < COUNT(aliases); i++) {
        struct nt_sid known;
        if (nt_sid_parse(aliases[i].sid, &known) && nt_sid_equal(sid, known.bytes)) {
            print(printer, aliases[i].alias);
            return;
        }
    }
    if (nt_sid_print(sid, text, sizeof text) == 0) {
        printer->length = printer->max;
        return;
    }
    print(printer, text);
}

static void print_words(struct printer *printer, DWORD value, const struct word *words,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((value & words[i].value) == words[i].value) print(printer, words[i].text);
    }
}

/* A mask has words only where they say it exactly; else it is a number. */
static void print_mask(struct printer *printer, unsigned type, DWORD mask)
{
    char number[16];
    const struct word *words = type == NT_LABEL_ACE ? label_rights : rights;
    size_t count = type == NT_LABEL_ACE ? COUNT(label_rights) : COUNT(rights);
    for (size_t i = 0; i < count; i++) {
        if (words[i].value == mask) {
            print(printer, words[i].text);
            return;
        }
    }
    snprintf(number, sizeof number, "0x%lx", (unsigned long)mask);
    print(printer, number);
}

static void print_ace(struct printer *printer, const struct nt_ace *ace)
{
    size_t i = 0;
    while (i < COUNT(ace_types) && ace_types[i].value != ace->type) i++;
    if (i == COUNT(ace_types)) {
        printer->length = printer->max;
        return;
    }
    print(printer, "(");
    print(printer, ace_types[i].text);
    print(printer, ";");
    print_words(printer, ace->flags, ace_flags, COUNT(ace_flags));
    print(printer, ";");
    print_mask(printer, ace->type, ace->mask);
    print(printer, ";;;");
    print_sid(printer, ace->sid);
    print(printer, ")");
}

static void print_list(struct printer *printer, const char *name, unsigned control,
                       const struct word *words, const struct nt_acl *acl)
{
    struct nt_ace ace;
    print(printer, name);
    if (acl->bytes == NULL) print(printer, "NO_ACCESS_CONTROL");
    print_words(printer, control, words, COUNT(dacl_flags));
    for (size_t at = 0; nt_acl_next(acl, &at, &ace);) print_ace(printer, &ace);
}

size_t nt_sddl_print(const void *descriptor, char *out, size_t max)
{
    struct nt_view view;
    struct printer printer = {out, max, 0};
    if (max == 0 || !nt_view_descriptor(descriptor, &view)) return 0;
    out[0] = '\0';
    if (view.owner != NULL) {
        print(&printer, "O:");
        print_sid(&printer, view.owner);
    }
    if (view.group != NULL) {
        print(&printer, "G:");
        print_sid(&printer, view.group);
    }
    if ((view.control & SE_DACL_PRESENT) != 0) {
        print_list(&printer, "D:", view.control, dacl_flags, &view.dacl);
    }
    if ((view.control & SE_SACL_PRESENT) != 0) {
        print_list(&printer, "S:", view.control, sacl_flags, &view.sacl);
    }
    return printer.length < max ? printer.length : 0;
}
