"""A program of many files' tests: one file alone, a crash that costs no other file, labels that must be right."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop()).resolve()


def run(*arguments, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ERIS_", "GTEST_"))}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env={**kept, **environment})


class TestProgramTest(unittest.TestCase):
    def test_a_crash_ends_only_its_own_file(self):
        self.assertLess(run("--file=aborts_test.cc").returncode, 0)
        done = run("--file=passes_test.cc")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("[  PASSED  ] 2 tests", done.stdout)

    def test_a_file_that_is_not_there_is_an_error(self):
        done = run("--file=no_such_test.cc")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no_such_test.cc", done.stderr)

    def test_a_part_of_a_name_is_no_file(self):
        self.assertEqual(run("--file=es_test.cc").returncode, 2)

    def test_an_unknown_argument_is_an_error(self):
        self.assertEqual(run("--fast").returncode, 2)

    def test_a_label_that_is_wrong_is_a_failure(self):
        thread, none = "--gtest_filter=*Thread*", "--gtest_filter=*Neighbour*"
        self.assertEqual(run(thread, ERIS_TEST_THREADS="some").returncode, 0)
        self.assertEqual(run(none, ERIS_TEST_THREADS="none").returncode, 0)
        for arguments, label in ((thread, "none"), (none, "some")):
            done = run(arguments, ERIS_TEST_THREADS=label, ERIS_TEST_NAME="planted")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("planted: these tests", done.stderr)

    def test_the_report_has_the_name_of_the_entry(self):
        with tempfile.TemporaryDirectory() as folder:
            run("--file=passes_test.cc", ERIS_TEST_REPORTS=folder, ERIS_TEST_NAME="planted_passes")
            self.assertIn("PlantedNeighbourTest", pathlib.Path(folder, "planted_passes.xml").read_text())


if __name__ == "__main__":
    unittest.main()
