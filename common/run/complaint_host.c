/* The host that a complaint about the network names. */
#include <string.h>

#include "common/run/complaint.h"

#include "common/base/banned.h"

/* What announces a host; surest first. */
static const char *const announcements[] = {
    "could not resolve hostname ",
    "could not resolve host: ",
    "couldn't resolve host ",
    "unable to resolve host address ",
    "failure resolving ",
    "eai_again ",
    "unknownhostexception: ",
    "://",
    "host=",
    "lookup ",
    "resolving ",
    "connect to ",
    "connection to ",
    "dial tcp ",
};

static bool starts_nocase(struct sbx_str text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && sbx_str_is_nocase((struct sbx_str){text.ptr, len}, prefix);
}

static struct sbx_str after(struct sbx_str text, size_t count)
{
    return (struct sbx_str){text.ptr + count, text.len - count};
}

/* "user:password@" of an address is no host, and is shown to nobody. */
static struct sbx_str skip_user(struct sbx_str text)
{
    for (size_t i = 0; i < text.len && text.ptr[i] != '/' && text.ptr[i] != ' '; i++)
        if (text.ptr[i] == '@') return after(text, i + 1);
    return text;
}

static struct sbx_str skip_quotes(struct sbx_str text)
{
    static const char left[] = "\xe2\x80\x98"; /* ‘ */
    if (sbx_str_starts(text, left)) return after(text, sizeof left - 1);
    bool is_quote = text.len > 0 && text.ptr[0] != '\0' && strchr("'\"`(", text.ptr[0]) != NULL;
    return is_quote ? after(text, 1) : text;
}

static bool is_host_character(char c)
{
    return sbx_is_alnum(c) || c == '.' || c == '-' || c == '_';
}

/* A name with a dot, or an IPv4 address; a single word may be anything. */
static size_t host_length(struct sbx_str text)
{
    size_t len = 0;
    bool has_dot = false;
    while (len < text.len && is_host_character(text.ptr[len])) len++;
    while (len > 0 && !sbx_is_alnum(text.ptr[len - 1])) len--;
    for (size_t i = 0; i < len; i++) has_dot |= text.ptr[i] == '.';
    bool is_host = has_dot && len <= 253 && sbx_is_alnum(text.ptr[0]);
    return is_host ? len : 0;
}

/* ":8443" or " port 8443" */
static void read_port(struct sbx_str text, uint16_t *port)
{
    if (sbx_str_starts(text, ":"))
        text = after(text, 1);
    else if (sbx_str_starts(text, " port "))
        text = after(text, strlen(" port "));
    else
        return;
    size_t len = 0;
    uint64_t number;
    while (len < text.len && sbx_is_digit(text.ptr[len])) len++;
    if (sbx_str_to_u64((struct sbx_str){text.ptr, len}, &number) && number > 0 && number <= 65535)
        *port = (uint16_t)number;
}

static bool host_after(struct sbx_str text, size_t at, const char *announcement,
                       struct sbx_str *host, uint16_t *port)
{
    struct sbx_str rest = after(text, at + strlen(announcement));
    bool is_url = announcement[0] == ':';
    if (is_url) rest = skip_user(rest);
    rest = skip_quotes(rest);
    size_t len = host_length(rest);
    if (len == 0) return false;
    *host = (struct sbx_str){rest.ptr, len};
    bool is_plain = is_url && at >= 4 && starts_nocase(after(text, at - 4), "http");
    *port = is_plain ? 80 : 443;
    read_port(after(rest, len), port);
    return true;
}

bool sbx_complaint_host(struct sbx_str text, struct sbx_str *host, uint16_t *port)
{
    for (size_t i = 0; i < SBX_COUNT(announcements); i++)
        for (size_t at = 0; at < text.len; at++)
            if (starts_nocase(after(text, at), announcements[i]) &&
                host_after(text, at, announcements[i], host, port))
                return true;
    return false;
}
