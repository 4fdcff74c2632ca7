"""tools/goals.py without measuring: a part that crashes, leaves a figure out or has a wrong answer hides no other and is told,
whatever went wrong; the forecast, the summary and the table; every part's declared goals; the goals of remote access take cpus
of two cores, and leave the generator out of the engine's time; a wrong answer to a query of TPC-H fails a tiny run."""
import contextlib
import io
import json
import pathlib
import re
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import goals  # noqa: E402
import goals_local_access  # noqa: E402
import goals_remote  # noqa: E402
import goals_routing  # noqa: E402
import goals_run  # noqa: E402
from goals_run import Absent, Part, Run, Step, at_least, at_most  # noqa: E402


class Folder(unittest.TestCase):
    """With a build directory that holds stand-ins for programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)

    def stand_in(self, program, script):
        path = self.build / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def ended(self, parts, *arguments):
        """Exit code, standard output and error of goals.py with these parts."""
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(goals, "PARTS", parts), mock.patch.object(sys, "argv", ["goals.py", str(self.build), *arguments]), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            return goals.main(), out.getvalue(), err.getvalue()


def part(*steps):
    return Part(1, tuple(steps))


HELD = Step(lambda run: run.goal("b.held", 2, "a note"), {"b.held": at_least(1)})


def failing(measure):
    return Step(measure, {"a.one": at_least(1)})


def dies(run):
    run.program([run.build + "/lab"])


class MainTest(Folder):
    def test_whatever_fails_is_told_and_the_other_steps_and_parts_go_on(self):
        self.stand_in("lab", "kill -SEGV $$")
        for measure, why in (
                (lambda run: 1 / 0, "ZeroDivisionError"), (lambda run: run.json(["echo", "{"]), "JSONDecodeError"),
                (lambda run: run.json(["echo", "{}"])["figure"], "KeyError"), (lambda run: [][0], "IndexError"),
                (lambda run: sys.exit("no such side"), "no such side"), (lambda run: run.program(["false"]), "false ended with 1"),
                (lambda run: run.program(["/nothing/here"]), "FileNotFoundError"), (dies, "was ended by signal 11"),
                (lambda run: None, "has not reported it"), (lambda run: run.goal("a.one", float("nan")), "no figure"),
                (lambda run: run.goal("a.one", float("inf")), "no figure"), (lambda run: run.goal("a.two", 1), "no goal of this step")):
            for arguments in ((), ("--tiny",)):
                code, out, _ = self.ended({"a": part(failing(measure), HELD), "b": part(HELD)}, *arguments)
                self.assertEqual(code, 1, why)
                self.assertRegex(out, rf"GOAL a\.one reached=nothing goal=>=1 FAILED  # .*{re.escape(why)}")
                self.assertEqual(out.count("GOAL b.held reached=2 goal=>=1 held  # a note\n"), 2, out)
                self.assertIn("goals: FAILED: a.one\n", out)
                self.assertRegex(out, r"goals: together +2 held, 0 short, 0 not measured, 1 failed")
        self.assertEqual(self.ended({"b": part(HELD)})[0], 0)

    def test_figures_of_a_step_that_fails_later_are_kept(self):
        def half(run):
            run.goal("a.one", 3)
            raise LookupError("the rest")

        code, out, _ = self.ended({"a": part(Step(half, {"a.one": at_least(1), "a.two": at_most(1)}))})
        self.assertEqual(code, 1)
        self.assertIn("GOAL a.one reached=3 goal=>=1 held\n", out)
        self.assertIn("GOAL a.two reached=nothing goal=<=1 FAILED  # LookupError: the rest\n", out)

    def test_a_short_goal_is_no_error_and_a_tiny_run_judges_none(self):
        step = Step(lambda run: run.goal("a.one", 0.5), {"a.one": at_least(1)})
        code, out, _ = self.ended({"a": part(step)})
        self.assertEqual(code, 0)
        self.assertIn("GOAL a.one reached=0.5 goal=>=1 short\n", out)
        self.assertIn("goals: short: a.one\n", out)
        self.assertEqual(self.ended({"a": part(step)}, "--tiny")[0], 0)

    def test_what_cannot_be_measured_here_ends_with_1_and_a_tiny_run_well(self):
        step = Step(lambda run: run.no_goal("a.one", "one NumaNode"), {"a.one": at_least(1)})
        code, out, _ = self.ended({"a": part(step)})
        self.assertEqual(code, 1)
        self.assertIn("GOAL a.one reached=nothing goal=>=1 NOT-MEASURED  # one NumaNode\n", out)
        self.assertEqual(self.ended({"a": part(step)}, "--tiny")[0], 0)

    def test_a_machine_that_lacks_something_fails_no_tiny_run(self):
        def one_core(run):
            raise goals_run.NotPossible("one core")

        code, out, _ = self.ended({"a": part(Step(one_core, {"a.one": at_least(1), "a.two": at_most(1)}))}, "--tiny")
        self.assertEqual(code, 0)
        self.assertEqual(out.count("NOT-MEASURED  # one core\n"), 2)

    def test_a_missing_package_skips_a_tiny_run_unless_something_fails(self):
        def absent(run):
            raise Absent("redis-server cannot be installed: no network")

        step = Step(absent, {"a.one": at_least(1)})
        code, out, _ = self.ended({"a": part(step), "b": part(HELD)}, "--tiny")
        self.assertEqual(code, 77)
        self.assertIn("SKIPPED: redis-server cannot be installed: no network\n", out)
        self.assertEqual(self.ended({"a": part(step, failing(dies))}, "--tiny")[0], 1)
        self.assertEqual(self.ended({"a": part(step)})[0], 1)

    def test_a_script_that_cannot_have_its_packages_says_so(self):
        with mock.patch.object(goals_run, "ROOT", self.build):
            (self.build / "run.py").write_text("print('SKIPPED: duckdb (PyPI) cannot be installed: no network'); raise SystemExit(77)")
            code, out, _ = self.ended({"a": part(failing(lambda run: run.script("run.py")))}, "--tiny")
        self.assertEqual(code, 77)
        self.assertIn("\nSKIPPED: duckdb (PyPI) cannot be installed: no network\n", out)

    def test_a_planted_wrong_answer_is_found(self):
        self.stand_in("bench/engine/routed_lookup", """echo '{"routed_over_bare": 0.9, "wrong": 1}'; exit 1""")
        code, out, _ = self.ended({"engine": goals_routing.ENGINE}, "--tiny")
        self.assertEqual(code, 1)
        self.assertRegex(out, "GOAL engine.routed_over_bare_lookup reached=nothing .* FAILED  # .*routed_lookup .* ended with 1")

    def test_it_says_beforehand_how_long_it_takes_and_afterwards_where_the_table_is(self):
        _, out, _ = self.ended({"a": part(HELD), "b": part(HELD)})
        self.assertRegex(out.splitlines()[0], r"^goals: a, b: some 2 minutes .*a 1, b 1")
        self.assertIn(f"goals: written: {self.build}/goals.md", out.splitlines()[-1])
        self.assertNotIn("minutes", self.ended({"a": part(HELD)}, "--tiny")[1])

    def test_a_forecast_measures_nothing(self):
        code, out, _ = self.ended({"a": part(failing(dies))}, "--forecast")
        self.assertEqual((code, out.count("\n")), (0, 1))

    def test_the_table_holds_parts_of_former_runs_too(self):
        failed = Step(lambda run: 1 / 0, {"a.one": at_least(1)})
        self.ended({"a": part(failed), "b": part(HELD)}, "a")
        self.ended({"a": part(failed), "b": part(HELD)}, "b")
        text = (self.build / "goals.md").read_text(encoding="utf-8")
        self.assertIn("2 goals: 1 held, 0 short, 0 not measured, 1 failed.", text)
        self.assertIn("| one | – | >= 1 | **failed** | ZeroDivisionError: division by zero |", text)
        self.assertIn("| held | 2 | >= 1 | held | a note |", text)
        self.assertRegex(text, r"### b\n\n.*cores?, .*; \d{4}-\d\d-\d\d, commit \w+")
        self.assertFalse((self.build / "goals-tiny").exists())

    def test_an_unknown_part_is_refused_by_name(self):
        with self.assertRaises(SystemExit) as end:
            self.ended({"a": part(HELD)}, "c")
        self.assertEqual(end.exception.code, 2)


class PartsTest(unittest.TestCase):
    def test_every_goal_is_named_after_its_part_and_declared_once(self):
        names = [(part, name) for part, one in goals.PARTS.items() for step in one.steps for name in step.goals]
        for part, name in names:
            self.assertTrue(name.startswith(f"{part}."), name)
        self.assertEqual(len(names), len({name for _, name in names}))

    def test_a_tiny_run_leaves_to_tests_what_they_measure(self):
        left = [step for one in goals.PARTS.values() for step in one.steps if step.test]
        for step in left:
            run = Run("build/none", tiny=True)
            with contextlib.redirect_stdout(io.StringIO()):
                run.step(step)
            self.assertEqual({one.outcome for one in run.results}, {goals_run.NOT_MEASURED})
            self.assertTrue((ROOT / step.test).is_file(), step.test)
        self.assertEqual(len(left), 4)

    def test_a_goal_that_the_guest_cannot_count_is_not_measured_and_one_that_it_miscounts_fails(self):
        for step, module in (goals_local_access.SHARED_ACCESS, goals_local_access.shared_access), \
                (goals_local_access.LOCAL_ACCESS, goals_local_access.local_access):
            why = module.counting.CANNOT_COUNT
            why = why[0] if isinstance(why, tuple) else why
            for error, outcome in (why("no emulator"), goals_run.NOT_MEASURED), (module.counting.CountFailed("lost"), goals_run.FAILED):
                run = Run("build/none")
                with mock.patch.object(module, "measure", mock.Mock(side_effect=error)), contextlib.redirect_stdout(io.StringIO()), \
                        contextlib.redirect_stderr(io.StringIO()):
                    run.step(step)
                self.assertEqual([one.outcome for one in run.results], [outcome] * len(step.goals))

    def test_what_the_guest_counts_becomes_a_figure(self):
        counted = types.SimpleNamespace(local_ratio=lambda phases, what="accesses": 0.996, total=lambda phases, what="accesses": 1e6)
        shared_access = goals_local_access.shared_access
        # Far transfers of a key: 1 of the shared tree; of the engine one half and as much as upserts in large batches take.
        jobs = {(operation, batch): {"eris": shared_access.PerKey(0.25, 0.125, 0.125, extra, 7.0, extra / 64),
                                     "shared_batched": shared_access.PerKey(0.75, 0.5, 0.125, 0.125, 0.0, 0.1)}
                for operation, batch, extra in (("lookups", 1024, 0.125), ("lookups", 4096, 0.0), ("upserts", 1024, 0.0),
                                                ("upserts", 4096, 0.25))}
        lookups = {"eris": types.SimpleNamespace(remote_accesses=2.0, remote_misses=1.0),
                   "shared": types.SimpleNamespace(remote_accesses=10.0, remote_misses=4.0)}
        found = shared_access.Found(lookups, jobs, {})
        for step, module, answer, reached in ((goals_local_access.SHARED_ACCESS, shared_access, found, [0.2, 0.5, 0.375, 0.625, 0.25 / 64]),
                                              (goals_local_access.LOCAL_ACCESS, goals_local_access.local_access, counted, [0.996])):
            run = Run("build/none")
            with mock.patch.object(module, "measure", lambda build: answer), contextlib.redirect_stdout(io.StringIO()):  # noqa: B023
                run.step(step)
            self.assertEqual([one.reached for one in run.results], reached)

    def test_the_table_of_the_documents_names_goals_that_there_are(self):
        text = (ROOT / "docs" / "lab" / "goals.md").read_text(encoding="utf-8")
        names = {name for part in goals.PARTS.values() for step in part.steps for name in step.goals}
        part = ""
        for line in text.splitlines():
            if line.startswith("### "):
                part = line.removeprefix("### ")
            if match := re.match(r"\| (\w+) \| [^|]* \| [<>]= ", line):
                self.assertIn(f"{part}.{match[1]}", names)
        for name in goals.PARTS:
            self.assertIn(f"`{name}`", text)


class QueriesTest(unittest.TestCase):
    def times(self, tiny, unequal):
        """Results of the step with two AEUs; every query takes half of DuckDB's time, but for the 22nd, which takes three times it."""
        queries = {str(number): {"eris": spread(ratio), "duckdb": spread(1), "over_duckdb": ratio}
                   for number, ratio in ((number, 3 if number == 22 else 0.5) for number in range(1, 23))}
        found = {"equal": 22 - len(unequal), "unequal": unequal, "queries": queries, "geomean": 0.54, "duckdb_version": "2.0.0",
                 "faults": {"first": 2000, "second": 10}}
        run = Run("build/none", tiny)
        with mock.patch.object(Run, "script", lambda *_: {"scale": "1", "aeus": {"2": {"times": found}}}), \
                mock.patch("os.sched_getaffinity", lambda pid: {0, 1}), contextlib.redirect_stdout(io.StringIO()), \
                contextlib.redirect_stderr(io.StringIO()):
            run.step(goals.PARTS["queries"].steps[1])
        return {one.name.removeprefix("queries."): (one.reached, one.outcome) for one in run.results}

    def test_times_become_figures(self):
        self.assertEqual(self.times(False, {}), {
            "equal_2_aeus": (22, "held"), "geomean_over_duckdb_2_aeus": (0.54, "held"), "slowest_over_duckdb_2_aeus": (3, "short"),
            "page_faults_second_over_first": (0.005, "held")})

    def test_a_wrong_answer_is_short_and_fails_a_tiny_run(self):
        wrong = {"7": "query 7, row 0: got [1], DuckDB says [2]"}
        self.assertEqual(self.times(False, wrong)["equal_2_aeus"], (21, "short"))
        self.assertEqual({outcome for _, outcome in self.times(True, wrong).values()}, {goals_run.FAILED})


def spread(value):
    return {"median": value, "min": value, "max": value}


class RemoteTest(unittest.TestCase):
    def cpus(self, allowed, cores):
        goals_remote.cpus.cache_clear()
        self.addCleanup(goals_remote.cpus.cache_clear)
        of = {cpu: goals_remote.cpu_list(core) for core in cores for cpu in goals_remote.cpu_list(core)}
        with mock.patch("os.sched_getaffinity", lambda pid: allowed), mock.patch.object(goals_remote, "siblings", of.get):
            return goals_remote.cpus()

    def test_server_and_client_have_a_core_each(self):
        self.assertEqual(self.cpus({0, 1}, ["0", "1"]), (0, 1))
        self.assertEqual(self.cpus({0, 1, 2, 3}, ["0-1", "2-3"]), (0, 2))
        self.assertEqual(self.cpus({3, 4, 7, 8}, ["3,7", "4,8"]), (3, 4))
        with self.assertRaisesRegex(goals_run.NotPossible, "one core"):
            self.cpus({0, 1}, ["0-1"])

    def test_the_generator_s_part_is_taken_off_the_engine_s(self):
        # 2 us a key together, of which the generator's is half of one.
        self.assertAlmostEqual(goals_remote.engine_s_per_key(0.5e6, 2e6), 1.5e-6)


if __name__ == "__main__":
    unittest.main()
