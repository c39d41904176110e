/* Manifest kinds with inner structure: the split policy, the network, the environment. */
#include <string.h>

#include "common/policy/manifest_kind.h"

#include "common/base/banned.h"

/* ---- filesystem: { path = access } ---- */

static bool fs_push(const struct sbx_kind_io *io, struct sbx_fs_entries *list, struct sbx_str path,
                    enum sbx_access access, const struct sbx_origin *at)
{
    if (list->count >= SBX_LIST_MAX) {
        sbx_findings_add(io->findings, SBX_F_OUT_OF_RANGE, at, io->row->name, path,
                         "\"%s\" has more than %d entries", io->row->name, SBX_LIST_MAX);
        return false;
    }
    struct sbx_fs_entry *entry = (struct sbx_fs_entry *)sbx_arena_push(
        io->arena, &list->items, &list->count, &list->capacity, sizeof *entry);
    if (entry == NULL) {
        io->findings->out_of_memory = true;
        return false;
    }
    *entry = (struct sbx_fs_entry){.path = {sbx_kind_copy(io, path), *at}, .access = access};
    return true;
}

static void filesystem_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                                  void *field)
{
    struct sbx_fs_entries *list = (struct sbx_fs_entries *)field;
    if (value->type != SBX_VALUE_TABLE) {
        sbx_kind_wrong(io, value, io->row->name, "a table of paths");
        return;
    }
    for (size_t i = 0; i < value->table.count; i++) {
        const struct sbx_member *member = &value->table.members[i];
        const char *key = sbx_kind_key(io, ".\"%.*s\"", SBX_STR_ARG(member->key));
        struct sbx_origin at = {.source = io->source, .place = member->place};
        struct sbx_origin value_at = sbx_kind_origin(io, &member->value);
        int access;
        if (member->value.type != SBX_VALUE_STRING)
            sbx_kind_wrong(io, &member->value, key, "\"read\", \"write\" or \"none\"");
        else if (!sbx_name_value(sbx_access_names, member->value.string, &access))
            sbx_kind_bad_choice(io, &value_at, key, member->value.string, sbx_access_names);
        else if (!fs_push(io, list, member->key, (enum sbx_access)access, &at))
            return;
    }
}

/* PATH=ACCESS; the last "=" separates, because paths may have one. */
static void filesystem_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    size_t equals = text.len;
    while (equals > 0 && text.ptr[equals - 1] != '=') equals--;
    if (equals == 0) {
        struct sbx_finding *finding =
            sbx_findings_add(io->findings, SBX_F_BAD_VALUE, &at, io->row->name, text,
                             "\"%s\" needs PATH=ACCESS", io->row->name);
        sbx_finding_hint(io->findings, finding, "for example: --fs /code=write");
        return;
    }
    struct sbx_str path = {text.ptr, equals - 1};
    struct sbx_str word = {text.ptr + equals, text.len - equals};
    int access;
    if (!sbx_name_value(sbx_access_names, word, &access))
        sbx_kind_bad_choice(io, &at, io->row->name, word, sbx_access_names);
    else
        (void)fs_push(io, (struct sbx_fs_entries *)field, path, (enum sbx_access)access, &at);
}

/* A table has each key once; of file and flags together the later one, the flag's, is what counts. */
static bool is_said_again(const struct sbx_fs_entries *list, size_t index)
{
    for (size_t i = index + 1; i < list->count; i++)
        if (sbx_str_eq(list->items[i].path.text, list->items[index].path.text)) return true;
    return false;
}

static bool filesystem_to_value(struct sbx_arena *arena, const struct sbx_key_row *row,
                                const void *field, struct sbx_value *out)
{
    (void)row;
    const struct sbx_fs_entries *list = (const struct sbx_fs_entries *)field;
    struct sbx_member *members = SBX_NEW_ARRAY(arena, struct sbx_member, list->count);
    if (members == NULL) return false;
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct sbx_fs_entry *entry = &list->items[i];
        if (is_said_again(list, i)) continue;
        members[count].key = entry->path.text;
        members[count++].value =
            sbx_value_of_text(sbx_str(sbx_name_text(sbx_access_names, (int)entry->access)));
    }
    *out = (struct sbx_value){.type = SBX_VALUE_TABLE};
    out->table.members = members;
    out->table.count = count;
    return true;
}

static void filesystem_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                                const void *field)
{
    const struct sbx_fs_entries *list = (const struct sbx_fs_entries *)field;
    for (size_t i = 0; i < list->count; i++) {
        const struct sbx_fs_entry *entry = &list->items[i];
        struct sbx_str access = sbx_str(sbx_name_text(sbx_access_names, (int)entry->access));
        sbx_flags_add_pair(flags, row, entry->path.text, access);
    }
}

static bool filesystem_merge(struct sbx_arena *arena, const void *under, void *field)
{
    const struct sbx_fs_entries *below = (const struct sbx_fs_entries *)under;
    struct sbx_fs_entries *list = (struct sbx_fs_entries *)field;
    size_t total = below->count + list->count;
    struct sbx_fs_entry *items = SBX_NEW_ARRAY(arena, struct sbx_fs_entry, total);
    if (items == NULL) return false;
    if (below->count > 0) memcpy(items, below->items, below->count * sizeof *items);
    if (list->count > 0) memcpy(items + below->count, list->items, list->count * sizeof *items);
    *list = (struct sbx_fs_entries){items, total, total};
    return true;
}

const struct sbx_kind sbx_kind_filesystem = {"a table of paths",
                                             true,
                                             sizeof(struct sbx_fs_entries),
                                             filesystem_from_value,
                                             filesystem_from_flag,
                                             filesystem_to_value,
                                             filesystem_to_flags,
                                             filesystem_merge};

/* ---- network: "deny", or { kind, hosts, local } ---- */

#define WORD_LOCAL "local"
#define WORD_HOST "host"

static bool network_kind(const struct sbx_kind_io *io, const struct sbx_value *value,
                         const char *key_path, enum sbx_net_kind *out)
{
    struct sbx_origin at = sbx_kind_origin(io, value);
    int kind;
    if (value->type != SBX_VALUE_STRING) {
        sbx_kind_wrong(io, value, key_path, "a string");
        return false;
    }
    if (!sbx_name_value(sbx_net_kind_names, value->string, &kind)) {
        sbx_kind_bad_choice(io, &at, key_path, value->string, sbx_net_kind_names);
        return false;
    }
    *out = (enum sbx_net_kind)kind;
    return true;
}

static const char *network_key_at(const void *unused, size_t index)
{
    static const char *const keys[] = {"kind", "hosts", "local"};
    (void)unused;
    return index < SBX_COUNT(keys) ? keys[index] : NULL;
}

static void network_unknown_key(const struct sbx_kind_io *io, const struct sbx_member *member)
{
    struct sbx_origin at = {.source = io->source, .place = member->place};
    struct sbx_finding *finding = sbx_findings_add(
        io->findings, SBX_F_UNKNOWN_KEY, &at, sbx_kind_key(io, ".%.*s", SBX_STR_ARG(member->key)),
        member->key, "\"%s\" has no key \"%.*s\"", io->row->name, SBX_STR_ARG(member->key));
    const char *nearest = sbx_name_nearest(member->key, network_key_at, NULL);
    if (nearest != NULL)
        sbx_finding_hint(io->findings, finding, "did you mean \"%s\"?", nearest);
    else
        sbx_finding_hint(io->findings, finding, "its keys are \"kind\", \"hosts\" and \"local\"");
}

static void network_from_table(const struct sbx_kind_io *io, const struct sbx_value *value,
                               struct sbx_network *network)
{
    bool has_kind = false;
    bool has_lists = false;
    for (size_t i = 0; i < value->table.count; i++) {
        const struct sbx_member *member = &value->table.members[i];
        if (sbx_str_is(member->key, "kind")) {
            has_kind = true;
            (void)network_kind(io, &member->value, sbx_kind_key(io, ".kind"), &network->kind);
        } else if (sbx_str_is(member->key, "hosts")) {
            has_lists = true;
            sbx_kind_read_texts(io, &member->value, ".hosts", "a list of hosts", &network->hosts);
        } else if (sbx_str_is(member->key, "local")) {
            has_lists = true;
            sbx_kind_read_texts(io, &member->value, ".local", "a list of HOST:PORT",
                                &network->local);
        } else {
            network_unknown_key(io, member);
        }
    }
    struct sbx_origin at = sbx_kind_origin(io, value);
    if (!has_kind) {
        struct sbx_finding *finding =
            sbx_findings_add(io->findings, SBX_F_BAD_VALUE, &at, sbx_kind_key(io, ".kind"),
                             (struct sbx_str){0}, "\"%s\" has no \"kind\"", io->row->name);
        sbx_finding_hint(io->findings, finding,
                         "add kind = \"deny\", \"inherit\" or \"allow_hosts\"");
        /* Nothing said is never more than the least. */
        network->kind = SBX_NET_DENY;
    } else if (has_lists && network->kind != SBX_NET_ALLOW_HOSTS) {
        struct sbx_finding *finding =
            sbx_findings_add(io->findings, SBX_F_CONFLICT, &at, io->row->name, (struct sbx_str){0},
                             "\"hosts\" and \"local\" have no meaning with kind = \"%s\"",
                             sbx_name_text(sbx_net_kind_names, (int)network->kind));
        sbx_finding_hint(io->findings, finding,
                         "write kind = \"allow_hosts\", or remove the lists");
    }
}

static void network_from_value(const struct sbx_kind_io *io, const struct sbx_value *value,
                               void *field)
{
    struct sbx_network *network = (struct sbx_network *)field;
    *network = (struct sbx_network){.kind = SBX_NET_DENY};
    if (value->type == SBX_VALUE_TABLE) {
        network_from_table(io, value, network);
        return;
    }
    if (value->type != SBX_VALUE_STRING) {
        sbx_kind_wrong(io, value, io->row->name, "\"deny\", \"inherit\" or a table with \"kind\"");
        return;
    }
    struct sbx_origin at = sbx_kind_origin(io, value);
    if (!network_kind(io, value, io->row->name, &network->kind)) return;
    if (network->kind == SBX_NET_ALLOW_HOSTS) {
        struct sbx_finding *finding =
            sbx_findings_add(io->findings, SBX_F_BAD_VALUE, &at, io->row->name, value->string,
                             "\"allow_hosts\" needs the list of hosts");
        sbx_finding_hint(io->findings, finding,
                         "write { kind = \"allow_hosts\", hosts = [\"api.example.com\"] }");
    }
}

/* deny | inherit | allow_hosts | HOST[,HOST…] | local=HOST:PORT (from --local) | host=HOST, taken as it is.
 * Hosts add up. No host has a '=', so the prefixes are not hosts. */
static void network_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_network *network = (struct sbx_network *)field;
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    int kind;
    if (sbx_name_value(sbx_net_kind_names, text, &kind)) {
        *network = (struct sbx_network){.kind = (enum sbx_net_kind)kind};
        return;
    }
    if (io->is_fresh || network->kind != SBX_NET_ALLOW_HOSTS)
        *network = (struct sbx_network){.kind = SBX_NET_ALLOW_HOSTS};
    struct sbx_str word;
    struct sbx_str rest;
    if (sbx_str_split(text, '=', &word, &rest) &&
        (sbx_str_is(word, WORD_LOCAL) || sbx_str_is(word, WORD_HOST))) {
        struct sbx_texts *list = sbx_str_is(word, WORD_HOST) ? &network->hosts : &network->local;
        (void)sbx_kind_push_text(io, list, rest, &at);
        return;
    }
    bool more = true;
    while (more) {
        struct sbx_str host;
        more = sbx_str_split(text, ',', &host, &text);
        if (!sbx_kind_push_text(io, &network->hosts, host, &at)) return;
    }
}

static bool network_to_value(struct sbx_arena *arena, const struct sbx_key_row *row,
                             const void *field, struct sbx_value *out)
{
    const struct sbx_network *network = (const struct sbx_network *)field;
    struct sbx_value kind =
        sbx_value_of_text(sbx_str(sbx_name_text(row->names, (int)network->kind)));
    if (network->kind != SBX_NET_ALLOW_HOSTS) {
        *out = kind;
        return true;
    }
    struct sbx_member *members = SBX_NEW_ARRAY(arena, struct sbx_member, 3);
    if (members == NULL) return false;
    members[0] = (struct sbx_member){.key = sbx_str("kind"), .value = kind};
    members[1].key = sbx_str("hosts");
    members[2].key = sbx_str("local");
    if (!sbx_value_of_texts(arena, &network->hosts, &members[1].value) ||
        !sbx_value_of_texts(arena, &network->local, &members[2].value))
        return false;
    *out = (struct sbx_value){.type = SBX_VALUE_TABLE};
    out->table.members = members;
    out->table.count = 3;
    return true;
}

static void network_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                             const void *field)
{
    const struct sbx_network *network = (const struct sbx_network *)field;
    sbx_flags_add(flags, row, sbx_str(sbx_name_text(row->names, (int)network->kind)));
    for (size_t i = 0; i < network->hosts.count; i++) {
        struct sbx_str host = network->hosts.items[i].text;
        int kind;
        /* A host called "inherit" must not become the word. */
        if (sbx_str_contains(host, ",") || sbx_str_contains(host, "=") ||
            sbx_name_value(row->names, host, &kind))
            sbx_flags_add_pair(flags, row, sbx_str(WORD_HOST), host);
        else
            sbx_flags_add(flags, row, host);
    }
    for (size_t i = 0; i < network->local.count; i++)
        sbx_flags_add_pair(flags, row, sbx_str(WORD_LOCAL), network->local.items[i].text);
}

static bool network_merge(struct sbx_arena *arena, const void *under, void *field)
{
    const struct sbx_network *below = (const struct sbx_network *)under;
    struct sbx_network *network = (struct sbx_network *)field;
    if (network->kind != SBX_NET_ALLOW_HOSTS || below->kind != SBX_NET_ALLOW_HOSTS) return true;
    return sbx_texts_prepend(arena, &below->hosts, &network->hosts) &&
           sbx_texts_prepend(arena, &below->local, &network->local);
}

const struct sbx_kind sbx_kind_network = {"\"deny\", \"inherit\" or a table with \"kind\"",
                                          true,
                                          sizeof(struct sbx_network),
                                          network_from_value,
                                          network_from_flag,
                                          network_to_value,
                                          network_to_flags,
                                          network_merge};

/* ---- env: [[name, value], …] ---- */

static bool env_push(const struct sbx_kind_io *io, struct sbx_env_pairs *list, struct sbx_str name,
                     struct sbx_str value, const struct sbx_origin *at)
{
    if (list->count >= SBX_LIST_MAX) {
        sbx_findings_add(io->findings, SBX_F_OUT_OF_RANGE, at, io->row->name, name,
                         "\"%s\" has more than %d entries", io->row->name, SBX_LIST_MAX);
        return false;
    }
    struct sbx_env_pair *pair = (struct sbx_env_pair *)sbx_arena_push(
        io->arena, &list->items, &list->count, &list->capacity, sizeof *pair);
    if (pair == NULL) {
        io->findings->out_of_memory = true;
        return false;
    }
    *pair = (struct sbx_env_pair){{sbx_kind_copy(io, name), *at}, sbx_kind_copy(io, value)};
    return true;
}

static void env_from_value(const struct sbx_kind_io *io, const struct sbx_value *value, void *field)
{
    struct sbx_env_pairs *list = (struct sbx_env_pairs *)field;
    if (value->type != SBX_VALUE_ARRAY) {
        sbx_kind_wrong(io, value, io->row->name, "a list of [name, value]");
        return;
    }
    for (size_t i = 0; i < value->array.count; i++) {
        const struct sbx_value *pair = &value->array.items[i];
        struct sbx_origin at = sbx_kind_origin(io, pair);
        bool ok = pair->type == SBX_VALUE_ARRAY && pair->array.count == 2 &&
                  pair->array.items[0].type == SBX_VALUE_STRING &&
                  pair->array.items[1].type == SBX_VALUE_STRING;
        if (!ok)
            sbx_kind_wrong(io, pair, sbx_kind_key(io, "[%zu]", i),
                           "[name, value] with two strings");
        else if (!env_push(io, list, pair->array.items[0].string, pair->array.items[1].string, &at))
            return;
    }
}

static void env_from_flag(const struct sbx_kind_io *io, struct sbx_str text, void *field)
{
    struct sbx_origin at = sbx_kind_origin(io, NULL);
    struct sbx_str name;
    struct sbx_str value;
    if (sbx_str_split(text, '=', &name, &value)) {
        (void)env_push(io, (struct sbx_env_pairs *)field, name, value, &at);
        return;
    }
    struct sbx_finding *finding = sbx_findings_add(io->findings, SBX_F_BAD_VALUE, &at,
                                                   io->row->name, text, "\"env\" needs NAME=VALUE");
    sbx_finding_hint(io->findings, finding, "to pass the caller's variable on, use -E %.*s",
                     SBX_STR_ARG(text));
}

static bool env_to_value(struct sbx_arena *arena, const struct sbx_key_row *row, const void *field,
                         struct sbx_value *out)
{
    (void)row;
    const struct sbx_env_pairs *list = (const struct sbx_env_pairs *)field;
    struct sbx_value *items = SBX_NEW_ARRAY(arena, struct sbx_value, list->count);
    if (items == NULL) return false;
    for (size_t i = 0; i < list->count; i++) {
        struct sbx_value *pair = SBX_NEW_ARRAY(arena, struct sbx_value, 2);
        if (pair == NULL) return false;
        pair[0] = sbx_value_of_text(list->items[i].name.text);
        pair[1] = sbx_value_of_text(list->items[i].value);
        items[i].type = SBX_VALUE_ARRAY;
        items[i].array.items = pair;
        items[i].array.count = 2;
    }
    *out = (struct sbx_value){.type = SBX_VALUE_ARRAY};
    out->array.items = items;
    out->array.count = list->count;
    return true;
}

static void env_to_flags(struct sbx_flag_list *flags, const struct sbx_key_row *row,
                         const void *field)
{
    const struct sbx_env_pairs *list = (const struct sbx_env_pairs *)field;
    for (size_t i = 0; i < list->count; i++) {
        struct sbx_str name = list->items[i].name.text;
        if (sbx_str_contains(name, "=")) flags->failed = true;
        sbx_flags_add_pair(flags, row, name, list->items[i].value);
    }
}

static bool env_merge(struct sbx_arena *arena, const void *under, void *field)
{
    const struct sbx_env_pairs *below = (const struct sbx_env_pairs *)under;
    struct sbx_env_pairs *list = (struct sbx_env_pairs *)field;
    size_t total = below->count + list->count;
    struct sbx_env_pair *items = SBX_NEW_ARRAY(arena, struct sbx_env_pair, total);
    if (items == NULL) return false;
    /* The first of two equal names counts, and what is on top must win. */
    if (list->count > 0) memcpy(items, list->items, list->count * sizeof *items);
    if (below->count > 0) memcpy(items + list->count, below->items, below->count * sizeof *items);
    *list = (struct sbx_env_pairs){items, total, total};
    return true;
}

const struct sbx_kind sbx_kind_env = {"a list of [name, value]",
                                      true,
                                      sizeof(struct sbx_env_pairs),
                                      env_from_value,
                                      env_from_flag,
                                      env_to_value,
                                      env_to_flags,
                                      env_merge};
