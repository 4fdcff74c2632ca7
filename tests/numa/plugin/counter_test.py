#!/usr/bin/env python3
"""The access counter against a program whose accesses are known: every count is exact, and a wrong one is
found. Usage: counter_test.py --build DIR [unittest arguments]. Ends with 77 where qemu, the guest's
kernel or the plugin's header cannot be had, after the part that needs none of them.
"""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import counting  # noqa: E402

BUILD = None  # set by main
SKIPPED = 77


def differences(shape, *arguments, **more):
    """What was counted and not expected, and the other way round: pairs of (whose, count)."""
    program = pathlib.Path(BUILD, "tests", "numa", "plugin", "known_accesses")
    result = counting.count(BUILD, shape, program, *arguments, cache_kib=256, cache_ways=8, **more)
    counted = set(result.counts)
    expected = {counting.parse_count(line) for line in result.output.splitlines()}
    assert len(expected) > 4, result.output
    return [("expected", one) for one in expected - counted] + [("counted", one) for one in counted - expected]


class ResultTest(unittest.TestCase):
    COUNTS = "# head\ncount\t1\t0\t0\t0\t90\t8\t1\t0\ncount\t1\t0\t0\t1\t1\t1\t2\t1\nchecked\t0\t1\n"

    def test_ratio_is_of_loads_and_stores_or_of_misses(self):
        result = counting.parse(self.COUNTS + "end\n")
        self.assertEqual(result.local_ratio([1]), 0.98)
        self.assertEqual(result.local_ratio([1, 2], "misses"), 0.25)
        with self.assertRaises(counting.CountFailed):
            result.local_ratio([2])

    def test_result_that_is_cut_off_is_none(self):
        for text in ("", self.COUNTS):
            with self.assertRaisesRegex(counting.CountFailed, "wrote no result"):
                counting.parse(text)

    def test_one_wrong_known_page_spoils_the_result(self):
        with self.assertRaisesRegex(counting.CountFailed, "self test: 1 reads.*NumaNode 3.*0x123"):
            counting.parse(self.COUNTS + "wrong\t7\t1\t3\t0x123\nend\n")

    def test_access_outside_all_numa_nodes_spoils_the_result(self):
        with self.assertRaisesRegex(counting.CountFailed, "self test: 12 accesses of cpu 3"):
            counting.parse(self.COUNTS + "outside\t3\t12\nend\n")


class CounterTest(unittest.TestCase):
    def test_known_accesses_are_counted_exactly(self):
        self.assertEqual(differences("4x2"), [])

    def test_planted_wrong_count_is_found(self):
        found = differences("2x1", "--one-more")
        # One load more than told, on the first NumaNode by the last cpu.
        self.assertEqual(len(found), 2, found)
        (_, expected), (_, counted) = sorted(found, reverse=True)
        self.assertEqual((counted.phase, counted.cpu, counted.memory_numa_node), (1, 1, 0))
        self.assertEqual(counted.loads - expected.loads, 1)

    def test_numa_nodes_of_different_size_one_without_memory_and_the_hole_below_4_gib(self):
        self.assertEqual(differences("3x1", memory="3G,0,1500M"), [])

    def test_wrong_idea_of_the_memory_is_found_by_the_self_test(self):
        with self.assertRaisesRegex(counting.CountFailed, "self test"):
            differences("2x1", memory="512M,256M", believed_memory="256M,512M")


def main():
    global BUILD
    if len(sys.argv) < 3 or sys.argv[1] != "--build":
        sys.exit(__doc__)
    BUILD = sys.argv[2]
    missing = None
    try:
        counting.build_plugin(BUILD)
    except counting.CANNOT_COUNT as error:
        missing = error
    names = ["ResultTest"] + ["CounterTest"] * (not missing)
    program = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], defaultTest=names, exit=False)
    if not program.result.wasSuccessful():
        sys.exit(1)
    if missing:
        print(missing)
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
