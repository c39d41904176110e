"""Where a service can be reached: a unix socket of sbxd, the standard streams of `sbx serve --stdio`, the pipe of the Windows service."""

import contextlib
import os
import pathlib
import socket
import subprocess
import time

SECONDS = 60


class Socket:
    """A connection to a unix socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)

    def write(self, data):
        self.socket.sendall(data)

    def write_with(self, data, fds):
        """A line with descriptors."""
        socket.send_fds(self.socket, [data], fds)

    def read(self):
        return self.socket.recv(1 << 16)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def end(self):
        """Ends the connection; who reads it sees that."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self):
        self.end()
        self.socket.close()


class Pipes:
    """The standard streams of a process."""

    def __init__(self, command, env, cwd, log):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=env,
                                        cwd=cwd, bufsize=0)

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]

    def read(self):
        return os.read(self.process.stdout.fileno(), 1 << 16)

    def half_close(self):
        self.process.stdin.close()

    def end(self):
        """Ends the connection; who reads it sees that."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def close(self):
        self.end()
        self.process.stdout.close()


class Daemon:
    """sbxd of this user, on a socket in a runtime directory of its own."""

    def __init__(self, program, folder, env, log):
        runtime = pathlib.Path(folder) / "runtime"
        runtime.mkdir(mode=0o700, exist_ok=True)
        self.path = str(runtime / "sbx" / "sbx.sock")
        self.process = subprocess.Popen([program], env={**env, "XDG_RUNTIME_DIR": str(runtime)}, cwd=folder,
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                Socket(self.path).close()
                return
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"sbxd does not listen: {error}; status {self.process.poll()}") from error
                time.sleep(0.02)

    def connect(self):
        return Socket(self.path)

    def is_alive(self):
        return self.process.poll() is None

    def close(self):
        self.process.terminate()
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Serve:
    """A process per connection: `sbx serve --stdio`, or a relay to a service that somebody else started."""

    def __init__(self, command, folder, env, log):
        self.arguments = (command, env, folder, log)

    def connect(self):
        return Pipes(*self.arguments)

    def is_alive(self):
        return True

    def close(self):
        return 0


class Installed(Serve):
    """The service of Windows, installed and started for as long as this lives; each connection is a relay to its pipe."""

    def __init__(self, manager, command, folder, env, log):
        super().__init__(command, folder, env, log)
        self.manager = manager
        self.lifetime = contextlib.ExitStack()
        self.lifetime.enter_context(manager.running())

    def is_alive(self):
        return self.manager.state()["state"] == "running"

    def close(self):
        self.lifetime.close()
        return 0
