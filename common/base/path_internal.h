/* What the path sources share; no other file includes it. */
#ifndef SBX_BASE_PATH_INTERNAL_H
#define SBX_BASE_PATH_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/path.h"
#include "common/base/str.h"

/* One row per enum sbx_path_rules. */
struct sbx_path_style {
    char separator;
    bool folds_case;
    bool counts_utf16; /* lengths in UTF-16 units instead of bytes */
    size_t path_max;   /* in those units, as is name_max */
    size_t name_max;
    size_t root_len; /* "/" or "C:\" */
    /* Does the text start with a root? */
    enum sbx_path_problem (*check_root)(struct sbx_str text);
    /* One component other than "." and ".."; `is_first` when it lies right below the root. */
    enum sbx_path_problem (*check_name)(struct sbx_str name, bool is_first, bool is_glob);
};

const struct sbx_path_style *sbx_path_style_of(enum sbx_path_rules rules);

/* Takes the next component off text from *at on, skipping separators; false at the end. */
bool sbx_path_take_name(const struct sbx_path_style *style, struct sbx_str text, size_t *at,
                        struct sbx_str *name);

/* What is below the root. */
struct sbx_str sbx_path_below_root(struct sbx_path path);

/* The character at *at, folded if the rules fold, and past it; `at` must be inside the text. */
uint32_t sbx_path_take_folded(const struct sbx_path_style *style, struct sbx_str text, size_t *at);

enum sbx_path_problem sbx_path_windows_root(struct sbx_str text);
enum sbx_path_problem sbx_path_windows_name(struct sbx_str name, bool is_first, bool is_glob);

#endif
