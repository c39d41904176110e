/* Messages to lines and back, for both ends. No I/O: frame.h cuts lines out of what is received; what is written here goes into a
 * buffer that the caller sends.
 *
 * The service reads:                                       A client reads:
 *     code = sbx_wire_read(&reader, line, &message, &err);     code = sbx_wire_read(&reader, line, &message, &err);
 *     code = sbx_wire_take_params(&message, &body, &err);      row = what the request with message.id was
 *                                                              code = sbx_wire_take_result(&message, row, &body, &err);
 * The line must be memory that may be written: texts are unescaped, and base64 is decoded, where they stand. So the slices in
 * `message` and `body` are valid as long as the line is, and params or a result can be taken once. sbx_wire_read alone leaves a line
 * whose id is a number as it was. */
#ifndef SBX_WIRE_WIRE_H
#define SBX_WIRE_WIRE_H

#include "common/base/buf.h"
#include "common/wire/json_scan.h"
#include "common/wire/message.h"

enum sbx_wire_sort {
    SBX_WIRE_NOTHING, /* what could be read is not a message */
    SBX_WIRE_REQUEST,
    SBX_WIRE_NOTICE,
    SBX_WIRE_RESULT,
    SBX_WIRE_ERROR,
};

struct sbx_wire_message {
    enum sbx_wire_sort sort;
    struct sbx_wire_id id; /* also of a request that is refused, when it could be read */
    enum sbx_wire_method
        method;            /* of a request or a notice; SBX_WIRE_METHOD_COUNT for an unknown one */
    struct sbx_str params; /* raw object; empty when there is none */
    struct sbx_str result; /* raw object */
    struct sbx_str error;  /* raw object */
};

/* ---- reading ---- */

/* SBX_WIRE_PARSE: answer with id null and close the connection. SBX_WIRE_INVALID_REQUEST, SBX_WIRE_NO_METHOD: answer with
 * message->id (which is null when it could not be read); an unknown notice is no error and has the method SBX_WIRE_METHOD_COUNT.
 * `err` says why, for the answer. */
enum sbx_wire_code sbx_wire_read(struct sbx_json_reader *reader, struct sbx_str line,
                                 struct sbx_wire_message *message,
                                 struct sbx_err *err) SBX_MUST_USE;

/* The members of a request or notice whose method is known; absent ones get their defaults. SBX_WIRE_OK or
 * SBX_WIRE_INVALID_PARAMS. A request may not have members that the table does not know, a notice may. */
enum sbx_wire_code sbx_wire_take_params(const struct sbx_wire_message *message,
                                        union sbx_wire_body *body,
                                        struct sbx_err *err) SBX_MUST_USE;

/* The result of the request `method`. Members that are not known are left out: a newer service may have them. */
enum sbx_wire_code sbx_wire_take_result(const struct sbx_wire_message *message,
                                        enum sbx_wire_method method, union sbx_wire_body *body,
                                        struct sbx_err *err) SBX_MUST_USE;

/* The error object. A number that is not in the table becomes SBX_WIRE_INTERNAL; the message stays. */
enum sbx_wire_code sbx_wire_take_error(const struct sbx_wire_message *message,
                                       struct sbx_wire_error *error,
                                       struct sbx_err *err) SBX_MUST_USE;

/* The items of a struct sbx_wire_list in turn. `members` says of what kind; `item` is a struct of that kind. Starts with
 * sbx_json_enter(list.items, &walk). False at the end, and at an item that is not of this kind. */
bool sbx_wire_next_item(struct sbx_json_walk *walk, const struct sbx_wire_members *members,
                        void *item);

/* The next text of a list; false at its end, and at once for one that is absent. The text has its NUL behind it. */
bool sbx_wire_next_text(struct sbx_wire_texts *texts, struct sbx_str *out);

/* Are both ids the same? Those that are null never are. */
bool sbx_wire_id_eq(const struct sbx_wire_id *a, const struct sbx_wire_id *b);

/* ---- writing: each adds one line with its newline, or sets out->failed ---- */

/* All members absent. */
void sbx_wire_init(const struct sbx_wire_members *members, void *body);

/* `params` is the struct of the method's row; NULL for one without members. Texts must be UTF-8; raw members must be JSON. */
void sbx_wire_add_request(struct sbx_buf *out, const struct sbx_wire_id *id,
                          enum sbx_wire_method method, const void *params);
void sbx_wire_add_notice(struct sbx_buf *out, enum sbx_wire_method method, const void *params);
void sbx_wire_add_result(struct sbx_buf *out, const struct sbx_wire_id *id,
                         enum sbx_wire_method method, const void *result);

/* An id of NULL is written as null. */
void sbx_wire_add_error(struct sbx_buf *out, const struct sbx_wire_id *id,
                        const struct sbx_wire_error *error);
/* The same from what a function of ours said. */
void sbx_wire_add_failure(struct sbx_buf *out, const struct sbx_wire_id *id,
                          enum sbx_wire_code code, const struct sbx_err *err);

/* One object without a newline: an item of a list. The caller writes brackets and commas. */
void sbx_wire_add_item(struct sbx_buf *out, const struct sbx_wire_members *members,
                       const void *item);

/* Reads an id: an integer, or a string of at most 64 bytes without NUL. */
bool sbx_wire_take_id(const struct sbx_json_value *value, struct sbx_wire_id *id);

/* Puts a text into a list that is being made for a request: `storage` holds the texts one behind another. Afterwards
 * texts->first must be set to its data, which may have moved. */
void sbx_wire_push_text(struct sbx_wire_texts *texts, struct sbx_buf *storage, struct sbx_str text);

#endif
