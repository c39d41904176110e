/* Host names: the characters, lengths and labels we accept, their one normal form, and the few
 * names that mean something to a box. */
#include <string.h>

#include "common/egress/host_parts.h"

#include "common/base/banned.h"

static enum sbx_host_flaw character_flaw(char c)
{
    unsigned char byte = (unsigned char)c;
    if (sbx_is_alnum(c) || c == '-' || c == '.') {
        return SBX_FLAW_NONE;
    }
    if (c == '_') {
        return SBX_FLAW_UNDERSCORE;
    }
    if (byte >= 0x80) {
        return SBX_FLAW_NON_ASCII;
    }
    if (c == ' ' || c == '\t') {
        return SBX_FLAW_SPACE;
    }
    return byte < 0x20 || byte == 0x7f ? SBX_FLAW_CONTROL : SBX_FLAW_CHARACTER;
}

static enum sbx_host_flaw label_flaw(struct sbx_str label)
{
    if (label.len == 0) {
        return SBX_FLAW_EMPTY_LABEL;
    }
    if (label.len > SBX_LABEL_MAX) {
        return SBX_FLAW_LONG_LABEL;
    }
    bool hyphen = label.ptr[0] == '-' || label.ptr[label.len - 1] == '-';
    return hyphen ? SBX_FLAW_HYPHEN : SBX_FLAW_NONE;
}

/* Resolvers take such a label for the end of an IPv4 address, in whatever spelling. */
static bool is_numeric(struct sbx_str label)
{
    if (label.len >= 2 && label.ptr[0] == '0' && sbx_to_lower(label.ptr[1]) == 'x') {
        return true;
    }
    size_t digits = 0;
    while (digits < label.len && sbx_is_digit(label.ptr[digits])) {
        digits++;
    }
    return digits == label.len;
}

static enum sbx_host_flaw text_flaw(struct sbx_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        enum sbx_host_flaw flaw = character_flaw(text.ptr[i]);
        if (flaw != SBX_FLAW_NONE) {
            return flaw;
        }
    }
    return text.len > SBX_HOST_MAX ? SBX_FLAW_TOO_LONG : SBX_FLAW_NONE;
}

static enum sbx_host_flaw labels_flaw(struct sbx_str text, struct sbx_str *last)
{
    bool more = true;
    while (more) {
        more = sbx_str_split(text, '.', last, &text);
        enum sbx_host_flaw flaw = label_flaw(*last);
        if (flaw != SBX_FLAW_NONE) {
            return flaw;
        }
    }
    return SBX_FLAW_NONE;
}

enum sbx_host_flaw sbx_host_read_name(struct sbx_str text, struct sbx_host *out)
{
    if (text.len > 0 && text.ptr[text.len - 1] == '.') {
        text.len--;
    }
    if (text.len == 0) {
        return SBX_FLAW_EMPTY;
    }
    struct sbx_str last = text;
    enum sbx_host_flaw flaw = text_flaw(text);
    if (flaw == SBX_FLAW_NONE) {
        flaw = labels_flaw(text, &last);
    }
    if (flaw != SBX_FLAW_NONE) {
        return flaw;
    }
    struct sbx_host host = {.is_address = is_numeric(last)};
    if (host.is_address && !sbx_address_read_v4(text, &host.address)) {
        return SBX_FLAW_NUMERIC;
    }
    for (size_t i = 0; i < text.len; i++) {
        host.text[i] = sbx_to_lower(text.ptr[i]);
    }
    *out = host;
    return SBX_FLAW_NONE;
}

enum sbx_host_flaw sbx_host_read(struct sbx_str text, struct sbx_host *out)
{
    bool bracketed = text.len >= 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']';
    bool colon = text.len > 0 && memchr(text.ptr, ':', text.len) != NULL;
    if (!bracketed && !colon) {
        return sbx_host_read_name(text, out);
    }
    struct sbx_host host = {.is_address = true};
    struct sbx_str inside = bracketed ? (struct sbx_str){text.ptr + 1, text.len - 2} : text;
    if (!sbx_address_read_v6(inside, &host.address)) {
        return SBX_FLAW_ADDRESS;
    }
    sbx_address_write(&host.address, host.text);
    *out = host;
    return SBX_FLAW_NONE;
}

const char *sbx_host_flaw_text(enum sbx_host_flaw flaw)
{
    static const char *const texts[] = {
        [SBX_FLAW_NONE] = "is a host; nothing is wrong with it",
        [SBX_FLAW_EMPTY] = "is empty; write a host such as \"api.example.com\"",
        [SBX_FLAW_TOO_LONG] = "is longer than 253 characters; write the host's real name",
        [SBX_FLAW_EMPTY_LABEL] = "has an empty label (a dot too many); write single dots, as in "
                                 "\"api.example.com\"",
        [SBX_FLAW_LONG_LABEL] = "has a label longer than 63 characters; write the host's real name",
        [SBX_FLAW_HYPHEN] = "has a label that starts or ends with a hyphen; write the host's real "
                            "name",
        [SBX_FLAW_UNDERSCORE] = "has an underscore, which host names do not have; write the host's "
                                "real name",
        [SBX_FLAW_NON_ASCII] = "has a character outside ASCII; write the name in punycode "
                               "(\"xn--…\")",
        [SBX_FLAW_SPACE] = "has white space; write one host per entry, without spaces",
        [SBX_FLAW_CONTROL] = "has a control character; write the host's real name",
        [SBX_FLAW_CHARACTER] = "has a character that host names do not have; write only letters, "
                               "digits, hyphens and dots",
        [SBX_FLAW_NUMERIC] = "ends in a number but is not an IPv4 address; write four numbers from "
                             "0 to 255, as in \"192.0.2.1\"",
        [SBX_FLAW_ADDRESS] = "is not an IPv6 address; write it in brackets and without a zone, as "
                             "in \"[2001:db8::1]\"",
    };
    return texts[flaw];
}

bool sbx_host_name_is_under(const char *name, const char *parent)
{
    size_t name_len = strlen(name);
    size_t parent_len = strlen(parent);
    if (name_len < parent_len || strcmp(name + (name_len - parent_len), parent) != 0) {
        return false;
    }
    return name_len == parent_len || name[name_len - parent_len - 1] == '.';
}

bool sbx_host_name_is_local(const char *name)
{
    return sbx_host_name_is_under(name, "localhost") || strcmp(name, "localhost.localdomain") == 0;
}

const char *sbx_host_name_metadata(const char *name, bool below)
{
    static const char *const names[] = {
        "metadata", /* a search domain completes it */
        "metadata.google.internal",
        "metadata.goog",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    };
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        bool same = strcmp(names[i], name) == 0;
        if (same || (below && sbx_host_name_is_under(names[i], name))) {
            return names[i];
        }
    }
    return NULL;
}
