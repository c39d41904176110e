/* The C client's part of client_latency.py: runs `true` through the service once for every line it reads, and answers with
 * how many milliseconds that took and whether a box stood ready.
 *   bench_client SOCKET */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/sbx.h"

#include "common/base/banned.h"

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void on_event(void *state, const struct sbx_client_event *event)
{
    if (event->kind == SBX_CLIENT_STARTED)
        *(int *)state = strstr(event->json, "\"warm\":true") != NULL;
}

int main(int argc, char **argv)
{
    static const char *const command[] = {"true", NULL};
    struct sbx_client_options where = {.where = SBX_CLIENT_SERVICE,
                                       .address = argc > 1 ? argv[1] : NULL};
    struct sbx_client_error error;
    struct sbx_client *client = sbx_client_open(&where, &error);
    char line[16];
    if (client == NULL) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        int is_warm = 0;
        struct sbx_client_run_options options = {
            .argv = command, .on_event = on_event, .state = &is_warm};
        struct sbx_client_result result;
        double begin = now_ms();
        if (sbx_client_run(client, &options, &result, &error) != 0 || result.status != 0) {
            (void)fprintf(stderr, "the command failed: %s\n", error.text);
            return 1;
        }
        (void)printf("%.4f %d\n", now_ms() - begin, is_warm);
        (void)fflush(stdout);
    }
    sbx_client_close(client);
    return 0;
}
