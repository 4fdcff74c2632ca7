"""The harness itself: its archives, its checks of arguments, and how a guest's end becomes an exit code.

Parts that need no machine run first. The rest boots small ones; --init names the guest's PID 1. Ends
with 77 where qemu or the kernel is missing, after the part that needs neither.
"""
import io
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from lab import closure, kernel, machine, plan, report, session  # noqa: E402
from lab.archive import HEADER_BYTES, Archive  # noqa: E402
from lab.errors import SKIPPED, BadInput, CannotRun  # noqa: E402

INIT = None  # set by main
TRUE = "/bin/true"


def guest(*arguments, **more):
    return subprocess.run([sys.executable, "-B", FOLDER / "guest.py", "--init", INIT, *arguments],
                          capture_output=True, text=True, timeout=100, **more)


def shell(script):
    return ["/bin/sh", "-c", script]


def entries(archive):
    """Name -> (mode, content) of an archive, read back by the format's description."""
    file = io.BytesIO()
    archive.write(file)
    data, at, found = file.getvalue(), 0, {}
    while True:
        header = data[at:at + HEADER_BYTES]
        fields = [int(header[6 + 8 * i:14 + 8 * i], 16) for i in range(13)]
        assert header[:6] == b"070701", header
        name_bytes, size = fields[11], fields[6]
        name = data[at + HEADER_BYTES:at + HEADER_BYTES + name_bytes - 1].decode()
        at += (HEADER_BYTES + name_bytes + 3) // 4 * 4
        if name == "TRAILER!!!":
            assert at == len(data), "bytes after the trailer"
            return found
        found[name] = (fields[1], data[at:at + size])
        at += (size + 3) // 4 * 4


class ArchiveTest(unittest.TestCase):
    def test_files_come_back_with_mode_and_content(self):
        archive = Archive()
        for size in range(6):
            archive.add_file(f"/a/b{size}", b"x" * size, 0o640)
        found = entries(archive)
        for size in range(6):
            self.assertEqual(found[f"a/b{size}"], (0o100640, b"x" * size))

    def test_folders_stand_before_what_is_in_them(self):
        archive = Archive()
        archive.add_file("/usr/lib/deep/file", b"1")
        archive.add_link("/usr/lib/link", "deep/file")
        archive.add_device("/dev/console", 5, 1)
        found = entries(archive)
        self.assertEqual(list(found), ["usr", "usr/lib", "usr/lib/deep", "usr/lib/deep/file",
                                       "usr/lib/link", "dev", "dev/console"])
        self.assertEqual(found["usr/lib/link"][1], b"deep/file")
        self.assertEqual(found["dev/console"][0], 0o020600)

    def test_second_file_of_a_name_is_left_out(self):
        archive = Archive()
        archive.add_file("/f", b"first")
        archive.add_file("f", b"second")
        self.assertEqual(entries(archive), {"f": (0o100755, b"first")})
        self.assertIn("/f", archive)

    def test_program_brings_its_libraries_and_its_loader(self):
        archive = Archive()
        closure.add_program(archive, "/bin/ls")
        found = entries(archive)
        self.assertIn("bin/ls", found)
        for library in closure.libraries("/bin/ls"):
            self.assertTrue(found[library.strip("/")][1].startswith(b"\x7fELF"), library)
        self.assertTrue(any("ld-linux" in name for name in found))
        self.assertEqual(closure.libraries(INIT), [])  # static


class ArgumentsTest(unittest.TestCase):
    def refused(self, text, *arguments):
        done = guest(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(text, done.stderr)

    def test_bad_input_is_refused_with_its_reason(self):
        self.refused("no program; --help")
        self.refused("no program", "2x2")
        self.refused("0 NumaNodes; between 1 and 64", "0x2", TRUE)
        self.refused("65 cpus; between 1 and 64", "1x65", TRUE)
        self.refused("no program /no/such/program", "2x2", "/no/such/program")
        self.refused("is not executable", "2x2", "/etc/passwd")
        self.refused("no program before or after '++'", "2x2", TRUE, "++")
        self.refused("'512' is no size", "--memory", "512", "2x2", TRUE)
        self.refused("3 values for 2 NumaNodes", "--memory", "1G,1G,1G", "2x2", TRUE)
        self.refused("--memory: 64 MiB without huge pages; the kernel", "--memory", "32M", "2x2", TRUE)
        self.refused("--memory: 0 MiB", "--memory", "0", "2x2", TRUE)
        self.refused("128 MiB on NumaNode 1, which has 64 MiB", "--memory", "512M,64M", "--huge-pages", "0,64", "2x2", TRUE)
        self.refused("needs 2 rows of 2 values", "--distances", "10,20", "2x2", TRUE)
        self.refused("always 10", "--distances", "11,20/20,10", "2x2", TRUE)
        self.refused("between 11 and 254", "--distances", "10,9/20,10", "2x2", TRUE)
        self.refused("is not NAME=VALUE", "--env", "NAME", "2x2", TRUE)
        self.refused("no file or folder /no/such/file", "--file", "/no/such/file", "2x2", TRUE)
        self.refused("it must be more than 0", "--timeout", "0", "2x2", TRUE)
        self.refused("--boot-timeout: 0 s", "--boot-timeout", "0", "2x2", TRUE)
        self.refused("--silence-timeout: 0 s", "--silence-timeout", "0", "2x2", TRUE)

    def test_program_whose_library_is_missing_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            ldd = pathlib.Path(folder, "ldd")
            ldd.write_text("#!/bin/sh\necho 'libgone.so.1 => not found'\n")
            ldd.chmod(0o755)
            done = guest("2x2", TRUE, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("libgone.so.1", done.stderr)

    def test_without_qemu_it_says_skipped_and_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(shutil.which("ldd"), f"{folder}/ldd")
            done = guest("2x2", TRUE, env={"PATH": folder})
        self.assertEqual(done.returncode, SKIPPED, done.stderr)
        self.assertIn("SKIPPED: qemu-system-x86 cannot be installed: ", done.stdout)

    def test_without_a_kernel_it_says_skipped_and_what_is_missing(self):
        folder, kernel.FOLDER = kernel.FOLDER, pathlib.Path("/no/such/folder")
        try:
            with self.assertRaisesRegex(CannotRun, "SKIPPED: linux-image-cloud-amd64 cannot be installed: "):
                kernel.find()
        finally:
            kernel.FOLDER = folder

    def test_machine_has_what_was_asked_for(self):
        shape = machine.Machine.parse("3x2", memory="1G,0,512M", huge_pages="0,0,4")
        command = " ".join(shape.command("k", "a", ["0", "1", "2", "3"]))
        for part in ("-smp 6,sockets=3,cores=2", "-m 1536M", "id=memory0,size=1024M",
                     "node,nodeid=1,cpus=2-3 ", "node,nodeid=2,cpus=4-5,memdev=memory2"):
            self.assertIn(part, command)
        self.assertNotIn("memory1", command)
        shape = machine.Machine.parse("2x1", cpus="3,0")
        self.assertIn("node,nodeid=1,memdev=memory1", " ".join(shape.command("k", "a", [])))

    def test_variables_before_a_program_are_its_own(self):
        first, second = plan.parse_programs(["A=1", TRUE, "B=2", "++", TRUE], {"C": "3"})
        self.assertEqual(first.environment, {"A": "1", "C": "3"})
        self.assertEqual(first.arguments, ["B=2"])
        self.assertEqual(second.environment, {"C": "3"})


class ControlTest(unittest.TestCase):
    LINES = b"boot 1.50\nstart 0\nfile 0 6 a b.xml\nend 9\nend 0 3 0.25\nstart 1\nend 1 0 1\ndone\n"

    def test_it_reads_the_same_in_one_piece_and_byte_by_byte(self):
        for size in (1, 7, len(self.LINES)):
            control = session.Control()
            for at in range(0, len(self.LINES), size):
                control.feed(self.LINES[at:at + size])
            self.assertEqual(control.ended, [session.Ended(3, 0.25, {"a b.xml": b"end 9\n"}),
                                             session.Ended(0, 1.0, {})])
            self.assertTrue(control.done)

    def test_what_is_not_told_has_not_happened(self):
        control = session.Control()
        control.feed(b"boot 1.50\nstart 0\nend 0 0")
        self.assertEqual((control.running, control.ended, control.done), (0, [], False))

    def test_reports_of_several_programs_become_one(self):
        merged = report.merge([b'<testsuites><testsuite name="A"><testcase name="a"/></testsuite></testsuites>',
                               b"<testsuites><tests", b'<testsuites><testsuite name="B"/></testsuites>'])
        self.assertEqual([suite.get("name") for suite in merged.iter("testsuite")], ["A", "B"])


class GuestTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        machine.require_qemu()
        kernel.find()

    def test_programs_of_one_boot_each_end_with_their_own_code(self):
        with tempfile.TemporaryDirectory() as folder:
            done = guest(
                "--out", folder, "--env", "COLOUR=deep blue", "--file", f"{__file__}:/data/this file",
                "2x1", *shell("echo out; echo err >&2; exit 3"),
                "++", "OWN=1", *shell("kill -SEGV $$"),
                "++", *shell('echo "$COLOUR$OWN" > /out/colour; while read l; do echo "$l"; done < "/data/this file"'),
                "++", *shell('[ ! -e /out/colour ] && printf "%s|" "$0" "$@"; exit 0'), "a b", "c'\"$d")
            self.assertEqual(pathlib.Path(folder, "2", "colour").read_text(), "deep blue\n")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertTrue(done.stdout.startswith("out\n"), done.stdout)
        self.assertTrue(done.stdout.endswith("a b|c'\"$d|"), done.stdout[-100:])
        self.assertTrue(done.stderr.startswith("err\n"), done.stderr)
        for code in (3, 128 + signal.SIGSEGV, 0):
            self.assertIn(f"sh ended with {code} after", done.stderr)

    def test_kernel_that_is_not_there_is_refused(self):
        done = guest("--kernel", "/no/kernel", "1x1", TRUE)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no file /no/kernel", done.stderr)

    def test_planted_wrong_exit_code_is_seen(self):
        self.assertEqual(guest("1x1", TRUE).returncode, 0)
        self.assertEqual(guest("1x1", TRUE, "++", "/bin/false", "++", TRUE).returncode, 1)

    def test_binary_output_arrives_as_it_was_written(self):
        done = subprocess.run(
            [sys.executable, "-B", FOLDER / "guest.py", "--init", INIT, "1x1",
             *shell(r"printf '\000\r\n\t\377\004'; i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done")],
            capture_output=True, timeout=100)
        self.assertEqual(done.stdout, b"\0\r\n\t\xff\x04" + b"".join(b"%d\n" % i for i in range(3000)))

    def test_program_that_hangs_is_ended_by_the_time_limit(self):
        done = guest("--timeout", "30", "1x1", *shell("echo begun; while :; do :; done"))
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertEqual(done.stdout, "begun\n")
        self.assertIn("time over after 30 s, in /bin/sh", done.stderr)
        self.assertRegex(done.stderr, r"init: process (\d+) is .*sh\ninit: process \1 thread \1 sh: ")

    def test_guest_that_does_not_start_is_booted_once_more(self):
        done = guest("--boot-timeout", "0.2", "1x1", *shell("echo begun"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "begun\n")
        self.assertIn("no program began within 0.2 s; once more", done.stderr)
        done = guest("--boot-timeout", "0.2", "--timeout", "0.4", "1x1", TRUE)
        self.assertEqual(done.returncode, 124, done.stderr)

    def test_guest_that_says_nothing_is_booted_once_more(self):
        done = guest("--silence-timeout", "3", "1x1", *shell("echo begun"), "++", "/bin/sleep", "4.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "begun\n")  # of the second one
        self.assertIn("the machine has stopped: for 3 s", done.stderr)

    def test_kernel_panic_shows_the_console(self):
        done = guest("1x1", *shell("echo c > /proc/sysrq-trigger; sleep 60"))
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("sysrq triggered crash", done.stderr)

    def test_qemu_that_refuses_its_arguments_is_no_success(self):
        done = guest("--qemu=-no-such-option", "1x1", TRUE)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("no-such-option", done.stderr)

    def test_huge_pages_and_loopback_are_there(self):
        done = guest("--huge-pages", "0,8", "2x1", *shell(
            "read a < /sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages;"
            " read b < /sys/class/net/lo/flags; echo $a $b"))
        self.assertEqual(done.stdout, "8 0x9\n", done.stderr)

    def test_no_qemu_outlives_a_harness_that_is_killed(self):
        harness = subprocess.Popen([sys.executable, "-B", FOLDER / "guest.py", "--init", INIT, "1x1", *shell("sleep 60")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def qemus():
            children = pathlib.Path(f"/proc/{harness.pid}/task/{harness.pid}/children").read_text().split()
            return [child for child in children if runs_qemu(child)]
        running = until(qemus)
        harness.kill()
        harness.wait()
        self.assertEqual(len(running), 1)
        self.assertTrue(until(lambda: not runs_qemu(running[0])), "qemu still runs")


def runs_qemu(process):
    try:
        return "qemu" in os.readlink(f"/proc/{process}/exe")
    except OSError:
        return False


def until(holds):
    """Asks until the answer is true, for 20 s at most; returns the last answer."""
    end = time.monotonic() + 20
    while not (answer := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


def main():
    global INIT
    arguments = sys.argv[1:]
    if len(arguments) < 2 or arguments[0] != "--init":
        sys.exit("usage: guest_test.py --init FILE [unittest arguments]")
    INIT = arguments[1]
    missing = None
    try:
        machine.require_qemu()
        kernel.find()
    except CannotRun as error:
        missing = error
    names = [name for name in ("ArchiveTest", "ArgumentsTest", "ControlTest", "GuestTest")
             if not (missing and name == "GuestTest")]
    program = unittest.main(argv=[sys.argv[0], *arguments[2:]], defaultTest=names, exit=False)
    if not program.result.wasSuccessful():
        sys.exit(1)
    if missing:
        print(missing)
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
