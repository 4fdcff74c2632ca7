"""The locality study without measuring: settings of the system are put back however the driver ends, planted reports are
judged as they should be, wrong answers are found out."""
import dataclasses
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUDY = ROOT / "bench" / "study"
sys.dont_write_bytecode = True
sys.path.insert(0, str(STUDY))

import study  # noqa: E402
import allocator  # noqa: E402
import answers  # noqa: E402
import bobox  # noqa: E402
import common  # noqa: E402
import counted  # noqa: E402
import document  # noqa: E402
import engine_memory  # noqa: E402
import engine_process  # noqa: E402
import flowchart  # noqa: E402
import system_setting  # noqa: E402
from study import gain_point  # noqa: E402

run = common.module("bench/study/run.py")  # bench/paper has another run

MACHINE = {"cpu": "a processor", "cpus": 2, "cores": 2, "numa_nodes": 1, "memory_gib": 4, "date": "2026-01-01", "huge_pages": "", "kernel": "6.1"}
HOLDER = """
import pathlib, signal, sys, time
sys.path.insert(0, {study!r})
from system_setting import SystemSetting
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
with SystemSetting({path!r}) as setting:
    setting.write("always")
    print("set", flush=True)
    time.sleep(60)
"""


class SystemSettingTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "enabled")
        self.file.write_text("always [madvise] never\n", encoding="utf-8")

    def test_the_chosen_word_is_put_back_at_the_end(self):
        with system_setting.SystemSetting(self.file) as setting:
            self.assertEqual(setting.before, "madvise")
            setting.write("always")
            self.assertEqual(self.file.read_text(encoding="utf-8"), "always")
        self.assertEqual(self.file.read_text(encoding="utf-8"), "madvise")

    def test_it_is_put_back_after_an_error(self):
        with self.assertRaises(KeyError), system_setting.SystemSetting(self.file) as setting:
            setting.write("never")
            raise KeyError
        self.assertEqual(self.file.read_text(encoding="utf-8"), "madvise")

    def test_it_is_put_back_when_the_driver_is_ended_or_killed(self):
        for how in signal.SIGTERM, signal.SIGKILL:
            self.file.write_text("always [madvise] never\n", encoding="utf-8")
            driver = subprocess.Popen([sys.executable, "-B", "-c", HOLDER.format(study=str(STUDY), path=str(self.file))], stdout=subprocess.PIPE)
            self.addCleanup(driver.stdout.close)
            self.assertEqual(driver.stdout.readline(), b"set\n")
            self.assertEqual(self.file.read_text(encoding="utf-8"), "always")
            driver.send_signal(how)
            driver.wait(30)
            for _ in range(300):
                if self.file.read_text(encoding="utf-8") == "madvise":
                    break
                time.sleep(0.1)
            self.assertEqual(self.file.read_text(encoding="utf-8"), "madvise", how)

    def test_a_setting_that_is_not_there_cannot_be_set(self):
        with self.assertRaises(system_setting.CannotSet), system_setting.SystemSetting(self.file.parent / "missing"):
            self.fail("entered")


def report_of(axis, points, **more):
    return {"figure": axis.NAME, "outcome": common.DONE, "reason": "", "machine": MACHINE, "commit": "0000000", "seed": 1, "scale": "tiny",
            "date": "2026-01-01", "protocol": {}, "points": points, "missing": [], "seconds": 1.0, "cpus_taken_by_others": 0.0, **more}


class FlowchartTest(unittest.TestCase):
    def judged(self, ratios, advice):
        points = [gain_point(allocator.HEAVY_PANEL, "tbbmalloc", ratios), gain_point(allocator.HEAVY_PANEL, "glibc", [1.0] * 4),
                  gain_point(allocator.HEAVY_OVER_LIGHT, "tbbmalloc", ratios), gain_point("w1 to w3", "tbbmalloc", ratios),
                  gain_point("w1 to w3", "glibc", [1.0] * 4)]
        reports = {allocator.NAME: report_of(allocator, points)}
        return next(one.mark for one in flowchart.branches(reports) if advice in one.advice)

    def test_a_gain_in_all_rounds_confirms_and_a_loss_refutes(self):
        for advice in "allocates much, replace", "gains more", "begin with tbbmalloc":
            self.assertEqual(self.judged([0.5, 0.6, 0.5, 0.6], advice), flowchart.CONFIRMED, advice)
            self.assertEqual(self.judged([1.5, 1.6, 1.5, 1.6], advice), flowchart.REFUTED, advice)

    def test_no_difference_and_a_gain_in_half_of_the_rounds_refute(self):
        self.assertEqual(self.judged([0.99, 1.0, 0.99, 1.0], "allocates much, replace"), flowchart.REFUTED)
        self.assertEqual(self.judged([0.5, 0.6, 1.3, 1.4], "allocates much, replace"), flowchart.REFUTED)

    def test_without_reports_nothing_is_testable(self):
        self.assertEqual({one.mark for one in flowchart.branches({})}, {flowchart.NOT_TESTABLE})

    def test_what_only_failed_or_is_left_out_is_said(self):
        failed = report_of(allocator, [], outcome=common.FAILED, reason="it crashed")
        text = "\n".join(document.overview(run.AXES, {allocator.NAME: failed}))
        self.assertIn("it crashed", text)
        self.assertEqual(text.count("the axis was left out"), len(run.AXES) - 1)


class AnswersTest(unittest.TestCase):
    """The blind program's answers against DuckDB's, both planted."""

    def measured(self, blind_checksum):
        right = {query: {"rows": 10, "checksum": "77", "seconds": [0.1]} for query in ("w1", "w2", "w3")}
        ours = {"rows": 10, "checksum": blind_checksum, "seconds": 0.2}
        lab = study.StudyLab("/nowhere", study.SCALES["tiny"])
        with mock.patch.object(lab, "run", return_value=""), mock.patch.object(lab, "run_once", return_value=ours), \
                mock.patch.object(answers, "duckdb_answers", return_value={"version": "2", "queries": right}):
            return answers.measure(lab)

    def test_equal_answers_pass_and_another_checksum_is_found(self):
        self.assertEqual(len(self.measured("77")["points"]), 7)
        with self.assertRaisesRegex(common.ProgramFailed, "DuckDB has 10, 77"):
            self.measured("78")

    def test_runs_that_answer_differently_are_found(self):
        runs = {("one", "w1"): [{"checksum": "1"}], ("other", "w1"): [{"checksum": "2"}]}
        with self.assertRaisesRegex(common.ProgramFailed, "2 different answers"):
            study.same_answers(runs)
        study.same_answers({**runs, ("other", "w1"): [{"checksum": "1"}]})


class StandIn:
    """An engine: `las_ms`, by query, with las; 100 ms with nls. `rows`: of each answer in turn."""

    def __init__(self, las_ms, rows=()):
        self.las_ms, self.rows, self.way, self.asked = las_ms, iter(rows), "", []

    def ask(self, command):
        name, *words = command.split()
        if name == "tasks":
            self.way = words[0]
            return {}
        self.asked.append(f"{command} {self.way}")
        return {"ms": self.las_ms.get(words[0], 100) if self.way == "las" else 100, "rows": next(self.rows, 3)}


class BoboxTest(unittest.TestCase):
    def test_a_query_that_las_slows_down_has_twice_the_rounds_and_is_the_slowest(self):
        engine = StandIn({"1": 110, "2": 90})
        side = bobox.Side(engine, ("q1", "q2"))
        lab = mock.Mock(scale=mock.Mock(alone_rounds=2, at_once_rounds=3))
        report = report_of(bobox, bobox.points_of_side(lab, side))
        self.assertEqual([engine.asked.count(f"run {query} las") for query in "12"], [5, 3])  # one of each is not counted
        self.assertEqual([engine.asked.count(f"at_once {query} 16 nls") for query in "12"], [7, 4])
        self.assertEqual(common.median_of(report, "las over nls, alone", "q2"), 0.9)
        self.assertEqual([row.ours for row in bobox.compare(report) if "the most (q1)" in row.what], [1.1, 1.1])

    def test_another_number_of_rows_is_found(self):
        with self.assertRaisesRegex(common.ProgramFailed, "q1: rows and checksum"):
            bobox.Side(StandIn({}, rows=[3, 4]), ("q1",)).rounds("alone", 1)


class EngineMemoryTest(unittest.TestCase):
    def test_the_data_does_not_count_and_lazily_freed_memory_is_given_back(self):
        figures = engine_memory.figures_of(1000, {"resident_most": 1300, "asked_most": 200}, {"resident": 1100, "lazily_freed": 70})
        self.assertEqual((figures["peak over asked"], figures["given back"]), (1.5, 0.9))

    def test_the_best_allocator_is_the_fastest_by_the_median(self):
        points = [common.point("w1 seconds", name, 0, "s", values)
                  for name, values in (("eris", [1, 1, 1]), ("one", [2, 9, 9]), ("other", [3, 3, 3]))]
        self.assertEqual(engine_memory.best_of(points, "w1"), "other")

    def test_different_answers_are_found(self):
        one, other = {"rows": 1, "checksum": "7"}, {"rows": 1, "checksum": "8"}
        engine_process.same("w1", [one, dict(one)])
        with self.assertRaisesRegex(common.ProgramFailed, "w1 has 2 different answers"):
            engine_process.same("w1", [one, other])


@dataclasses.dataclass
class Count:
    phase: int
    misses: int
    memory_numa_node: int
    local: bool


class CountedTest(unittest.TestCase):
    def test_shares_are_of_the_phase_alone(self):
        result = mock.Mock(counts=[Count(1, 30, 0, True), Count(1, 10, 1, False), Count(2, 500, 3, False)])
        lines = counted.lines_of(result, 1, {})
        self.assertEqual((lines.lines, lines.own_share, lines.remote), (40, 0.75, 10))
        self.assertEqual(lines.busiest_over_mean, 3.0)  # 30 of a mean of 10
        with self.assertRaises(common.ProgramFailed):
            counted.lines_of(result, 3, {})


class ScaleTest(unittest.TestCase):
    def test_the_scale_is_the_papers_at_most(self):
        for words in (["--scale", "0"], ["--scale", "1.5"], ["no_such_axis"]):
            with mock.patch.object(sys, "argv", ["run.py", "/nowhere", *words]), mock.patch.object(sys, "stderr"), self.assertRaises(SystemExit):
                run.parse()

    def test_every_scale_has_the_rounds_that_it_says(self):
        self.assertGreaterEqual(min(study.SCALES["full"].rounds, study.SCALES["full"].arrival_rounds, study.SCALES["full"].combination_rounds), 5)


if __name__ == "__main__":
    unittest.main()
