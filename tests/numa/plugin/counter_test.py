#!/usr/bin/env python3
"""The access counter against programs whose accesses, and transfers of lines, are known: every count is exact, and a
wrong one is found. Usage: counter_test.py --build DIR [unittest arguments]. Ends with 77 where qemu, the guest's
kernel or the plugin's header cannot be had, after the part that needs none of them.
"""
import collections
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import counting  # noqa: E402

BUILD = None  # set by main
SKIPPED = 77
CACHE = {"cache_kib": 256, "cache_ways": 8}
CACHE_LINES = 4096  # in that

# The phases of known_transfers.cc, and the lines of its --evicted.
LARGE_LINES = 1 << 16
EXACT = range(1, 14)
RACE = 14


def count(shape, program, *arguments, **more):
    return counting.count(BUILD, shape, pathlib.Path(BUILD, "tests", "numa", "plugin", program), *arguments, **more)


def differences(shape, *arguments, **more):
    """What was counted and not expected, and the other way round: pairs of (whose, count)."""
    result = count(shape, "known_accesses", *arguments, **CACHE, **more)
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

    def test_transfers_between_numa_nodes_are_lines_and_invalidations(self):
        result = counting.parse(self.COUNTS + "transfers\t1\t0\t0\t1\t1\t20\t300\t4000\t50000\t600000\ncoherence\t1\nend\n")
        self.assertEqual(result.transferred([1], "far_lines"), 320)
        self.assertEqual(result.transferred([1], "far_invalidations"), 650000)
        self.assertEqual(result.transferred([1]), 650320)

    def test_transfers_that_were_not_counted_are_not_none(self):
        for end in "coherence\t0\nend\n", "end\n":
            with self.assertRaisesRegex(counting.CountFailed, "coherence=1"):
                counting.parse(self.COUNTS + end).transferred([1])
        with self.assertRaisesRegex(counting.CountFailed, "nothing counted"):
            counting.parse(self.COUNTS + "coherence\t1\nend\n").transferred([2])

    def test_false_sharing_that_was_not_followed_is_not_none(self):
        told = self.COUNTS + "false_sharing\t1\t0\t0x10\t0x2000\t7\nfalse_sharing\t2\t0\t0x10\t0x2000\t9\n"
        self.assertEqual(counting.parse(told + "followed_false_sharing\t1\nend\n").taken_for_nothing([1]), 7)
        for end in "followed_false_sharing\t0\nend\n", "end\n":
            with self.assertRaisesRegex(counting.CountFailed, "false_sharing=1"):
                counting.parse(self.COUNTS + end).taken_for_nothing([1])

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
        # The directory of lines changes none of them.
        self.assertEqual(differences("4x2", coherence=1), [])

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


class TransferTest(unittest.TestCase):
    def test_known_transfers_are_counted_exactly(self):
        # Without a cache nothing is evicted.
        result = count("4x2", "known_transfers", coherence=1, false_sharing=1)
        counted = {one for one in result.transfers if one.phase in EXACT}
        told = result.output.splitlines()
        expected = {counting.parse_transfers(line) for line in told if line.startswith("transfers")}
        self.assertGreater(len(expected), len(EXACT))
        self.assertEqual(counted, expected)
        taken = collections.Counter()
        for one in result.false_sharing:
            taken[one.phase, one.cpu] += one.lines
        known = [counting.parse_false_sharing(line) for line in told if line.startswith("false_sharing")]
        self.assertEqual(len(known), 4)
        self.assertEqual({key: lines for key, lines in taken.items() if key[0] in EXACT}, {(one.phase, one.cpu): one.lines for one in known})
        for phase in EXACT:  # nothing moved in some of them, but each of them ran
            self.assertGreater(result.total([phase]), 0, phase)
        # Two cpus that race: the line went from one to the other and back.
        taken = [sum(one.far_cache for one in result.transfers if one.phase == RACE and one.cpu == cpu) for cpu in (0, 7)]
        self.assertGreaterEqual(max(taken), 1)
        self.assertLessEqual(max(taken) - min(taken), 1)
        self.assertEqual(result.transferred([RACE]), sum(taken))

    def test_a_cpu_that_acts_for_others_is_counted_as_they_are(self):
        result = count("1x2", "known_transfers", "--acting", acting=1)
        expected = {counting.parse_transfers(line) for line in result.output.splitlines() if line.startswith("transfers")}
        self.assertEqual(len(expected), 5)
        self.assertEqual(set(result.transfers), expected)
        for phase in range(1, 9):
            self.assertGreater(result.total([phase]), 0, phase)

    def test_lines_that_a_cache_has_evicted_come_from_memory(self):
        result = count("4x2", "known_transfers", "--evicted", coherence=1, **CACHE)
        # The writer's cache held as many lines as it can, but for what the program itself uses.
        held = result.transferred([1], "far_cache")
        self.assertLessEqual(held, CACHE_LINES)
        self.assertGreaterEqual(held, 0.9 * CACHE_LINES)
        self.assertEqual(result.transferred([1]), held)  # the others came from the reader's own NumaNode
        held = result.transferred([2], "far_cache")
        self.assertGreaterEqual(held, 0.9 * CACHE_LINES)
        self.assertEqual(result.transferred([2], "far_lines"), LARGE_LINES)
        self.assertEqual(result.transferred([2]), LARGE_LINES)
        # What was read last is evicted by what is read first, and so on.
        self.assertGreaterEqual(result.transferred([3], "far_memory"), 0.99 * LARGE_LINES)
        self.assertEqual(result.transferred([3], "far_cache"), 0)


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
    names = ["ResultTest"] + ["CounterTest", "TransferTest"] * (not missing)
    program = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], defaultTest=names, exit=False)
    if not program.result.wasSuccessful():
        sys.exit(1)
    if missing:
        print(missing)
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
