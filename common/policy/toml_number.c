/* TOML reader: integers and the grammar of floats. */
#include <math.h>
#include <string.h>

#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

/* A number token being read: `at` moves from the first byte to `end`. */
struct token {
    struct sbx_toml_reader *reader;
    const char *at, *end;
};

static enum sbx_code bad_number(const struct token *token)
{
    const char *at = token->at;
    if (at == token->end) {
        return sbx_toml_fail(token->reader, at, "the number is not complete; a digit is missing");
    }
    if (*at == '_') {
        return sbx_toml_fail(token->reader, at, "an underscore has to stand between two digits");
    }
    struct sbx_toml_shown shown = sbx_toml_show((struct sbx_str){at, 1});
    return sbx_toml_fail(token->reader, at,
                         "%s does not belong into a number here; strings need "
                         "quotes",
                         shown.text);
}

/* The value of a digit in the base, or -1. */
static int digit_value(char c, unsigned base)
{
    int value = -1;
    if (c >= '0' && c <= '9') {
        value = c - '0';
    } else if (c >= 'a' && c <= 'f') {
        value = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
        value = c - 'A' + 10;
    }
    return value < (int)base ? value : -1;
}

/* One or more digits, single underscores between them. */
static enum sbx_code skip_digits(struct token *token, unsigned base)
{
    bool after_digit = false;
    for (; token->at < token->end; token->at++) {
        if (digit_value(*token->at, base) >= 0) {
            after_digit = true;
        } else if (*token->at == '_' && after_digit) {
            after_digit = false;
        } else {
            break;
        }
    }
    if (after_digit) {
        return SBX_OK;
    }
    if (token->at > token->reader->at && token->at[-1] == '_') {
        token->at--; /* the underscore is what is wrong, not what follows it */
    }
    return bad_number(token);
}

/* Digits whose grammar is checked; false when the value is above `max`. */
static bool to_integer(const char *at, const char *end, unsigned base, uint64_t max, uint64_t *out)
{
    const bool may_overflow = end - at > 15; /* 15 hexadecimal digits are 60 bits */
    uint64_t value = 0;
    for (; at < end; at++) {
        if (*at == '_') {
            continue;
        }
        uint64_t digit = (uint64_t)digit_value(*at, base);
        if (may_overflow && value > (max - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    *out = value;
    return true;
}

static enum sbx_code finish_integer(struct token *token, const char *digits, unsigned base,
                                    bool negative, struct sbx_value *out)
{
    const uint64_t max = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t value;
    if (token->at != token->end) {
        return bad_number(token);
    }
    if (!to_integer(digits, token->end, base, max, &value)) {
        return sbx_toml_fail(token->reader, token->reader->at,
                             "the integer does not fit into 64 bits with sign");
    }
    out->type = SBX_VALUE_INTEGER;
    out->integer = negative ? (int64_t)(0 - value) : (int64_t)value;
    token->reader->at = token->end;
    return SBX_OK;
}

/* At "0x", "0o" or "0b". */
static enum sbx_code read_based(struct token *token, bool has_sign, struct sbx_value *out)
{
    const unsigned base = token->at[1] == 'x' ? 16 : token->at[1] == 'o' ? 8 : 2;
    if (has_sign) {
        return sbx_toml_fail(token->reader, token->reader->at,
                             "a hexadecimal, octal or binary number takes no sign");
    }
    token->at += 2;
    const char *digits = token->at;
    enum sbx_code code = skip_digits(token, base);
    return code == SBX_OK ? finish_integer(token, digits, base, false, out) : code;
}

/* "inf" or "nan" after a sign. */
static enum sbx_code read_special(struct token *token, bool negative, struct sbx_value *out)
{
    double number = *token->at == 'i' ? (double)INFINITY : (double)NAN;
    if (token->end - token->at != 3 ||
        memcmp(token->at, *token->at == 'i' ? "inf" : "nan", 3) != 0) {
        return bad_number(token);
    }
    out->type = SBX_VALUE_FLOAT;
    out->number = negative ? -number : number;
    token->reader->at = token->end;
    return SBX_OK;
}

/* Behind the digits before the point. */
static enum sbx_code read_float(struct token *token, const char *digits, bool negative,
                                struct sbx_value *out)
{
    enum sbx_code code = SBX_OK;
    if (*token->at == '.') {
        token->at++;
        code = skip_digits(token, 10);
    }
    if (code == SBX_OK && token->at < token->end && (*token->at == 'e' || *token->at == 'E')) {
        token->at++;
        if (token->at < token->end && (*token->at == '+' || *token->at == '-')) {
            token->at++;
        }
        code = skip_digits(token, 10);
    }
    if (code == SBX_OK && token->at != token->end) {
        code = bad_number(token);
    }
    if (code != SBX_OK) {
        return code;
    }
    double number = sbx_toml_to_double(digits, token->end);
    out->type = SBX_VALUE_FLOAT;
    out->number = negative ? -number : number;
    token->reader->at = token->end;
    return SBX_OK;
}

enum sbx_code sbx_toml_read_number(struct sbx_toml_reader *reader, struct sbx_value *out)
{
    struct token token = {reader, reader->at, sbx_toml_skip(reader, reader->at, SBX_TOML_NUMBER)};
    const bool negative = *token.at == '-';
    const bool has_sign = negative || *token.at == '+';
    token.at += has_sign ? 1 : 0;
    if (has_sign && token.at < token.end && (*token.at == 'i' || *token.at == 'n')) {
        return read_special(&token, negative, out);
    }
    if (token.end - token.at >= 2 && *token.at == '0' &&
        (token.at[1] == 'x' || token.at[1] == 'o' || token.at[1] == 'b')) {
        return read_based(&token, has_sign, out);
    }
    const char *digits = token.at;
    enum sbx_code code = skip_digits(&token, 10);
    if (code != SBX_OK) {
        return code;
    }
    if (*digits == '0' && token.at - digits > 1) {
        return sbx_toml_fail(reader, digits,
                             "leading zeros are not allowed; an octal number "
                             "starts with 0o");
    }
    if (token.at < token.end && (*token.at == '.' || *token.at == 'e' || *token.at == 'E')) {
        return read_float(&token, digits, negative, out);
    }
    return finish_integer(&token, digits, 10, negative, out);
}
