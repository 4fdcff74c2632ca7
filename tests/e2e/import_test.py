"""Imports that fail or are interrupted while others write, and exports that are interrupted: no write of others is lost,
and no temporary file is left."""
import os
import signal
import subprocess
import tempfile

import harness

INVALID = 2
INTERRUPTED = 130


def importing(server, *flags):
    """An import of two rows from a pipe that stays open, each a batch; both are acknowledged."""
    importer = subprocess.Popen([server.programs.eris, "import", "shared", "-", "--no-header", "--expect", "0:10",
                                 "--batch", "1", *(flags if "--schema" in flags else ("--kind", "index", *flags))],
                                env=server.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    importer.stdin.write("1,1\n2,2\n")
    importer.stdin.flush()

    def loaded():
        return [one["rows"] for one in server.eris_json("list")] == ["2"]
    harness.wait_until(loaded, "the rows")
    return importer


def test_a_failed_import_drops_no_row_that_others_have_written(programs):
    with harness.Server(programs) as server:
        for writes, there in (((("put", "shared", "1=77"),), "1"),
                              ((("put", "shared", "9=77"), ("erase", "shared", "2")), "9"),
                              ((("add", "shared", "1=76"),), "1")):
            importer = importing(server)
            for write in writes:
                server.eris(*write)
            stderr = importer.communicate("bad,1\n")[1]
            harness.check_equal(importer.returncode, INVALID, stderr)
            harness.check("shared, which this import has created, stays" in stderr, stderr)
            harness.check("`eris drop shared`" in stderr, stderr)
            harness.check_equal(server.eris_json("get", "shared", there)[0]["value"], "77", f"after {writes}")
            server.eris("drop", "shared")
        stderr = importing(server).communicate("bad,1\n")[1]
        harness.check("was dropped again" in stderr, stderr)


def test_an_interrupted_import_says_what_is_there(programs):
    with harness.Server(programs) as server:
        for flags, fate in (((), "was dropped again"), (("--keep",), "is kept"),
                            (("--schema", "a:int32,b:int32", "--key", "a"), "was dropped again")):
            importer = importing(server, *flags)
            importer.send_signal(signal.SIGTERM)
            importer.wait(60)  # its pipe is open
            stderr = importer.communicate()[1]
            harness.check_equal(importer.returncode, INTERRUPTED, stderr)
            harness.check("interrupted; stopped after 2 rows were loaded; shared" in stderr and fate in stderr, stderr)
            if "--keep" in flags:
                server.eris("drop", "shared")


def test_a_second_signal_ends_an_import_at_once(programs):
    with harness.Server(programs) as server:
        importer = importing(server)
        server.process.send_signal(signal.SIGSTOP)
        try:
            importer.stdin.write("3,3\n")
            importer.stdin.flush()

            def ended():
                importer.send_signal(signal.SIGTERM)
                return importer.poll() is not None
            harness.wait_until(ended, "the import's end")
            # Where the row had not been sent the first signal ends it: nothing is awaited then.
            harness.check(importer.wait() in (-signal.SIGTERM, INTERRUPTED), f"by the signal: {importer.returncode}")
        finally:
            server.process.send_signal(signal.SIGCONT)
        importer.communicate()


def interrupted_with_part(command, env, directory):
    """Stops a writer of a file as soon as its temporary file is there, and interrupts it."""
    writer = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not os.listdir(directory):
        harness.check(writer.poll() is None, "it has ended")
    writer.send_signal(signal.SIGSTOP)
    writer.send_signal(signal.SIGTERM)
    writer.send_signal(signal.SIGCONT)
    stderr = writer.communicate(timeout=60)[1]
    harness.check_equal(writer.returncode, INTERRUPTED, stderr)
    harness.check("interrupted" in stderr, stderr)
    harness.check_equal(os.listdir(directory), [], "files")


def test_an_interrupted_export_leaves_no_file(programs):
    with harness.Server(programs) as server, tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "rows")
        interrupted_with_part([programs.eris, "generate", "lineitem", path, "--scale", "100"], None, directory)
        server.eris("bench", "load", "--keys", "1000000", "--object", "big")
        interrupted_with_part([programs.eris, "export", "big", path], server.env, directory)


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
