/* The value tree: look-up by key and the words for its types. */
#include "common/policy/value.h"

#include "common/base/banned.h"

const struct sbx_value *sbx_value_get(const struct sbx_value *table, const char *key)
{
    if (table == NULL || table->type != SBX_VALUE_TABLE) {
        return NULL;
    }
    for (size_t i = 0; i < table->table.count; i++) {
        const struct sbx_member *member = &table->table.members[i];
        if (sbx_str_is(member->key, key)) {
            return &member->value;
        }
    }
    return NULL;
}

const char *sbx_value_type_text(enum sbx_value_type type)
{
    switch (type) {
    case SBX_VALUE_STRING:
        return "a string";
    case SBX_VALUE_INTEGER:
        return "an integer";
    case SBX_VALUE_FLOAT:
        return "a float";
    case SBX_VALUE_BOOL:
        return "a boolean";
    case SBX_VALUE_DATETIME:
        return "a date or time";
    case SBX_VALUE_ARRAY:
        return "an array";
    case SBX_VALUE_TABLE:
        return "a table";
    case SBX_VALUE_NULL:
        return "null";
    }
    return "unknown";
}
