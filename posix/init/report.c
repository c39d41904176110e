/* What sbx-init says to sbx. */
#include "posix/init/init.h"
#include "posix/init/sys.h"
#include "posix/init/text.h"

#include "common/base/banned.h"

static void say(uint32_t kind, int32_t value, int32_t raw, const char *bytes, uint32_t length)
{
    static struct sbx_said said;
    said.kind = kind;
    said.value = value;
    said.raw = raw;
    said.length = length < SBX_SAID_TEXT ? length : SBX_SAID_TEXT;
    for (uint32_t i = 0; i < said.length; i++) {
        said.text[i] = bytes[i];
    }
    (void)SYS3(write, SBX_INIT_FD_REPORTS, &said, SBX_SAID_HEAD + said.length);
}

void init_say(uint32_t kind, int32_t value, int32_t raw, const char *text)
{
    say(kind, value, raw, text, text == 0 ? 0 : (uint32_t)text_length(text));
}

void init_say_ended(int32_t status, const struct sbx_init_usage *usage)
{
    say(SBX_SAID_ENDED, status, 0, (const char *)usage, sizeof *usage);
}

noreturn void init_fail(int32_t step, long answer)
{
    init_fail_at(step, answer, 0);
}

noreturn void init_fail_at(int32_t step, long answer, const char *path)
{
    init_say(SBX_SAID_FAILED, step, (int32_t)-answer, path);
    for (;;) {
        (void)SYS1(exit_group, 125);
    }
}
