"""PostgreSQL servers of a test: clusters of their own in a scratch folder, several side by side.

    with Servers(3) as servers:
        servers[0].dsn
        servers[0].kill(); servers[0].start()

A server refuses to run as root, so root runs it as the user postgres. It listens at a socket in its
folder and at a port of 127.0.0.1, and trusts everyone but the role `with_password`, whom the test
makes if it wants. Nothing is on storage for good unless asked. All servers end with the object; with
this process at the latest, since the kernel kills them then.

As a program: `postgres_servers.py COUNT [FOLDER]` prints a line with the DSN of each, then "ready",
and obeys lines on its stdin until that ends, each answered by "ok ..." or "failed ...":

    start I | stop I [fast|immediate|smart] | kill I | restart I | freeze I | thaw I
    read_only I on|off | standby I hot|cold | primary I | set I NAME VALUE | small_disk I MEGABYTES
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name))
PATIENCE = 120  # seconds; against hangs only

_USUAL = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "50",
    "max_wal_size": "1GB",
    "dynamic_shared_memory_type": "mmap",
    "autovacuum": "off",
    "log_min_messages": "warning",
    "timezone": "UTC",
    "lc_messages": "C",
}
_DURABLE = {"fsync": "on", "full_page_writes": "on"}
_LOGINS = """local all all trust
host all with_password 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""


def missing():
    """Why servers cannot be started here; empty if they can."""
    if not _programs():
        return "PostgreSQL's server is not installed (apt-get install postgresql-15)"
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        return "setpriv is not installed, and servers refuse to run as root"
    return ""


def _programs():
    """The folder of initdb and postgres; empty: they are not installed."""
    if own := os.environ.get("CHAINBASE_POSTGRES_BIN"):
        return own
    if _PLACES:
        return str(_PLACES[-1])
    found = shutil.which("initdb")
    return os.path.dirname(os.path.realpath(found)) if found else ""


def _as_server(*call):
    """A call by a user that servers run as, ended with this process."""
    call = [str(each) for each in call]
    if os.geteuid() == 0:
        user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
        return ["setpriv", *user, "--pdeathsig=KILL", *call]
    return ["setpriv", "--pdeathsig=KILL", *call] if shutil.which("setpriv") else call


def _give_to_server(path):
    if os.geteuid() == 0:
        shutil.chown(path, "postgres", "postgres")


def _free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """A cluster in a folder, copied from a template unless it is there; not started yet."""

    def __init__(self, folder, template, options=None, durable=False):
        self.folder, self.data, self.log = folder, folder / "data", folder / "log"
        self.port, self._process, self._mounted = _free_port(), None, []
        self._hot = "on"
        if self.data.exists():
            return
        folder.mkdir(mode=0o700)
        subprocess.run(["cp", "-a", template(), self.data], check=True)
        _give_to_server(folder)
        settings = {**_USUAL, **(_DURABLE if durable else {}), **(options or {})}
        with open(self.data / "postgresql.conf", "a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    @property
    def dsn(self):
        return f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"

    @property
    def is_running(self):
        return self._process is not None and self._process.poll() is None

    def start(self):
        """Returns when it accepts connections, or says why it does not yet."""
        assert not self.is_running, "it runs"
        for attempt in range(5):
            if self._start():
                return
            self.port = self.port if attempt < 2 else _free_port()
        raise AssertionError(f"the server does not start\n{self.log.read_text()[-3000:]}")

    def _start(self):
        call = [f"{_programs()}/postgres", "-D", self.data, "-p", self.port, "-k", self.folder]
        call += ["-c", "listen_addresses=127.0.0.1", "-c", f"hot_standby={self._hot}"]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                _as_server(*call), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
            )
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.is_running:
            # 0: it accepts connections; 1: it answers that it does not
            answer = subprocess.run(
                [f"{_programs()}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
            ).returncode
            if answer == 0 or (answer == 1 and self._hot == "off"):
                return True
            time.sleep(0.02)
        self.kill()
        return False

    def stop(self, how="fast"):
        """smart waits for connections to end; fast ends them; immediate is a crash that tells."""
        if not self.is_running:
            return
        by = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[how]
        self._process.send_signal(by)
        self._process.wait(PATIENCE)

    def kill(self):
        """SIGKILL to it and all that it has started, at once."""
        if not self.is_running:
            return
        self._process.send_signal(signal.SIGSTOP)  # starts no more
        for process in [*self._children(), self._process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait()
        while self._has_processes():  # a next one must not meet them
            time.sleep(0.005)

    def freeze(self):
        """It neither answers nor closes connections, as a machine that hangs."""
        self._process.send_signal(signal.SIGSTOP)
        self._frozen = self._children()
        for process in self._frozen:
            os.kill(process, signal.SIGSTOP)

    def thaw(self):
        for process in [*self._frozen, self._process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)

    def restart(self, how="fast"):
        self.stop(how)
        self.start()

    def set(self, name, value):
        """A setting, at once; also for the next start."""
        before = self.sql("SELECT pg_conf_load_time()")
        self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self._process.send_signal(signal.SIGHUP)
        while self.sql("SELECT pg_conf_load_time()") == before:
            time.sleep(0.01)

    def read_only(self, on=True):
        self.set("default_transaction_read_only", "on" if on else "off")

    def standby(self, hot=True):
        """Into recovery without an end: hot answers those who read, cold refuses everyone."""
        self.stop()
        (self.data / "standby.signal").touch()
        _give_to_server(self.data / "standby.signal")
        self._hot = "on" if hot else "off"
        self.start()

    def primary(self):
        """Ends the recovery."""
        self.stop()
        (self.data / "standby.signal").unlink(missing_ok=True)
        self._hot = "on"
        self.start()

    def small_disk(self, megabytes):
        """A file system of this size for tables, mounted for this process and its servers alone;
        its folder. Raises OSError where that is not allowed. Requires that disks.own_mounts() was
        called before they started."""
        import disks

        if why := disks.own_mounts():
            raise OSError(why)
        folder = self.folder / f"disk{len(self._mounted)}"
        folder.mkdir()
        disks.mount("none", folder, "tmpfs", 0, f"size={megabytes}m,mode=0700")
        _give_to_server(folder)
        self._mounted.append(folder)
        return folder

    def sql(self, text, database="postgres", form="-At"):
        """What psql prints, one line a row."""
        call = [f"{_programs()}/psql", "-Xq", form, "-v", "ON_ERROR_STOP=1", "-d"]
        call += [f"{self.dsn} dbname={database}", "-c", text]
        environment = {**os.environ, "PGOPTIONS": "-c default_transaction_read_only=off"}
        done = subprocess.run(call, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip("\n")

    def close(self):
        self.kill()
        with contextlib.suppress(OSError, IndexError):  # the kernel's segment that a kill leaves
            words = (self.data / "postmaster.pid").read_text().splitlines()[6].split()
            subprocess.run(["ipcrm", "-m", words[1]], stderr=subprocess.DEVNULL)
        for folder in self._mounted:
            import disks

            disks.unmount(folder)

    def _children(self):
        return [int(one) for one in self._ps("--ppid", str(self._process.pid), "-o", "pid=")]

    def _has_processes(self):
        return any(f"{self.data}/" in one or one.endswith(str(self.data)) for one in self._open())

    def _open(self):
        """The folders in which processes of PostgreSQL are."""
        for one in self._ps("-C", "postgres", "-o", "pid="):
            with contextlib.suppress(OSError):
                yield os.readlink(f"/proc/{one}/cwd")

    @staticmethod
    def _ps(*options):
        return subprocess.run(["ps", *options], capture_output=True, text=True).stdout.split()


class Servers:
    """Clusters that run, until it is closed. `options`: settings, as of postgresql.conf.

    `folder`: stays, with the clusters, which the next object of this folder starts again; made if it
    is not there. Without it a new one, which is removed at the end."""

    def __init__(self, count=1, folder=None, options=None, durable=False):
        assert not missing(), missing()
        self._is_own = folder is None
        self.folder = Path(folder or tempfile.mkdtemp(prefix="chainbase-pg-", dir=scratch_parent()))
        self.folder = self.folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._let_through(self.folder)
        self._all = []
        try:
            for number in range(count):
                self._all.append(Server(self.folder / str(number), self._template, options, durable))
                self._all[-1].start()
        except BaseException:
            self.close()
            raise

    def __getitem__(self, number):
        return self._all[number]

    def __len__(self):
        return len(self._all)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def dsns(self):
        return [one.dsn for one in self._all]

    def close(self):
        for one in self._all:
            if not self._is_own:
                one.stop()
            one.close()
        shutil.rmtree(self.folder if self._is_own else self.folder / "template", ignore_errors=True)

    def _template(self):
        """initdb takes seconds, a copy of its folder does not."""
        made = self.folder / "template"
        if made.exists():
            return made
        made.mkdir(mode=0o700)
        _give_to_server(made)
        call = [f"{_programs()}/initdb", "-D", made, "-U", "postgres", "--encoding=UTF8"]
        call += ["--locale=C", "--auth=trust", "--no-sync", "--no-instructions"]
        done = subprocess.run(_as_server(*call), capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stderr
        (made / "pg_hba.conf").write_text(_LOGINS)
        return made

    @staticmethod
    def _let_through(folder):
        """The servers' user must come to its folders through those of the test."""
        if os.geteuid() != 0:
            return
        for each in (folder, *folder.resolve().parents):
            mode = each.stat().st_mode
            if not mode & 0o001:
                each.chmod((mode & 0o7777) | 0o011)


def scratch_parent():
    """Where folders are made unless one is named."""
    if os.environ.get("TMPDIR"):
        return os.environ["TMPDIR"]
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def _obey(servers, words):
    name, server, rest = words[0], servers[int(words[1])], words[2:]
    if name == "read_only":
        return server.read_only(rest[0] == "on")
    if name == "standby":
        return server.standby(rest[0] == "hot")
    if name not in ("start", "stop", "kill", "restart", "freeze", "thaw", "primary", "set"):
        if name != "small_disk":
            raise ValueError(f"no such command: {name}")
    return getattr(server, name)(*rest)


def _answer(servers, line):
    try:
        return f"ok {_obey(servers, line.split()) or ''}".strip()
    except Exception as error:  # whatever it is, the test shows it
        return f"failed {' '.join(str(error).split())}"


def _end(*_):
    """A second signal, as of a test that dies, must not end what cleans up."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def main(count, folder=None):
    if why := missing():
        print(f"missing {why}", flush=True)
        return
    with contextlib.suppress(ImportError):  # then there are no small disks
        import disks

        disks.own_mounts()
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: it is for the test, which ends
    with Servers(int(count), folder) as servers:
        for dsn in servers.dsns:
            print(dsn)
        print("ready", flush=True)
        try:
            for line in sys.stdin:
                print(_answer(servers, line), flush=True)
        finally:  # the test may die before it sends its signal
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main(*sys.argv[1:])
