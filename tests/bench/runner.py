"""Cases, their trial runs, and the calls of run_cases, which does the timed part."""

import collections
import dataclasses
import os
import pathlib
import subprocess
import sys

TRIAL_SECONDS = 120
Sample = collections.namedtuple("Sample", "round case wall_ns settle_ns cpu_ns rss_kb status idle left")
Slice = collections.namedtuple("Slice", "round case workers runs failed elapsed_ns")


@dataclasses.dataclass
class Case:
    """A row with a command in a box. `id` is unique in its section."""
    id: str
    row: object
    box: object
    command: list

    @property
    def argv(self):
        return [*self.row.prefix(self.box), *self.command]


def block(word, name, case, argv, ready=None):
    """One entry of the file that run_cases reads (tests/bench/case_list.h)."""
    lines = [f"{word} {name}", f"cwd {case.box.work}"]
    lines += [f"env {key}={value}" for key, value in case.row.env.items()]
    lines += [f"ready {ready}"] if ready else []
    lines += [f"arg {argument}" for argument in argv]
    if any("\n" in line for line in lines):
        raise ValueError(f"{name}: a line end in a command line")
    return "\n".join(lines) + "\n"


def case_file(cases):
    text, services = "", set()
    for case in cases:
        if case.row.service:
            argv, ready = case.row.service(case.box)
            if ready not in services:
                services.add(ready)
                text += block("service", f"service of {case.row.id}", case, argv, ready)
        text += block("resident" if case.row.resident else "case", case.id, case, case.argv)
    return text


class Runner:
    def __init__(self, program, scratch, gap_ms=10, idle_ms=200):
        self.scratch = scratch
        # Started as root and by its path: the build directory may lie where the user cannot go.
        self.program = pathlib.Path(program)
        self.gap_ms, self.idle_ms = gap_ms, idle_ms

    def call(self, cases, *options):
        path = self.scratch.state / "cases.txt"
        path.write_text(case_file(cases), encoding="utf-8")
        user = self.scratch.user
        become = ["-u", f"{user.uid}:{user.gid}"] if user.drops else []
        done = subprocess.run([self.program, "-g", str(self.gap_ms), "-i", str(self.idle_ms), *become,
                               *(str(option) for option in options), path],
                              capture_output=True, text=True, check=False, cwd=self.scratch.root,
                              env=self.scratch.environment())
        said = done.stderr.strip().splitlines()
        print(done.stderr, end="", file=sys.stderr)
        if done.returncode != 0:
            raise RuntimeError(f"run_cases ended with {done.returncode}: {said[-1] if said else 'it says nothing'}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def rounds(self, cases, rounds, warmups=2, mounts=0):
        options = ["-m", mounts, "-d", self.scratch.mounts] if mounts else []
        lines = self.call(cases, "-n", rounds, "-w", warmups, *options)
        return [Sample(int(line[1]), line[2], *(int(field) for field in line[3:]))
                for line in lines if line[0] == "sample"]

    def throughput(self, cases, workers, slices, slice_ms):
        lines = self.call(cases, "-n", slices, "-j", workers, "-t", slice_ms)
        return [Slice(int(line[1]), line[2], *(int(field) for field in line[3:]))
                for line in lines if line[0] == "throughput"]

    def trial(self, case):
        """None when the case works, else why it does not."""
        if case.row.resident or case.row.service:
            try:
                status = self.rounds([case], 1, 0)[0].status
            except (RuntimeError, IndexError) as error:
                return str(error)
            return None if status == 0 else f"exit status {status}"
        try:
            done = subprocess.run(case.argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                  timeout=TRIAL_SECONDS, check=False, cwd=case.box.work,
                                  env=self.scratch.environment() | case.row.env, **self.scratch.user.options())
        except subprocess.TimeoutExpired:
            return f"did not end in {TRIAL_SECONDS} s"
        except OSError as error:
            return f"cannot be started: {os.strerror(error.errno)}"
        if done.returncode == 0:
            return None
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        tried = [line for line in said if line.startswith("tried:")]  # how sbx tells what was wrong with a backend
        reason = (tried or said or ["it says nothing"])[0]
        return f"exit status {done.returncode}: {reason[:160]}"

    def admit(self, cases, left_out, where):
        """The cases that work; the others are told of in `left_out`."""
        good = []
        for case in cases:
            reason = self.trial(case)
            if reason is None:
                good.append(case)
            else:
                left_out.append((f"{case.row.name} ({where})" if where else case.row.name, reason))
        return good

    def holds(self, row, box):
        """Whether a file outside the writable directory stays unwritten, and one inside is written."""
        inside, outside = box.work / "probe-inside", self.scratch.home / "probe-outside"
        for path in (inside, outside):
            self.trial(Case("probe", row, box, ["/bin/sh", "-c", f"echo > {path}"]))
        held = inside.exists() and not outside.exists()
        for path in (inside, outside):
            path.unlink(missing_ok=True)
        return held
