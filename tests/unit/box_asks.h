/* The fence questions: what a box of each class of manifest may and may not do. */
#ifndef SBX_TESTS_UNIT_BOX_ASKS_H
#define SBX_TESTS_UNIT_BOX_ASKS_H

#include "tests/unit/box_fixture.h"

struct ask_class {
    const char *name;
    const char *toml;
    const struct ask *asks;
    size_t count;
};

extern const struct ask_class ask_classes[];
extern const size_t ask_class_count;

#endif
