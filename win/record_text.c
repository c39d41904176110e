/* Records on disk of what sbx changes on the host, as text. */
#include "win/record_text.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/sha256.h"
#include "common/base/utf8.h"

#include "common/base/banned.h"

#define HEAD "sbx-record 1"

const struct sbx_name sbx_record_state_names[] = {{SBX_RECORD_PREPARED, "prepared"},
                                                  {SBX_RECORD_RUNNING, "running"},
                                                  {SBX_RECORD_EXITED, "exited"},
                                                  {SBX_RECORD_ADDING, "adding"},
                                                  {SBX_RECORD_COMPLETE, "complete"},
                                                  {SBX_RECORD_REMOVING, "removing"},
                                                  {0, NULL}};

static const struct sbx_name kind_names[] = {
    {SBX_RECORD_LEASE, "lease"}, {SBX_RECORD_WORKSPACE, "workspace"}, {0, NULL}};

/* ---- writing ------------------------------------------------------------------------------- */

static void print_counts(const struct sbx_record_counts *counts, struct sbx_buf *out)
{
    sbx_buf_printf(out, "objects %" PRIu64 "\n", counts->objects);
    sbx_buf_printf(out, "narrowed %" PRIu64 "\n", counts->narrowed);
    sbx_buf_printf(out, "hard-links %" PRIu64 "\n", counts->hard_links);
    sbx_buf_printf(out, "own-lists %" PRIu64 "\n", counts->own_lists);
    sbx_buf_printf(out, "links %" PRIu64 "\n", counts->links);
    sbx_buf_printf(out, "refused %" PRIu64 "\n", counts->refused);
}

static void print_workspace(const struct sbx_record *record, struct sbx_buf *out)
{
    sbx_buf_printf(out, "capability %s\nsid %s\n", record->capability, record->sid);
    sbx_buf_printf(out, "access %s\n", record->is_write ? "write" : "read");
    sbx_buf_printf(out, "node %s\n", record->is_directory ? "directory" : "file");
    sbx_buf_printf(out, "volume %016" PRIx64 "\nfile ", record->volume);
    for (size_t i = 0; i < sizeof record->file; i++) {
        sbx_buf_printf(out, "%02x", record->file[i]);
    }
    sbx_buf_printf(out, "\npath %s\n", record->path);
    sbx_buf_printf(out, "journal %016" PRIx64 "\nusn %" PRIu64 "\n", record->journal, record->usn);
    print_counts(&record->counts, out);
    sbx_buf_printf(out, "above-count %zu\n", record->above_count);
    for (size_t i = 0; i < record->above_count; i++) {
        sbx_buf_printf(out, "above %s\n", record->above[i]);
    }
}

void sbx_record_print(const struct sbx_record *record, struct sbx_buf *out)
{
    size_t begin = out->len;
    char digest[SBX_SHA256_HEX];
    sbx_buf_printf(out, HEAD "\nkind %s\n", sbx_name_text(kind_names, (int)record->kind));
    sbx_buf_printf(out, "state %s\n", sbx_name_text(sbx_record_state_names, (int)record->state));
    sbx_buf_printf(out, "pid %" PRIu32 "\ncreated %" PRIu64 "\n", record->owner.pid,
                   record->owner.created);
    sbx_buf_printf(out, "image %s\nsince %" PRIu64 "\n", record->owner.image, record->since);
    if (record->kind == SBX_RECORD_LEASE) {
        sbx_buf_printf(out, "profile %s\n", record->profile);
    } else {
        print_workspace(record, out);
    }
    sbx_sha256_hex(sbx_buf_text(out) + begin, out->len - begin, digest);
    sbx_buf_printf(out, "digest %s\n", digest);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* The first fault stays; behind it every read gives nothing. */
struct reader {
    struct sbx_arena *arena;
    struct sbx_str rest;
    size_t line;
    bool failed;
    bool out_of_memory;
    const char *what; /* of the fault */
};

static void fail(struct reader *reader, const char *what)
{
    if (!reader->failed) {
        reader->failed = true;
        reader->what = what;
    }
}

/* The rest of the line that starts with "key ". */
static struct sbx_str value_of(struct reader *reader, const char *key)
{
    static const struct sbx_str nothing = {"", 0};
    struct sbx_str line;
    struct sbx_str after;
    size_t len = strlen(key);
    if (reader->failed) {
        return nothing;
    }
    reader->line++;
    if (!sbx_str_split(reader->rest, '\n', &line, &after)) {
        fail(reader, "the record ends too early");
        return nothing;
    }
    if (!sbx_str_starts(line, key) || line.len <= len + 1 || line.ptr[len] != ' ') {
        fail(reader, key);
        return nothing;
    }
    reader->rest = after;
    return (struct sbx_str){line.ptr + len + 1, line.len - len - 1};
}

static bool is_plain_text(struct sbx_str text)
{
    if (text.len > SBX_RECORD_VALUE_MAX) {
        return false;
    }
    for (size_t at = 0; at < text.len;) {
        uint32_t character;
        size_t used = sbx_utf8_decode(text.ptr + at, text.len - at, &character);
        if (used == 0 || character < 0x20 || character == 0x7f) {
            return false;
        }
        at += used;
    }
    return true;
}

static const char *take_text(struct reader *reader, const char *key)
{
    struct sbx_str value = value_of(reader, key);
    if (!reader->failed && !is_plain_text(value)) {
        fail(reader, key);
    }
    char *copy = reader->failed ? NULL : sbx_arena_copy(reader->arena, value.ptr, value.len);
    if (copy == NULL && !reader->failed) {
        reader->out_of_memory = true;
        fail(reader, key);
    }
    return copy;
}

/* Decimal, without a leading zero: one number has one spelling. */
static uint64_t take_number(struct reader *reader, const char *key, uint64_t max)
{
    struct sbx_str value = value_of(reader, key);
    uint64_t number = 0;
    if (!reader->failed && ((value.len > 1 && value.ptr[0] == '0') ||
                            !sbx_str_to_u64(value, &number) || number > max)) {
        fail(reader, key);
    }
    return reader->failed ? 0 : number;
}

static void take_hex(struct reader *reader, const char *key, unsigned char *out, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    struct sbx_str value = value_of(reader, key);
    if (!reader->failed && value.len != 2 * count) {
        fail(reader, key);
    }
    for (size_t i = 0; !reader->failed && i < value.len; i++) {
        const char *digit = (const char *)memchr(digits, value.ptr[i], sizeof digits - 1);
        if (digit == NULL) {
            fail(reader, key);
            return;
        }
        unsigned nibble = (unsigned)(digit - digits);
        out[i / 2] = (unsigned char)(i % 2 == 0 ? nibble << 4 : out[i / 2] | nibble);
    }
}

static uint64_t take_hex64(struct reader *reader, const char *key)
{
    unsigned char bytes[8] = {0};
    uint64_t number = 0;
    take_hex(reader, key, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

static int take_word(struct reader *reader, const char *key, const struct sbx_name *words)
{
    struct sbx_str value = value_of(reader, key);
    int number = 0;
    if (!reader->failed && !sbx_name_value(words, value, &number)) {
        fail(reader, key);
    }
    return number;
}

static bool is_name(const char *text, const char *prefix, size_t max)
{
    struct sbx_str name = sbx_str(text);
    size_t head = strlen(prefix);
    if (name.len <= head || name.len > max || !sbx_str_starts(name, prefix)) {
        return false;
    }
    for (size_t i = head; i < name.len; i++) {
        if (!sbx_is_alnum(name.ptr[i]) && name.ptr[i] != '.') {
            return false;
        }
    }
    return true;
}

bool sbx_record_is_profile(const char *name)
{
    return is_name(name, "sbx.", 50);
}

static void take_counts(struct reader *reader, struct sbx_record_counts *out)
{
    out->objects = take_number(reader, "objects", UINT64_MAX);
    out->narrowed = take_number(reader, "narrowed", UINT64_MAX);
    out->hard_links = take_number(reader, "hard-links", UINT64_MAX);
    out->own_lists = take_number(reader, "own-lists", UINT64_MAX);
    out->links = take_number(reader, "links", UINT64_MAX);
    out->refused = take_number(reader, "refused", UINT64_MAX);
}

static void take_above(struct reader *reader, struct sbx_record *record)
{
    uint64_t count = take_number(reader, "above-count", SBX_RECORD_ABOVE_MAX);
    record->above = SBX_NEW_ARRAY(reader->arena, const char *, (size_t)count);
    if (record->above == NULL) {
        reader->out_of_memory = true;
        fail(reader, "above-count");
    }
    for (uint64_t i = 0; i < count && !reader->failed; i++) {
        record->above[record->above_count++] = take_text(reader, "above");
    }
}

static void take_workspace(struct reader *reader, struct sbx_record *record)
{
    static const struct sbx_name accesses[] = {{0, "read"}, {1, "write"}, {0, NULL}};
    static const struct sbx_name nodes[] = {{0, "file"}, {1, "directory"}, {0, NULL}};
    record->capability = take_text(reader, "capability");
    if (!reader->failed && !is_name(record->capability, "sbx.root.", 64)) {
        fail(reader, "capability");
    }
    record->sid = take_text(reader, "sid");
    if (!reader->failed && !sbx_str_starts(sbx_str(record->sid), "S-1-15-3-1024-")) {
        fail(reader, "sid");
    }
    record->is_write = take_word(reader, "access", accesses) != 0;
    record->is_directory = take_word(reader, "node", nodes) != 0;
    record->volume = take_hex64(reader, "volume");
    take_hex(reader, "file", record->file, sizeof record->file);
    record->path = take_text(reader, "path");
    record->journal = take_hex64(reader, "journal");
    record->usn = take_number(reader, "usn", INT64_MAX);
    take_counts(reader, &record->counts);
    take_above(reader, record);
}

/* Before anything else is believed: the last line is the digest of all before it. */
static void check_digest(struct reader *reader, struct sbx_str *text)
{
    static const size_t line = sizeof "digest \n" - 1 + SBX_SHA256_HEX - 1;
    char digest[SBX_SHA256_HEX];
    if (text->len < line) {
        fail(reader, "the record ends too early");
        return;
    }
    struct sbx_str last = {text->ptr + text->len - line, line};
    text->len -= line;
    sbx_sha256_hex(text->ptr, text->len, digest);
    char wanted[96];
    sbx_text_format(wanted, sizeof wanted, "digest %s\n", digest);
    if (!sbx_str_is(last, wanted)) {
        fail(reader, "its digest is not that of its content");
    }
}

static void take_head(struct reader *reader)
{
    struct sbx_str line;
    reader->line++;
    if (reader->failed) {
        return;
    }
    if (!sbx_str_split(reader->rest, '\n', &line, &reader->rest) || !sbx_str_is(line, HEAD)) {
        fail(reader, "it is no record of this version");
    }
}

static void take_record(struct reader *reader, struct sbx_record *record)
{
    record->kind = (enum sbx_record_kind)take_word(reader, "kind", kind_names);
    record->state = (enum sbx_record_state)take_word(reader, "state", sbx_record_state_names);
    bool is_lease = record->kind == SBX_RECORD_LEASE;
    if (!reader->failed && (record->state <= SBX_RECORD_EXITED) != is_lease) {
        fail(reader, "state");
    }
    record->owner.pid = (uint32_t)take_number(reader, "pid", UINT32_MAX);
    record->owner.created = take_number(reader, "created", UINT64_MAX);
    record->owner.image = take_text(reader, "image");
    record->since = take_number(reader, "since", INT64_MAX);
    if (!is_lease) {
        take_workspace(reader, record);
        return;
    }
    record->profile = take_text(reader, "profile");
    if (!reader->failed && !sbx_record_is_profile(record->profile)) {
        fail(reader, "profile");
    }
}

enum sbx_code sbx_record_parse(struct sbx_arena *arena, struct sbx_str text, struct sbx_record *out,
                               struct sbx_err *err)
{
    struct reader reader = {.arena = arena};
    struct sbx_record record = {0};
    if (text.len > SBX_RECORD_BYTES_MAX) {
        return sbx_err_set(err, SBX_E_LIMIT, "a record has more than %zu bytes",
                           SBX_RECORD_BYTES_MAX);
    }
    check_digest(&reader, &text);
    reader.rest = text;
    take_head(&reader);
    take_record(&reader, &record);
    if (!reader.failed && reader.rest.len > 0) {
        fail(&reader, "something follows its last line");
    }
    if (reader.out_of_memory) {
        return sbx_err_nomem(err);
    }
    if (reader.failed) {
        return sbx_err_set(err, SBX_E_SYNTAX, "the record is damaged at line %zu: %s", reader.line,
                           reader.what);
    }
    *out = record;
    return SBX_OK;
}
