/* Tables of enum values and texts; the nearest known name for a typo. */
#include "common/base/names.h"

#include "common/base/banned.h"

#define NAME_MAX_BYTES 64

const char *sbx_name_text(const struct sbx_name *table, int value)
{
    for (const struct sbx_name *row = table; row->text != NULL; row++) {
        if (row->value == value) {
            return row->text;
        }
    }
    return "unknown";
}

bool sbx_name_value(const struct sbx_name *table, struct sbx_str text, int *out)
{
    for (const struct sbx_name *row = table; row->text != NULL; row++) {
        if (sbx_str_is(text, row->text)) {
            *out = row->value;
            return true;
        }
    }
    return false;
}

/* Lower case without '-' and '_', so that readOnly, read_only and read-only are one name; a view of
 * `storage`, empty when the text is too long to be a typo of anything. */
static struct sbx_str plain_name(struct sbx_str text, char storage[NAME_MAX_BYTES])
{
    size_t len = 0;
    if (text.len <= NAME_MAX_BYTES) {
        for (size_t i = 0; i < text.len; i++) {
            if (text.ptr[i] != '-' && text.ptr[i] != '_') {
                storage[len++] = sbx_to_lower(text.ptr[i]);
            }
        }
    }
    return (struct sbx_str){storage, len};
}

const char *sbx_name_nearest(struct sbx_str text, sbx_name_at *next, const void *context)
{
    char wanted_storage[NAME_MAX_BYTES];
    struct sbx_str wanted = plain_name(text, wanted_storage);
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    const char *candidate;
    for (size_t i = 0; (candidate = next(context, i)) != NULL; i++) {
        char storage[NAME_MAX_BYTES];
        struct sbx_str name = plain_name(sbx_str(candidate), storage);
        size_t longer = wanted.len > name.len ? wanted.len : name.len;
        size_t distance = sbx_str_distance(wanted, name);
        size_t allowed = longer < 6 ? 1 : longer / 3;
        /* A name of which no letter is right is not a typo, however short it is. */
        if (distance <= allowed && distance < longer && distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

static const char *table_at(const void *context, size_t index)
{
    const struct sbx_name *table = context;
    return table[index].text;
}

const char *sbx_name_nearest_in(struct sbx_str text, const struct sbx_name *table)
{
    return sbx_name_nearest(text, table_at, table);
}
