"""Disks that are as full as a test wants them: a tmpfs each, mounted in a mount table of the test
process's own, so that nothing of it is seen outside."""

import ctypes
import functools
import os
import shutil

import pytest

KIB = 1024
MIB = 1024 * KIB

_libc = ctypes.CDLL(None, use_errno=True)
_NEW_NAMESPACE, _NEW_USER = 0x20000, 0x10000000
BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000


def _call(function, *arguments):
    if function(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{function.__name__}: {os.strerror(code)}")


def mount(what, at, kind=None, flags=0, data=None):
    raw = [None if one is None else os.fsencode(str(one)) for one in (what, at, kind)]
    _call(_libc.mount, *raw, ctypes.c_ulong(flags), None if data is None else data.encode())


def unmount(at):
    _call(_libc.umount2, os.fsencode(str(at)), 2)  # at once, whoever still looks at it


@functools.cache
def own_mounts():
    """Anyone may mount in a user namespace, if the kernel's owner lets anyone have one. In it this
    user is root, so that files stay its own. Returns why not."""
    user, group = os.geteuid(), os.getegid()
    try:
        if user != 0:
            _call(_libc.unshare, _NEW_USER)
            for file, text in (
                ("setgroups", "deny"),
                ("uid_map", f"0 {user} 1"),
                ("gid_map", f"0 {group} 1"),
            ):
                with open(f"/proc/self/{file}", "w") as map_of:
                    map_of.write(text)
        _call(_libc.unshare, _NEW_NAMESPACE)
        mount("none", "/", None, _RECURSIVE | _PRIVATE)
        mount("none", "/mnt", "tmpfs", 0, "size=64k")
        unmount("/mnt")
    except OSError as error:
        return str(error)
    return ""


class SmallDisk:
    def __init__(self, path, size):
        self.path, self._mounted = path, [path]
        path.mkdir()
        mount("none", path, "tmpfs", 0, f"size={size},mode=0700")

    def take(self, folder):
        """From here on it stands in the folder's place."""
        own = self.path / folder.parent.name
        shutil.copytree(folder, own)
        own.chmod(0o700)
        shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
        mount(own, folder, None, BIND)
        self._mounted.append(folder)

    def leave_room(self, size):
        with open(self.path / "ballast", "wb") as ballast:
            now = os.statvfs(self.path)
            taken = now.f_bavail * now.f_frsize - size
            os.posix_fallocate(ballast.fileno(), 0, taken)

    def make_room(self):
        (self.path / "ballast").unlink()

    def unmount(self):
        for folder in reversed(self._mounted):
            unmount(folder)


@pytest.fixture
def small_disk(scratch):
    """A disk of 400 MiB that gets full; skipped, visibly, where nobody may mount."""
    if why := own_mounts():
        pytest.skip(f"may not mount: {why}")
    disk = SmallDisk(scratch / "disk", 400 * MIB)
    yield disk
    disk.unmount()

