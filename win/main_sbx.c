/* The program sbx on Windows: turns UTF-16 arguments into strict UTF-8, then the command line takes
 * over, or the worker of the service. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "common/cli/cli.h"
#include "common/os.h"
#include "win/launcher.h"
#include "win/wide.h"
#include "win/worker.h"

#include "common/base/banned.h"

enum { EXIT_REFUSED = 125, ARGUMENTS_ARENA = 4 << 20 };

#ifdef __MINGW32__
/* Arguments with * or ? are the command's: the C runtime must not expand them. */
extern int _dowildcard; /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
int _dowildcard = 0;    /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#endif

int wmain(int argc, wchar_t **argv);

static int refuse(const char *text)
{
    (void)!sbx_os_write(SBX_STDERR, text, strlen(text), NULL);
    return EXIT_REFUSED;
}

int wmain(int argc, wchar_t **argv)
{
    /* Whatever is loaded from now on comes from System32. */
    (void)SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_SYSTEM32);
    AUTO_ARENA arena;
    sbx_arena_init(&arena, ARGUMENTS_ARENA);
    const char **texts = SBX_NEW_ARRAY(&arena, const char *, (size_t)argc + 1);
    if (texts == NULL) {
        return refuse("sbx: out of memory; nothing was run\n");
    }
    for (int i = 0; i < argc; i++) {
        struct sbx_err err;
        if (sbx_wide_to(&arena, argv[i], &texts[i], &err) != SBX_OK) {
            char line[128];
            (void)snprintf(line, sizeof line,
                           "sbx: argument %d is not valid text: %.60s\nsbx: nothing was run\n", i,
                           err.text);
            return refuse(line);
        }
    }
    /* For programs: no help names them. */
    if (argc == 2 && sbx_text_eq(texts[1], SBX_LAUNCHER_WORD)) {
        return sbx_worker_launcher();
    }
    if (argc == 3 && sbx_text_eq(texts[1], "serve") && sbx_text_eq(texts[2], "--stdio")) {
        return sbx_worker_stdio();
    }
    return sbx_cli_main(argc, texts);
}
