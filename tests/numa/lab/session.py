"""One run of the guest: starts qemu, passes the output on as it comes, reads the control port, and ends
qemu when it has said what it had to say, when the time is over, or when this process dies.
"""
import ctypes
import dataclasses
import os
import selectors
import signal
import subprocess
import time

from lab.errors import NO_END, TIME_OVER

PR_SET_PDEATHSIG = 1
CONSOLE, STDOUT, STDERR, CONTROL = range(4)


@dataclasses.dataclass
class Ended:
    """How one program ended. `files`: what it left in /out, by name."""
    code: int
    seconds: float
    files: dict


class Control:
    """Reads the lines that init.cc writes; the head of that file lists them."""

    def __init__(self):
        self.booted = None  # seconds since power on
        self.running = None  # number of the program under way
        self.ended = []
        self.done = False
        self.heard = time.monotonic()
        self._buffer = b""
        self._files = {}
        self._file = None  # name and size of the file whose bytes come now

    def feed(self, data):
        self.heard = time.monotonic()
        self._buffer += data
        while self._step():
            pass

    def _step(self):
        if self._file:
            name, size = self._file
            if len(self._buffer) < size:
                return False
            self._files[name], self._buffer, self._file = self._buffer[:size], self._buffer[size:], None
            return True
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            return False
        self._buffer = rest
        words = line.decode(errors="replace").split(" ", 3)
        if words[0] == "boot":
            self.booted = float(words[1])
        elif words[0] == "start":
            self.running = int(words[1])
        elif words[0] == "file":
            self._file = (words[3], int(words[2]))
        elif words[0] == "end":
            self.ended.append(Ended(int(words[2]), float(words[3]), self._files))
            self.running, self._files = None, {}
        elif words[0] == "done":
            self.done = True
        return True


@dataclasses.dataclass
class Outcome:
    code: int  # of the first program that failed, else 0; TIME_OVER, NO_END
    control: Control
    console: bytes
    qemu_code: int
    seconds: float
    stopped: bool  # the machine itself, not a program: qemu does that now and then


def _die_with_parent():
    """In qemu's process before it starts: it is killed when the harness ends, however that ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _start(archive, make_command):
    """qemu's process, and the reading ends of its four ports. Nothing is left in a file system: the
    archive is in memory, the ports are pipes."""
    pipes = [os.pipe() for _ in range(4)]
    with os.fdopen(os.memfd_create("numa-guest-root"), "wb") as root:
        archive.write(root)
        root.flush()
        ports = [write for _, write in pipes]
        process = subprocess.Popen(
            make_command(f"/dev/fd/{root.fileno()}", [f"/dev/fd/{port}" for port in ports]),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            pass_fds=[root.fileno(), *ports], preexec_fn=_die_with_parent)
    for port in ports:
        os.close(port)
    return process, [read for read, _ in pipes]


def run(archive, make_command, timeout, boot_timeout, silence_timeout, stdout, stderr):
    """Boots the machine of make_command(path of the archive, paths of the four ports) and waits for
    its end, at most `timeout` seconds; `boot_timeout` until init runs, `silence_timeout` between its lines. `stdout`, `stderr`: called with
    the programs' bytes as they come."""
    started = time.monotonic()
    process, ports = _start(archive, make_command)
    control, console = Control(), bytearray()
    sinks = {CONSOLE: console.extend, STDOUT: stdout, STDERR: stderr, CONTROL: control.feed}
    time_over = False
    try:
        with selectors.DefaultSelector() as selector:
            for port, read in enumerate(ports):
                selector.register(read, selectors.EVENT_READ, sinks[port])
            # qemu's own complaints stand with the kernel's.
            selector.register(process.stdout, selectors.EVENT_READ, console.extend)
            while selector.get_map():
                if control.booted is None:
                    end = started + min(boot_timeout, timeout)
                else:
                    end = min(started + timeout, control.heard + silence_timeout)
                left = end - time.monotonic()
                ready = selector.select(max(left, 0))
                if not ready and left <= 0:
                    time_over = True
                    break
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    if data:
                        key.data(data)
                    else:
                        selector.unregister(key.fileobj)
    finally:
        if time_over or process.poll() is None and not control.done:
            process.kill()
        qemu_code = process.wait()
        process.stdout.close()
        for read in ports:
            os.close(read)
    failed = [ended.code for ended in control.ended if ended.code]
    code = TIME_OVER if time_over else NO_END if not control.done else failed[0] if failed else 0
    seconds = time.monotonic() - started
    stopped = time_over and seconds < timeout  # it did not begin, or has said nothing
    return Outcome(code, control, bytes(console), qemu_code, seconds, stopped)
