/* What a host is made of: a checked name or an address, and which class it falls into. Internal to
 * the egress room: the pattern reader, the matcher and the request classifier share it. */
#ifndef SBX_EGRESS_HOST_PARTS_H
#define SBX_EGRESS_HOST_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/str.h"
#include "common/egress/hosts.h"

/* ---- addresses (host_address.c) -------------------------------------------------------------- */

enum { SBX_ADDRESS_TEXT = 40 }; /* eight groups of four, seven colons, NUL */

struct sbx_address {
    bool is_v6;
    uint8_t bytes[16]; /* network order; IPv4 uses the first four, the rest is 0 */
};

/* What an address is to a box. Everything but PUBLIC needs a reason to be reached. */
enum sbx_address_class {
    SBX_ADDRESS_PUBLIC,
    SBX_ADDRESS_LOOPBACK,    /* 127/8, ::1 */
    SBX_ADDRESS_PRIVATE,     /* RFC 1918, IPv6 ULA */
    SBX_ADDRESS_CARRIER,     /* 100.64/10 */
    SBX_ADDRESS_LINK_LOCAL,  /* 169.254/16, fe80::/10 */
    SBX_ADDRESS_UNSPECIFIED, /* 0/8, :: : on many systems another way to say loopback */
    SBX_ADDRESS_METADATA,    /* cloud credentials; never reachable, whatever the manifest says */
    SBX_ADDRESS_RESERVED,    /* multicast, broadcast, 240/4, Teredo, IPv6 outside 2000::/3 */
};

/* Exactly four decimal octets without leading zeros. False leaves *out alone. */
bool sbx_address_read_v4(struct sbx_str text, struct sbx_address *out) SBX_MUST_USE;

/* RFC 4291 text without brackets and zone, in any spelling, "::ffff:1.2.3.4" included. */
bool sbx_address_read_v6(struct sbx_str text, struct sbx_address *out) SBX_MUST_USE;

/* What inet_aton would make of it: octal, hexadecimal and short forms ("0x7f.1", "2130706433").
 * Only for telling a person which address was meant. */
bool sbx_address_read_loose_v4(struct sbx_str text, struct sbx_address *out) SBX_MUST_USE;

/* Dotted quad, or RFC 5952 text without brackets. */
void sbx_address_write(const struct sbx_address *address, char out[SBX_ADDRESS_TEXT]);

/* The IPv4 address inside a mapped, translated, compatible, NAT64 or 6to4 address, if any. */
bool sbx_address_inner_v4(const struct sbx_address *address, struct sbx_address *out) SBX_MUST_USE;

/* An address with an IPv4 address inside is judged by that one. */
enum sbx_address_class sbx_address_class(const struct sbx_address *address);

/* Loopback, private, carrier or link-local: what `network.local` may name. */
bool sbx_address_class_is_local(enum sbx_address_class address_class);

/* ---- hosts (host_name.c) --------------------------------------------------------------------- */

enum { SBX_HOST_MAX = 253, SBX_LABEL_MAX = 63 };

/* A host in normal form. */
struct sbx_host {
    bool is_address;
    struct sbx_address address;  /* when is_address */
    char text[SBX_HOST_MAX + 1]; /* lower case, no trailing dot; an address as written above */
};

enum sbx_host_flaw {
    SBX_FLAW_NONE = 0,
    SBX_FLAW_EMPTY,
    SBX_FLAW_TOO_LONG,
    SBX_FLAW_EMPTY_LABEL,
    SBX_FLAW_LONG_LABEL,
    SBX_FLAW_HYPHEN, /* at the start or the end of a label */
    SBX_FLAW_UNDERSCORE,
    SBX_FLAW_NON_ASCII,
    SBX_FLAW_SPACE,
    SBX_FLAW_CONTROL,
    SBX_FLAW_CHARACTER, /* any other byte outside letters, digits, "-" and "." */
    SBX_FLAW_NUMERIC,   /* ends in a number without being a dotted quad */
    SBX_FLAW_ADDRESS,   /* brackets around something that is not an IPv6 address */
};

/* Reads a name or a dotted quad. *out is untouched unless SBX_FLAW_NONE. */
enum sbx_host_flaw sbx_host_read_name(struct sbx_str text, struct sbx_host *out) SBX_MUST_USE;

/* The same for the host of a request, where IPv6 comes in brackets or bare; a zone is a flaw. */
enum sbx_host_flaw sbx_host_read(struct sbx_str text, struct sbx_host *out) SBX_MUST_USE;

/* What a flaw is, and what to do, as promised for `why` in hosts.h. */
const char *sbx_host_flaw_text(enum sbx_host_flaw flaw);

/* Names in normal form: is `name` `parent` itself or below it, by whole labels? */
bool sbx_host_name_is_under(const char *name, const char *parent);

/* "localhost", "localhost.localdomain" and everything below "localhost" (RFC 6761). */
bool sbx_host_name_is_local(const char *name);

/* The metadata or cluster service that `name` is or (when `below`) has below it; else NULL. */
const char *sbx_host_name_metadata(const char *name, bool below);

/* ---- shared platforms (shared_platforms.c) and groups (host_groups.c) ------------------------ */

/* As sbx_shared_platform_of for a name in normal form: the row with the longest apex, or NULL. */
const struct sbx_shared_platform *sbx_shared_platform_over(const char *name);

/* The first row whose apex lies below `name`, or NULL. */
const struct sbx_shared_platform *sbx_shared_platform_below(const char *name);

/* By name, ignoring case; NULL when there is none. */
const struct sbx_host_group *sbx_host_group_named(struct sbx_str name);

/* ---- reading entries (host_entry.c for syntax, hosts.c for policy) --------------------------- */

/* One entry taken apart: syntax is right, but nothing is said yet about what it may name. */
struct sbx_host_entry {
    enum sbx_host_form form;
    struct sbx_host host;               /* unless it is a group */
    const struct sbx_host_group *group; /* when it is one */
    uint16_t port;                      /* 0: none was written */
};

/* Where a refusal leaves its text: `why` may be NULL. */
struct sbx_host_reader {
    struct sbx_arena *arena;
    const char **why;
};

enum sbx_host_problem sbx_host_entry_read(const struct sbx_host_reader *reader, struct sbx_str text,
                                          struct sbx_host_entry *out) SBX_MUST_USE;

/* Leaves `why` (NULL, when there was no memory for it, becomes a fixed text); returns `problem`. */
enum sbx_host_problem sbx_host_refuse(const struct sbx_host_reader *reader,
                                      enum sbx_host_problem problem, const char *why);

#endif
