/* TOML reader: dates and times (RFC 3339). A leap second (":60") is refused, as tomllib does. */
#include <string.h>

#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

/* Exactly `count` digits at the reader; their value is between `low` and `high`. */
static enum sbx_code read_field(struct sbx_toml_reader *reader, const char *what, unsigned count,
                                unsigned low, unsigned high, unsigned *out)
{
    const char *start = reader->at;
    unsigned value = 0;
    for (unsigned i = 0; i < count; i++, reader->at++) {
        if (!sbx_toml_is_digit(sbx_toml_peek(reader))) {
            return sbx_toml_fail(reader, reader->at, "the %s needs %u digits", what, count);
        }
        value = value * 10 + (unsigned)(*reader->at - '0');
    }
    if (value < low || value > high) {
        return sbx_toml_fail(reader, start, "the %s %u is not between %u and %u", what, value, low,
                             high);
    }
    *out = value;
    return SBX_OK;
}

static enum sbx_code read_mark(struct sbx_toml_reader *reader, char mark, const char *form)
{
    if (sbx_toml_peek(reader) != mark) {
        return sbx_toml_fail(reader, reader->at, "expected \"%c\" here: %s", mark, form);
    }
    reader->at++;
    return SBX_OK;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static enum sbx_code read_date(struct sbx_toml_reader *reader, struct sbx_datetime *out)
{
    static const char form[] = "a date is YYYY-MM-DD";
    unsigned year = 0;
    unsigned month = 1;
    unsigned day = 1;
    enum sbx_code code = read_field(reader, "year", 4, 0, 9999, &year);
    code = code == SBX_OK ? read_mark(reader, '-', form) : code;
    code = code == SBX_OK ? read_field(reader, "month", 2, 1, 12, &month) : code;
    code = code == SBX_OK ? read_mark(reader, '-', form) : code;
    code =
        code == SBX_OK ? read_field(reader, "day", 2, 1, days_in_month(year, month), &day) : code;
    out->year = (uint16_t)year;
    out->month = (uint8_t)month;
    out->day = (uint8_t)day;
    return code;
}

/* At the point: digits beyond the ninth are read and dropped. */
static enum sbx_code read_fraction(struct sbx_toml_reader *reader, struct sbx_datetime *out)
{
    uint32_t unit = 100000000;
    reader->at++;
    if (!sbx_toml_is_digit(sbx_toml_peek(reader))) {
        return sbx_toml_fail(reader, reader->at, "a digit is missing after the point");
    }
    for (; sbx_toml_is_digit(sbx_toml_peek(reader)); reader->at++) {
        out->nanosecond += unit * (uint32_t)(*reader->at - '0');
        unit /= 10;
    }
    return SBX_OK;
}

static enum sbx_code read_time(struct sbx_toml_reader *reader, struct sbx_datetime *out)
{
    static const char form[] = "a time is HH:MM:SS";
    unsigned hour = 0;
    unsigned minute = 0;
    unsigned second = 0;
    enum sbx_code code = read_field(reader, "hour", 2, 0, 23, &hour);
    code = code == SBX_OK ? read_mark(reader, ':', form) : code;
    code = code == SBX_OK ? read_field(reader, "minute", 2, 0, 59, &minute) : code;
    code = code == SBX_OK ? read_mark(reader, ':', form) : code;
    code = code == SBX_OK ? read_field(reader, "second", 2, 0, 59, &second) : code;
    out->hour = (uint8_t)hour;
    out->minute = (uint8_t)minute;
    out->second = (uint8_t)second;
    if (code == SBX_OK && sbx_toml_peek(reader) == '.') {
        code = read_fraction(reader, out);
    }
    return code;
}

/* Behind a date and time: an offset makes it a point in time. */
static enum sbx_code read_offset(struct sbx_toml_reader *reader, struct sbx_datetime *out)
{
    const char sign = sbx_toml_peek(reader);
    if (sign == 'Z' || sign == 'z') {
        out->kind = SBX_DATETIME_OFFSET;
        out->is_zulu = true;
        reader->at++;
        return SBX_OK;
    }
    if (sign != '+' && sign != '-') {
        return SBX_OK;
    }
    unsigned hours = 0;
    unsigned minutes = 0;
    reader->at++;
    enum sbx_code code = read_field(reader, "hour of the offset", 2, 0, 23, &hours);
    code = code == SBX_OK ? read_mark(reader, ':', "an offset is +HH:MM, -HH:MM or Z") : code;
    code = code == SBX_OK ? read_field(reader, "minute of the offset", 2, 0, 59, &minutes) : code;
    const int total = (int)(hours * 60 + minutes);
    out->kind = SBX_DATETIME_OFFSET;
    out->offset_minutes = (int16_t)(sign == '-' ? -total : total);
    return code;
}

/* Behind a date: does a time follow? A space only counts with a digit behind it. */
static bool takes_time(struct sbx_toml_reader *reader)
{
    const char c = sbx_toml_peek(reader);
    if (c == ' ') {
        if (reader->end - reader->at < 2 || !sbx_toml_is_digit(reader->at[1])) {
            return false;
        }
    } else if (c != 'T' && c != 't') {
        return false;
    }
    reader->at++;
    return true;
}

static bool digits_then(const struct sbx_toml_reader *reader, int count, char mark)
{
    if (reader->end - reader->at <= count || reader->at[count] != mark) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!sbx_toml_is_digit(reader->at[i])) {
            return false;
        }
    }
    return true;
}

bool sbx_toml_is_datetime(const struct sbx_toml_reader *reader)
{
    return digits_then(reader, 4, '-') || digits_then(reader, 2, ':');
}

enum sbx_code sbx_toml_read_datetime(struct sbx_toml_reader *reader, struct sbx_value *out)
{
    struct sbx_datetime value;
    memset(&value, 0, sizeof value);
    enum sbx_code code;
    if (digits_then(reader, 2, ':')) {
        value.kind = SBX_DATETIME_TIME;
        code = read_time(reader, &value);
    } else {
        value.kind = SBX_DATETIME_DATE;
        code = read_date(reader, &value);
        if (code == SBX_OK && takes_time(reader)) {
            value.kind = SBX_DATETIME_LOCAL;
            code = read_time(reader, &value);
            code = code == SBX_OK ? read_offset(reader, &value) : code;
        }
    }
    if (code != SBX_OK) {
        return code;
    }
    if (sbx_toml_is(sbx_toml_peek(reader), SBX_TOML_NUMBER)) {
        return sbx_toml_expected(reader, "the end of the date or time");
    }
    out->type = SBX_VALUE_DATETIME;
    out->datetime = value;
    return SBX_OK;
}
