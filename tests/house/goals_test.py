"""tools/goals.py without measuring: a goal that could not be measured is told as one and ends it with 1, whatever the reason; the
goals of remote access take cpus of two cores, and leave the generator out of the engine's time."""
import contextlib
import io
import pathlib
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import goals  # noqa: E402
import goals_embedded  # noqa: E402
import goals_local_access  # noqa: E402
import goals_remote  # noqa: E402


def ended(folders):
    """Exit code, standard output and error of goals.py with these folders."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.object(goals, "FOLDERS", folders), mock.patch.object(goals, "not_measured", []), \
            mock.patch.object(sys, "argv", ["goals.py", "build/none"]), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            goals.main()
        except SystemExit as end:
            return end.code, out.getvalue(), err.getvalue()


class MainTest(unittest.TestCase):
    def test_what_cannot_be_measured_ends_with_1_and_the_other_folders_go_on(self):
        held = lambda build: goals.goal("b.held", 2, ">=", 1)  # noqa: E731
        for measure in (lambda build: 1 / 0, lambda build: goals.json.loads("{"), lambda build: goals.json.loads("{}")["figure"],
                        lambda build: [][0], lambda build: None / 2, lambda build: goals.run(["false"]),
                        lambda build: goals.run(["/nothing/here"]), lambda build: goals.statistics.median([])):
            code, out, err = ended({"a": measure, "b": held})
            self.assertEqual(code, 1)
            self.assertIn("GOAL b.held reached=2 goal=>=1 held", out)
            self.assertIn("goals: a could not be measured", err)
        self.assertEqual(ended({"b": held})[0], 0)

    def test_a_goal_that_the_guest_cannot_count_is_not_measured(self):
        for measure, module, where in (
                (lambda build: goals_embedded.remote_accesses(build, goals.goal, goals.no_goal), goals_embedded, "shared_access"),
                (lambda build: goals_local_access.memory_local_access(build, goals.goal, goals.no_goal), goals_local_access,
                 "local_access")):
            why = module.counting.CANNOT_COUNT
            why = (why[0] if isinstance(why, tuple) else why)("no emulator")
            with mock.patch.object(getattr(module, where), "measure", mock.Mock(side_effect=why)):
                code, out, err = ended({"one": measure})
            self.assertEqual(code, 1)
            self.assertRegex(out, r"GOAL \S+ reached=nothing goal=[<>]=[0-9.]+ NOT-MEASURED  # .*no emulator")
            self.assertIn("goals: not measured", err)


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
        with self.assertRaisesRegex(OSError, "one core"):
            self.cpus({0, 1}, ["0-1"])

    def test_the_generator_s_part_is_taken_off_the_engine_s(self):
        # 2 us a key together, of which the generator's is half of one.
        self.assertAlmostEqual(goals_remote.engine_s_per_key(0.5e6, 2e6), 1.5e-6)


if __name__ == "__main__":
    unittest.main()
