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
                                 "--batch", "1", *flags],
                                env=server.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    importer.stdin.write("1,1\n2,2\n")
    importer.stdin.flush()

    def loaded():
        return [one.get("rows") or one.get("keys") for one in server.eris_json("list")] == ["2"]
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


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
