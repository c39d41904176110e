/* TOML reader: correctly rounded decimal floats, independent of the locale, linear in their length.
 */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/policy/toml_internal.h"

#include "common/base/banned.h"

/* 767 significant digits decide the rounding of any double; further ones only matter by not being
 * zero, which one more digit "1" says as well. So strtod never sees more, and its time is bounded
 * (some C libraries need quadratic time). */
#define MAX_DIGITS 768

/* An exponent beyond this gives 0 or infinity with any digits that fit into memory. */
#define MAX_EXPONENT INT64_C(1000000000000)

/* Up to 15 digits make an integer below 2^53. */
#define EXACT_DIGITS 15
#define EXACT_EXPONENT 22

/* The number is its significant digits, read as an integer, times 10^exponent. */
struct decimal {
    int64_t exponent;
    uint64_t mantissa; /* of the first EXACT_DIGITS */
    uint64_t count;    /* of digits, without leading zeros */
};

/* Behind the "e". */
static int64_t read_exponent(const char *at, const char *end)
{
    const bool negative = *at == '-';
    int64_t exponent = 0;
    for (; at < end; at++) {
        if (sbx_toml_is_digit(*at) && exponent < MAX_EXPONENT) {
            exponent = exponent * 10 + (*at - '0');
        }
    }
    return negative ? -exponent : exponent;
}

static struct decimal read_decimal(const char *at, const char *end)
{
    struct decimal decimal = {0, 0, 0};
    bool after_point = false;
    for (; at < end; at++) {
        if (sbx_toml_is_digit(*at)) {
            decimal.exponent -= after_point ? 1 : 0;
            if (*at != '0' || decimal.count > 0) {
                decimal.count++;
                if (decimal.count <= EXACT_DIGITS) {
                    decimal.mantissa = decimal.mantissa * 10 + (uint64_t)(*at - '0');
                }
            }
        } else if (*at == '.') {
            after_point = true;
        } else if (*at != '_') {
            decimal.exponent += read_exponent(at + 1, end);
            break;
        }
    }
    return decimal;
}

/* A mantissa below 2^53 and a power of ten up to 10^22 are exact doubles, and one operation on
 * exact doubles rounds correctly, unless it is done in a wider format. */
static bool is_exact(const struct decimal *decimal)
{
    return FLT_EVAL_METHOD == 0 && decimal->count <= EXACT_DIGITS &&
           decimal->exponent >= -EXACT_EXPONENT && decimal->exponent <= EXACT_EXPONENT;
}

static double exact_value(const struct decimal *decimal)
{
    static const double powers[EXACT_EXPONENT + 1] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const double mantissa = (double)decimal->mantissa;
    return decimal->exponent < 0 ? mantissa / powers[-decimal->exponent]
                                 : mantissa * powers[decimal->exponent];
}

/* Through strtod, as "DIGITSeEXPONENT": without a point there is nothing a locale could change. */
static double rounded_value(const char *at, const char *end, const struct decimal *decimal)
{
    char text[MAX_DIGITS + 32];
    size_t count = 0;
    bool more = false;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (!sbx_toml_is_digit(*at) || (*at == '0' && count == 0)) {
            continue;
        }
        if (count < MAX_DIGITS) {
            text[count++] = *at;
        } else {
            more = more || *at != '0';
        }
    }
    int64_t exponent = decimal->exponent + (int64_t)(decimal->count - count);
    if (more) {
        text[count++] = '1';
        exponent--;
    }
    exponent = exponent > 9999 ? 9999 : exponent;
    exponent = exponent < -9999 ? -9999 : exponent;
    (void)snprintf(text + count, sizeof text - count, "e%d", (int)exponent);
    return strtod(text, NULL);
}

double sbx_toml_to_double(const char *start, const char *end)
{
    const struct decimal decimal = read_decimal(start, end);
    if (decimal.count == 0) {
        return 0.0;
    }
    return is_exact(&decimal) ? exact_value(&decimal) : rounded_value(start, end, &decimal);
}
