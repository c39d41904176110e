/* Unit tests of common/base/names. */
#include "common/base/names.h"

#include <string.h>

#include "tests/check.h"

#include "common/base/banned.h"

static const struct sbx_name fruits[] = {
    {3, "apple"}, {-1, "pear"}, {7, "dragon-fruit"}, {7, "pitaya"}, {9, "fig"}, {0, NULL},
};

static void a_value_has_its_first_text(void)
{
    CHECK_TEXT(sbx_name_text(fruits, 3), "apple");
    CHECK_TEXT(sbx_name_text(fruits, -1), "pear");
    CHECK_TEXT(sbx_name_text(fruits, 7), "dragon-fruit");
    CHECK_TEXT(sbx_name_text(fruits, 0), "unknown");
}

static void look_up_is_exact(void)
{
    int value = 99;
    CHECK(sbx_name_value(fruits, sbx_str("pitaya"), &value));
    CHECK_INT(value, 7);
    value = 99;
    CHECK(!sbx_name_value(fruits, sbx_str("Apple"), &value));
    CHECK(!sbx_name_value(fruits, sbx_str("appl"), &value));
    CHECK(!sbx_name_value(fruits, sbx_str("apples"), &value));
    CHECK(!sbx_name_value(fruits, sbx_str(""), &value));
    CHECK(!sbx_name_value(fruits, (struct sbx_str){"apple\0", 6}, &value));
    CHECK_INT(value, 99);
}

static const char *nearest(const char *text)
{
    return sbx_name_nearest_in(sbx_str(text), fruits);
}

static void a_typo_finds_the_name_it_means(void)
{
    CHECK_TEXT(nearest("aple"), "apple");
    CHECK_TEXT(nearest("appel"), "apple");
    CHECK_TEXT(nearest("APPLE"), "apple");
    CHECK_TEXT(nearest("dragonfruit"), "dragon-fruit");
    CHECK_TEXT(nearest("Dragon_Fruit"), "dragon-fruit");
    CHECK_TEXT(nearest("dragn_froot"), "dragon-fruit");
    CHECK_TEXT(nearest("fog"), "fig");
    CHECK_TEXT(nearest("peer"), "pear");
}

static void what_is_far_from_all_finds_nothing(void)
{
    CHECK_TEXT(nearest("banana"), NULL);
    CHECK_TEXT(nearest("axplx"), NULL);
    CHECK_TEXT(nearest("fox"), NULL);
    CHECK_TEXT(nearest(""), NULL);
    CHECK_TEXT(nearest("---"), NULL);
    CHECK_TEXT(nearest("f"), NULL);
}

static void the_nearest_of_several_wins_and_the_first_of_equals(void)
{
    static const struct sbx_name names[] = {
        {1, "read-file"}, {2, "read-files"}, {3, "read-filet"}, {0, NULL}};
    CHECK_TEXT(sbx_name_nearest_in(sbx_str("readfiles"), names), "read-files");
    CHECK_TEXT(sbx_name_nearest_in(sbx_str("read-filex"), names), "read-file");
}

static void one_letter_names_are_not_typos_of_each_other(void)
{
    static const struct sbx_name names[] = {{1, "a"}, {2, "b"}, {0, NULL}};
    CHECK_TEXT(sbx_name_nearest_in(sbx_str("c"), names), NULL);
    CHECK_TEXT(sbx_name_nearest_in(sbx_str("B"), names), "b");
}

static void very_long_names_are_skipped(void)
{
    char text[80];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_TEXT(nearest(text), NULL);
    const struct sbx_name names[] = {{1, text}, {2, "aaa"}, {0, NULL}};
    CHECK_TEXT(sbx_name_nearest_in(sbx_str("aab"), names), "aaa");
    CHECK_TEXT(sbx_name_nearest_in(sbx_str("b"), names), NULL);
}

static const struct sbx_test tests[] = {
    {"a value has its first text", a_value_has_its_first_text},
    {"look-up is exact", look_up_is_exact},
    {"a typo finds the name it means", a_typo_finds_the_name_it_means},
    {"what is far from all finds nothing", what_is_far_from_all_finds_nothing},
    {"the nearest of several wins, and the first of equals",
     the_nearest_of_several_wins_and_the_first_of_equals},
    {"one-letter names are not typos of each other", one_letter_names_are_not_typos_of_each_other},
    {"very long names are skipped", very_long_names_are_skipped},
};

SBX_TEST_MAIN("names", tests)
