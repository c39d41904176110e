/* Takes one entry of `network.hosts` or `network.local` apart: host, wildcard, group, port. Every
 * refusal names the way to write it right. */
#include <string.h>

#include "common/egress/host_parts.h"

#include "common/base/banned.h"

enum { PORT_DIGITS = 5 };

#define BAD_PORT                                                                                   \
    "has a port that is not a number from 1 to 65535; write it after one colon, as in "            \
    "\"example.com:8443\", or leave it out"

enum sbx_host_problem sbx_host_refuse(const struct sbx_host_reader *reader,
                                      enum sbx_host_problem problem, const char *why)
{
    if (reader->why != NULL) {
        *reader->why = why != NULL ? why : "is refused; memory to say why has run out";
    }
    return problem;
}

static bool has(struct sbx_str text, char c)
{
    return text.len > 0 && memchr(text.ptr, c, text.len) != NULL;
}

static struct sbx_str skip(struct sbx_str text, size_t count)
{
    return (struct sbx_str){text.ptr + count, text.len - count};
}

static enum sbx_host_problem refuse_flaw(const struct sbx_host_reader *reader,
                                         enum sbx_host_flaw flaw, struct sbx_str host)
{
    struct sbx_address meant;
    const char *why = sbx_host_flaw_text(flaw);
    if (flaw == SBX_FLAW_NUMERIC) {
        struct sbx_str digits = host;
        digits.len -= digits.ptr[digits.len - 1] == '.' ? 1 : 0;
        if (sbx_address_read_loose_v4(digits, &meant)) {
            char text[SBX_ADDRESS_TEXT];
            sbx_address_write(&meant, text);
            why = sbx_arena_printf(reader->arena,
                                   "is another spelling of an IPv4 address; write \"%s\"", text);
        }
    } else if (flaw == SBX_FLAW_EMPTY_LABEL && host.ptr[0] == '.') {
        why = "starts with a dot; write \"*\" before it for every host below that name";
    }
    return sbx_host_refuse(reader, SBX_HOST_INVALID, why);
}

/* The digits of a port, in the only spelling that is read back the same. */
static bool read_port(struct sbx_str text, uint16_t *out)
{
    uint64_t value = 0;
    if (text.len > PORT_DIGITS || !sbx_str_to_u64(text, &value)) {
        return false;
    }
    if (text.ptr[0] == '0' || value > UINT16_MAX) {
        return false;
    }
    *out = (uint16_t)value;
    return true;
}

static enum sbx_host_problem read_group(const struct sbx_host_reader *reader, struct sbx_str text,
                                        struct sbx_host_entry *out)
{
    struct sbx_str name;
    struct sbx_str port;
    struct sbx_host_entry entry = {.form = SBX_HOST_GROUP};
    bool has_port = sbx_str_split(skip(text, 1), ':', &name, &port);
    entry.group = sbx_host_group_named(name);
    if (entry.group == NULL) {
        const char *list = "";
        for (size_t i = 0; list != NULL && sbx_host_group_at(i) != NULL; i++) {
            list = sbx_arena_printf(reader->arena, "%s%s\"@%s\"", list, i == 0 ? "" : ", ",
                                    sbx_host_group_at(i)->name);
        }
        const char *why =
            list == NULL
                ? NULL
                : sbx_arena_printf(reader->arena, "is not a host group; write one of %s", list);
        return sbx_host_refuse(reader, SBX_HOST_UNKNOWN_GROUP, why);
    }
    if (has_port && !read_port(port, &entry.port)) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID, BAD_PORT);
    }
    *out = entry;
    return SBX_HOST_OK;
}

static enum sbx_host_problem read_wildcard(const struct sbx_host_reader *reader,
                                           struct sbx_str text, struct sbx_host_entry *entry)
{
    if (sbx_str_is(text, "*")) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID,
                               "allows every host; name the hosts, or use network = \"inherit\"");
    }
    struct sbx_str tail = skip(text, sbx_str_starts(text, "*.") ? 2 : 0);
    if (has(tail, '*')) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID,
                               "has a star that is not the whole first label; write "
                               "\"*.example.com\" for every host below example.com");
    }
    enum sbx_host_flaw flaw = sbx_host_read_name(tail, &entry->host);
    if (flaw != SBX_FLAW_NONE) {
        return refuse_flaw(reader, flaw, tail);
    }
    if (entry->host.is_address) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID,
                               "puts a star before an address; write the address alone");
    }
    entry->form = SBX_HOST_WILDCARD;
    return SBX_HOST_OK;
}

/* Sets *host to what is before the port, without brackets. */
static enum sbx_host_problem split_port(const struct sbx_host_reader *reader, struct sbx_str text,
                                        struct sbx_str *host, uint16_t *port)
{
    struct sbx_str rest = {NULL, 0};
    bool bracketed = text.len > 0 && text.ptr[0] == '[';
    if (bracketed) {
        if (!sbx_str_split(skip(text, 1), ']', host, &rest)) {
            return refuse_flaw(reader, SBX_FLAW_ADDRESS, text);
        }
    } else if (sbx_str_split(text, ':', host, &rest)) {
        rest = skip(text, host->len);
    }
    if (!bracketed && rest.len > 1 && has(skip(rest, 1), ':')) {
        struct sbx_host bare;
        const char *why = "has more than one colon; write \"host:port\", and IPv6 in brackets";
        if (sbx_host_read(text, &bare) == SBX_FLAW_NONE) {
            why = sbx_arena_printf(reader->arena, "is IPv6 without brackets; write \"[%s]\"",
                                   bare.text);
        }
        return sbx_host_refuse(reader, SBX_HOST_INVALID, why);
    }
    if (rest.len > 0 && (rest.ptr[0] != ':' || !read_port(skip(rest, 1), port))) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID, BAD_PORT);
    }
    return SBX_HOST_OK;
}

/* An entry that is neither a group nor shaped like a URL. */
static enum sbx_host_problem read_plain(const struct sbx_host_reader *reader, struct sbx_str text,
                                        struct sbx_host_entry *out)
{
    struct sbx_str host;
    struct sbx_host_entry entry = {.form = SBX_HOST_EXACT};
    enum sbx_host_problem problem = split_port(reader, text, &host, &entry.port);
    if (problem != SBX_HOST_OK) {
        return problem;
    }
    if (text.len > 0 && text.ptr[0] == '[') {
        struct sbx_str bracketed = {text.ptr, host.len + 2};
        enum sbx_host_flaw flaw = sbx_host_read(bracketed, &entry.host);
        if (flaw != SBX_FLAW_NONE) {
            return refuse_flaw(reader, flaw, host);
        }
    } else if (has(host, '*')) {
        problem = read_wildcard(reader, host, &entry);
    } else {
        enum sbx_host_flaw flaw = sbx_host_read_name(host, &entry.host);
        if (flaw != SBX_FLAW_NONE) {
            return refuse_flaw(reader, flaw, host);
        }
    }
    if (problem == SBX_HOST_OK) {
        entry.form = entry.host.is_address ? SBX_HOST_ADDRESS : entry.form;
        *out = entry;
    }
    return problem;
}

/* "10.0.0.0/8": an address, a slash, digits. */
static bool is_range(struct sbx_str text)
{
    struct sbx_str head;
    struct sbx_str tail;
    struct sbx_host host;
    uint64_t bits = 0;
    return sbx_str_split(text, '/', &head, &tail) && sbx_str_to_u64(tail, &bits) &&
           sbx_host_read(head, &host) == SBX_FLAW_NONE && host.is_address;
}

static struct sbx_str cut(struct sbx_str text, char end)
{
    struct sbx_str head;
    struct sbx_str tail;
    (void)sbx_str_split(text, end, &head, &tail);
    return head;
}

/* Says what is too much, and, when the rest is an entry, shows it. */
static enum sbx_host_problem refuse_url(const struct sbx_host_reader *reader, struct sbx_str text)
{
    if (is_range(text)) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID,
                               "is a range of addresses; list each address as an entry of its own");
    }
    size_t scheme = 0;
    while (scheme + 3 <= text.len && memcmp(text.ptr + scheme, "://", 3) != 0) {
        scheme++;
    }
    bool has_scheme = scheme + 3 <= text.len;
    struct sbx_str host = has_scheme ? skip(text, scheme + 3) : text;
    host = cut(cut(cut(host, '/'), '?'), '#');
    bool has_user = has(host, '@');
    while (has(host, '@')) {
        host = skip(host, cut(host, '@').len + 1);
    }
    const char *what = has_scheme ? "is a URL" : has_user ? "has a user name" : "has a path";
    const char *show = "\"api.example.com\"";
    struct sbx_host_entry entry;
    struct sbx_host_reader quiet = {reader->arena, NULL};
    if (read_plain(&quiet, host, &entry) == SBX_HOST_OK) {
        struct sbx_host_pattern pattern = {entry.form, entry.host.text, entry.port};
        const char *only = sbx_host_text(reader->arena, &pattern);
        show = only == NULL ? show : sbx_arena_printf(reader->arena, "\"%s\"", only);
    }
    const char *why =
        show == NULL
            ? NULL
            : sbx_arena_printf(reader->arena, "%s; write only the host, as in %s", what, show);
    return sbx_host_refuse(reader, SBX_HOST_INVALID, why);
}

enum sbx_host_problem sbx_host_entry_read(const struct sbx_host_reader *reader, struct sbx_str text,
                                          struct sbx_host_entry *out)
{
    if (text.len > 0 && text.ptr[0] == '@') {
        return read_group(reader, text, out);
    }
    /* Programs disagree on where the host ends when there is a backslash: nothing is guessed. */
    if (has(text, '\\')) {
        return refuse_flaw(reader, SBX_FLAW_CHARACTER, text);
    }
    if (has(text, '/') || has(text, '?') || has(text, '#') || has(text, '@')) {
        return refuse_url(reader, text);
    }
    return read_plain(reader, text, out);
}
