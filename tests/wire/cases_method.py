"""Cases: methods that are not a run's life."""

from cases import case, instead


@case("ping is answered with nothing")
def _(c):
    c.equal(c.client.ask("ping"), {})


@case("doctor says what `sbx doctor --json` says")
def _(c):
    got = c.client.ask("doctor")
    c.equal(got.get("command"), "doctor")
    c.true("schema_version" in got, sorted(got))


@case("manifest.verify finds nothing wrong with a right manifest")
def _(c):
    got = c.client.ask("manifest.verify", manifest={"sandbox": {"mode": "read-only"}})
    c.equal(got["ok"], True)


@case("manifest.verify tells what is wrong with a wrong one")
def _(c):
    got = c.client.ask("manifest.verify", manifest={"sandbox": {"mode": "no-such-mode", "nonsense": 1}})
    c.equal(got["ok"], False)
    c.true(len(got["findings"]) >= 2 and all("code" in finding for finding in got["findings"]), got["findings"])


@case("manifest.verify reads a file")
def _(c):
    path = c.folder / "one.toml"
    path.write_text('[sandbox]\nmode = "read-only"\n')
    path.chmod(0o644)
    c.equal(c.client.ask("manifest.verify", manifestFile=c.world.native(path))["ok"], True)
    path = c.folder / "two.toml"
    path.write_text("[sandbox\n")
    path.chmod(0o644)
    c.equal(c.client.ask("manifest.verify", manifestFile=c.world.native(path))["ok"], False)


@case("manifest.verify wants one manifest")
def _(c):
    c.refused("invalid_params", "manifest.verify")
    c.refused("invalid_params", "manifest.verify", manifest={}, manifestFile="/x")


@case("plan.explain says what a run would do, and runs nothing")
def _(c):
    mark = c.folder / "mark"
    got = c.client.ask("plan.explain", **c.members(["touch", c.world.native(mark)]))
    c.true(len(got["text"]) > 50, got["text"])
    c.true("command" in got["plan"], sorted(got["plan"]))
    c.equal(mark.exists(), False)
    c.equal(c.client.ask("run.list"), {"runs": []})


@case("run.start with a manifest that has errors runs nothing and tells them")
def _(c):
    mark = c.folder / "mark"
    members = c.members(["touch", c.world.native(mark)], manifest={"sandbox": {"nonsense": 1}})
    error = c.refused("policy_invalid", "run.start", **members)
    c.true(len(error["data"].get("findings", ())) >= 1, error)
    c.equal(mark.exists(), False)


@case("run.start without a command, or with two manifests, is refused")
def _(c):
    c.refused("invalid_params", "run.start")
    c.refused("invalid_params", "run.start", argv=[])
    c.refused("invalid_params", "run.start", argv=["a"], manifest={}, manifestFile="/x")
    c.refused("invalid_params", "run.start", argv=["a\0b"])
    c.refused("invalid_params", "run.start", argv=["a"], timeoutMs=0)
    c.refused("invalid_params", "run.start", argv=["a"], stdin="file")


@case("a command that does not exist is not_found")
def _(c):
    members = c.members(["x"])
    members["argv"][0] = c.world.native(c.folder / "no-such-program")
    c.refused("not_found", "run.start", **members)
    members["argv"][0] = "no-such-program-anywhere"
    c.refused("not_found", "run.start", **members)


@case("a command that cannot be executed is not_executable", "posix")
def _(c):
    path = c.folder / "plain.txt"
    path.write_text("not a program\n")
    path.chmod(0o644)
    members = c.members(["x"])
    members["argv"][0] = c.world.native(path)
    c.refused("not_executable", "run.start", **members)


@instead("a command that cannot be executed is not_executable", "where only starting it tells")
def _(c):
    path = c.folder / "plain.txt"
    path.write_text("not a program\n")
    members = c.members(["x"])
    members["argv"][0] = c.world.native(path)
    run = c.client.runs[c.client.ask("run.start", **members)["run"]]
    result = c.ended(run)
    c.equal((result["status"], result["started"]), (126, False))


@case("one key alone opens nothing: no run without a box")
def _(c):
    members = {**c.members(["say", "x"]), "sandbox": "none"}
    members.pop("allowNoSandbox", None)
    error = c.refused("refused", "run.start", **members)
    c.equal(error["data"]["outcome"]["started"], False)


@case("a sandbox that does not exist is refused")
def _(c):
    members = {**c.members(["say", "x"]), "sandbox": "no-such-backend"}
    try:
        c.client.ask("run.start", **members)
        c.true(False, "it ran")
    except Exception as refusal:  # pylint: disable=broad-except
        c.true(getattr(refusal, "name", "") in ("refused", "invalid_params"), str(refusal))


@case("a run that is not of this connection does not exist")
def _(c):
    for name in ("r999", "", "x" * 64):
        for method, more in (("run.wait", {}), ("run.cancel", {}), ("run.signal", {"signal": "TERM"}),
                             ("run.resize", {"rows": 1, "cols": 1}), ("run.stdin", {"data": "x"})):
            c.refused("no_such_run", method, run=name, **more)


@case("no connection sees the runs of another", "many")
def _(c):
    run = c.start("hold")
    other = c.connect()
    c.equal(other.ask("run.list"), {"runs": []})
    c.refused("no_such_run", "run.cancel", on=other, run=run.name)
    c.refused("no_such_run", "run.wait", on=other, run=run.name)
    c.equal(c.running(), [run.name])
    c.client.ask("run.cancel", run=run.name)
    c.ended(run)


@case("sessions are opened, listed and closed")
def _(c):
    first = c.client.ask("session.open", name="mine")["session"]
    second = c.client.ask("session.open")["session"]
    c.true(first != second, "two names")
    got = {item["session"]: item for item in c.client.ask("session.list")["sessions"]}
    c.equal(sorted(got), sorted([first, second]))
    c.equal(got[first].get("name"), "mine")
    c.equal(c.client.ask("session.close", session=first), {})
    c.equal([item["session"] for item in c.client.ask("session.list")["sessions"]], [second])
    c.refused("no_such_session", "session.close", session=first)


@case("a session that is not there takes no run")
def _(c):
    c.refused("no_such_session", "run.start", **c.members(["say", "x"], session="s999"))


@case("closing a session ends its runs, and no other")
def _(c):
    session = c.client.ask("session.open")["session"]
    inside = c.start("hold", session=session)
    outside = c.start("hold")
    c.said(inside, "ready")
    c.said(outside, "ready")
    got = {item["run"]: item for item in c.client.ask("run.list")["runs"]}
    c.equal(got[inside.name].get("session"), session)
    c.equal(c.client.ask("session.list")["sessions"][0]["runs"], 1)
    c.client.ask("session.close", session=session)
    c.ended(inside)
    c.equal(c.running(), [outside.name])
    c.client.ask("run.cancel", run=outside.name)
    c.ended(outside)


@case("more sessions than the quota are limit_reached")
def _(c):
    opened = 0
    refusal = None
    while refusal is None and opened < 100:
        try:
            c.client.ask("session.open")
            opened += 1
        except Exception as error:  # pylint: disable=broad-except
            refusal = error
    c.equal(getattr(refusal, "name", None), "limit_reached")
    c.true(refusal is not None and refusal.error["data"]["retryable"], "and may be tried again")
    c.equal(opened, 16)


@case("shutdown ends the runs, answers, and closes the connection")
def _(c):
    run = c.start("hold")
    c.said(run, "ready")
    key = c.client.ask_later("shutdown", {})
    c.equal(c.client.answered(key), {})
    c.client.wait_closed()
    c.true(c.client.is_closed, "closed")
