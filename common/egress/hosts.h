/* Host patterns of `network.hosts` and `network.local`: syntax, normal form, matching, and the
 * shared platforms that may only be allowed by exact host. Pure; no name is resolved here.
 *
 *     "example.com"         the host and everything below it, on ports 80 and 443
 *     "user.github.io"      on a shared platform: that host alone
 *     "*.example.com:8443"  everything below it, not the host itself, on that port
 *     "203.0.113.7"         a public address; IPv6 in brackets: "[2001:db8::1]:8443"
 *     "@llm", "@git:22"     every member of a group
 *
 * There is no public-suffix list: "*.co.uk" means what it says. */
#ifndef SBX_EGRESS_HOSTS_H
#define SBX_EGRESS_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/attr.h"
#include "common/base/str.h"

enum sbx_host_form {
    SBX_HOST_EXACT,    /* "api.example.com": the host, and its subdomains unless it is shared */
    SBX_HOST_WILDCARD, /* "*.example.com": subdomains only */
    SBX_HOST_GROUP,    /* "@llm": a named list */
    SBX_HOST_ADDRESS,  /* an IPv4 or bracketed IPv6 literal */
};

/* Normal form: lower case, no trailing dot, canonical address text (RFC 5952). */
struct sbx_host_pattern {
    enum sbx_host_form form;
    const char *host; /* in the arena, without "*.", "@" and brackets */
    uint16_t port;    /* 0: 80 and 443 (hosts); `local` entries always have one */
};

enum sbx_host_problem {
    SBX_HOST_OK = 0,
    SBX_HOST_NO_MEMORY,
    SBX_HOST_INVALID,         /* host-pattern-invalid; `why` says what */
    SBX_HOST_SHARED_PLATFORM, /* shared-platform-apex */
    SBX_HOST_UNKNOWN_GROUP,   /* host-pattern-invalid; `why` lists the groups */
    SBX_HOST_NOT_LOCAL,       /* `local` only takes loopback and private targets */
};

/* Reads one entry of `network.hosts`. Refused are: what is not a host (URLs, ranges, other
 * spellings of an IPv4 address, IPv4 inside IPv6), what allows too much ("*", "*.com", "com"), a
 * shared platform's apex and wildcards over or below one, local targets (they belong to `local`),
 * and the metadata services of clouds and clusters.
 *
 * *why (may be NULL) gets a static or arena text for a person that reads on after the quoted entry,
 * safe to print: what is wrong, "; ", what to write instead; "; " occurs once. On SBX_HOST_OK it is
 * left alone. *out is untouched unless SBX_HOST_OK. */
enum sbx_host_problem sbx_host_parse(struct sbx_arena *arena, struct sbx_str text,
                                     struct sbx_host_pattern *out, const char **why) SBX_MUST_USE;

/* The same for one entry of `network.local`: "localhost:8080", "127.0.0.1:5432", "10.0.0.5:443".
 * A port is required. Targets are "localhost", names below it, and loopback, private (RFC 1918,
 * ULA), carrier (100.64/10) and link-local addresses; no wildcards, no groups, never a metadata
 * service. */
enum sbx_host_problem sbx_host_parse_local(struct sbx_arena *arena, struct sbx_str text,
                                           struct sbx_host_pattern *out,
                                           const char **why) SBX_MUST_USE;

/* Canonical text of a pattern ("*.example.com:443", "@llm"), in the arena; NULL without memory.
 * Read again, it gives the same pattern. */
const char *sbx_host_text(struct sbx_arena *arena, const struct sbx_host_pattern *pattern);

/* Does the pattern allow this host and port? `host` is normalised first; an invalid one never
 * matches, nor does a metadata service. A host on a shared platform and a local one match only a
 * pattern that says exactly that host: "github.com" allows "api.github.com", not "gist.github.com".
 * Groups match by their members, exactly. A name never matches an address or the reverse. */
bool sbx_host_matches(const struct sbx_host_pattern *pattern, struct sbx_str host, uint16_t port);

/* The same without the port: a host that is covered on another port is worth another message. */
bool sbx_host_covers(const struct sbx_host_pattern *pattern, struct sbx_str host);

/* Total order for sorting and finding duplicates: by host, then form, then port. */
int sbx_host_compare(const struct sbx_host_pattern *a, const struct sbx_host_pattern *b);

/* Shared platform data: the row the host falls under, or NULL. */
struct sbx_shared_platform {
    const char *apex;     /* "github.io": this host and everything below it is shared */
    const char *category; /* "code", "paste", "object-storage", "serverless", "canary" … */
    const char *source;   /* where the row was learned, for people who maintain it */
};
const struct sbx_shared_platform *sbx_shared_platform_of(struct sbx_str host);

/* The index-th row; NULL past the end. */
const struct sbx_shared_platform *sbx_shared_platform_at(size_t index);

/* Named groups: the index-th one; NULL past the end. */
struct sbx_host_group {
    const char *name;
    const char *help;
    const char *const *members; /* NULL-terminated exact hosts; nothing below them is meant */
};
const struct sbx_host_group *sbx_host_group_at(size_t index);

#endif
