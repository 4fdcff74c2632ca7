"""tests/bench/bench_programs.py finds what is planted: a benchmark nobody runs, a crash, an error, a figure that is missing or
none, an answer in another form, a program that is not built; and goes on with the others."""
import contextlib
import io
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "bench"))

import bench_programs  # noqa: E402
from bench_programs import Call, Wrong, figures, google_benchmarks, lines_like, objects, one_object  # noqa: E402


class FiguresTest(unittest.TestCase):
    def test_a_path_reaches_members_of_members(self):
        figures({"a": {"b": [{"c": 1}, {"c": 0.5}]}, "d": 0}, ("a/b/*/c", "d"))

    def test_what_is_missing_or_no_number_is_found(self):
        for found, name in (({}, "a"), ({"a": {}}, "a/*"), ({"a": []}, "a/*/b"), ({"a": None}, "a"), ({"a": "1"}, "a"),
                            ({"a": float("nan")}, "a"), ({"a": float("inf")}, "a"), ({"a": [{"b": 1}, {}]}, "a/*/b"), ({"a": True}, "a")):
            with self.assertRaises(Wrong, msg=f"{name} of {found}"):
                figures(found, (name,))

    def test_what_is_printed_in_another_form_is_found(self):
        for check, text in ((one_object("a"), "hello"), (one_object("a"), ""), (objects(2, "a"), '{"a": 1}'),
                            (lines_like(r"\d ns", 2), "1 ns\n"), (lines_like(r"ns", 1), "nan ns"),
                            (google_benchmarks(2), '{"benchmarks": [{"name": "a", "real_time": 1, "cpu_time": 1}]}'),
                            (google_benchmarks(1), '{"benchmarks": [{"name": "a", "error_occurred": true}]}')):
            with self.assertRaises(Wrong, msg=text):
                check(text)
        objects(1, "a")('{"a": 1}\n')
        google_benchmarks(1)('{"benchmarks": [{"name": "a", "real_time": 1, "cpu_time": 1}]}')


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name).resolve()

    def stand_in(self, name, script):
        path = self.build / "bench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def ended(self, programs, *arguments):
        out = io.StringIO()
        with mock.patch.object(bench_programs, "PROGRAMS", programs), contextlib.redirect_stdout(out), \
                mock.patch.object(sys, "argv", ["", "--build", str(self.build), "--only", "programs", *arguments]):
            return bench_programs.main(), out.getvalue()

    def test_a_program_that_prints_its_figure_is_fine(self):
        self.stand_in("a/lab", """read asked; echo "{\\"$asked\\": 1, \\"$1\\": 2}" """)
        code, out = self.ended({"a/lab": [Call("word", one_object("question", "word"), ("question",))]})
        self.assertEqual(code, 0, out)

    def test_what_fails_is_told_and_the_others_run(self):
        self.stand_in("a/good", "echo '{\"a\": 1}'")
        for script, why in (("kill -SEGV $$", "was ended by SIGSEGV"), ("echo a wrong value >&2; exit 1", "ended with 1: a wrong value"),
                            ("echo '{\"b\": 1}'", "there is no a"), ("echo '{\"a\": NaN}'", "no figure"), ("true", "no JSON")):
            self.stand_in("a/bad", script)
            code, out = self.ended({"a/bad": [Call("", one_object("a"))], "a/good": [Call("", one_object("a"))]})
            self.assertEqual(code, 1)
            self.assertRegex(out, rf"a/bad: FAILED: .*{why}")
            self.assertIn("a/good: ok", out)
            self.assertIn("failed: a/bad\n", out)

    def test_a_benchmark_nobody_runs_is_found(self):
        self.stand_in("a/new", "true")
        code, out = self.ended({})
        self.assertEqual(code, 1)
        self.assertIn("a/new: FAILED: a benchmark nobody runs", out)

    def test_a_program_that_is_not_built_fails_unless_its_package_is_missing(self):
        code, out = self.ended({"a/lab": [Call("", one_object("a"))]})
        self.assertEqual((code, "a/lab: FAILED: is not built" in out), (1, True))
        code, out = self.ended({"routing/raw_routing": []})
        self.assertEqual(code, 77)
        self.assertIn("SKIPPED: libconcurrentqueue-dev cannot be installed", out)

    def test_every_program_of_the_tree_has_a_line(self):
        text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "bench").rglob("CMakeLists.txt"))
        names = {name.rsplit("/", 1)[1] for name in bench_programs.PROGRAMS}
        self.assertEqual(set(re.findall(r"eris_cc_bench\(NAME (\w+)", text)), names)

    def test_every_script_of_the_tree_is_run(self):
        self.assertEqual(bench_programs.not_run(bench_programs.scripts(), bench_programs.SCRIPTS, bench_programs.ELSEWHERE), ([], []))
        self.assertEqual(bench_programs.not_run(["a/new.py"], {}, bench_programs.ELSEWHERE), (["a/new.py"], []))


if __name__ == "__main__":
    unittest.main()
