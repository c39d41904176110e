/* What the files of the TOML reader share. Only toml*.c include it.
 *
 * The reader goes once over the text. Members are kept in lists of entries in a scratch arena while
 * their table can still grow; a table is copied into one exact array in the caller's arena when it
 * is complete (an inline table at its brace, all others at the end of the text). Most tables are
 * complete when the next header comes, though nobody can know: what a small one has by then is
 * copied at once, as its run, so that its entries can be used again and are still in the cache. */
#ifndef SBX_POLICY_TOML_INTERNAL_H
#define SBX_POLICY_TOML_INTERNAL_H

#include "common/policy/toml.h"

/* How an entry came to be, which decides what may still be added to it. */
enum sbx_toml_kind {
    SBX_TOML_VALUE,    /* complete: a scalar, an array in brackets, an inline table */
    SBX_TOML_IMPLICIT, /* table named on the way by a header; its own header may still come */
    SBX_TOML_HEADER,   /* table with its own header, element of an array of tables, or the root */
    SBX_TOML_DOTTED,   /* table made by a dotted key */
    SBX_TOML_TABLES,   /* array of tables; its entries are the elements */
};

/* What every member of a table has. An entry or a table starts with it. */
struct sbx_toml_head {
    const char *key; /* NULL for an element of an array of tables */
    uint32_t key_len;
    enum sbx_toml_kind kind;
    struct sbx_place place; /* of the key */
    struct sbx_toml_head *next;
};

/* With kind SBX_TOML_VALUE. */
struct sbx_toml_entry {
    struct sbx_toml_head head;
    struct sbx_value value;
};

/* With any other kind. */
struct sbx_toml_table {
    struct sbx_toml_head head;
    struct sbx_place defined; /* by its header or first dotted key */
    struct sbx_member *run;   /* its first members, all values, when its section is over */
    struct sbx_toml_head *first, *last;
    struct sbx_toml_index *index; /* over the list; unused while it is short */
    uint32_t count;               /* of the list */
    uint16_t depth;               /* of the root: 0 */
    uint8_t run_count;
};

/* Where in a table's index a key that was not found belongs. */
struct sbx_toml_spot {
    uintptr_t *root;
    uint32_t position;
    uint16_t mask;
};

struct sbx_toml_key {
    struct sbx_str text;
    struct sbx_place place;
    const char *at;
};

struct sbx_toml_reader {
    struct sbx_arena *arena;
    struct sbx_arena scratch; /* gone when the reader returns */
    const char *name;
    const char *text, *end;
    const char *at; /* next byte */
    bool is_ascii;  /* all of the text */
    uint32_t line;
    uint32_t columns;    /* characters of this line before `counted` */
    const char *counted; /* in an ASCII text: the start of the line */
    unsigned max_depth;
    struct sbx_toml_head *spare;  /* entries to use again */
    struct sbx_toml_entry *fresh; /* entries not yet used, and how many */
    size_t fresh_count;
    struct sbx_toml_branch *branches; /* likewise, for toml_index.c */
    size_t branch_count;
    struct sbx_toml_chunk *chunks; /* to use again, for toml_array.c */
    struct sbx_toml_table root;
    struct sbx_toml_table *section; /* the table of the last header */
    struct sbx_toml_entry found;    /* a member of a run, as an entry */
    struct sbx_toml_fault *fault;
    struct sbx_err *err;
};

/* ---- toml_fault.c: telling where and why -------------------------------------------------- */

/* The text is not TOML at `at`. Fills fault and err; returns SBX_E_SYNTAX. */
enum sbx_code sbx_toml_fail(struct sbx_toml_reader *reader, const char *at, const char *format, ...)
    SBX_PRINTF(3, 4);

/* "expected WHAT, found …" at the next byte. Returns SBX_E_SYNTAX. */
enum sbx_code sbx_toml_expected(struct sbx_toml_reader *reader, const char *what);

/* Returns SBX_E_LIMIT. */
enum sbx_code sbx_toml_too_deep(struct sbx_toml_reader *reader, const char *at);
enum sbx_code sbx_toml_too_large(struct sbx_toml_reader *reader, size_t max_bytes);

/* Returns SBX_E_NOMEM. */
enum sbx_code sbx_toml_no_memory(struct sbx_toml_reader *reader);

/* Text from the file inside a message: quoted, safe for a terminal, cut when long. */
struct sbx_toml_shown {
    char text[128];
};
struct sbx_toml_shown sbx_toml_show(struct sbx_str text);

/* ---- toml_scan.c: bytes, blanks, lines ------------------------------------------------------ */

/* What a byte may be part of. Bytes above 0x7f are checked UTF-8 by then. */
enum {
    SBX_TOML_BARE = 1,    /* a bare key */
    SBX_TOML_BASIC = 2,   /* a basic string, as it is */
    SBX_TOML_LITERAL = 4, /* a literal string */
    SBX_TOML_COMMENT = 8,
    SBX_TOML_NUMBER = 16, /* a number, a date, or a word in their place */
};
extern const uint8_t sbx_toml_classes[256];

static inline bool sbx_toml_is(char c, unsigned class)
{
    return (sbx_toml_classes[(unsigned char)c] & class) != 0;
}

static inline bool sbx_toml_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The next byte, or NUL at the end (a NUL in the text is an error wherever it stands). */
static inline char sbx_toml_peek(const struct sbx_toml_reader *reader)
{
    return reader->at < reader->end ? *reader->at : '\0';
}

static inline void sbx_toml_skip_space(struct sbx_toml_reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t')) {
        reader->at++;
    }
}

/* First byte from `at` on that is not of the class, or the end. */
static inline const char *sbx_toml_skip(const struct sbx_toml_reader *reader, const char *at,
                                        unsigned class)
{
    while (at < reader->end && sbx_toml_is(*at, class)) {
        at++;
    }
    return at;
}

/* Place of `at`, which lies in the current line and not before the last place asked for. */
struct sbx_place sbx_toml_place(struct sbx_toml_reader *reader, const char *at);

/* At LF or CR: goes to the next line. A CR without LF is refused. */
enum sbx_code sbx_toml_newline(struct sbx_toml_reader *reader) SBX_MUST_USE;

/* At "#": goes to the end of the line, not over it. */
enum sbx_code sbx_toml_skip_comment(struct sbx_toml_reader *reader) SBX_MUST_USE;

/* Spaces, comments and newlines, as inside an array. */
enum sbx_code sbx_toml_skip_blank(struct sbx_toml_reader *reader) SBX_MUST_USE;

/* Spaces, perhaps a comment, then a newline or the end of the text. `after` is for the message. */
enum sbx_code sbx_toml_end_line(struct sbx_toml_reader *reader, const char *after) SBX_MUST_USE;

/* ---- toml_document.c: statements ------------------------------------------------------------ */

enum sbx_code sbx_toml_read_document(struct sbx_toml_reader *reader) SBX_MUST_USE;

/* key = value, into `table`; stops behind the value. */
enum sbx_code sbx_toml_read_pair(struct sbx_toml_reader *reader,
                                 struct sbx_toml_table *table) SBX_MUST_USE;

/* ---- values: each starts at the value's first byte and stops behind its last --------------- */

/* `depth` is that of the table or array the value belongs to. */
enum sbx_code sbx_toml_read_value(struct sbx_toml_reader *reader, unsigned depth,
                                  struct sbx_value *out) SBX_MUST_USE;

/* At "[". The place of *out is set. */
enum sbx_code sbx_toml_read_array(struct sbx_toml_reader *reader, unsigned depth,
                                  struct sbx_value *out) SBX_MUST_USE;

/* At a quote. A multi-line string only when `allow_lines`. */
enum sbx_code sbx_toml_read_string(struct sbx_toml_reader *reader, bool allow_lines,
                                   struct sbx_str *out) SBX_MUST_USE;

/* At a digit, a sign, "inf" or "nan". */
enum sbx_code sbx_toml_read_number(struct sbx_toml_reader *reader,
                                   struct sbx_value *out) SBX_MUST_USE;

/* Correctly rounded value of an unsigned decimal float whose grammar is checked ("1_0.5e-3"). */
double sbx_toml_to_double(const char *start, const char *end);

/* True when the bytes at `at` start a date or a time instead of a number. */
bool sbx_toml_is_datetime(const struct sbx_toml_reader *reader);
enum sbx_code sbx_toml_read_datetime(struct sbx_toml_reader *reader,
                                     struct sbx_value *out) SBX_MUST_USE;

/* ---- toml_table.c: members in lists and runs ------------------------------------------------ */

static inline struct sbx_toml_table *sbx_toml_as_table(struct sbx_toml_head *head)
{
    return (struct sbx_toml_table *)(void *)head;
}

static inline struct sbx_toml_entry *sbx_toml_as_entry(struct sbx_toml_head *head)
{
    return (struct sbx_toml_entry *)(void *)head;
}

/* The member, or NULL and the spot where it belongs (valid until something is added to `table`).
 * What it returns may be reader->found: a value, valid until the next search. */
struct sbx_toml_head *sbx_toml_find(struct sbx_toml_reader *reader,
                                    const struct sbx_toml_table *table, struct sbx_str key,
                                    struct sbx_toml_spot *spot);

/* Adds a member that sbx_toml_find did not find. */
enum sbx_code sbx_toml_add(struct sbx_toml_reader *reader, struct sbx_toml_table *table,
                           const struct sbx_toml_key *key, const struct sbx_toml_spot *spot,
                           struct sbx_toml_head *head) SBX_MUST_USE;

/* An entry in no list; NULL when memory is gone. */
struct sbx_toml_entry *sbx_toml_new_entry(struct sbx_toml_reader *reader) SBX_MUST_USE;

/* Adds an element to an array of tables. */
void sbx_toml_append(struct sbx_toml_table *tables, struct sbx_toml_head *head);

/* The section's lines are over: the next one is a header. */
enum sbx_code sbx_toml_end_section(struct sbx_toml_reader *reader) SBX_MUST_USE;

/* Copies the complete table, with all tables in it, into the caller's arena; its entries are free
 * to be used again. */
enum sbx_code sbx_toml_close_table(struct sbx_toml_reader *reader, struct sbx_toml_table *table,
                                   struct sbx_value *out) SBX_MUST_USE;

/* ---- toml_define.c: what may be defined where ----------------------------------------------- */

/* Refuses a key that is there already; else its spot. */
enum sbx_code sbx_toml_check_new(struct sbx_toml_reader *reader, const struct sbx_toml_table *table,
                                 const struct sbx_toml_key *key,
                                 struct sbx_toml_spot *spot) SBX_MUST_USE;

/* The table that `key` names in *table, made when it is missing: on the way of a dotted key, on the
 * way of a header, as the table of a header, as the next element of an array of tables. *table is
 * replaced by it. */
typedef enum sbx_code sbx_toml_open(struct sbx_toml_reader *reader, struct sbx_toml_table **table,
                                    const struct sbx_toml_key *key);
sbx_toml_open sbx_toml_open_dotted SBX_MUST_USE;
sbx_toml_open sbx_toml_open_super SBX_MUST_USE;
sbx_toml_open sbx_toml_open_header SBX_MUST_USE;
sbx_toml_open sbx_toml_open_element SBX_MUST_USE;

/* ---- toml_index.c: members of large tables by key ------------------------------------------- */

/* The member of the list whose key is equal; else NULL and *spot. */
struct sbx_toml_head *sbx_toml_index_find(const struct sbx_toml_table *table, struct sbx_str key,
                                          struct sbx_toml_spot *spot);

/* Adds the member that was just appended to the list, at the spot that a failed look-up gave. */
enum sbx_code sbx_toml_index_add(struct sbx_toml_reader *reader, struct sbx_toml_table *table,
                                 struct sbx_toml_head *head,
                                 const struct sbx_toml_spot *spot) SBX_MUST_USE;

/* Makes the index of a list, which is not empty, anew. */
enum sbx_code sbx_toml_index_build(struct sbx_toml_reader *reader,
                                   struct sbx_toml_table *table) SBX_MUST_USE;

#endif
