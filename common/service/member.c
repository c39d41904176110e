/* Members of objects that our own programs wrote. */
#include <string.h>

#include "common/service/internal.h"

#include "common/base/banned.h"

struct sbx_str sbx_member(struct sbx_str object, const char *name)
{
    struct sbx_json_walk walk;
    struct sbx_json_value key;
    struct sbx_json_value value;
    if (object.len == 0) return (struct sbx_str){"", 0};
    sbx_json_enter(object, &walk);
    while (sbx_json_next_member(&walk, &key, &value))
        if (sbx_json_is(key.raw, name)) return value.raw;
    return (struct sbx_str){"", 0};
}

struct sbx_str sbx_member_text(struct sbx_str object, const char *name, char *out, size_t size)
{
    char text[1024];
    struct sbx_str raw = sbx_member(object, name);
    out[0] = '\0';
    if (raw.len < 2 || raw.ptr[0] != '"' || raw.len > sizeof text) return (struct sbx_str){out, 0};
    memcpy(text, raw.ptr, raw.len);
    struct sbx_str found = sbx_json_take_text((struct sbx_str){text, raw.len});
    if (found.len >= size) return (struct sbx_str){out, 0};
    memcpy(out, found.ptr, found.len + 1);
    return (struct sbx_str){out, found.len};
}
