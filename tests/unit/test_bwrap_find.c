/* Tests of posix/bwrap: which bwrap is taken, what is asked of it, and what is remembered. The programs are
 * scripts that answer as some bwrap would. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/bwrap.h"
#include "posix/linux_userns.h"
#include "tests/check.h"
#include "tests/unit/names_fixture.h"

#include "common/base/banned.h"

enum { NOBODY = 65534 };

struct search {
    struct names_fixture f;
    struct sbx_bwrap found;
};

static void search_start(struct search *s)
{
    *s = (struct search){0};
    names_start(&s->f);
    CHECK_INT(chmod(s->f.root, 0755), 0);
    names_dir(&s->f, "home");
    CHECK_INT(setenv("HOME", names_path(&s->f, "home"), 1), 0);
    CHECK_INT(unsetenv("XDG_STATE_HOME"), 0);
}

static void search_end(struct search *s)
{
    names_end(&s->f);
}
#define AUTO_SEARCH SBX_CLEANUP(search_end) struct search

/* A script that notes what it is asked in "log" beside it. */
static void script(struct search *s, const char *rest, const char *answers)
{
    const char *text = sbx_arena_printf(
        &s->f.arena, "#!/bin/sh\necho \"$1\" >> \"${0%%/*}/log\"\ncase \"$1\" in\n%s\nesac\n",
        answers);
    names_file(&s->f, rest, text);
    CHECK_INT(chmod(names_path(&s->f, rest), 0755), 0);
}

static const char good[] =
    "--version) echo 'bubblewrap 0.9.1';;\n--help) echo ' --ro-bind-fd FD';;\n";

static void look_in(const char *path)
{
    CHECK_INT(setenv("PATH", path, 1), 0);
}

static enum sbx_code find(struct search *s)
{
    s->f.err = (struct sbx_err){0};
    return sbx_bwrap_find(&s->f.arena, &s->found, &s->f.err);
}

/* How often the script was started. */
static size_t asked(struct search *s, const char *rest)
{
    char text[4096];
    int fd = open(names_path(&s->f, rest), O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text);
    size_t lines = 0;
    for (ssize_t i = 0; i < got; i++) {
        lines += text[i] == '\n';
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return lines;
}

static const char *memory(struct search *s)
{
    return names_path(&s->f, "home/.local/state/sbx/bwrap-probe");
}

/* ---- finding ---- */

static void the_first_of_path_is_taken_by_its_real_name(void)
{
    AUTO_SEARCH s;
    search_start(&s);
    names_dir(&s.f, "one/bwrap");           /* a directory of that name */
    names_file(&s.f, "two/bwrap", "plain"); /* not executable */
    names_dir(&s.f, "three");
    script(&s, "real/other-name", good);
    names_link(&s.f, "three/bwrap", "../real/other-name");
    script(&s, "four/bwrap", good);
    look_in(sbx_arena_printf(&s.f.arena, "%s:%s:%s:%s", names_path(&s.f, "one"),
                             names_path(&s.f, "two"), names_path(&s.f, "three"),
                             names_path(&s.f, "four")));
    CHECK_CODE(find(&s), SBX_OK, &s.f.err);
    CHECK_TEXT(s.found.path, names_path(&s.f, "real/other-name"));
    CHECK_U64(s.found.major, 0);
    CHECK_U64(s.found.minor, 9);
    CHECK_U64(s.found.patch, 1);
    CHECK(s.found.binds_descriptors);
}

static void relative_entries_of_path_are_skipped(void)
{
    AUTO_SEARCH s;
    char before[PATH_MAX];
    search_start(&s);
    script(&s, "here/bwrap", good);
    CHECK(getcwd(before, sizeof before) != NULL);
    CHECK_INT(chdir(names_path(&s.f, "here")), 0);
    look_in(".::../here:here");
    CHECK_CODE(find(&s), SBX_E_NOT_FOUND, &s.f.err);
    CHECK(strstr(s.f.err.hint, "install") != NULL);
    CHECK_INT(chdir(before), 0);
    CHECK_U64(asked(&s, "here/log"), 0);
    look_in(names_path(&s.f, "here"));
    CHECK_CODE(find(&s), SBX_OK, &s.f.err);
}

/* ---- trust ---- */

static void what_others_can_change_is_not_started(void)
{
    AUTO_SEARCH s;
    search_start(&s);
    script(&s, "bin/bwrap", good);
    look_in(names_path(&s.f, "bin"));
    static const struct {
        const char *what;
        mode_t bad, good;
    } rows[] = {{"bin/bwrap", 0777, 0755},
                {"bin/bwrap", 0775, 0755},
                {"bin", 0777, 0755},
                {"bin", 0770, 0755},
                {"", 0777, 0755}};
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        CHECK_INT(chmod(names_path(&s.f, rows[i].what), rows[i].bad), 0);
        CHECK_CODE(find(&s), SBX_E_UNTRUSTED, &s.f.err);
        CHECK_INT(chmod(names_path(&s.f, rows[i].what), rows[i].good), 0);
    }
    CHECK_U64(asked(&s, "bin/log"), 0);
    CHECK_INT(chmod(names_path(&s.f, ""), 01777), 0); /* sticky: nobody else can replace it */
    CHECK_CODE(find(&s), SBX_OK, &s.f.err);
}

static void what_belongs_to_another_user_is_not_started(void)
{
    AUTO_SEARCH s;
    if (geteuid() != 0) {
        sbx_test_skip("root", "a file cannot be given to another user");
        return;
    }
    search_start(&s);
    script(&s, "bin/bwrap", good);
    look_in(names_path(&s.f, "bin"));
    CHECK_INT(chown(names_path(&s.f, "bin/bwrap"), NOBODY, NOBODY), 0);
    CHECK_CODE(find(&s), SBX_E_UNTRUSTED, &s.f.err);
    CHECK_INT(chown(names_path(&s.f, "bin/bwrap"), 0, 0), 0);
    CHECK_INT(chown(names_path(&s.f, "bin"), NOBODY, NOBODY), 0);
    CHECK_CODE(find(&s), SBX_E_UNTRUSTED, &s.f.err);
    CHECK_INT(chown(names_path(&s.f, "bin"), 0, 0), 0);
    CHECK_CODE(find(&s), SBX_OK, &s.f.err);
}

/* In a child, because there is no way back to root. */
static int find_as_nobody(struct search *s, const char *words)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) {
            _exit(99);
        }
        enum sbx_code code = find(s);
        _exit(code != SBX_OK && strstr(s->f.err.text, words) == NULL ? 98 : (int)code);
    }
    int status = 0;
    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void the_set_user_id_variant_is_not_for_users(void)
{
    AUTO_SEARCH s;
    if (geteuid() != 0) {
        sbx_test_skip("root", "a file cannot be given to root");
        return;
    }
    search_start(&s);
    script(&s, "bin/bwrap", good);
    names_file(&s.f, "bin/log", "");
    CHECK_INT(chmod(names_path(&s.f, "bin/log"), 0666), 0);
    look_in(names_path(&s.f, "bin"));
    CHECK_INT(chmod(names_path(&s.f, "bin/bwrap"), 04755), 0);
    CHECK_INT(find_as_nobody(&s, "set-user-ID"), SBX_E_UNSUPPORTED);
    CHECK_U64(asked(&s, "bin/log"), 0);
    CHECK_INT(chmod(names_path(&s.f, "bin/bwrap"), 0755), 0);
    CHECK_INT(find_as_nobody(&s, ""), SBX_OK);
}

/* ---- answers ---- */

static void check_answer(const char *answers, enum sbx_code want, const char *words)
{
    AUTO_SEARCH s;
    search_start(&s);
    script(&s, "bin/bwrap", answers);
    look_in(names_path(&s.f, "bin"));
    s.found.path = "untouched";
    CHECK_CODE(find(&s), want, &s.f.err);
    if (want != SBX_OK) {
        CHECK(strstr(s.f.err.text, words) != NULL);
        CHECK(s.f.err.hint[0] != '\0');
        CHECK_TEXT(s.found.path, "untouched");
        CHECK(access(memory(&s), F_OK) != 0); /* what failed is not remembered */
    }
}

static void a_version_that_is_too_old_is_named(void)
{
    check_answer("--version) echo 'bubblewrap 0.7.0';;", SBX_E_UNSUPPORTED, "0.7.0");
    check_answer("--version) echo 'bubblewrap 0.3';;", SBX_E_UNSUPPORTED, "0.3.0");
    check_answer("--version) echo 'bubblewrap 0.8.0';;", SBX_OK, "");
    check_answer("--version) echo 'bubblewrap 0.11.0';;", SBX_OK, "");
    check_answer("--version) echo 'bubblewrap 1.0.0';;", SBX_OK, "");
}

static void what_does_not_answer_like_bubblewrap_is_refused(void)
{
    static const char words[] = "does not answer like bubblewrap";
    check_answer("--version) echo 'something else 9.9';;", SBX_E_UNSUPPORTED, words);
    check_answer("--version) ;;", SBX_E_UNSUPPORTED, words);
    check_answer("--version) echo 'bubblewrap 0.9.0'; exit 1;;", SBX_E_UNSUPPORTED, words);
    check_answer("--version) echo 'bubblewrap 0.9.0'; kill -9 $$;;", SBX_E_UNSUPPORTED, words);
}

static void what_hangs_is_refused_in_time(void)
{
    check_answer("--version) exec sleep 60;;", SBX_E_UNSUPPORTED,
                 "does not answer like bubblewrap");
}

static void what_cannot_build_a_box_says_why(void)
{
    check_answer("--version) echo 'bubblewrap 0.9.0';;\n--unshare-all) echo 'bwrap: No permissions "
                 "to create new namespace' >&2; exit 1;;",
                 SBX_E_UNSUPPORTED, "No permissions to create new namespace");
    check_answer("--version) echo 'bubblewrap 0.9.0';;\n--unshare-all) exit 1;;", SBX_E_UNSUPPORTED,
                 "it did not answer");
}

/* ---- memory ---- */

static void answers_are_remembered_while_nothing_changes(void)
{
    AUTO_SEARCH s;
    enum { QUESTIONS = 3 }; /* version, help, a box */
    size_t expected = QUESTIONS;
    search_start(&s);
    script(&s, "bin/bwrap", good);
    look_in(names_path(&s.f, "bin"));
    CHECK_CODE(find(&s), SBX_OK, &s.f.err);
    CHECK_U64(asked(&s, "bin/log"), expected);
    s.found = (struct sbx_bwrap){0};
    CHECK_CODE(find(&s), SBX_OK, &s.f.err);
    CHECK_U64(asked(&s, "bin/log"), expected);
    CHECK_U64(s.found.minor, 9);
    CHECK(s.found.binds_descriptors);
    /* Told to forget. */
    sbx_bwrap_forget(&s.f.arena);
    CHECK_CODE(find(&s), SBX_OK, &s.f.err);
    CHECK_U64(asked(&s, "bin/log"), expected += QUESTIONS);
    /* Another file of the same name. */
    script(&s, "bin/bwrap", "--version) echo 'bubblewrap 0.10.0';;");
    CHECK_CODE(find(&s), SBX_OK, &s.f.err);
    CHECK_U64(asked(&s, "bin/log"), expected += QUESTIONS);
    CHECK_U64(s.found.minor, 10);
    CHECK(!s.found.binds_descriptors);
}

static void a_memory_that_is_damaged_or_open_is_not_believed(void)
{
    AUTO_SEARCH s;
    char text[4096] = "";
    search_start(&s);
    script(&s, "bin/bwrap", good);
    look_in(names_path(&s.f, "bin"));
    CHECK_CODE(find(&s), SBX_OK, &s.f.err);
    int fd = open(memory(&s), O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, text, sizeof text - 1);
    (void)close(fd);
    char *answers = len > 0 ? strchr(text, '\n') : NULL;
    if (!CHECK(answers != NULL)) {
        return;
    }
    static const char *const damaged[] = {"",          "\n",        "\n0 9",
                                          "\n0 9 1 1", "\nx y z\n", "\n0 9 1 1 7\n"};
    for (size_t i = 0; i < SBX_COUNT(damaged); i++) {
        size_t before = asked(&s, "bin/log");
        (void)snprintf(answers, sizeof text - (size_t)(answers - text), "%s", damaged[i]);
        names_file(&s.f, "home/.local/state/sbx/bwrap-probe", text);
        CHECK_CODE(find(&s), SBX_OK, &s.f.err);
        CHECK(asked(&s, "bin/log") > before);
        CHECK_U64(s.found.minor, 9);
    }
    /* What others can write may say anything. */
    size_t before = asked(&s, "bin/log");
    CHECK_INT(chmod(memory(&s), 0666), 0);
    CHECK_CODE(find(&s), SBX_OK, &s.f.err);
    CHECK(asked(&s, "bin/log") > before);
    if (geteuid() == 0) {
        before = asked(&s, "bin/log");
        CHECK_INT(chown(memory(&s), NOBODY, NOBODY), 0);
        CHECK_CODE(find(&s), SBX_OK, &s.f.err);
        CHECK(asked(&s, "bin/log") > before);
    }
}

/* ---- remedies ---- */

static void simulated_obstacles_have_their_remedies(void)
{
    static const struct {
        const char *file, *value;
        bool stops_root;
        const char *words;
    } rows[] = {
        {"proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", false, "AppArmor"},
        {"proc/sys/kernel/unprivileged_userns_clone", "0\n", false, "unprivileged_userns_clone=1"},
        {"proc/sys/user/max_user_namespaces", "0\n", true, "max_user_namespaces to more than 0"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        AUTO_NAMES f;
        names_start(&f);
        names_file(&f, rows[i].file, rows[i].value);
        const struct sbx_userns_obstacle *users = sbx_userns_obstacle_below(f.root, false);
        const struct sbx_userns_obstacle *roots = sbx_userns_obstacle_below(f.root, true);
        CHECK(users != NULL);
        CHECK((roots != NULL) == rows[i].stops_root);
        struct sbx_userns_trouble trouble = {"bwrap: Can't mount proc", users, true, false};
        CHECK(strstr(sbx_userns_remedy(&trouble), rows[i].words) != NULL);
        trouble.is_native = true;
        CHECK(strstr(sbx_userns_remedy(&trouble), rows[i].words) != NULL);
        CHECK(strstr(sbx_userns_remedy(&trouble), "bwrap") == NULL);
        names_file(&f, rows[i].file, rows[i].value[0] == '0' ? "1\n" : "0\n");
        CHECK(sbx_userns_obstacle_below(f.root, false) == NULL);
    }
    AUTO_NAMES nothing;
    names_start(&nothing);
    CHECK(sbx_userns_obstacle_below(nothing.root, false) == NULL);
}

static void simulated_troubles_have_their_remedies(void)
{
    static const struct {
        const char *said;
        bool is_in_container;
        const char *words;
    } rows[] = {
        {"bwrap: Can't mount proc on /newroot/proc: Operation not permitted", true,
         "systempaths=unconfined"},
        {"bwrap: Can't mount proc on /newroot/proc: Operation not permitted", false,
         "masks parts of /proc"},
        {"bwrap: No permissions to create new namespace, likely because …", true,
         "seccomp profile"},
        {"bwrap: Creating new namespace failed: Operation not permitted", false,
         "allow unprivileged user namespaces"},
        {"bwrap: setting up uid map: Permission denied", false,
         "allow unprivileged user namespaces"},
        {"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", false, "security module"},
        {"bwrap: Failed to make / slave: Operation not permitted", true, "seccomp profile"},
        {"bwrap: Unknown option --something", false, "update bubblewrap"},
        {"", true, "update bubblewrap"},
        /* sbx' own words, of the backend that builds by itself. */
        {"cannot make the namespaces of the box: operation not permitted", true, "seccomp profile"},
        {"the box cannot write its uid map: permission denied", false,
         "allow unprivileged user namespaces"},
        {"the box cannot mount proc: operation not permitted", true, "systempaths=unconfined"},
        {"the loopback of the box cannot be raised: operation not permitted", false,
         "security module"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        struct sbx_userns_trouble trouble = {rows[i].said, NULL, rows[i].is_in_container, false};
        if (!CHECK(strstr(sbx_userns_remedy(&trouble), rows[i].words) != NULL)) {
            printf("#   %s: %s\n", rows[i].said, sbx_userns_remedy(&trouble));
        }
        CHECK(strstr(sbx_userns_remedy(&trouble), "--mode read-only") != NULL);
    }
}

static const struct sbx_test tests[] = {
    {"the first of PATH is taken, by its real name", the_first_of_path_is_taken_by_its_real_name},
    {"relative entries of PATH are skipped", relative_entries_of_path_are_skipped},
    {"what others can change is not started", what_others_can_change_is_not_started},
    {"what belongs to another user is not started", what_belongs_to_another_user_is_not_started},
    {"the set-user-ID variant is not for users", the_set_user_id_variant_is_not_for_users},
    {"a version that is too old is named", a_version_that_is_too_old_is_named},
    {"what does not answer like bubblewrap is refused",
     what_does_not_answer_like_bubblewrap_is_refused},
    {"what hangs is refused in time", what_hangs_is_refused_in_time},
    {"what cannot build a box says why", what_cannot_build_a_box_says_why},
    {"answers are remembered while nothing changes", answers_are_remembered_while_nothing_changes},
    {"a memory that is damaged or open to others is not believed",
     a_memory_that_is_damaged_or_open_is_not_believed},
    {"simulated_obstacles: a setting that forbids user namespaces has its remedy",
     simulated_obstacles_have_their_remedies},
    {"simulated_troubles: what bwrap says has its remedy", simulated_troubles_have_their_remedies},
};

SBX_TEST_MAIN("bwrap_find", tests)
