"""Many clients and boxes at once, one of whom does not read."""

import os
import threading

import peer
import tap

CLIENTS = int(os.environ.get("SBX_SERVICE_CLIENTS", "12"))
EACH = int(os.environ.get("SBX_SERVICE_EACH", "5"))
MEMORY_KIB = 256 * 1024


def ask(daemon, number, wrong):
    """Every run says its own number and ends with a status of its own."""
    try:
        client = daemon.client()
        asked = {}
        for i in range(EACH):
            status = (number * EACH + i) % 100
            words = ["sh", "-c", f"echo {number}.{i}; head -c 50000 /dev/zero | tr '\\0' x >&2; exit {status}"]
            asked[client.send("run.start", argv=words, **peer.READ)] = (f"{number}.{i}\n", status)
        runs = {}
        for request, want in asked.items():
            started = client.answer(request)
            runs[started["run"]] = want
        for run, (text, status) in runs.items():
            result = client.note("exited", run)["result"]
            said = {"stdout": "", "stderr": ""}
            for note in client.notes:
                if note.get("method") == "output" and note["params"]["run"] == run:
                    said[note["params"]["stream"]] += note["params"]["data"]
            if (result["status"], said["stdout"], len(said["stderr"])) != (status, text, 50000):
                wrong.append((run, result["status"], said["stdout"], len(said["stderr"])))
        client.close()
    except Exception as error:  # told by the case
        wrong.append(repr(error))


def storm():
    """boxes of many clients at once all end as they should, beside a client that does not read; memory stays bounded"""
    daemon = peer.Daemon()
    try:
        slow = daemon.client()
        runs = [slow.call("run.start", argv=["sh", "-c", "yes"], credit=1 << 40, **peer.READ)["run"] for _ in range(2)]
        wrong = []
        threads = [threading.Thread(target=ask, args=(daemon, number, wrong)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong[:5]
        assert daemon.rss_kib() < MEMORY_KIB, daemon.rss_kib()
        print(f"# {CLIENTS * EACH} runs of {CLIENTS} clients; at most {daemon.rss_kib()} KiB")
        assert slow.call("run.cancel", run=runs[0]) == {}
        slow.close()
    finally:
        daemon.end()


def credit():
    """without credit nothing comes and the box waits; each byte of credit brings one"""
    daemon = peer.Daemon()
    try:
        client = daemon.client()
        run = client.call("run.start", argv=["sh", "-c", "echo 0123456789; echo done >&2"], credit=0, **peer.READ)["run"]
        assert client.call("ping") == {}
        assert not peer.is_readable(client.socket, 0.5) or client.note("started", run)
        client.tell("run.credit", run=run, stream="stdout", bytes=4)
        assert client.note("output", run)["data"] == "0123"
        client.tell("run.credit", run=run, stream="stdout", bytes=100)
        assert client.note("output", run)["data"] == "456789\n"
        client.tell("run.credit", run=run, stream="stderr", bytes=100)
        assert client.note("exited", run)["result"]["status"] == 0
    finally:
        daemon.end()


def limits():
    """more runs than a client may have are refused, and the others go on"""
    daemon = peer.Daemon("--max-runs-per-client", "2")
    try:
        client = daemon.client()
        words = {"argv": ["cat"], "stdin": "pipe", **peer.READ}
        runs = [client.call("run.start", **words)["run"] for _ in range(2)]
        assert client.call("run.start", **words)["error"]["data"]["name"] == "limit_reached"
        for run in runs:
            client.call("run.stdin", run=run, data="", eof=True)
            assert client.note("exited", run)["result"]["status"] == 0
        assert client.run("true", **peer.READ)[0]["status"] == 0
    finally:
        daemon.end()


if __name__ == "__main__":
    tap.play([storm, credit, limits])
