/* A warm pool on the real kernel: what it hands out, what it never hands out, and how its runs end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/fd.h"
#include "posix/pool_internal.h"
#include "tests/check.h"
#include "tests/pool/driver.h"

#define SECOND_NS UINT64_C(1000000000)
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct {
    struct driver driver;
    struct sbx_err err;
    char top[128], work[160], manifest[160];
    int null_fd;
} world;

/* ---- the world ----------------------------------------------------------------------------------- */

static void put(const char *path, const char *text)
{
    AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && sbx_fd_write_all(fd, text, strlen(text)));
}

static const char *below(const char *name)
{
    static char paths[4][300];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", world.work, name);
    return path;
}

static void write_manifest(const char *more)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "[sandbox]\nnetwork = \"deny\"\nsyscall_policy = \"strict\"\ncwd = \"%s\"\n"
                   "env_pass = [\"PATH\"]\n%s\n[sandbox.filesystem]\n\":root\" = \"read\"\n"
                   "\"%s\" = \"write\"\n\"%s/**/*.env\" = \"none\"\n",
                   world.work, more, world.work, world.work);
    put(world.manifest, text);
}

static bool begin_with(const struct sbx_pool_config *config, const char *more)
{
    memset(&world, 0, sizeof world);
    (void)snprintf(world.top, sizeof world.top, "/var/tmp/sbx-pool-XXXXXX");
    if (!CHECK(mkdtemp(world.top) != NULL)) return false;
    (void)snprintf(world.work, sizeof world.work, "%s/work", world.top);
    (void)snprintf(world.manifest, sizeof world.manifest, "%s/box.toml", world.top);
    (void)mkdir(world.work, 0755);
    world.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    write_manifest(more);
    if (driver_open(&world.driver, world.manifest, config, &world.err)) return true;
    if (world.err.code == SBX_E_UNAVAILABLE)
        sbx_test_skip("native", world.err.text);
    else
        CHECK_CODE(world.err.code, SBX_OK, &world.err);
    return false;
}

static bool begin(size_t boxes)
{
    return begin_with(&(struct sbx_pool_config){.boxes = boxes, .boxes_per_plan = boxes}, "");
}

static void end(void)
{
    driver_close(&world.driver);
    (void)close(world.null_fd);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/bin/rm", "rm", "-rf", world.top, (char *)NULL);
        _exit(1);
    }
    (void)waitpid(pid, NULL, 0);
}

static void fill(void)
{
    driver_refill(&world.driver, -1);
}

static struct sbx_pool_box *take(void)
{
    struct sbx_pool_box *box = NULL;
    CHECK_CODE(sbx_pool_take(world.driver.pool, &world.driver.prepared.plan, &box, &world.err),
               SBX_OK, &world.err);
    return box;
}

static enum sbx_code start(struct sbx_pool_box *box, const char *const *argv, int output)
{
    struct sbx_pool_command command = {.argv = argv, .fds = {world.null_fd, output, output}};
    return sbx_pool_start(box, &command, &world.err);
}

/* Takes a ready box, or builds one, and runs the command in it. */
static enum sbx_code run(const char *const *argv, int output, struct sbx_outcome *out)
{
    struct sbx_pool_box *box = NULL;
    struct sbx_run_record record = {0};
    enum sbx_code code = driver_take(&world.driver, &box, &world.err);
    if (code == SBX_OK) code = start(box, argv, output);
    if (code == SBX_OK) code = sbx_pool_wait(box, &record, &world.err);
    *out = record.outcome;
    sbx_pool_drop(box);
    return code;
}

static uint32_t status_of(const char *script)
{
    struct sbx_outcome outcome = {0};
    if (!CHECK_CODE(run(WORDS("/bin/sh", "-c", script), world.null_fd, &outcome), SBX_OK,
                    &world.err))
        return 999;
    return sbx_outcome_status(&outcome);
}

/* ---- how runs end -------------------------------------------------------------------------------- */

static void statuses_and_signals_are_exact(void)
{
    struct sbx_outcome outcome = {0};
    if (begin(2)) {
        CHECK_U64(status_of("exit 0"), 0);
        CHECK_U64(status_of("exit 37"), 37);
        CHECK_U64(status_of("exit 255"), 255);
        CHECK_CODE(run(WORDS("/bin/sh", "-c", "kill -SEGV $$"), world.null_fd, &outcome), SBX_OK,
                   &world.err);
        CHECK_INT(outcome.signal, SIGSEGV);
        CHECK(outcome.started && outcome.limit == SBX_LIMIT_NONE);
        CHECK_CODE(run(WORDS("/bin/sh", "-c", "kill -KILL $$"), world.null_fd, &outcome), SBX_OK,
                   &world.err);
        CHECK_INT(outcome.signal, SIGKILL);
    }
    end();
}

static void what_is_not_there_is_told(void)
{
    struct sbx_outcome outcome = {0};
    if (begin(1)) {
        put(below("plain"), "no program");
        put(below("script"), "#!/nonexistent\n");
        (void)chmod(below("script"), 0755);
        CHECK_CODE(run(WORDS("/usr/bin/no-such-program"), world.null_fd, &outcome), SBX_E_NOT_FOUND,
                   &world.err);
        CHECK_CODE(run(WORDS(below("plain")), world.null_fd, &outcome), SBX_E_DENIED, &world.err);
        CHECK_CODE(run(WORDS(below("script")), world.null_fd, &outcome), SBX_E_NOT_FOUND,
                   &world.err);
        CHECK_U64(status_of("exit 3"), 3);
    }
    end();
}

static void time_is_a_limit(void)
{
    struct sbx_outcome outcome = {0};
    if (begin_with(&(struct sbx_pool_config){.boxes = 2, .boxes_per_plan = 2},
                   "timeout = \"1s\"")) {
        fill();
        (void)usleep(1100000); /* waiting for a command takes none of its time */
        CHECK_U64(status_of("exit 4"), 4);
        CHECK_CODE(run(WORDS("/bin/sh", "-c", "sleep 30"), world.null_fd, &outcome), SBX_OK,
                   &world.err);
        CHECK_INT(outcome.limit, SBX_LIMIT_TIMEOUT);
        CHECK(outcome.wall_ns < 20 * SECOND_NS);
        CHECK_CODE(run(WORDS("/bin/sh", "-c", "trap '' TERM; while :; do :; done"), world.null_fd,
                       &outcome),
                   SBX_OK, &world.err);
        CHECK_INT(outcome.limit, SBX_LIMIT_TIMEOUT);
        CHECK_CODE(run(WORDS("/bin/sh", "-c", "kill -STOP $$"), world.null_fd, &outcome), SBX_OK,
                   &world.err);
        CHECK_INT(outcome.limit, SBX_LIMIT_TIMEOUT);
        CHECK_U64(sbx_outcome_status(&outcome), 124);
    }
    end();
}

/* The reader sees the end of the output when the run is over, because nobody is left who could write. */
static void nothing_outlives_the_command(void)
{
    char text[64] = "";
    int ends[2];
    struct sbx_outcome outcome = {0};
    if (begin(1) && CHECK(pipe2(ends, O_CLOEXEC) == 0)) {
        static const char script[] =
            "setsid sleep 1000 & (sleep 1000; echo late) & echo out > /dev/stdout; exit 5";
        CHECK_CODE(run(WORDS("/bin/sh", "-c", script), ends[1], &outcome), SBX_OK, &world.err);
        CHECK_U64(outcome.exit_code, 5);
        (void)close(ends[1]);
        ssize_t got = read(ends[0], text, sizeof text - 1);
        CHECK_INT(got, 4);
        CHECK_TEXT(text, "out\n");
        CHECK_INT(read(ends[0], text, sizeof text), 0);
        (void)close(ends[0]);
    }
    end();
}

static void signals_reach_the_command(void)
{
    struct sbx_run_record record = {0};
    if (begin(1)) {
        fill();
        struct sbx_pool_box *box = take();
        if (CHECK(box != NULL) && CHECK_CODE(start(box, WORDS("/bin/sleep", "1000"), world.null_fd),
                                             SBX_OK, &world.err)) {
            sbx_pool_signal(box, SIGTERM, false); /* kept until the program runs */
            CHECK_CODE(sbx_pool_wait(box, &record, &world.err), SBX_OK, &world.err);
            CHECK_INT(record.outcome.signal, SIGTERM);
        }
    }
    end();
}

static void environment_and_directory_are_the_callers(void)
{
    char text[128] = "";
    int ends[2];
    struct sbx_run_record record = {0};
    if (begin(1) && CHECK(pipe2(ends, O_CLOEXEC) == 0)) {
        fill();
        struct sbx_pool_box *box = take();
        struct sbx_pool_command command = {
            .argv = WORDS("/bin/sh", "-c", "echo $A $0 $1; pwd", "zero", "one two"),
            .env = WORDS("A=b c"),
            .directory = "/usr",
            .fds = {world.null_fd, ends[1], ends[1]},
        };
        CHECK(box != NULL);
        CHECK_CODE(sbx_pool_start(box, &command, &world.err), SBX_OK, &world.err);
        CHECK_CODE(sbx_pool_wait(box, &record, &world.err), SBX_OK, &world.err);
        CHECK(read(ends[0], text, sizeof text - 1) > 0);
        CHECK_TEXT(text, "b c zero one two\n/usr\n");
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    end();
}

/* ---- what is handed out -------------------------------------------------------------------------- */

static void an_empty_pool_hands_out_nothing(void)
{
    bool is_full = false;
    if (begin(1)) {
        CHECK(take() == NULL);
        fill();
        struct sbx_pool_box *box = take();
        CHECK(box != NULL);
        CHECK(take() == NULL);
        CHECK_CODE(sbx_pool_refill(world.driver.pool, &is_full, &world.err), SBX_OK, &world.err);
        CHECK(is_full); /* the only one is taken */
        CHECK(take() == NULL);
        sbx_pool_drop(box);
    }
    end();
}

static void a_box_is_used_once(void)
{
    struct sbx_run_record record = {0};
    if (begin(1)) {
        fill();
        struct sbx_pool_box *box = take();
        CHECK(box != NULL);
        CHECK_CODE(start(box, WORDS("/bin/true"), world.null_fd), SBX_OK, &world.err);
        CHECK_CODE(start(box, WORDS("/bin/true"), world.null_fd), SBX_E_INVALID, &world.err);
        CHECK_CODE(sbx_pool_wait(box, &record, &world.err), SBX_OK, &world.err);
        CHECK_CODE(start(box, WORDS("/bin/true"), world.null_fd), SBX_E_INVALID, &world.err);
        CHECK(take() == NULL);
    }
    end();
}

static void everything_was_read_back(void)
{
    static const char *const some[] = {"held.command",  "held.parent",  "namespace.user",
                                       "namespace.pid", "no_new_privs", "seccomp.filters",
                                       "CapBnd",        "descriptors",  "init.descriptors"};
    if (begin(1)) {
        fill();
        const struct sbx_pool_box *box = take();
        const struct sbx_evidence *items = NULL;
        size_t count = 0;
        if (CHECK(box != NULL)) sbx_pool_evidence(box, &items, &count);
        for (size_t i = 0; i < count; i++) CHECK(items[i].ok);
        for (size_t k = 0; k < SBX_COUNT(some); k++) {
            bool is_there = false;
            for (size_t i = 0; i < count; i++) is_there |= strcmp(items[i].what, some[k]) == 0;
            /* Only root can list what sbx-init has open. */
            if (geteuid() == 0 || strcmp(some[k], "init.descriptors") != 0) CHECK(is_there);
        }
    }
    end();
}

static void streams_that_need_a_rule_are_refused(void)
{
    if (begin(1)) {
        AUTO_FD file = open(below("output"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        fill();
        struct sbx_pool_box *box = take();
        CHECK(box != NULL);
        CHECK_CODE(start(box, WORDS("/bin/true"), file), SBX_E_UNSUPPORTED, &world.err);
        CHECK_CODE(start(box, WORDS("/bin/true"), world.null_fd), SBX_OK, &world.err);
    }
    end();
}

static void some_plans_are_not_pooled(void)
{
    struct sbx_prepared other;
    if (begin(1)) {
        write_manifest("max_output_bytes = 100");
        if (CHECK(driver_plan(&world.driver, world.manifest, &other, &world.err)))
            CHECK_CODE(sbx_pool_keep(world.driver.pool, &other.plan, &world.err), SBX_E_UNSUPPORTED,
                       &world.err);
        struct sbx_plan terminal = world.driver.prepared.plan;
        terminal.wants_terminal = true;
        CHECK_CODE(sbx_pool_keep(world.driver.pool, &terminal, &world.err), SBX_E_UNSUPPORTED,
                   &world.err);
    }
    end();
}

/* ---- what is never handed out -------------------------------------------------------------------- */

static void boxes_of_another_plan_are_not_handed_out(void)
{
    struct sbx_prepared other;
    struct sbx_pool_box *box = NULL;
    if (begin(2)) {
        fill();
        write_manifest("max_processes = 77");
        if (CHECK(driver_plan(&world.driver, world.manifest, &other, &world.err))) {
            CHECK_CODE(sbx_pool_take(world.driver.pool, &other.plan, &box, &world.err),
                       SBX_E_INVALID, &world.err);
            CHECK_CODE(sbx_pool_keep(world.driver.pool, &other.plan, &world.err), SBX_OK,
                       &world.err);
            CHECK_CODE(sbx_pool_take(world.driver.pool, &other.plan, &box, &world.err), SBX_OK,
                       &world.err);
            CHECK(box == NULL);
            sbx_pool_forget(world.driver.pool, &world.driver.prepared.plan);
        }
    }
    end();
}

/* After each change on the host the box that was ready is not handed out, and a new one knows. */
static void expect_stale(const char *what)
{
    struct sbx_pool_box *box = take();
    if (!CHECK(box == NULL)) printf("# %s\n", what);
    sbx_pool_drop(box);
    fill();
}

static void protected_names_that_appear_make_boxes_stale(void)
{
    if (begin(2)) {
        (void)mkdir(below("deep"), 0755);
        fill();
        (void)mkdir(below(".git"), 0755);
        (void)mkdir(below(".git/hooks"), 0755);
        put(below(".git/hooks/pre-commit"), "host's");
        expect_stale("a repository");
        CHECK_U64(status_of("echo box > .git/hooks/pre-commit"), 2);
        put(below("deep/secret.env"), "secret");
        expect_stale("a match of a glob");
        CHECK(status_of("cat deep/secret.env") != 0);
        (void)mkdir(below("deep/new"), 0755);
        fill(); /* it is watched from now on */
        put(below("deep/new/x.env"), "secret");
        expect_stale("a match in a new directory");
        (void)unlink(below("deep/secret.env"));
        expect_stale("a match that went");
    }
    end();
}

static void other_files_make_no_box_stale(void)
{
    if (begin(1)) {
        fill();
        put(below("file"), "text");
        (void)mkdir(below("directory"), 0755);
        struct sbx_pool_box *box = take(); /* computed again, and the same */
        CHECK(box != NULL);
        sbx_pool_drop(box);
    }
    end();
}

static void a_source_that_is_replaced_makes_boxes_stale(void)
{
    char away[200];
    if (begin(1)) {
        fill();
        (void)snprintf(away, sizeof away, "%s/away", world.top);
        CHECK(rename(world.work, away) == 0 && mkdir(world.work, 0755) == 0);
        expect_stale("another directory");
        CHECK_U64(status_of("echo > here"), 0);
        CHECK(access(below("here"), F_OK) == 0);
    }
    end();
}

static void a_mount_makes_boxes_stale(void)
{
    if (geteuid() != 0) {
        sbx_test_skip("root", "needs root");
        return;
    }
    if (begin(1)) {
        fill();
        CHECK(mount("pool-test", world.work, "tmpfs", 0, "size=64k") == 0);
        expect_stale("a mount");
        CHECK(umount2(world.work, MNT_DETACH) == 0);
        expect_stale("one less");
        CHECK_U64(status_of("exit 0"), 0);
    }
    end();
}

static void idle_plans_keep_no_box(void)
{
    bool is_full = false;
    if (begin_with(
            &(struct sbx_pool_config){.boxes = 2, .boxes_per_plan = 2, .idle_ns = SECOND_NS / 4},
            "")) {
        CHECK_CODE(sbx_pool_refill(world.driver.pool, &is_full, &world.err), SBX_OK, &world.err);
        (void)usleep(300000);
        CHECK_CODE(sbx_pool_refill(world.driver.pool, &is_full, &world.err), SBX_OK, &world.err);
        CHECK(is_full);
        CHECK(take() == NULL);
        CHECK_U64(status_of("exit 6"), 6); /* it is used again */
    }
    end();
}

/* A keeper that is killed takes its box with it, waiting or running; the others stay. */
static void a_killed_keeper_is_noticed(void)
{
    struct sbx_run_record record = {0};
    if (begin(3)) {
        fill();
        struct sbx_pool_box *running = take();
        struct sbx_pool_box *waiting = take();
        CHECK(running != NULL && waiting != NULL);
        if (running != NULL && waiting != NULL) {
            CHECK_CODE(start(running, WORDS("/bin/sleep", "1000"), world.null_fd), SBX_OK,
                       &world.err);
            CHECK(kill(running->keeper, SIGKILL) == 0 && kill(waiting->keeper, SIGKILL) == 0);
            CHECK_CODE(sbx_pool_wait(running, &record, &world.err), SBX_E_IO, &world.err);
            (void)!start(waiting, WORDS("/bin/sleep", "1000"), world.null_fd);
            CHECK_CODE(sbx_pool_wait(waiting, &record, &world.err), SBX_E_IO, &world.err);
            sbx_pool_drop(running);
            sbx_pool_drop(waiting);
        }
        struct sbx_pool_box *third = take();
        CHECK(third != NULL);
        if (third != NULL) {
            CHECK(kill(third->keeper, SIGKILL) == 0);
            sbx_pool_drop(third);
        }
        fill();
        for (size_t i = 0; i < 3; i++) {
            if (world.driver.pool->box[i].state == SBX_POOL_READY)
                CHECK(kill(world.driver.pool->box[i].keeper, SIGKILL) == 0);
        }
        (void)usleep(50000);
        CHECK(take() == NULL);
        CHECK_U64(status_of("exit 9"), 9);
    }
    end();
}

/* ---- what is left -------------------------------------------------------------------------------- */

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir != NULL && readdir(dir) != NULL) count++;
    if (dir != NULL) (void)closedir(dir);
    return count;
}

static void many_runs_leave_no_descriptor_and_no_process(void)
{
    enum { RUNS = 250 };
    /* Many, since the kernel takes ten milliseconds to take one away. */
    if (begin_with(&(struct sbx_pool_config){.boxes = 24, .boxes_per_plan = 2}, "")) {
        fill();
        size_t before = count_descriptors();
        for (unsigned i = 0; i < RUNS; i++) {
            char script[32];
            (void)snprintf(script, sizeof script, "exit %u", i % 250);
            if (!CHECK_U64(status_of(script), i % 250)) break;
        }
        for (int i = 0; i < 100 && count_descriptors() != before; i++) {
            (void)usleep(20000); /* until the last ones have ended */
            fill();
        }
        CHECK_U64(count_descriptors(), before);
    }
    end();
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static const struct sbx_test tests[] = {
    {"statuses and signals are exact", statuses_and_signals_are_exact},
    {"what is not there is told as in a cold run", what_is_not_there_is_told},
    {"time is a limit, and waiting takes none of it", time_is_a_limit},
    {"nothing outlives the command", nothing_outlives_the_command},
    {"signals reach the command", signals_reach_the_command},
    {"environment and directory are the caller's", environment_and_directory_are_the_callers},
    {"an empty pool hands out nothing", an_empty_pool_hands_out_nothing},
    {"a box is used once", a_box_is_used_once},
    {"everything was read back", everything_was_read_back},
    {"streams that need a rule are refused", streams_that_need_a_rule_are_refused},
    {"some plans are not pooled", some_plans_are_not_pooled},
    {"boxes of another plan are not handed out", boxes_of_another_plan_are_not_handed_out},
    {"protected names that appear make boxes stale", protected_names_that_appear_make_boxes_stale},
    {"other files make no box stale", other_files_make_no_box_stale},
    {"a source that is replaced makes boxes stale", a_source_that_is_replaced_makes_boxes_stale},
    {"a mount makes boxes stale", a_mount_makes_boxes_stale},
    {"idle plans keep no box", idle_plans_keep_no_box},
    {"a killed keeper is noticed", a_killed_keeper_is_noticed},
    {"many runs leave no descriptor and no process", many_runs_leave_no_descriptor_and_no_process},
};

/* Mounts of the test are the test's alone. */
int main(int count, char **words)
{
    if (geteuid() == 0 &&
        (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0))
        return 1;
    return sbx_test_main(count, words, "pool", tests, SBX_COUNT(tests));
}
