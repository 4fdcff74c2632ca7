"""The machine: how many NumaNodes, which cpus and how much memory each has, and the qemu command line
that emulates it.
"""
import dataclasses
import re
import shlex
import shutil

from lab.errors import BadInput, CannotRun

QEMU = "qemu-system-x86_64"
EXIT_PORT = 0xF4  # init.cc writes here to end qemu
CPUS_MAX = 64
NUMA_NODES_MAX = 64
# The kernel, and what it keeps per NumaNode.
KERNEL_MIB = 96

# Without lpj the kernel measures each cpu's speed, a second each; without tsc=reliable its clock is
# the emulated hpet. Nothing but the program may move pages: no NUMA balancing.
KERNEL_ARGUMENTS = ("console=ttyS0 quiet panic=-1 oops=panic nokaslr lpj=20000000 tsc=reliable "
                    "mitigations=off numa_balancing=disable transparent_hugepage=madvise "
                    "nowatchdog rcupdate.rcu_cpu_stall_suppress=1")


def parse_mib(text, option="--memory"):
    """MiB of "512M", "1G" or "0"."""
    match = re.fullmatch(r"(\d+)([MG]?)", text)
    if not match or (not match.group(2) and match.group(1) != "0"):
        raise BadInput(f"{option}: '{text}' is no size; 512M, 2G or 0 (no memory)")
    return int(match.group(1)) * (1024 if match.group(2) == "G" else 1)


def per_numa_node(text, count, option, parse):
    """One value for all, or as many values as there are NumaNodes, separated by commas."""
    values = [parse(part.strip()) for part in text.split(",")]
    if len(values) == 1:
        values *= count
    if len(values) != count:
        raise BadInput(f"{option}: {len(values)} values for {count} NumaNodes")
    return values


def parse_count(option):
    def parse(text):
        if not text.isdecimal():
            raise BadInput(f"{option}: '{text}' is no number")
        return int(text)
    return parse


def parse_distances(text, count):
    """Rows separated by '/', e.g. "10,21/21,10"."""
    rows = [[parse_count("--distances")(value.strip()) for value in row.split(",")]
            for row in text.split("/")]
    if len(rows) != count or any(len(row) != count for row in rows):
        raise BadInput(f"--distances: needs {count} rows of {count} values for {count} NumaNodes")
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if i == j and value != 10:
                raise BadInput(f"--distances: {value} from NumaNode {i} to itself; that is always 10")
            if i != j and not 10 < value < 255:
                raise BadInput(f"--distances: {value} from {i} to {j}; between 11 and 254")
    return rows


def is_shape(text):
    return re.fullmatch(r"\d+x\d+", text) is not None


@dataclasses.dataclass
class Machine:
    cpus: list  # by NumaNode; 0: none
    memory_mib: list  # by NumaNode; 0: none
    huge_pages: list  # by NumaNode, of 2 MiB
    distances: list  # rows, or empty: 10 and 20

    @staticmethod
    def parse(shape, cpus=None, memory="512M", huge_pages="0", distances=None):
        """`shape` (see is_shape) is NumaNodes x cpus of each; the rest as on the command line."""
        count, cpus_of_each = shape.split("x")
        count = int(count)
        if not 1 <= count <= NUMA_NODES_MAX:
            raise BadInput(f"{count} NumaNodes; between 1 and {NUMA_NODES_MAX}")
        machine = Machine(
            cpus=per_numa_node(cpus or cpus_of_each, count, "--cpus", parse_count("--cpus")),
            memory_mib=per_numa_node(memory, count, "--memory", parse_mib),
            huge_pages=per_numa_node(huge_pages, count, "--huge-pages", parse_count("--huge-pages")),
            distances=parse_distances(distances, count) if distances else [])
        if not 1 <= sum(machine.cpus) <= CPUS_MAX:
            raise BadInput(f"{sum(machine.cpus)} cpus; between 1 and {CPUS_MAX}")
        for i, pages in enumerate(machine.huge_pages):
            if 2 * pages > machine.memory_mib[i]:
                raise BadInput(f"--huge-pages: {2 * pages} MiB on NumaNode {i}, which has {machine.memory_mib[i]} MiB")
        return machine

    def check_room(self, archive_bytes):
        """The root file system is in memory twice while the kernel unpacks it."""
        needed = KERNEL_MIB + 2 * (archive_bytes >> 20)
        room = sum(self.memory_mib) - 2 * sum(self.huge_pages)
        if room < needed:
            raise BadInput(f"--memory: {room} MiB without huge pages; the kernel and the programs' files need {needed} MiB")

    def environment(self):
        """What a test reads in the guest, to compare with what it finds there (lab_machine.h)."""
        def listed(values):
            return ",".join(map(str, values))
        count = len(self.cpus)
        distances = self.distances or [[10 if i == j else 20 for j in range(count)] for i in range(count)]
        return {"NUMA_LAB_CPUS": listed(self.cpus), "NUMA_LAB_MEMORY_MIB": listed(self.memory_mib),
                "NUMA_LAB_HUGE_PAGES": listed(self.huge_pages),
                "NUMA_LAB_DISTANCES": "/".join(map(listed, distances))}

    def _numa_arguments(self):
        cpu = 0
        for i, (cpus, mib) in enumerate(zip(self.cpus, self.memory_mib)):
            node = f"node,nodeid={i}"
            if cpus:
                node += f",cpus={cpu}-{cpu + cpus - 1}"
                cpu += cpus
            if mib:
                yield from ("-object", f"memory-backend-ram,id=memory{i},size={mib}M")
                node += f",memdev=memory{i}"
            yield from ("-numa", node)
        for i, row in enumerate(self.distances):
            for j, value in enumerate(row):
                yield from ("-numa", f"dist,src={i},dst={j},val={value}")

    def command(self, kernel, archive, ports, kernel_arguments="", more=()):
        """The command line. `ports`: the files of the four serial ports: console, stdout, stderr,
        control."""
        total = sum(self.cpus)
        with_cpus = [cpus for cpus in self.cpus if cpus]
        # A NumaNode is a socket, as on real machines, unless they differ in size.
        sockets = len(with_cpus) if len(set(with_cpus)) == 1 else 1
        command = [QEMU, "-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max",
                   "-smp", f"{total},sockets={sockets},cores={total // sockets},threads=1",
                   "-m", f"{sum(self.memory_mib)}M", *self._numa_arguments(),
                   "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                   "-device", f"isa-debug-exit,iobase={EXIT_PORT:#x},iosize=4"]
        for i, port in enumerate(ports):
            command += ["-chardev", f"file,id=port{i},path={port}", "-serial", f"chardev:port{i}"]
        return command + ["-kernel", kernel, "-initrd", archive,
                          "-append", f"{KERNEL_ARGUMENTS} {kernel_arguments}".strip(), *more]


def require_qemu():
    if not shutil.which(QEMU):
        raise CannotRun("qemu-system-x86", f"no {QEMU} here; ./dev deps lab installs it")


def split_arguments(texts):
    """What --qemu was given, each text being words as in a shell."""
    return [word for text in texts for word in shlex.split(text)]
