/* Fuzz: host entries and request hosts. Whatever is accepted reads back from its own text as the
 * same pattern and covers its own host; whatever is refused says why; a metadata service is never
 * covered. The first byte chooses the list, a newline ends the entry, a request host follows. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/egress/host_parts.h"
#include "common/egress/hosts.h"

#include "common/base/banned.h"

enum { ARENA_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool held)
{
    if (!held) {
        abort();
    }
}

static enum sbx_host_problem parse(struct sbx_arena *arena, bool local, struct sbx_str text,
                                   struct sbx_host_pattern *out, const char **why)
{
    return local ? sbx_host_parse_local(arena, text, out, why)
                 : sbx_host_parse(arena, text, out, why);
}

static bool is_metadata(struct sbx_str text)
{
    struct sbx_host host;
    if (sbx_host_read(text, &host) != SBX_FLAW_NONE) {
        return false;
    }
    return host.is_address ? sbx_address_class(&host.address) == SBX_ADDRESS_METADATA
                           : sbx_host_name_metadata(host.text, false) != NULL;
}

static void check_accepted(struct sbx_arena *arena, bool local,
                           const struct sbx_host_pattern *pattern, struct sbx_str request)
{
    struct sbx_host_pattern again = {0};
    const char *why = NULL;
    const char *text = sbx_host_text(arena, pattern);
    must(text != NULL);
    must(parse(arena, local, sbx_str(text), &again, &why) == SBX_HOST_OK && why == NULL);
    must(sbx_host_compare(pattern, &again) == 0);
    must(!local || pattern->port != 0);
    bool single = pattern->form == SBX_HOST_EXACT || pattern->form == SBX_HOST_ADDRESS;
    must(sbx_host_covers(pattern, sbx_str(pattern->host)) == single);
    must(!sbx_host_covers(pattern, request) || !is_metadata(request));
    must(!sbx_host_matches(pattern, request, 443) || sbx_host_covers(pattern, request));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARENA_BYTES);
    bool local = data[0] == 'l';
    struct sbx_str entry = {(const char *)data + 1, size - 1};
    struct sbx_str request = {NULL, 0};
    if (sbx_str_split(entry, '\n', &entry, &request)) {
        (void)sbx_shared_platform_of(request);
    }
    struct sbx_host_pattern pattern = {0};
    const char *why = NULL;
    enum sbx_host_problem problem = parse(&arena, local, entry, &pattern, &why);
    if (problem == SBX_HOST_OK) {
        check_accepted(&arena, local, &pattern, request);
    } else {
        must(why != NULL && strstr(why, "; ") != NULL);
        must(problem != SBX_HOST_NO_MEMORY);
    }
    return 0;
}
