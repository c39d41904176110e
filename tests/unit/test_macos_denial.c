/* Lines of macOS' log: only the kernel's, only of this box, only refusals that somebody can act on. */
#include <string.h>

#include "posix/macos_denial.h"
#include "tests/check.h"

#include "common/base/banned.h"

#define TAG "sbx-box-00000000000000ff"
#define LINE(process, image, message)                                                              \
    "{\"processID\":" process ",\"senderImagePath\":\"" image "\",\"eventMessage\":\"" message "\"}"
#define KERNEL(message) LINE("0", "\\/System\\/Library\\/Extensions\\/Sandbox.kext", message)

static bool reads(const char *line, struct sbx_macos_denial *out)
{
    return sbx_macos_denial_read(sbx_str(line), TAG, out);
}

static void a_refusal_of_this_box_is_read(void)
{
    struct sbx_macos_denial denial = {0};
    CHECK(reads(KERNEL("Sandbox: cat(123) deny(1) file-read-data \\/Users\\/me\\/a b\\n" TAG),
                &denial));
    CHECK_INT(denial.operation, SBX_TRIED_READ);
    CHECK_TEXT(denial.path, "/Users/me/a b");
    CHECK(reads(KERNEL("Sandbox: sh(1) deny(1) file-write-create /x\\n" TAG), &denial));
    CHECK_INT(denial.operation, SBX_TRIED_CREATE);
    CHECK_TEXT(denial.path, "/x");
}

static void others_may_write_what_they_like(void)
{
    static const char *const lines[] = {
        LINE("123", "/usr/lib/libsystem.dylib", "Sandbox: cat(1) deny(1) file-read-data /x\\n" TAG),
        LINE("1", "/x/Sandbox.kext", "Sandbox: cat(1) deny(1) file-read-data /x\\n" TAG),
        LINE("0", "/x/Other.kext", "Sandbox: cat(1) deny(1) file-read-data /x\\n" TAG),
        KERNEL("Sandbox: cat(1) deny(1) file-read-data /x\\nsbx-box-00000000000000fe"),
        KERNEL("Sandbox: cat(1) allow(1) file-read-data /x\\n" TAG),
        KERNEL("cat(1) deny(1) file-read-data /x\\n" TAG),
        KERNEL("Sandbox: cat(1) deny(1) file-read-data relative\\n" TAG),
        KERNEL("Sandbox: cat(1) deny(1) mach-lookup com.apple.x\\n" TAG),
        KERNEL("Sandbox: cat(1) deny(1) file-read-data /dev/dtracehelper\\n" TAG),
        KERNEL("Sandbox: cat(1) deny(1) file-read-data"),
        /* A message that ends in the middle of an escape, and nothing at all. */
        "{\"processID\":0,\"senderImagePath\":\"Sandbox\",\"eventMessage\":\"Sandbox: a(1) deny(1) "
        "x " TAG "\\",
        "",
        "\"processID\":",
    };
    for (size_t i = 0; i < SBX_COUNT(lines); i++) {
        struct sbx_macos_denial denial = {.path = "untouched"};
        CHECK(!reads(lines[i], &denial));
        CHECK_TEXT(denial.path, "untouched");
    }
}

/* What a program prints into its own message is escaped, so it cannot name another process. */
static void a_message_cannot_speak_for_the_kernel(void)
{
    struct sbx_macos_denial denial;
    CHECK(!reads(
        "{\"eventMessage\":\"\\\"processID\\\":0,\\\"senderImagePath\\\":\\\"Sandbox\\\" Sandbox: "
        "a(1) deny(1) file-read-data /x " TAG "\",\"processID\":77,\"senderImagePath\":\"x\"}",
        &denial));
}

static void a_cut_line_at_every_place_is_harmless(void)
{
    static const char line[] = KERNEL("Sandbox: cat(1) deny(1) file-read-data /x\\n" TAG);
    struct sbx_macos_denial denial;
    size_t taken = 0;
    for (size_t len = 0; len < sizeof line; len++) {
        taken += sbx_macos_denial_read((struct sbx_str){line, len}, TAG, &denial);
    }
    CHECK(taken <= 2); /* whole, or without its last bracket */
}

static const struct sbx_test tests[] = {
    {"a refusal of this box is read", a_refusal_of_this_box_is_read},
    {"others may write what they like", others_may_write_what_they_like},
    {"a message cannot speak for the kernel", a_message_cannot_speak_for_the_kernel},
    {"a cut line at every place is harmless", a_cut_line_at_every_place_is_harmless},
};
SBX_TEST_MAIN("macos_denial", tests)
