/* Durations and sizes as people write them. */
#include <inttypes.h>

#include "common/policy/manifest.h"

#include "common/base/banned.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define TIB ((uint64_t)1 << 40)

struct unit {
    const char *text;
    uint64_t factor;
};

static const struct unit time_units[] = {
    {"ns", 1},           {"us", 1000},          {"ms", 1000000u},       {"s", 1000000000u},
    {"m", 60000000000u}, {"h", 3600000000000u}, {"d", 86400000000000u}, {NULL, 0}};

static const struct unit size_units[] = {{"B", 1},
                                         {"K", 1024},
                                         {"KiB", 1024},
                                         {"KB", 1000},
                                         {"M", MIB},
                                         {"MiB", MIB},
                                         {"MB", 1000000u},
                                         {"G", GIB},
                                         {"GiB", GIB},
                                         {"GB", 1000000000u},
                                         {"T", TIB},
                                         {"TiB", TIB},
                                         {"TB", 1000000000000u},
                                         {NULL, 0}};

/* Sizes are written in any case ("256m", "1gb"); of times, M might be taken for months. */
static const struct unit *find_unit(const struct unit *units, struct sbx_str text, bool any_case)
{
    for (size_t i = 0; units[i].text != NULL; i++)
        if (any_case ? sbx_str_is_nocase(text, units[i].text) : sbx_str_is(text, units[i].text))
            return &units[i];
    return NULL;
}

/* Digits, then letters; both parts are cut off *rest. */
static bool take_part(struct sbx_str *rest, uint64_t *number, struct sbx_str *unit)
{
    size_t digits = 0;
    while (digits < rest->len && sbx_is_digit(rest->ptr[digits])) digits++;
    if (!sbx_str_to_u64((struct sbx_str){rest->ptr, digits}, number)) return false;
    size_t letters = digits;
    while (letters < rest->len && sbx_is_alpha(rest->ptr[letters])) letters++;
    *unit = (struct sbx_str){rest->ptr + digits, letters - digits};
    *rest = (struct sbx_str){rest->ptr + letters, rest->len - letters};
    return true;
}

bool sbx_duration_parse(struct sbx_str text, uint64_t *out_ns)
{
    uint64_t total = 0;
    uint64_t last_factor = UINT64_MAX;
    if (text.len == 0) return false;
    while (text.len > 0) {
        uint64_t number;
        struct sbx_str name;
        if (!take_part(&text, &number, &name)) return false;
        bool is_bare = name.len == 0 && last_factor == UINT64_MAX && text.len == 0;
        const struct unit *unit = find_unit(time_units, is_bare ? sbx_str("s") : name, false);
        /* "1h30m" yes, "30m1h" and "1m1m" no: they are typing mistakes. */
        if (unit == NULL || unit->factor >= last_factor) return false;
        last_factor = unit->factor;
        if (number > UINT64_MAX / unit->factor) return false;
        uint64_t part = number * unit->factor;
        if (total > UINT64_MAX - part) return false;
        total += part;
    }
    *out_ns = total;
    return true;
}

bool sbx_bytes_parse(struct sbx_str text, uint64_t *out)
{
    uint64_t number;
    struct sbx_str name;
    if (!take_part(&text, &number, &name) || text.len > 0) return false;
    const struct unit *unit = name.len == 0 ? &size_units[0] : find_unit(size_units, name, true);
    if (unit == NULL || number > UINT64_MAX / unit->factor) return false;
    *out = number * unit->factor;
    return true;
}

void sbx_duration_print(uint64_t ns, struct sbx_buf *out)
{
    static const struct unit shown[] = {
        {"h", 3600000000000u}, {"m", 60000000000u}, {"s", 1000000000u}, {"ms", 1000000u}};
    for (size_t i = 0; i < SBX_COUNT(shown); i++) {
        if (ns % shown[i].factor == 0 && ns >= shown[i].factor) {
            sbx_buf_printf(out, "%" PRIu64 "%s", ns / shown[i].factor, shown[i].text);
            return;
        }
    }
    sbx_buf_printf(out, "%" PRIu64 "ns", ns);
}

void sbx_bytes_print(uint64_t bytes, struct sbx_buf *out)
{
    static const struct unit shown[] = {
        {"TiB", TIB}, {"GiB", GIB}, {"MiB", MIB}, {"KiB", 1024}, {"B", 1}};
    for (size_t i = 0; i < SBX_COUNT(shown); i++) {
        if (bytes % shown[i].factor == 0 && bytes >= shown[i].factor) {
            sbx_buf_printf(out, "%" PRIu64 "%s", bytes / shown[i].factor, shown[i].text);
            return;
        }
    }
    sbx_buf_add_text(out, "0B");
}
