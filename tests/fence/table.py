"""The attacks and what is expected of each: the one table that the suite runs and docs/ATTACKS.md shows.

An id is that of the probe (tests/probe) which tries it. What is tried is said there; here is what must come of it.

  stop      refused, or what it aims at is not there
  allowed   works, by design; `why` says why that is no hole
  harmless  stopped or not: neither is a hole; `why` says why
  works     no attack: must go on working, as it does outside
  refused   the backend cannot hold such a manifest, and sbx refuses to run it (status 125)

Grounds are where an attack is shown to work, so that stopping it means something; the first that succeeds counts.

  plain     the same user, no box
  space     namespaces in which the user has every capability: what a careless box would be
  fresh     the same with a process and an IPC namespace of its own too
  root      root, no box: what the kernel itself denies to others
  user      an ordinary user, no box: attacks that would reach everything if root tried them
  etc       an /etc/ssh of the suite's own, in a mount namespace"""

import dataclasses

BACKENDS = ("native", "bwrap", "landlock")
# Those that mount: everything a manifest can say, they can hold.
MOUNTING = ("native", "bwrap")
EXPECTED = ("stop", "allowed", "harmless", "works", "refused")
PLAIN = ("plain", "root")
SPACE = ("space",)


@dataclasses.dataclass(frozen=True)
class Case:
    id: str
    box: str
    expect: dict
    grounds: tuple
    also: str
    why: str
    probe: str
    shape: str


CASES = {}


def case(names, box="main", expect="stop", landlock=None, grounds=PLAIN, also="", why="", root=None, user=None,
         probe=None, shape="protect", landlock_user=None):
    """One row per name. `landlock` is what differs there, `landlock_user` there for a user; `root` and `user` what differs for one of them; `probe` the
    probe's id where it is another; `shape` what a backend that refuses cannot hold."""
    for name in names.split():
        assert name not in CASES, name
        wanted = {}
        for backend in BACKENDS:
            for identity in ("root", "user"):
                value = landlock if backend == "landlock" and landlock else {"root": root, "user": user}[identity]
                if backend == "landlock" and identity == "user" and landlock_user:
                    value = landlock_user
                wanted[backend, identity] = value or expect
        assert set(wanted.values()) <= set(EXPECTED), name
        CASES[name] = Case(name, box, wanted, grounds, also, why, probe or name, shape)


NOT_LANDLOCK = "Landlock knows no exception below a writable directory: such a manifest is refused"

# ---- reading ----
case("R01 R02 R02b R03 R03b R03c R04b R04c R05b R07 R07b D01 D02 D03")
case("R04", also="F13")
case("R05", also="F13")
case("R06", box="etc", grounds=("etc",))
case("R07c", landlock="refused", shape="carve", why=NOT_LANDLOCK)
case("LF16", landlock="refused", shape="glob", also="F16", why=NOT_LANDLOCK + ". Files that the host makes during the run are not "
     "covered; the plan says so")
case("R08", grounds=SPACE)
case("R09 R11 R12")
case("R10", grounds=("space", "fresh"))
case("R13", expect="allowed", why="names of granted paths and of the disk, no contents")
case("LF13 LF13b LF13c", also="F13")

# ---- writing ----
case("W01 W01b W03b W03c W04c W04d W04e")
case("W02 W02b", grounds=SPACE)
case("W03")
case("W04 W04b", also="F1")
case("W05", expect="allowed", why="the file has a name in the writable tree: its bytes were granted")
case("W11 W11b W16 Z04", also="Z04")
case("W12 W12b W12c W12d W12e W12f W12g W12h W12i", also="Z04")
case("W13 W13b W13c W13d W13e W13f", also="F13")
case("Z04b", landlock="stop", why="access lists on own files give others no more than chmod 666 does")
case("LF11", also="F11")
case("W14 W14b", also="F10")
case("LF10a LF10b LF10c LF10d LF10e LF10f LF10g LF10h LF10i LF10j LF10k LF10l LF10m LF10n LF10o", also="F10")
case("LF10A LF10B LF10C LF10D LF10E LF10F LF10G LF10H LF10I LF10J LF10K LF10L LF10M LF10N LF10O LF10P LF10Q",
     also="F10")
case("S10")

# ---- protected names ----
case(" ".join(f"C{number:02}" for number in range(1, 47)), landlock="refused", also="S03 F4", why=NOT_LANDLOCK)
case("W06 W06b W06c W06d W07 W10 W15", landlock="refused", also="F7", why=NOT_LANDLOCK)
case("W08 W09", landlock="refused", grounds=SPACE, why=NOT_LANDLOCK)
case("LF04", box="absent", landlock="refused", shape="absent", also="F4", why=NOT_LANDLOCK)
case("LF05 LF05b LF05c LF05d", landlock="refused", also="F5", why=NOT_LANDLOCK)
case("LF06 LF06b LF06c", landlock="refused", also="F6", why=NOT_LANDLOCK)
case("LF07 LF07b", expect="allowed", also="F7", why="a bare repository under another name, or attributes without a "
     "configured filter, run nothing by themselves; git commands of the host in such a directory are the user's choice")
case("S04", landlock="refused", why=NOT_LANDLOCK)
case("LF08", also="F8")
case("LF08b LF08c", landlock="refused", also="F8", why=NOT_LANDLOCK)
case("Z01", landlock="refused", also="F9", why=NOT_LANDLOCK)
case("Z02", landlock="refused", why=NOT_LANDLOCK)
case("Z02b")
case("GC01", box="commit", expect="works", landlock="refused", shape="commit", why=NOT_LANDLOCK)
case("GC02 GC03 GC04 GC05 GC06 GC07", box="commit", shape="commit", landlock="refused", also="F7", why=NOT_LANDLOCK)

# ---- processes ----
case("P01 P01b", landlock="allowed", also="F13", why="without a process namespace the processes of the machine can be "
     "seen; their memory, environment and files cannot")
case("P02 P04 P04b P04c P05 P05b P05c P05d", also="K2")
case("P03", landlock="harmless", why="without a process namespace the arguments of sbx can be seen as those of any "
     "program; values of variables are not among them")
case("P05e", expect="allowed", why="pid 1 of the box takes no signal it does not handle, from inside least of all; "
     "without a process namespace its end is the end of the box")
case("P06f", landlock="harmless", also="K4", why="the descriptor takes the number; Landlock drops the signal when it is "
     "sent, and the suite looks that the host process got none")
case("P06 P06b P06c P06d P06e LK04 LK04b LK04c LK04d", also="K4")
case("P08", also="F14")
case("P09")
case("G01", box="group", expect="allowed", grounds=("user",),
     why="it reaches the box's own processes; the suite looks that a host process got nothing")
case("G02", box="group", expect="allowed", grounds=PLAIN, why="the group is the box's own; the same look outside")
case("G02b", box="group")

# ---- network ----
case("N01 N03", grounds=SPACE)
case("N02 N02b N02c N02d")
case("N04 N05 N06 N09 N09b LN04", also="N4")
case("N07", also="N2")
case("N08 N08b LN01 LN01b LN01c LN01d", also="N1")
case("N10 N10b")
case("N21", expect="allowed", landlock="stop", why="a port of the box's own loopback, which nobody else reaches")
case("LN14", expect="works", also="N14")
case("LK12", probe="V08", box="inherit", also="K12")
case("N20", probe="N07", box="inherit", expect="allowed", landlock="stop", why="network inherit is the host's network with its "
     "abstract sockets; verify says so")

# ---- what processes share ----
case("I01 I01b I01c I01d I04", also="K5")
case("I02 I02b I02c", also="K6")
case("I03", also="K5")
case("I04b", grounds=("space", "fresh"))

# ---- resources ----
case("X01", box="scratch", landlock="allowed", why="the private temporary directory is on the host's disk, since nothing "
     "can be mounted; one file is bounded")
case("X02", box="memory", also="K9")
case("X03", box="processes", also="K9")
case("X04 X05 X06 X07 X07b X07c", also="K9")
case("X12", box="memory", also="K9")
case("X14", box="scratch", expect="harmless", why="names in a private directory, gone with it")
case("X15", box="scratch")

# ---- terminal ----
case("T01 T02 T02b T02c T03 T03b", box="terminal", also="T09 K1")
case("T04", box="terminal", expect="allowed", why="output is the command's own; hosts must not render it raw")
case("LK01 LK01b LK01c LK01d", box="terminal", also="T09 K1 N5")

# ---- what a process is born with ----
case("E01 E01b E02 LK08", also="K8")
case("F01 F02 F02b F02c", also="F12")
case("LN13", also="N13")
case("F03", box="cwd", also="F12")

# ---- privileges ----
case("V02b", also="K10", landlock_user="allowed", why="an ordinary user cannot empty the bounding set without a user "
     "namespace; with no-new-privs nothing is ever taken from it")
case("V01 V02 V08", also="K10")
case("V03 V03b V03c V05 V09 V09b")
case("V04 V04b", grounds=("space", "root"))
case("V06 V07", grounds=SPACE)
case("LK10", also="K10", grounds=("plain", "user"))
case("LF17 LF17b", also="F17", grounds=PLAIN)

# ---- the kernel's surface ----
case("K01 K02 K03 K04 K04b K05 K08 K09 K12", also="K7 N3")
case("K06 K07", grounds=PLAIN, also="K7")
case("K10", expect="works")
case("K11 K13 K13b", also="N5")
case("K14", expect="allowed", why="code that the box may write it may run; nothing else comes with it")
case("K37", landlock="harmless", also="K7", why="a filter of the box's own binds only its own processes; where sbx "
     "listens itself the kernel has no room for a second listener")
case("K20 K33 K34 K35 K36", also="K7")

# ---- what must go on working ----
case(" ".join(f"B{number:02}" for number in range(1, 22)), expect="works", box="works", grounds=("plain",))
