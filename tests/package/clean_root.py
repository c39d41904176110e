"""A machine with nothing on it but a small Debian: its own mounts, processes and devices, and root's rights to install.

    with Root() as root:
        root.install(deb)
        done = root.run("sbx doctor", user=True)

What runs in it has it as its root by pivot_root: below chroot no user namespace can be made."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from packaged import ROOT, Done

USER = "newcomer"
SECONDS = 120
# Devices are bound, not made: what the machine's own may do, these may.
ENTER = r"""
set -e
root=$1
shift
mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs -o mode=755 dev dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 shm dev/shm
for name in null zero full random urandom tty; do
    : >"dev/$name"
    mount --bind "/dev/$name" "dev/$name"
done
pivot_root . mnt
umount -l /mnt
cd /
exec "$@"
"""


class Root:
    def __init__(self):
        self.place = None

    def __enter__(self):
        archive = subprocess.run([ROOT / "scripts/clean-root"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="sbx-root-"))
        self.place.chmod(0o755)
        subprocess.run(["tar", "-x", "-f", archive, "-C", self.place, "--numeric-owner"], check=True)
        self.place.joinpath("etc/hostname").write_text("clean\n")
        done = self.run(f"useradd --create-home --shell /bin/bash {USER}")
        if done.status != 0:
            raise OSError(str(done))
        return self

    def __exit__(self, *_):
        # Every mount was in a namespace that is gone.
        shutil.rmtree(self.place, ignore_errors=True)

    def run(self, script, user=False, env=None, prefix=()):
        """A line of shell in the root, as root or as its ordinary user who has just logged in."""
        words = ["runuser", "-l", USER, "-c", script] if user else ["sh", "-c", script]
        if env:
            words[-1] = " ".join(f"export {name}='{value}';" for name, value in env.items()) + script
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c", ENTER, "sh",
                   str(self.place), *prefix, *words]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=SECONDS, cwd="/", env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                                                             "DEBIAN_FRONTEND": "noninteractive"})
        return Done([script], done.returncode, done.stdout, done.stderr)

    def install(self, deb):
        """dpkg -i: how it ended."""
        shutil.copy(deb, self.place / "root" / deb.name)
        done = self.run(f"dpkg -i /root/{deb.name}")
        (self.place / "root" / deb.name).unlink()
        return done

    def files(self):
        """name -> what is there, of all that a package may leave behind. dpkg's own books and caches are not of the package."""
        found = {}
        for folder, directories, names in os.walk(self.place):
            inner = os.path.relpath(folder, self.place)
            if inner in ("proc", "sys", "dev", "var/lib/dpkg", "var/log", "var/cache", "tmp", f"home/{USER}", "root"):
                directories.clear()
                continue
            for name in directories + names:
                path = pathlib.Path(folder, name)
                found[os.path.join(inner, name)] = os.readlink(path) if path.is_symlink() else "directory" if path.is_dir() else (
                    path.stat().st_size)
        return found
