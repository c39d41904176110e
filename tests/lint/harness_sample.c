/* Cases that end in every way a case can, for harness.py: what tests/check.h makes of them must be right
 * before any other test means something. */
#include "tests/check.h"

static void holds(void)
{
    CHECK(true);
    CHECK_INT(-3, -3);
    CHECK_U64(UINT64_MAX, UINT64_MAX);
    CHECK_TEXT("a", "a");
    CHECK_TEXT(NULL, NULL);
    CHECK_STR(sbx_str("a"), "a");
    CHECK_STR(sbx_str(NULL), "");
    CHECK_CODE(SBX_E_IO, SBX_E_IO, NULL);
    CHECK_MEM("a\0b", 3, "a\0b", 3);
}

static void wrong_condition(void)
{
    CHECK(1 > 2);
}

static void wrong_integer(void)
{
    CHECK_INT(-3, 4);
}

static void wrong_number(void)
{
    CHECK_U64(1, 2);
}

static void wrong_text(void)
{
    CHECK_TEXT("line\n", "other");
}

static void missing_text(void)
{
    CHECK_TEXT(NULL, "");
}

static void wrong_view(void)
{
    CHECK_STR(sbx_str("ab"), "a");
}

static void wrong_code(void)
{
    struct sbx_err err = {.code = SBX_E_IO, .text = "the cause"};
    CHECK_CODE(SBX_E_IO, SBX_OK, &err);
}

static void wrong_system_call(void)
{
    struct sbx_err err = {0};
    (void)sbx_err_os(&err, SBX_E_IO, SBX_OS_WIN32, 1359, "StartIt", "the cause");
    CHECK_CODE(err.code, SBX_OK, &err);
}

static void wrong_memory(void)
{
    CHECK_MEM("a\0b", 3, "a\0c", 3);
}

static void wrong_then_right(void)
{
    CHECK_INT(1, 2);
    CHECK_INT(2, 2);
}

static void makes_no_check(void)
{
}

static void is_skipped(void)
{
    sbx_test_skip("moon", "no moon here");
}

static const struct sbx_test tests[] = {
    {"holds", holds},
    {"wrong condition", wrong_condition},
    {"wrong integer", wrong_integer},
    {"wrong number", wrong_number},
    {"wrong text", wrong_text},
    {"missing text", missing_text},
    {"wrong view", wrong_view},
    {"wrong code", wrong_code},
    {"wrong system call", wrong_system_call},
    {"wrong memory", wrong_memory},
    {"wrong then right", wrong_then_right},
    {"makes no check", makes_no_check},
    {"is skipped", is_skipped},
};

SBX_TEST_MAIN("sample", tests)
