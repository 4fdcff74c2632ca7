"""A server inside a memory limit: of a real cgroup where this process may make one, else of files
that look like one (ERIS_SYSTEM_ROOT). Either way the peak of its resident memory is known."""
import os
import shutil
import tempfile

MOUNTS = {1: "/sys/fs/cgroup/memory", 2: "/sys/fs/cgroup"}


def _own_path(version):
    with open("/proc/self/cgroup") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if (version == 2 and not controllers) or (version == 1 and "memory" in controllers.split(",")):
                return path
    return None


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)


def _read(path):
    with open(path) as file:
        return file.read()


class FakeCgroup:
    """Enforces nothing: the test compares peak() with the limit."""
    real = False

    def __init__(self, limit_bytes):
        self.limit_bytes = limit_bytes
        self.root = tempfile.mkdtemp(prefix="eris_cgroup_")
        for path, text in (("proc/self/cgroup", "0::/pretended\n"),
                           ("proc/self/mountinfo", "36 25 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
                           ("sys/fs/cgroup/pretended/memory.max", f"{limit_bytes}\n")):
            path = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _write(path, text)
        self.environment = {"ERIS_SYSTEM_ROOT": self.root}
        self.source = "cgroup memory.max of /pretended"

    def enter(self):
        """In the child, before it becomes the server."""

    def killed(self):
        return 0

    def remove(self):
        shutil.rmtree(self.root)


class RealCgroup:
    real = True

    def __init__(self, limit_bytes):
        self.limit_bytes = limit_bytes
        self.environment = {}
        self.directory = None
        for version, mount in MOUNTS.items():
            own = _own_path(version)
            if own is None:
                continue
            directory = f"{mount}{own}/eris_{os.getpid()}_{limit_bytes >> 20}"
            limit = "memory.max" if version == 2 else "memory.limit_in_bytes"
            try:
                os.mkdir(directory)
                _write(f"{directory}/{limit}", str(limit_bytes))
                if version == 2 and os.path.exists(f"{directory}/memory.swap.max"):
                    _write(f"{directory}/memory.swap.max", "0")
            except OSError:
                if os.path.isdir(directory):
                    os.rmdir(directory)
                continue
            self.version = version
            self.directory = directory
            return
        raise OSError("no cgroup with a memory limit can be made here")

    def enter(self):
        _write(f"{self.directory}/cgroup.procs", str(os.getpid()))

    def killed(self):
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        for line in _read(f"{self.directory}/{name}").splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return int(value)
        return 0

    def usage_peak(self):
        """With page cache and the kernel's part."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        path = f"{self.directory}/{name}"
        return int(_read(path)) if os.path.exists(path) else 0

    def remove(self):
        os.rmdir(self.directory)


def peak(pid):
    """Of resident memory, in bytes."""
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0
