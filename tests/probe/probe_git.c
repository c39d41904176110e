/* Attacks on protected names that are there, and on the files that programs of the host run or trust. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/banned.h"

static void hook(void)
{
    probe_settle(probe_scribble(probe_path("work", "repo/.git/hooks/pre-commit")), "wrote a hook");
}

static void config(void)
{
    probe_settle(probe_scribble(probe_path("work", "repo/.git/config")), "wrote .git/config");
}

static void truncate_config(void)
{
    probe_settle(truncate(probe_path("work", "repo/.git/config"), 0), "emptied .git/config");
}

static void unlink_config(void)
{
    probe_settle(unlink(probe_path("work", "repo/.git/config")), "removed .git/config");
}

static void rename_away(void)
{
    const char *git = probe_path("work", "repo-away/.git");
    if (rename(git, probe_path("work", "repo-away/old")) != 0) {
        probe_settle(-1, "rename .git away");
    }
    (void)mkdir(git, 0755);
    probe_done("renamed .git away and %s", probe_exists(git) ? "recreated it" : "no more");
}

static void rename_parent(void)
{
    const char *away = probe_path("work", "elsewhere");
    if (rename(probe_path("work", "nested/a"), away) != 0) {
        probe_settle(-1, "rename an ancestor of a protected path");
    }
    /* Moving the whole tree is harmless as long as what is in it stays protected. */
    int wrote = probe_scribble(probe_format("%s/b/.git/config", away));
    int error = errno;
    bool replaced = mkdir(probe_path("work", "nested/a"), 0755) == 0 &&
                    mkdir(probe_path("work", "nested/a/b"), 0755) == 0 &&
                    mkdir(probe_path("work", "nested/a/b/.git"), 0755) == 0;
    if (wrote == 0 || replaced) probe_done("%s", wrote == 0 ? "wrote it there" : "replaced it");
    errno = error;
    probe_denied("moved, and still protected");
}

static void exchange(void)
{
    const char *mine = probe_path("work", "mine");
    probe_make_directory(mine);
    probe_settle(syscall(SYS_renameat2, AT_FDCWD, mine, AT_FDCWD,
                         probe_path("work", "repo-exchange/.git"), RENAME_EXCHANGE),
                 "exchanged .git with an own directory");
}

static void exchange_parent(void)
{
    const char *mine = probe_path("work", "mine-too");
    probe_make_directory(mine);
    probe_make_directory(probe_format("%s/dot", mine));
    if (syscall(SYS_renameat2, AT_FDCWD, mine, AT_FDCWD, probe_path("work", "repo-exchange-parent"),
                RENAME_EXCHANGE) != 0) {
        probe_settle(-1, "exchange the parent");
    }
    int wrote = probe_scribble(probe_format("%s/.git/config", mine));
    probe_settle(wrote, "exchanged the parent and wrote");
}

static void rename_onto(void)
{
    const char *mine = probe_path("work", "replacement");
    probe_make(mine);
    probe_settle(rename(mine, probe_path("work", "there/.envrc")), "replaced .envrc");
}

static void link_alias(void)
{
    const char *alias = probe_path("work", "alias-of-config");
    (void)unlink(alias);
    if (link(probe_path("work", "repo/.git/config"), alias) != 0) probe_settle(-1, "link");
    probe_settle(probe_scribble(alias), "wrote .git/config through a second name");
}

static void bind_over(void)
{
    const char *mine = probe_path("work", "mine-to-bind");
    probe_make_directory(mine);
    probe_settle(mount(mine, probe_path("work", "repo/.git"), NULL, MS_BIND, NULL),
                 "bound an own directory over .git");
}

static void unmount_protection(void)
{
    const char *git = probe_path("work", "repo/.git");
    if (umount2(git, MNT_DETACH) != 0 && errno != EINVAL) probe_settle(-1, "unmount");
    probe_settle(probe_scribble(probe_format("%s/hooks/post-commit", git)), "wrote a hook");
}

static void nested(void)
{
    probe_settle(probe_scribble(probe_path("work", "nested/deep/er/.git/hooks/pre-commit")),
                 "wrote a hook in a nested repository");
}

static void second_root(void)
{
    probe_settle(probe_scribble(probe_path("work2", ".git/hooks/pre-commit")),
                 "wrote a hook in the second writable tree");
}

static void at_root(void)
{
    probe_settle(mkdir(probe_path("work2", ".vscode"), 0755), "made .vscode at the root of a tree");
}

static void git_file(void)
{
    probe_settle(probe_scribble(probe_path("work", "tree/.git")), "wrote a .git file");
}

static void git_file_unlink(void)
{
    probe_settle(unlink(probe_path("work", "tree/.git")), "removed a .git file");
}

static void git_file_target(void)
{
    probe_settle(probe_scribble(probe_path("work", "store/hooks/pre-commit")),
                 "wrote a hook where a .git file points");
}

static void git_file_outside(void)
{
    probe_settle(probe_scribble(probe_path("outside", "gitdir/config")),
                 "wrote outside where a .git file points");
}

static void bare(void)
{
    const char *path = probe_path("work", "bare");
    probe_make_directory(path);
    probe_make_directory(probe_format("%s/objects", path));
    probe_make_directory(probe_format("%s/refs", path));
    probe_make(probe_format("%s/HEAD", path));
    probe_settle(probe_scribble(probe_format("%s/config", path)), "planted a bare repository");
}

static void attributes(void)
{
    probe_settle(probe_scribble(probe_path("work", ".gitattributes")), "wrote .gitattributes");
}

static void masked_at_start(void)
{
    probe_settle(probe_scribble(probe_path("work", "absent/protected.txt")),
                 "created a path that the manifest keeps read-only");
}

static void vscode(void)
{
    const char *directory = probe_path("work", ".vscode");
    if (mkdir(directory, 0755) != 0 && errno != EEXIST) probe_settle(-1, "mkdir .vscode");
    probe_settle(probe_scribble(probe_format("%s/tasks.json", directory)), "wrote tasks.json");
}

static void every_name(void)
{
    static const char *const names[] = {
        ".bashrc",    ".bash_profile", ".profile", ".zshrc",        ".zshenv",
        ".gitconfig", ".gitmodules",   ".ssh",     ".vscode",       ".idea",
        ".mcp.json",  ".envrc",        ".claude",  ".codex",        ".cursor",
        ".npmrc",     ".yarnrc",       ".husky",   ".devcontainer", ".aider.conf.yml",
        "sbx.toml",   ".sbx",          ".git"};
    const char *directory = probe_path("work", "all-names");
    probe_make_directory(directory);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *path = probe_format("%s/%s", directory, names[i]);
        if (probe_scribble(path) == 0 || mkdir(path, 0755) == 0) probe_done("made %s", names[i]);
    }
    probe_denied("none of %zu names", sizeof(names) / sizeof(names[0]));
}

static void manifest(void)
{
    probe_settle(probe_scribble(probe_path("work", "sbx.toml")), "wrote the project's manifest");
}

static void trust_store(void)
{
    probe_settle(probe_scribble(probe_path("home", ".local/state/sbx/trust")),
                 "wrote the trust store");
}

static void index_lock(void)
{
    probe_settle(probe_scribble(probe_path("work", "repo-commit/.git/index.lock")),
                 "made index.lock");
}

static void commit_hook(void)
{
    probe_settle(probe_scribble(probe_path("work", "repo-commit/.git/hooks/pre-commit")),
                 "wrote a hook");
}

static void commit_config(void)
{
    const char *mine = probe_path("work", "repo-commit/.git/config.lock");
    int made = probe_scribble(mine);
    if (made == 0) made = rename(mine, probe_path("work", "repo-commit/.git/config"));
    probe_settle(made, "replaced .git/config as git does");
}

static void commit_worktree(void)
{
    probe_settle(probe_scribble(probe_path("work", "repo-commit/.git/config.worktree")),
                 "made config.worktree");
}

static void commit_commondir(void)
{
    probe_settle(probe_scribble(probe_path("work", "repo-commit/.git/commondir")),
                 "made commondir");
}

static void commit_attributes(void)
{
    probe_settle(probe_scribble(probe_path("work", "repo-commit/.git/info/attributes")),
                 "made info/attributes");
}

static void commit_submodule(void)
{
    probe_settle(probe_scribble(probe_path("work", "repo-commit/.git/modules/m/hooks/pre-commit")),
                 "wrote a submodule's hook");
}

const struct probe probe_git[] = {
    {"W06", "write a protected .git/hooks file", hook},
    {"W06b", "write .git/config", config},
    {"W06c", "truncate .git/config", truncate_config},
    {"W06d", "unlink .git/config", unlink_config},
    {"W07", "rename the protected .git away and recreate it", rename_away},
    {"W08", "bind a writable directory over the protected one", bind_over},
    {"W09", "unmount the protection and write a hook", unmount_protection},
    {"W10", "hard-link a protected file to a writable name and write", link_alias},
    {"W15", "create a missing protected path (.vscode/tasks.json)", vscode},
    {"LF04", "create what the manifest keeps read-only and is absent", masked_at_start},
    {"LF05", "rename an ancestor of a protected path", rename_parent},
    {"LF05b", "exchange .git with an own directory", exchange},
    {"LF05c", "exchange the parent of .git, then write", exchange_parent},
    {"LF05d", "rename a file onto a protected one", rename_onto},
    {"LF06", "hook of a nested repository", nested},
    {"LF06b", "hook of a repository in a second writable tree", second_root},
    {"LF06c", "protected name at the root of a writable tree", at_root},
    {"LF07", "plant a bare repository", bare},
    {"LF07b", "write .gitattributes", attributes},
    {"S04", "hook in the directory a .git file points to", git_file_target},
    {"LF08", "write where a .git file points outside", git_file_outside},
    {"LF08b", "rewrite a .git file", git_file},
    {"LF08c", "remove a .git file", git_file_unlink},
    {"Z01", "every name that programs of the host run or trust", every_name},
    {"Z02", "change the project's manifest during a run", manifest},
    {"Z02b", "change the trust store during a run", trust_store},
    {"GC01", "git=commit: index.lock can be made", index_lock},
    {"GC02", "git=commit: write a hook", commit_hook},
    {"GC03", "git=commit: replace the configuration as git does", commit_config},
    {"GC04", "git=commit: make config.worktree", commit_worktree},
    {"GC05", "git=commit: make commondir", commit_commondir},
    {"GC06", "git=commit: make info/attributes", commit_attributes},
    {"GC07", "git=commit: hook of a submodule", commit_submodule},
    {NULL, NULL, NULL}};
