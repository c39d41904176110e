/* sbx-pool-driver: a warm pool for tests and the benchmark.
 *   library -f MANIFEST -- COMMAND…     runs it once for each line "run" (tests/bench/resident.h)
 *   serve -f MANIFEST --socket PATH     runs what clients ask for, until TERM
 *   run -f MANIFEST -- COMMAND…         builds one box, then runs it in there, with its own streams
 * What asks a server is sbx-pool-client (client.c). */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/os.h"
#include "tests/pool/driver.h"
#include "tests/pool/request.h"

#include "common/base/banned.h"

enum { FAILED = 125, USAGE = 2 };

static int fail(const struct sbx_err *err)
{
    AUTO_BUF text;
    sbx_buf_init(&text, 64u << 10);
    sbx_err_print(err, false, &text);
    (void)fprintf(stderr, "sbx-pool-driver: %s\n", sbx_buf_text(&text));
    return FAILED;
}

static enum sbx_code run_once(struct driver *driver, const char *const *words, int null_fd,
                              struct sbx_pool_box **box, struct sbx_err *err)
{
    struct sbx_pool_command command = {.argv = words, .fds = {null_fd, null_fd, null_fd}};
    struct sbx_run_record record = {0};
    uint64_t begin = sbx_os_monotonic_ns();
    enum sbx_code code = driver_take(driver, box, err);
    if (code == SBX_OK) code = sbx_pool_start(*box, &command, err);
    if (code == SBX_OK) code = sbx_pool_wait(*box, &record, err);
    uint64_t end = sbx_os_monotonic_ns();
    if (code == SBX_OK) {
        (void)printf("%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                     sbx_outcome_status(&record.outcome), end - begin, record.outcome.cpu_ns,
                     record.outcome.peak_memory_bytes / 1024);
        (void)fflush(stdout);
    }
    return code;
}

static int run_main(struct driver *driver, const char *const *words)
{
    struct sbx_err err = {0};
    struct sbx_pool_box *box = NULL;
    struct sbx_run_record record = {0};
    struct sbx_pool_command command = {.argv = words, .fds = {0, 1, 2}};
    enum sbx_code code = driver_take(driver, &box, &err);
    if (code == SBX_OK) code = sbx_pool_start(box, &command, &err);
    if (code == SBX_OK) code = sbx_pool_wait(box, &record, &err);
    return code == SBX_OK ? (int)sbx_outcome_status(&record.outcome) : fail(&err);
}

static int library_main(struct driver *driver, const char *const *words)
{
    char line[64];
    struct sbx_err err = {0};
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)setvbuf(stdin, NULL, _IONBF, 0);
    driver_refill(driver, STDIN_FILENO);
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct sbx_pool_box *box = NULL;
        enum sbx_code code = run_once(driver, words, null_fd, &box, &err);
        sbx_pool_drop(box);
        if (code != SBX_OK) return fail(&err);
        driver_refill(driver, STDIN_FILENO);
    }
    return 0;
}

int main(int count, char **words)
{
    static struct driver driver;
    bool serves = count == 6 && strcmp(words[1], "serve") == 0 && strcmp(words[4], "--socket") == 0;
    bool has_command = count > 5 && strcmp(words[4], "--") == 0;
    bool is_library = has_command && strcmp(words[1], "library") == 0;
    bool is_run = has_command && strcmp(words[1], "run") == 0;
    if ((!serves && !is_library && !is_run) || strcmp(words[2], "-f") != 0) {
        (void)fprintf(stderr, "usage: sbx-pool-driver library -f MANIFEST -- COMMAND...\n"
                              "       sbx-pool-driver run -f MANIFEST -- COMMAND...\n"
                              "       sbx-pool-driver serve -f MANIFEST --socket PATH\n");
        return USAGE;
    }
    struct sbx_err err = {0};
    struct sbx_pool_config config = {.boxes = serves ? 16 : 6, .boxes_per_plan = serves ? 6 : 2};
    const char *const *command = (const char *const *)(words + 5);
    int status = !driver_open(&driver, words[3], &config, &err) ? fail(&err)
                 : serves                                       ? serve_main(&driver, words[5])
                 : is_run                                       ? run_main(&driver, command)
                                                                : library_main(&driver, command);
    driver_close(&driver);
    return status;
}
