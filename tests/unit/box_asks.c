/* The fence questions: what a box of each class of manifest may and may not do. Changing questions come last: they
 * change the world for those behind them. */
#include "tests/unit/box_asks.h"

#define P PROJECT
#define HOME L"C:\\Users\\user"

/* Walls that every box has, whatever its manifest grants. */
#define EVERY_BOX                                                                                  \
    {"the user's documents cannot be read",                                                        \
     ASK_READ,                                                                                     \
     HOME L"\\Documents\\private.txt",                                                             \
     NULL,                                                                                         \
     0,                                                                                            \
     DENIED,                                                                                       \
     DONE},                                                                                        \
        {"keys cannot be read", ASK_READ, HOME L"\\.ssh\\id_ed25519", NULL, 0, DENIED, DONE},      \
        {"the home directory cannot be listed", ASK_LIST, HOME, NULL, 0, DENIED, DONE},            \
        {"nothing can be made in the home directory",                                              \
         ASK_CREATE,                                                                               \
         HOME L"\\planted.txt",                                                                    \
         NULL,                                                                                     \
         0,                                                                                        \
         DENIED,                                                                                   \
         DONE},                                                                                    \
        {"programs of the system can be read",                                                     \
         ASK_READ,                                                                                 \
         L"C:\\Windows\\System32\\cmd.exe",                                                        \
         NULL,                                                                                     \
         0,                                                                                        \
         DONE,                                                                                     \
         DONE},                                                                                    \
        {"the system cannot be changed",                                                           \
         ASK_CREATE,                                                                               \
         L"C:\\Windows\\planted.dll",                                                              \
         NULL,                                                                                     \
         0,                                                                                        \
         DENIED,                                                                                   \
         EITHER},                                                                                  \
        {"the state of sbx cannot be listed",                                                      \
         ASK_LIST,                                                                                 \
         HOME L"\\AppData\\Local\\sbx\\leases",                                                    \
         NULL,                                                                                     \
         0,                                                                                        \
         DENIED,                                                                                   \
         EITHER},                                                                                  \
        {"a lease cannot be planted",                                                              \
         ASK_CREATE,                                                                               \
         HOME L"\\AppData\\Local\\sbx\\leases\\planted.lease",                                     \
         NULL,                                                                                     \
         0,                                                                                        \
         DENIED,                                                                                   \
         EITHER},                                                                                  \
        {"the parent cannot be ended", ASK_PARENT, NULL, NULL, PROCESS_TERMINATE, DENIED, DONE},   \
        {"the parent's memory cannot be written", ASK_PARENT, NULL, NULL,                          \
         PROCESS_VM_WRITE | PROCESS_VM_OPERATION, DENIED,     DONE},                               \
        {"the parent's memory cannot be read",                                                     \
         ASK_PARENT,                                                                               \
         NULL,                                                                                     \
         NULL,                                                                                     \
         PROCESS_VM_READ,                                                                          \
         DENIED,                                                                                   \
         DONE},                                                                                    \
        {"the parent's handles cannot be taken",                                                   \
         ASK_PARENT,                                                                               \
         NULL,                                                                                     \
         NULL,                                                                                     \
         PROCESS_DUP_HANDLE,                                                                       \
         DENIED,                                                                                   \
         DONE},                                                                                    \
        {"the parent cannot even be asked", ASK_PARENT, NULL, NULL,                                \
         PROCESS_QUERY_INFORMATION,         DENIED,     DONE},                                     \
        {"the caller's desktop records nothing",                                                   \
         ASK_DESKTOP,                                                                              \
         L"WinSta0",                                                                               \
         L"Default",                                                                               \
         DESKTOP_JOURNALRECORD,                                                                    \
         DENIED,                                                                                   \
         DONE},                                                                                    \
        {"the screen cannot be read", ASK_STATION, L"WinSta0", NULL,                               \
         WINSTA_READSCREEN,           EITHER,      DONE},                                          \
        {"the clipboard cannot be read", ASK_CLIPBOARD, NULL, NULL, 0, DENIED, DONE},              \
        {"the clipboard cannot be written", ASK_CLIPBOARD, NULL, NULL, 1, DENIED, DONE},           \
        {"Windows cannot be shut down", ASK_EXIT_WINDOWS, NULL, NULL, 0, DENIED, DONE},            \
        {"system parameters cannot be changed", ASK_PARAMETERS, NULL, NULL, 0, DENIED, DONE},      \
        {"a pipe of the user cannot be opened",                                                    \
         ASK_PIPE,                                                                                 \
         L"\\\\.\\pipe\\user.secret",                                                              \
         NULL,                                                                                     \
         GENERIC_READ | GENERIC_WRITE,                                                             \
         DENIED,                                                                                   \
         DONE},                                                                                    \
        {"it has its streams and no other handle", ASK_HANDLES, NULL, NULL, 3, DONE, EITHER},      \
    {                                                                                              \
        "nobody leaves the job", ASK_BREAKAWAY, NULL, NULL, 0, DENIED, EITHER                      \
    }

#define NO_NETWORK                                                                                 \
    {"the internet cannot be reached", ASK_INTERNET, NULL, NULL, 0, DENIED, DONE},                 \
        {"the local network cannot be reached", ASK_PRIVATE, NULL, NULL, 0, DENIED, DONE},         \
    {                                                                                              \
        "services of the host cannot be reached", ASK_HOST, NULL, NULL, 0, DENIED, DONE            \
    }

static const struct ask workspace[] = {
    EVERY_BOX,
    NO_NETWORK,
    {"the project can be listed", ASK_LIST, P, NULL, 0, DONE, DONE},
    {"its files can be read", ASK_READ, P L"\\src\\main.c", NULL, 0, DONE, DONE},
    {"and written", ASK_WRITE, P L"\\src\\main.c", NULL, 0, DONE, DONE},
    {"deep ones too", ASK_WRITE, P L"\\src\\deep\\er\\file.txt", NULL, 0, DONE, DONE},
    {"the directory above can be looked at", ASK_LOOK, HOME, NULL, 0, DONE, DONE},
    {"the repository can be read", ASK_READ, P L"\\.git\\config", NULL, 0, DONE, DONE},
    {"its configuration cannot be written", ASK_WRITE, P L"\\.git\\config", NULL, 0, DENIED, DONE},
    {"nor in another spelling", ASK_WRITE, P L"\\.GIT\\Config", NULL, 0, DENIED, DONE},
    {"nor a stream of it", ASK_CREATE, P L"\\.git\\config:stream", NULL, 0, DENIED, DONE},
    {"nor its hooks", ASK_WRITE, P L"\\.git\\hooks\\pre-commit", NULL, 0, DENIED, DONE},
    {"no hook can be added", ASK_CREATE, P L"\\.git\\hooks\\post-commit", NULL, 0, DENIED, DONE},
    {"no directory can be made in it", ASK_MKDIR, P L"\\.git\\planted", NULL, 0, DENIED, DONE},
    {"its list cannot be changed", ASK_DACL, P L"\\.git\\config", NULL, 0, DENIED, DONE},
    {"a nested repository is held too", ASK_WRITE, P L"\\sub\\.git\\config", NULL, 0, DENIED, DONE},
    {"its files are the project's", ASK_WRITE, P L"\\sub\\lib.c", NULL, 0, DONE, DONE},
    {"lists in the project cannot be changed", ASK_DACL, P L"\\src\\main.c", NULL, 0, DENIED, DONE},
    {"a second name opens nothing", ASK_LINK, P L"\\alias", P L"\\.git\\config", 0, EITHER, DONE},
    {"not through that name", ASK_WRITE, P L"\\alias", NULL, 0, EITHER, DONE},
    {"no name for what is outside", ASK_LINK, P L"\\stolen", HOME L"\\Documents\\private.txt", 0,
     DENIED, DONE},
    {"files can be made", ASK_CREATE, P L"\\new.txt", NULL, 0, DONE, DONE},
    {"and renamed", ASK_RENAME, P L"\\new.txt", P L"\\newer.txt", 0, DONE, DONE},
    {"and deleted", ASK_DELETE, P L"\\newer.txt", NULL, 0, DONE, DONE},
    {"directories can be made", ASK_MKDIR, P L"\\out", NULL, 0, DONE, DONE},
    {"and filled", ASK_CREATE, P L"\\out\\a.obj", NULL, 0, DONE, DONE},
    {"a file of the repository cannot be deleted", ASK_DELETE, P L"\\.git\\HEAD", NULL, 0, DENIED,
     DONE},
    {"the repository cannot be renamed away", ASK_RENAME, P L"\\.git", P L"\\git.old", 0, DENIED,
     DONE},
    {"nor a directory that holds one", ASK_RENAME, P L"\\sub\\.git", P L"\\sub\\moved", 0, DENIED,
     DONE},
    {"the project itself stays", ASK_RENAME, P, HOME L"\\moved", 0, DENIED, DONE},
};

static const struct ask read_only[] = {
    EVERY_BOX,
    NO_NETWORK,
    {"what is granted can be read", ASK_READ, P L"\\src\\main.c", NULL, 0, DONE, DONE},
    {"and listed", ASK_LIST, P L"\\src", NULL, 0, DONE, DONE},
    {"but not written", ASK_WRITE, P L"\\src\\main.c", NULL, 0, DENIED, DONE},
    {"nothing can be made in it", ASK_CREATE, P L"\\new.txt", NULL, 0, DENIED, DONE},
    {"nor removed", ASK_DELETE, P L"\\README.md", NULL, 0, DENIED, DONE},
    {"nor renamed", ASK_RENAME, P L"\\src", P L"\\src2", 0, DENIED, DONE},
};

static const struct ask nothing[] = {
    EVERY_BOX,
    NO_NETWORK,
    {"the project cannot be read", ASK_READ, P L"\\src\\main.c", NULL, 0, DENIED, DONE},
    {"nor listed", ASK_LIST, P, NULL, 0, DENIED, DONE},
    {"nor written", ASK_WRITE, P L"\\src\\main.c", NULL, 0, DENIED, DONE},
};

static const struct ask network[] = {
    EVERY_BOX,
    {"the internet can be reached", ASK_INTERNET, NULL, NULL, 0, DONE, DONE},
    {"and the local network", ASK_PRIVATE, NULL, NULL, 0, DONE, DONE},
    {"services of the host stay out of reach", ASK_HOST, NULL, NULL, 0, DENIED, DONE},
};

static const struct ask split[] = {
    EVERY_BOX,
    {"the project can be written", ASK_WRITE, P L"\\src\\main.c", NULL, 0, DONE, DONE},
    {"a closed directory cannot be listed", ASK_LIST, P L"\\secrets", NULL, 0, DENIED, DONE},
    {"its files cannot be read", ASK_READ, P L"\\secrets\\key", NULL, 0, DENIED, DONE},
    {"nor written", ASK_WRITE, P L"\\secrets\\key", NULL, 0, DENIED, DONE},
    {"nothing can be made in it", ASK_CREATE, P L"\\secrets\\new", NULL, 0, DENIED, DONE},
    {"what is reopened below it can be written", ASK_WRITE, P L"\\secrets\\tmp\\scratch", NULL, 0,
     DONE, DONE},
    {"and filled", ASK_CREATE, P L"\\secrets\\tmp\\more", NULL, 0, DONE, DONE},
    {"a closed file of a glob cannot be read", ASK_READ, P L"\\.env", NULL, 0, DENIED, DONE},
    {"a read-only directory can be read", ASK_READ, P L"\\sub\\lib.c", NULL, 0, DONE, DONE},
    {"but not written", ASK_WRITE, P L"\\sub\\lib.c", NULL, 0, DENIED, DONE},
    {"nothing can be made there", ASK_CREATE, P L"\\sub\\new.c", NULL, 0, DENIED, DONE},
    {"its file cannot be renamed into the open", ASK_RENAME, P L"\\secrets\\key", P L"\\key", 0,
     DENIED, DONE},
    {"nor deleted", ASK_DELETE, P L"\\secrets\\other", NULL, 0, DENIED, DONE},
    {"a closed directory cannot be renamed into the open", ASK_RENAME, P L"\\secrets", P L"\\open",
     0, DENIED, DONE},
};

static const struct ask commits[] = {
    EVERY_BOX,
    {"objects can be written", ASK_CREATE, P L"\\.git\\objects\\aa\\cc", NULL, 0, DONE, DONE},
    {"the head too", ASK_WRITE, P L"\\.git\\HEAD", NULL, 0, DONE, DONE},
    {"the configuration cannot", ASK_WRITE, P L"\\.git\\config", NULL, 0, DENIED, DONE},
    {"nor a hook", ASK_WRITE, P L"\\.git\\hooks\\pre-commit", NULL, 0, DENIED, DONE},
    {"no hook can be added", ASK_CREATE, P L"\\.git\\hooks\\post-commit", NULL, 0, DENIED, DONE},
    {"the hooks cannot be renamed away", ASK_RENAME, P L"\\.git\\hooks", P L"\\.git\\old", 0,
     DENIED, DONE},
    {"the configuration cannot be deleted", ASK_DELETE, P L"\\.git\\config", NULL, 0, DENIED, DONE},
};

static const struct ask one_file[] = {
    EVERY_BOX,
    {"the file can be read", ASK_READ, HOME L"\\other\\notes.txt", NULL, 0, DONE, DONE},
    {"but not written", ASK_WRITE, HOME L"\\other\\notes.txt", NULL, 0, DENIED, DONE},
    {"its directory cannot be listed", ASK_LIST, HOME L"\\other", NULL, 0, DENIED, DONE},
    {"the written one can be written", ASK_WRITE, P L"\\README.md", NULL, 0, DONE, DONE},
    {"its neighbour cannot be read", ASK_READ, P L"\\src\\main.c", NULL, 0, DENIED, DONE},
    {"no neighbour can be made", ASK_CREATE, P L"\\new.txt", NULL, 0, DENIED, DONE},
};

#define CLASS(name, toml, asks)                                                                    \
    {                                                                                              \
        name, toml, asks, SBX_COUNT(asks)                                                          \
    }

const struct ask_class ask_classes[] = {
    CLASS("workspace-write", "[sandbox]\nmode = \"workspace-write\"\n", workspace),
    CLASS("read-only",
          "[sandbox]\nmode = \"read-only\"\nfs_read_allow = ['C:\\Users\\user\\project']\n",
          read_only),
    CLASS("strict", "[sandbox]\nprofile = \"strict\"\n", nothing),
    CLASS("network-inherit", "[sandbox]\nnetwork = \"inherit\"\n", network),
    CLASS("split",
          "[sandbox]\nnetwork = \"deny\"\n[sandbox.filesystem]\n"
          "'C:\\Users\\user\\project' = \"write\"\n"
          "'C:\\Users\\user\\project\\sub' = \"read\"\n"
          "'C:\\Users\\user\\project\\secrets' = \"none\"\n"
          "'C:\\Users\\user\\project\\secrets\\tmp' = \"write\"\n"
          "'C:\\Users\\user\\project\\**\\.env' = \"none\"\n",
          split),
    CLASS("git-commit", "[sandbox]\nmode = \"workspace-write\"\ngit = \"commit\"\n", commits),
    CLASS("one-file",
          "[sandbox]\nnetwork = \"deny\"\ncwd = 'C:\\Windows'\n"
          "fs_read_allow = ['C:\\Users\\user\\other\\notes.txt']\n"
          "fs_write_allow = ['C:\\Users\\user\\project\\README.md']\n",
          one_file),
};
const size_t ask_class_count = SBX_COUNT(ask_classes);
