"""tools/dev/count_tests.py: what the closing line of ./dev test counts."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "dev" / "count_tests.py"
GTEST = """<testsuites><testsuite name="S">
<testcase name="A" status="run" result="completed" classname="S"/>
<testcase name="B" status="run" result="completed" classname="S">{b}</testcase>
</testsuite></testsuites>"""


def run(ctest, gtest={}, arguments=()):
    """Exit status and last line for one stage with these reports."""
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder, "stage")
        (stage / "gtest").mkdir(parents=True)
        if ctest is not None:
            cases = "".join(f'<testcase name="{n}" status="{s}"><system-out>{o}</system-out></testcase>'
                            for n, s, o in ctest)
            (stage / "ctest.xml").write_text(f"<testsuite>{cases}</testsuite>")
        for name, text in gtest.items():
            (stage / "gtest" / f"{name}.xml").write_text(text)
        done = subprocess.run([sys.executable, TOOL, *arguments, folder], capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()[-1]


class CountTestsTest(unittest.TestCase):
    def test_cases_of_a_program_count_one_by_one(self):
        self.assertEqual(run([("t", "run", "")], {"t": GTEST.format(b="")}), (0, "2 passed, 0 failed, 0 skipped"))

    def test_script_counts_as_one(self):
        self.assertEqual(run([("t", "run", "")]), (0, "1 passed, 0 failed, 0 skipped"))

    def test_failed_case(self):
        report = GTEST.format(b='<failure message="1 != 2"/>')
        self.assertEqual(run([("t", "fail", "")], {"t": report}), (1, "1 passed, 1 failed, 0 skipped"))

    def test_program_that_dies_before_or_after_its_report(self):
        self.assertEqual(run([("t", "fail", "Segfault")]), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertEqual(run([("t", "fail", "leak")], {"t": GTEST.format(b="")}), (1, "2 passed, 1 failed, 0 skipped"))
        self.assertEqual(run([("t", "fail", "cut")], {"t": "<testsuites>"}), (1, "0 passed, 1 failed, 0 skipped"))

    def test_line_of_a_failure_is_shown_wherever_it_stands(self):
        output = "a: ok\nb: FAILED: no figure\n" + "c: ok\n" * 200
        with tempfile.TemporaryDirectory() as folder:
            stage = pathlib.Path(folder, "stage")
            stage.mkdir()
            (stage / "ctest.xml").write_text(f'<testsuite><testcase name="t" status="fail"><system-out>{output}</system-out></testcase></testsuite>')
            done = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True)
        self.assertIn("failed: stage: t: b: FAILED: no figure", done.stdout)

    def test_stage_without_report_and_run_without_tests_fail(self):
        self.assertEqual(run(None), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertEqual(run([]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_skipped_case_fails_only_when_strict(self):
        report = GTEST.format(b='<skipped message="no second NumaNode"/>')
        self.assertEqual(run([("t", "run", "")], {"t": report}), (0, "1 passed, 0 failed, 1 skipped"))
        self.assertEqual(run([("t", "run", "")], {"t": report}, ["--strict"]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_strict_spares_a_package_that_cannot_be_installed(self):
        test = [("t", "notrun", "needs package: no-such-package-anywhere"), ("u", "run", "")]
        self.assertEqual(run(test, arguments=["--strict"]), (0, "1 passed, 0 failed, 1 skipped"))
        test = [("t", "notrun", "SKIPPED: no-such-package-anywhere==1 (PyPI) cannot be installed: x"), ("u", "run", "")]
        self.assertEqual(run(test, arguments=["--strict"]), (0, "1 passed, 0 failed, 1 skipped"))
        test = [("t", "notrun", "SKIPPED: bash cannot be installed: " + "long reason " * 100), ("u", "run", "")]
        self.assertEqual(run(test, arguments=["--strict"]), (1, "1 passed, 1 failed, 0 skipped"))
        test = [("t", "notrun", "SKIPPED: nohost.invalid/none@v1.0.0 (Go module) cannot be installed: x"),
                ("u", "run", "")]
        self.assertEqual(run(test, arguments=["--strict"]), (0, "1 passed, 0 failed, 1 skipped"))
        # bash is there everywhere, so a test has no excuse to skip for it.
        test = [("t", "notrun", "needs package: bash"), ("u", "run", "")]
        self.assertEqual(run(test, arguments=["--strict"]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_checks_outside_ctest_are_added(self):
        extra = ["--extra-passed", "2", "--extra-failed", "1"]
        self.assertEqual(run([("t", "run", "")], arguments=extra), (1, "3 passed, 1 failed, 0 skipped"))


if __name__ == "__main__":
    unittest.main()
