/* Which hosts and ports a pattern allows. */
#include <string.h>

#include "common/egress/host_parts.h"

#include "common/base/banned.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

static bool group_has(const char *group_name, const char *host)
{
    const struct sbx_host_group *group = sbx_host_group_named(sbx_str(group_name));
    if (group == NULL) {
        return false;
    }
    for (size_t i = 0; group->members[i] != NULL; i++) {
        if (strcmp(group->members[i], host) == 0) {
            return true;
        }
    }
    return false;
}

static bool covers_name(const struct sbx_host_pattern *pattern, const char *name)
{
    if (sbx_host_name_metadata(name, false) != NULL) {
        return false;
    }
    bool same = strcmp(pattern->host, name) == 0;
    /* What is below an allowed name is allowed with it, unless it belongs to somebody else. */
    bool below = !same && sbx_host_name_is_under(name, pattern->host) &&
                 !sbx_host_name_is_local(name) && sbx_shared_platform_over(name) == NULL;
    switch (pattern->form) {
    case SBX_HOST_EXACT:
        return same || below;
    case SBX_HOST_WILDCARD:
        return below;
    case SBX_HOST_GROUP:
        return group_has(pattern->host, name);
    case SBX_HOST_ADDRESS:
        return false;
    }
    return false;
}

bool sbx_host_covers(const struct sbx_host_pattern *pattern, struct sbx_str host)
{
    struct sbx_host read;
    if (sbx_host_read(host, &read) != SBX_FLAW_NONE) {
        return false;
    }
    if (!read.is_address) {
        return covers_name(pattern, read.text);
    }
    return pattern->form == SBX_HOST_ADDRESS && strcmp(pattern->host, read.text) == 0 &&
           sbx_address_class(&read.address) != SBX_ADDRESS_METADATA;
}

bool sbx_host_matches(const struct sbx_host_pattern *pattern, struct sbx_str host, uint16_t port)
{
    bool port_allowed =
        pattern->port == 0 ? port == PORT_HTTP || port == PORT_HTTPS : port == pattern->port;
    return port_allowed && sbx_host_covers(pattern, host);
}
