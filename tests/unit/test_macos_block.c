/* What sbx tells the first process of a macOS box arrives as it was told, and nothing else is taken for it. */
#include <string.h>

#include "posix/macos_block.h"
#include "tests/check.h"

#include "common/base/banned.h"

static const char *const arguments[] = {"sh", "-c", "", "x y", NULL};
static const char *const variables[] = {"A=1", "B=", NULL};
static const char *const parameters[] = {"P0", "/caf\xc3\xa9", NULL};

static void write_block(struct sbx_buf *out)
{
    struct sbx_macos_block block = {
        .mark = "sbx.job.1",
        .profile = "(version 1)",
        .program = "/bin/sh",
        .directory = "/",
        .parameters = parameters,
        .argv = arguments,
        .env = variables,
        .has_terminal = true,
        .memory_mebibytes = 64,
        .limits = {{3, 7}},
        .limit_count = 1,
    };
    sbx_buf_init(out, SBX_MACOS_BLOCK_MAX);
    sbx_macos_block_write(&block, out);
}

static void what_is_written_is_read(void)
{
    AUTO_BUF bytes;
    struct sbx_macos_block block = {0};
    write_block(&bytes);
    CHECK(sbx_macos_block_read(bytes.data, bytes.len, &block));
    CHECK_TEXT(block.mark, "sbx.job.1");
    CHECK_TEXT(block.profile, "(version 1)");
    CHECK_TEXT(block.program, "/bin/sh");
    CHECK_TEXT(block.directory, "/");
    for (size_t i = 0; i < SBX_COUNT(arguments); i++) {
        CHECK_TEXT(block.argv[i], arguments[i]);
    }
    for (size_t i = 0; i < SBX_COUNT(variables); i++) {
        CHECK_TEXT(block.env[i], variables[i]);
    }
    CHECK_TEXT(block.parameters[1], parameters[1]);
    CHECK(block.has_terminal);
    CHECK_U64(block.memory_mebibytes, 64);
    CHECK_U64(block.limit_count, 1);
    CHECK_U64(block.limits[0].value, 7);
    sbx_macos_block_release(&block);
}

static void a_block_that_is_cut_or_too_long_is_none(void)
{
    AUTO_BUF bytes;
    write_block(&bytes);
    for (size_t len = 0; len < bytes.len; len++) {
        struct sbx_macos_block block = {.mark = "untouched"};
        CHECK(!sbx_macos_block_read(bytes.data, len, &block));
        CHECK_TEXT(block.mark, "untouched");
    }
    sbx_buf_add_char(&bytes, 'x');
    struct sbx_macos_block block;
    CHECK(!sbx_macos_block_read(bytes.data, bytes.len, &block));
}

static const struct sbx_test tests[] = {
    {"what is written is read", what_is_written_is_read},
    {"a block that is cut or too long is none", a_block_that_is_cut_or_too_long_is_none},
};
SBX_TEST_MAIN("macos_block", tests)
