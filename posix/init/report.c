/* What sbx-init says to sbx. */
#include "posix/init/init.h"
#include "posix/init/sys.h"
#include "posix/init/text.h"

#include "common/base/banned.h"

void init_say(uint32_t kind, int32_t value, int32_t raw, const char *text)
{
    static struct sbx_said said;
    said.kind = kind;
    said.value = value;
    said.raw = raw;
    said.length = 0;
    if (text != 0) {
        while (text[said.length] != '\0' && said.length < SBX_SAID_TEXT) {
            said.text[said.length] = text[said.length];
            said.length++;
        }
    }
    (void)SYS3(write, SBX_INIT_FD_REPORTS, &said, SBX_SAID_HEAD + said.length);
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
