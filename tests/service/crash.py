"""The service is killed at random moments under load: nothing is left, clients learn of it, the next one works."""

import os
import random
import threading
import time

import peer
import tap

MOMENTS = int(os.environ.get("SBX_SERVICE_KILLS", "12"))


def load(daemon, mark, ends):
    """Starts boxes until the connection ends."""
    try:
        client = daemon.client()
        while True:
            client.send("run.start", argv=["sh", "-c", "sleep 1000", mark], **peer.READ)
            client.run("true", **peer.READ)
    except (peer.Gone, OSError):
        ends.append("told")
    except Exception as error:  # told by the case
        ends.append(repr(error))


def killed():
    """kill -9 at any moment leaves no process of a box; clients see the end; the next start works"""
    seed = int(os.environ.get("SBX_SERVICE_SEED", "0")) or random.randrange(1 << 30)
    rng = random.Random(seed)
    print(f"# seed {seed}, {MOMENTS} moments")
    mark = f"mark-{os.getpid()}-{seed}"
    daemon = peer.Daemon()
    try:
        for _ in range(MOMENTS):
            ends = []
            threads = [threading.Thread(target=load, args=(daemon, mark, ends)) for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(rng.random() * 0.4)
            daemon.kill()
            for thread in threads:
                thread.join()
            assert ends == ["told"] * 3, ends
            peer.until(lambda: not peer.marked(mark), "no process of a box is left")
            daemon.start()
        assert daemon.client().run("true", **peer.READ)[0]["status"] == 0
    finally:
        daemon.end()


if __name__ == "__main__":
    tap.play([killed])
