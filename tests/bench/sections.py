"""The sections of the benchmark. Each makes its cases, tries every one, and measures those that work in turns."""

import os
import pathlib
import shutil

import stats
from rows import Box
from runner import Case

WORKERS = 2
PROTECTED_COUNTS = (0, 10, 50, 200)
MOUNT_COUNTS = (28, 128, 328)
GLOB = "**/.env"
# Rows that would only repeat another one, or cannot run every workload.
NOT_IN_WORKLOADS = ("unshare", "minijail0")
# Workloads whose steady state the goals compare with plain: start-up is measured beside them and taken away.
STEADY = ("find", "gcc", "git")


class Amounts:
    """How often things are run."""

    def __init__(self, quick, rounds=None):
        self.start = rounds or (5 if quick else 200)
        self.work = 2 if quick else 30
        self.find = 1 if quick else 10
        self.series = 3 if quick else 40
        self.mount_blocks = 1 if quick else 4
        self.slices, self.slice_ms = (1, 300) if quick else (5, 1000)
        self.explain = 10 if quick else 300


class Sections:
    def __init__(self, runner, rows, amounts, say):
        self.runner, self.scratch = runner, runner.scratch
        self.rows, self.left_out = list(rows.found), list(rows.left_out)
        self.amounts, self.say = amounts, say
        self.holds = {}

    def try_rows(self):
        """Only rows whose first trial ends with 0 are measured at all."""
        box = Box(self.scratch.empty)
        cases = [Case(row.id, row, box, ["/bin/true"]) for row in self.rows]
        self.rows = [case.row for case in self.runner.admit(cases, self.left_out, "")]
        self.holds = {row.id: self.runner.holds(row, box) for row in self.rows if not row.resident}

    def start(self):
        cases = [Case(row.id, row, Box(self.scratch.empty), ["/bin/true"]) for row in self.rows]
        return stats.summaries(self.runner.rounds(cases, self.amounts.start), "plain")

    def throughput(self):
        cases = [Case(row.id, row, Box(self.scratch.empty), ["/bin/true"]) for row in self.rows]
        amounts = self.amounts
        return stats.rates(self.runner.throughput(cases, WORKERS, amounts.slices, amounts.slice_ms), "plain")

    def workloads(self):
        """{name: (command, rounds)}; a program that is not here is told of."""
        work, path = self.scratch.work, self.scratch.environment()["PATH"]
        wanted = {
            "sh": ["sh", "-c", ":"],
            "python3": ["python3", "-c", "pass"],
            "node": ["node", "-e", "1"],
            # Without the option plain may write the index anew, which a box that protects .git cannot.
            "git": ["git", "--no-optional-locks", "-C", str(work / "repo"), "status", "--porcelain"],
            "gcc": ["gcc", "-O2", "-c", "-o", str(work / "t.o"), str(work / "t.c")],
            "find": ["sh", "-c", "find /usr -xdev -type f | wc -l"],
        }
        found = {}
        for name, command in wanted.items():
            program = shutil.which(command[0], path=path)
            if program is None:
                self.left_out.append((f"workload {name}", "not installed"))
            else:
                found[name] = ([program, *command[1:]], self.amounts.find if name == "find" else self.amounts.work)
        return found

    def work(self):
        """{workload: {case: summary}}. A case "ROW true" beside a row is its start-up in the same rounds."""
        self.scratch.fill_work()
        tables = {}
        for name, (command, rounds) in self.workloads().items():
            box = Box(self.scratch.work)
            cases = self.runner.admit([Case(row.id, row, box, command) for row in self.rows
                                       if row.id not in NOT_IN_WORKLOADS], self.left_out, name)
            if name in STEADY:
                cases += [Case(f"{case.row.id} true", case.row, box, ["/bin/true"]) for case in list(cases)
                          if case.row.id == "plain" or case.row.id.startswith(("sbx-", "pool-"))]
            self.say(f"  {name}")
            tables[name] = stats.summaries(self.runner.rounds(cases, rounds, 1), "plain")
        return tables

    def protected(self):
        """[{row, x, summary…}] over the number of protected paths."""
        cases = []
        for count in PROTECTED_COUNTS:
            box = Box(self.scratch.protected, tuple(self.scratch.fill_protected(count)))
            cases += self.runner.admit([Case(f"{row.id} {count}", row, box, ["/bin/true"]) for row in self.rows
                                        if row.protects or row.id == "plain"], self.left_out,
                                       f"{count} protected paths")
        return self.points(self.runner.rounds(cases, self.amounts.series))

    def mounts(self):
        """The same over the host's mounts. A mount namespace belongs to a whole call of run_cases, so the counts take
        turns in blocks."""
        if os.geteuid() != 0:
            self.left_out.append(("series over host mounts", "only root can make mounts for it"))
            return []
        present = len(pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines())
        counts = [max(count, present) if count == MOUNT_COUNTS[0] else count for count in MOUNT_COUNTS]
        if counts[0] >= counts[1]:
            self.left_out.append(("series over host mounts", f"this host has {present} mounts already"))
            return []
        names = ("plain", "bwrap", "firejail", "nsjail")
        rows = [row for row in self.rows if row.id in names or row.id.startswith("sbx-")]
        samples = []
        for _ in range(self.amounts.mount_blocks):
            for count in counts:
                cases = [Case(f"{row.id} {count}", row, Box(self.scratch.empty), ["/bin/true"]) for row in rows]
                samples += self.runner.rounds(cases, max(1, self.amounts.series // self.amounts.mount_blocks),
                                              mounts=count)
        return self.points(samples)

    def files(self):
        """The same over the files of the workspace, with and without a deny glob."""
        self.scratch.fill_many()
        cases = []
        for count, work in ((0, self.scratch.empty), (50000, self.scratch.many)):
            for glob in ("", GLOB):
                cases += self.runner.admit([Case(f"{row.id} {count}{' glob' if glob else ''}", row,
                                                 Box(work, (), glob), ["/bin/true"]) for row in self.rows
                                            if row.globs or (row.id == "plain" and not glob)], self.left_out,
                                           f"{count} files{', deny glob' if glob else ''}")
        self.scratch.forget_names()  # the trials filled it
        return self.points(self.runner.rounds(cases, self.amounts.series))

    @staticmethod
    def points(samples):
        points = []
        for case, fields in stats.summaries(samples).items():
            row, count, *glob = case.split(" ")
            points.append({"row": row, "x": int(count), "glob": bool(glob)} | fields)
        return sorted(points, key=lambda point: (point["row"], point["glob"], point["x"]))
