/* Evidence about a held process of macOS. */
#include "posix/macos_evidence.h"

#include <libproc.h>
#include <stdio.h>
#include <string.h>
#include <sys/proc_info.h>
#include <unistd.h>

#include "posix/macos_members.h"
#include "posix/macos_sandbox.h"

#include "common/base/banned.h"

enum { RULES_ASKED = 24, DESCRIPTORS_SEEN = 64 };

static const char *word(int answer)
{
    return answer == 0 ? "allowed" : answer == 1 ? "denied" : "not known";
}

static void add(struct sbx_evidence_list *list, const char *what, bool is_allowed, int answer)
{
    sbx_evidence_same(list, what, is_allowed ? "allowed" : "denied", word(answer));
}

static void ask_path(struct sbx_evidence_list *list, pid_t pid, const char *operation,
                     const char *path, bool is_allowed)
{
    const char *what = sbx_arena_printf(list->arena, "seatbelt.%s %s", operation, path);
    int answer = sandbox_check(pid, operation, SBX_CHECK_PATH | SANDBOX_CHECK_NO_REPORT, path);
    add(list, what == NULL ? "seatbelt" : what, is_allowed, answer);
    list->failed |= what == NULL;
}

static void ask_plain(struct sbx_evidence_list *list, pid_t pid, const char *operation)
{
    const char *what = sbx_arena_printf(list->arena, "seatbelt.%s", operation);
    add(list, what == NULL ? "seatbelt" : what, false,
        sandbox_check(pid, operation, SBX_CHECK_NONE | SANDBOX_CHECK_NO_REPORT));
    list->failed |= what == NULL;
}

static bool is_globbed(const struct sbx_macos_rules *rules, const char *text)
{
    struct sbx_path path = {text, strlen(text), SBX_PATH_MACOS};
    for (size_t i = 0; i < rules->glob_count; i++) {
        struct sbx_str pattern = rules->globs[i].pattern;
        if (sbx_path_glob_covers((struct sbx_path){pattern.ptr, pattern.len, SBX_PATH_MACOS},
                                 path)) {
            return true;
        }
    }
    return false;
}

/* What a rule means for a name below it that no other rule and no glob speaks of. */
static void ask_rule(struct sbx_evidence_list *list, const struct sbx_macos_held *held,
                     const struct sbx_macos_rule *rule)
{
    const char *inside = sbx_arena_printf(list->arena, "%s/sbx-asks-about-this",
                                          sbx_path_is_root(rule->path) ? "" : rule->path.text);
    if (inside == NULL) {
        list->failed = true;
        return;
    }
    if (is_globbed(&held->profile->rules, inside)) {
        return;
    }
    ask_path(list, held->pid, "file-read-data", inside, rule->access >= SBX_ACCESS_READ);
    ask_path(list, held->pid, "file-write-create", inside, rule->access == SBX_ACCESS_WRITE);
    if (rule->access == SBX_ACCESS_WRITE && held->policy->protect_count > 0) {
        const char *locked =
            sbx_arena_printf(list->arena, "%s/.vscode/tasks.json", rule->path.text);
        struct sbx_path path = {locked, locked == NULL ? 0 : rule->path.len + 19, SBX_PATH_MACOS};
        bool is_protected =
            locked != NULL && sbx_protection_between(held->policy, rule->path, path) != NULL;
        if (is_protected) {
            ask_path(list, held->pid, "file-write-create", locked, false);
        }
    }
}

/* What git would run in a place that it is led to, unless a rule in there says otherwise. */
static void ask_git(struct sbx_evidence_list *list, const struct sbx_macos_held *held,
                    struct sbx_path place)
{
    const char *hook = sbx_arena_printf(list->arena, "%s/hooks/sbx-asks-about-this", place.text);
    const char *like = sbx_arena_printf(list->arena, "%s/.git/hooks/x", place.text);
    if (hook == NULL || like == NULL) {
        list->failed = true;
        return;
    }
    struct sbx_path path = {hook, strlen(hook), SBX_PATH_MACOS};
    struct sbx_decision decision = sbx_policy_decide(list->arena, held->policy, path);
    if (decision.access == SBX_ACCESS_WRITE && decision.rule != NULL &&
        sbx_path_contains(decision.rule->path, place) &&
        sbx_protection_between(held->policy, place,
                               (struct sbx_path){like, strlen(like), SBX_PATH_MACOS}) != NULL) {
        ask_path(list, held->pid, "file-write-create", hook, false);
    }
}

static void ask_rules(struct sbx_evidence_list *list, const struct sbx_macos_held *held)
{
    const struct sbx_macos_rules *rules = &held->profile->rules;
    size_t asked = 0;
    for (size_t i = 0; i < rules->count && asked < RULES_ASKED; i++) {
        const struct sbx_macos_rule *rule = &rules->items[i];
        if (rule->kind == SBX_RULE_HOST && !rule->is_below_final) {
            ask_rule(list, held, rule);
            asked++;
        }
    }
    for (size_t i = 0; i < rules->git_count && i < RULES_ASKED; i++) {
        ask_git(list, held, rules->git[i]);
    }
}

/* Files of the system that nearly every policy closes or opens: as this one decides. */
static void ask_system(struct sbx_evidence_list *list, const struct sbx_macos_held *held)
{
    static const char *const paths[] = {"/private/etc/master.passwd", "/usr/lib/dyld"};
    for (size_t i = 0; i < SBX_COUNT(paths); i++) {
        struct sbx_path path = {paths[i], strlen(paths[i]), SBX_PATH_MACOS};
        struct sbx_decision decision = sbx_policy_decide(list->arena, held->policy, path);
        ask_path(list, held->pid, "file-read-data", paths[i], decision.access >= SBX_ACCESS_READ);
    }
}

/* Its streams, and the two pipe ends that close with exec. */
static void ask_descriptors(struct sbx_evidence_list *list, pid_t pid)
{
    struct proc_fdinfo found[DESCRIPTORS_SEEN];
    int got = proc_pidinfo(pid, PROC_PIDLISTFDS, 0, found, (int)sizeof found);
    char text[32];
    int above = 0;
    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof found[0]; i++) {
        above += found[i].proc_fd > 4;
    }
    (void)snprintf(text, sizeof text, "%d", above);
    sbx_evidence_same(list, "descriptors.from-5-up", "0", got > 0 ? text : "not known");
}

void sbx_macos_evidence(struct sbx_evidence_list *list, const struct sbx_macos_held *held)
{
    pid_t pid = held->pid;
    sbx_evidence_same(list, "seatbelt", "applied",
                      sandbox_check(pid, NULL, SBX_CHECK_NONE) == 1 ? "applied" : "not applied");
    add(list, "seatbelt.mark", true, sbx_member_may(pid, held->mark));
    add(list, "seatbelt.mark of nobody", false, sbx_member_may(pid, SBX_MACOS_MARK "none"));
    add(list, "seatbelt.launch services", false,
        sbx_member_may(pid, "com.apple.coreservices.launchservicesd"));
    ask_plain(list, pid, "lsopen");
    ask_plain(list, pid, "appleevent-send");
    ask_plain(list, pid, "job-creation");
    ask_path(list, pid, "file-write-create", "/sbx-asks-about-this", false);
    ask_system(list, held);
    if (held->policy->network == SBX_NET_DENY) {
        ask_plain(list, pid, "network-inbound");
    }
    ask_rules(list, held);
    sbx_evidence_same(list, "session", "own", getsid(pid) == pid ? "own" : "another");
    sbx_evidence_same(list, "process group", "own", getpgid(pid) == pid ? "own" : "another");
    ask_descriptors(list, pid);
}
