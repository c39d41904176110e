/* Host patterns: what an entry may name, and a pattern's text and order. Syntax: host_entry.c. */
#include "common/egress/hosts.h"

#include <string.h>

#include "common/egress/host_parts.h"

#include "common/base/banned.h"

/* ---- what an entry may name ------------------------------------------------------------------ */

static enum sbx_host_problem refuse_metadata(const struct sbx_host_reader *reader,
                                             const char *service)
{
    return sbx_host_refuse(
        reader, SBX_HOST_INVALID,
        sbx_arena_printf(reader->arena,
                         "names or covers the metadata service \"%s\", which no box may reach; "
                         "leave it out, or write exact hosts",
                         service));
}

/* An address that hides another one is judged by nobody the same way. */
static enum sbx_host_problem refuse_inner(const struct sbx_host_reader *reader,
                                          const struct sbx_address *inner)
{
    char text[SBX_ADDRESS_TEXT];
    sbx_address_write(inner, text);
    return sbx_host_refuse(
        reader, SBX_HOST_INVALID,
        sbx_arena_printf(reader->arena, "is IPv6 with an IPv4 address inside; write \"%s\"", text));
}

static enum sbx_host_problem refuse_shared(const struct sbx_host_reader *reader,
                                           const struct sbx_host_entry *entry,
                                           const struct sbx_shared_platform *row)
{
    const char *host = entry->host.text;
    const char *why = NULL;
    if (sbx_host_name_is_under(host, row->apex)) {
        why = sbx_arena_printf(
            reader->arena,
            "opens the shared platform \"%s\" (%s) to every tenant; write one tenant's exact host "
            "below it, or leave it out and answer each request",
            row->apex, row->category);
    } else {
        why = sbx_arena_printf(
            reader->arena,
            "covers the shared platform \"%s\" (%s); write \"%s\", which leaves it out, or the "
            "exact hosts",
            row->apex, row->category, host);
    }
    return sbx_host_refuse(reader, SBX_HOST_SHARED_PLATFORM, why);
}

static enum sbx_host_problem check_name(const struct sbx_host_reader *reader,
                                        const struct sbx_host_entry *entry)
{
    const char *host = entry->host.text;
    bool wildcard = entry->form == SBX_HOST_WILDCARD;
    const char *metadata = sbx_host_name_metadata(host, wildcard);
    if (metadata != NULL) {
        return refuse_metadata(reader, metadata);
    }
    if (sbx_host_name_is_local(host)) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID,
                               "is this machine itself; put it into network.local with a port, as "
                               "in \"localhost:8080\"");
    }
    if (strchr(host, '.') == NULL) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID,
                               "covers a whole top-level domain; write at least two labels, as in "
                               "\"example.com\" or \"*.example.com\"");
    }
    const struct sbx_shared_platform *row = sbx_shared_platform_over(host);
    if (row != NULL && (wildcard || strcmp(row->apex, host) == 0)) {
        return refuse_shared(reader, entry, row);
    }
    row = wildcard ? sbx_shared_platform_below(host) : NULL;
    return row == NULL ? SBX_HOST_OK : refuse_shared(reader, entry, row);
}

static enum sbx_host_problem check_address(const struct sbx_host_reader *reader,
                                           const struct sbx_host_entry *entry)
{
    struct sbx_address inner;
    if (sbx_address_inner_v4(&entry->host.address, &inner)) {
        return refuse_inner(reader, &inner);
    }
    enum sbx_address_class kind = sbx_address_class(&entry->host.address);
    if (kind == SBX_ADDRESS_PUBLIC) {
        return SBX_HOST_OK;
    }
    if (kind == SBX_ADDRESS_METADATA) {
        return refuse_metadata(reader, entry->host.text);
    }
    if (sbx_address_class_is_local(kind)) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID,
                               "is a loopback or private address; put it into network.local with a "
                               "port, as in \"10.0.0.5:443\"");
    }
    return sbx_host_refuse(reader, SBX_HOST_INVALID,
                           "is not an address of a public host; write the host's own address");
}

static enum sbx_host_problem check_hosts(const struct sbx_host_reader *reader,
                                         const struct sbx_host_entry *entry)
{
    switch (entry->form) {
    case SBX_HOST_GROUP:
        return SBX_HOST_OK;
    case SBX_HOST_ADDRESS:
        return check_address(reader, entry);
    case SBX_HOST_EXACT:
    case SBX_HOST_WILDCARD:
        break;
    }
    return check_name(reader, entry);
}

static enum sbx_host_problem check_local_address(const struct sbx_host_reader *reader,
                                                 const struct sbx_host *host)
{
    struct sbx_address inner;
    if (sbx_address_inner_v4(&host->address, &inner)) {
        return refuse_inner(reader, &inner);
    }
    enum sbx_address_class kind = sbx_address_class(&host->address);
    if (sbx_address_class_is_local(kind)) {
        return SBX_HOST_OK;
    }
    if (kind == SBX_ADDRESS_METADATA) {
        return refuse_metadata(reader, host->text);
    }
    if (kind == SBX_ADDRESS_UNSPECIFIED) {
        return sbx_host_refuse(reader, SBX_HOST_NOT_LOCAL,
                               "is an address to listen on, not to reach; write \"127.0.0.1\" "
                               "with the port");
    }
    return sbx_host_refuse(reader, SBX_HOST_NOT_LOCAL,
                           "is not a loopback or private address; put it into network.hosts");
}

static enum sbx_host_problem check_local(const struct sbx_host_reader *reader,
                                         const struct sbx_host_entry *entry)
{
    enum sbx_host_problem problem = SBX_HOST_OK;
    if (entry->form == SBX_HOST_GROUP || entry->form == SBX_HOST_WILDCARD) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID,
                               "names more than one target; write each local target with its port, "
                               "as in \"localhost:8080\"");
    }
    if (entry->form == SBX_HOST_ADDRESS) {
        problem = check_local_address(reader, &entry->host);
    } else if (sbx_host_name_metadata(entry->host.text, false) != NULL) {
        problem = refuse_metadata(reader, entry->host.text);
    } else if (!sbx_host_name_is_local(entry->host.text)) {
        /* A name could resolve to anything, and to something else tomorrow. */
        problem = sbx_host_refuse(reader, SBX_HOST_NOT_LOCAL,
                                  "is not localhost; write the local target's address, or put a "
                                  "public host into network.hosts");
    }
    if (problem == SBX_HOST_OK && entry->port == 0) {
        return sbx_host_refuse(reader, SBX_HOST_INVALID,
                               "has no port; write the one port to reach, as in "
                               "\"localhost:8080\"");
    }
    return problem;
}

typedef enum sbx_host_problem check_fn(const struct sbx_host_reader *reader,
                                       const struct sbx_host_entry *entry);

static enum sbx_host_problem parse(struct sbx_arena *arena, struct sbx_str text, check_fn *check,
                                   struct sbx_host_pattern *out, const char **why)
{
    struct sbx_host_reader reader = {arena, why};
    struct sbx_host_entry entry;
    enum sbx_host_problem problem = sbx_host_entry_read(&reader, text, &entry);
    if (problem == SBX_HOST_OK) {
        problem = check(&reader, &entry);
    }
    if (problem != SBX_HOST_OK) {
        return problem;
    }
    const char *host = entry.form == SBX_HOST_GROUP
                           ? entry.group->name
                           : sbx_arena_copy(arena, entry.host.text, strlen(entry.host.text));
    if (host == NULL) {
        return sbx_host_refuse(&reader, SBX_HOST_NO_MEMORY, NULL);
    }
    *out = (struct sbx_host_pattern){entry.form, host, entry.port};
    return SBX_HOST_OK;
}

enum sbx_host_problem sbx_host_parse(struct sbx_arena *arena, struct sbx_str text,
                                     struct sbx_host_pattern *out, const char **why)
{
    return parse(arena, text, check_hosts, out, why);
}

enum sbx_host_problem sbx_host_parse_local(struct sbx_arena *arena, struct sbx_str text,
                                           struct sbx_host_pattern *out, const char **why)
{
    return parse(arena, text, check_local, out, why);
}

/* ---- text and order -------------------------------------------------------------------------- */

const char *sbx_host_text(struct sbx_arena *arena, const struct sbx_host_pattern *pattern)
{
    bool v6 = pattern->form == SBX_HOST_ADDRESS && strchr(pattern->host, ':') != NULL;
    const char *before = v6 ? "[" : "";
    if (pattern->form == SBX_HOST_WILDCARD) {
        before = "*.";
    } else if (pattern->form == SBX_HOST_GROUP) {
        before = "@";
    }
    const char *after = v6 ? "]" : "";
    if (pattern->port == 0) {
        return sbx_arena_printf(arena, "%s%s%s", before, pattern->host, after);
    }
    return sbx_arena_printf(arena, "%s%s%s:%u", before, pattern->host, after,
                            (unsigned)pattern->port);
}

int sbx_host_compare(const struct sbx_host_pattern *a, const struct sbx_host_pattern *b)
{
    int order = strcmp(a->host, b->host);
    if (order == 0) {
        order = ((int)a->form > (int)b->form) - ((int)a->form < (int)b->form);
    }
    return order != 0 ? order : (a->port > b->port) - (a->port < b->port);
}
