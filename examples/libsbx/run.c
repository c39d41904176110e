/* Runs a command in a box: run [--local | --service] COMMAND [ARG…]. Its output comes as it is made, what is typed goes to nobody, and
 * the exit status is the command's. */
#include <sbx.h>
#include <stdio.h>
#include <string.h>

static void show(void *state, const struct sbx_client_event *event)
{
    (void)state;
    if (event->kind == SBX_CLIENT_OUTPUT)
        fwrite(event->data, 1, event->len, event->stream == SBX_CLIENT_STDERR ? stderr : stdout);
    else if (event->kind == SBX_CLIENT_DENIED)
        fprintf(stderr, "denied: %s\n", event->json);
}

int main(int argc, char **argv)
{
    struct sbx_client_options where = {.name = "example"};
    struct sbx_client_run_options options = {.on_event = show};
    struct sbx_client_result result;
    struct sbx_client_error error;
    int first = 1;
    if (argc > 1 && strcmp(argv[1], "--local") == 0) {
        where.where = SBX_CLIENT_LOCAL;
        first = 2;
    } else if (argc > 1 && strcmp(argv[1], "--service") == 0) {
        where.where = SBX_CLIENT_SERVICE;
        first = 2;
    }
    if (argc <= first) {
        fprintf(stderr, "usage: %s [--local | --service] COMMAND [ARG...]\n", argv[0]);
        return 2;
    }
    options.argv = (const char *const *)argv + first;
    struct sbx_client *client = sbx_client_open(&where, &error);
    int failed = client == NULL || sbx_client_run(client, &options, &result, &error) != 0;
    int status = failed ? 125 : result.status;
    if (failed) fprintf(stderr, "%s: %s\n  %s\n", error.name, error.text, error.hint);
    sbx_client_close(client);
    return status;
}
