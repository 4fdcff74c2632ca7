"""The cost model of the ERIS paper's machines: cases worked out by hand; each count moves what it should move."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench" / "paper"))

import common  # noqa: E402, F401: says where the others are
import guest  # noqa: E402
from cost import cost_model, counts, machines, model  # noqa: E402
from cost.machines import AMD, INTEL, SGI, Distance, G, M, Machine  # noqa: E402
from cost.model import Curve, Work  # noqa: E402

SMALL = Machine("small", 2, threads=4, cache_mib=1, gb_s=10, ns=100, distances=(Distance("far", 1, 5, 200, 1),), out_gb_s=8, links_gb_s=16,
                sizes=(M,), assumed="")
WORK = Work(own=2, other=1, calls=0.5, busiest=0.5, numa_nodes=2)


def points(**changed):
    """Of a report. `changed`: (panel, series) written panel_series -> fields."""
    counted = {("lookups", "eris"): Work(2, 0.35, 0.02, 0.125, 8), ("lookups", "shared"): Work(0.25, 1.75, 0, 0.125, 8),
               ("upserts", "eris"): Work(2.2, 0.4, 0.02, 0.125, 8), ("upserts", "shared"): Work(0.3, 2.1, 0.6, 0.125, 8)}
    scans = {"local": Work(1, 0.003, 0, 0.125, 8), "interleaved": Work(0.125, 0.875, 0, 0.125, 8), "one": Work(0.125, 0.875, 0, 1, 8)}
    found = [counts.point(*name, keys, work) for name, work in counted.items() for keys in (1 << 15, 1 << 21)]
    found += [counts.point(counts.SCAN, placement, 8, work) for placement, work in scans.items()]
    for name, fields in changed.items():
        for one in found:
            if f"{one['panel']}_{one['series']}" == name:
                one.update(fields)
    return found


def gain(machine=SGI, keys=cost_model.SGI_KEYS, operation="lookups", **changed):
    return cost_model.Prediction(points(**changed), outstanding=1.5).gain(machine, operation, keys)


class ModelTest(unittest.TestCase):
    def test_each_term_by_hand(self):
        found = model.terms(SMALL, WORK, outstanding=2)
        self.assertAlmostEqual(found[model.WAITING], (2 * 100 + 1.5 * 200) / (2 * 4 * 2))
        self.assertAlmostEqual(found[model.DISTANCE], 6.4)  # 64 bytes at 5 GB/s, by two NumaNodes at once
        self.assertAlmostEqual(found[model.MEMORY], 9.6)  # half of 192 bytes at 10 GB/s
        self.assertAlmostEqual(found[model.OUT], 4)  # half of 64 bytes at 8 GB/s
        self.assertAlmostEqual(found[model.LINKS], 4)  # 64 bytes at 16 GB/s
        self.assertEqual(model.limit(found), model.WAITING)
        self.assertAlmostEqual(model.ns(SMALL, WORK, 2), 31.25)
        self.assertAlmostEqual(model.gb_s(SMALL, WORK, 2), 192 / 31.25)

    def test_work_from_page_to_page_reads_one_distance_after_another(self):
        self.assertFalse({model.WAITING, model.DISTANCE} & set(model.terms(SMALL, WORK)))
        self.assertAlmostEqual(model.ns(SMALL, WORK), 12.8)  # 64 bytes x (2 / 10 + 1 / 5), by two NumaNodes at once

    def test_the_fitted_parameter_gives_what_it_was_fitted_to(self):
        self.assertAlmostEqual(model.outstanding_for(SMALL, WORK, 192 / 31.25), 2)

    def test_crowded_memory_limits_and_so_does_its_way_out(self):
        self.assertAlmostEqual(model.ns(SMALL, Work(1, 1, 0, 1, 2)), 12.8)  # 128 bytes of one memory at 10 GB/s
        narrow = Machine("narrow", 2, 4, 1, 10, 100, SMALL.distances, out_gb_s=2, links_gb_s=16, sizes=(M,), assumed="")
        self.assertEqual(model.limit(model.terms(narrow, Work(1, 1, 0, 1, 2))), model.OUT)
        self.assertAlmostEqual(model.ns(narrow, Work(1, 1, 0, 1, 2)), 32)

    def test_more_numa_nodes(self):
        grown = Work(2, 0.5, 0.1, 0.75, 2).on(8)
        self.assertAlmostEqual(grown.other, 0.875)  # a half of what is placed at random was elsewhere, 7 of 8 are now
        self.assertAlmostEqual(grown.calls, 0.175)
        self.assertAlmostEqual(grown.lines, 2.5)
        self.assertAlmostEqual(grown.busiest, 0.75 ** 3)  # 8 is 2 x 2 x 2
        self.assertAlmostEqual(Work(1, 1, 0, 1, 2).on(64).busiest, 1)  # all on one stays so
        self.assertAlmostEqual(Work(1, 1, 0, 0.5, 2).on(64).busiest, 1 / 64)  # and even stays even

    def test_between_two_pressures_by_the_logarithm(self):
        curve = Curve([(100, Work(3, 1, 0, 0.5, 2)), (1, Work(1, 0, 0, 0.5, 2))])
        self.assertAlmostEqual(curve.at(10).own, 2)
        self.assertAlmostEqual(curve.at(10).other, 0.5)
        self.assertEqual([curve.at(pressure).own for pressure in (0.1, 1, 100, 1e6)], [1, 1, 3, 3])


class MachineTest(unittest.TestCase):
    def test_all_numa_nodes_are_somewhere(self):
        for machine in (*machines.MACHINES, machines.amd(0), machines.amd(1), machines.sgi((31, 0, 0, 0))):
            self.assertEqual(sum(one.pairs for one in machine.distances), machine.numa_nodes - 1, machine)

    def test_means_by_hand(self):
        self.assertEqual(INTEL.mean(lambda one: one.ns), 193)
        self.assertAlmostEqual(AMD.mean(lambda one: one.ns), (136 + 3 * 152 + 3 * 196) / 7)
        self.assertAlmostEqual(SGI.mean(lambda one: one.ns), (400 + 16 * 510 + 28 * 630 + 16 * 750 + 2 * 870) / 63)


class PredictionTest(unittest.TestCase):
    def test_lookups_by_hand(self):
        far = (400 + 16 * 510 + 28 * 630 + 16 * 750 + 2 * 870) / 63
        grows = (63 / 64) / (7 / 8)
        eris = (2.35 - 0.35 * grows) * 81 + 0.37 * grows * far
        shared = (2 - 1.75 * grows) * 81 + 1.75 * grows * far
        self.assertAlmostEqual(gain(), shared / eris)

    def test_scans_by_hand(self):
        found = cost_model.Prediction(points())
        self.assertAlmostEqual(found.scan_gb_s(AMD, "local"), 8 / (1 / 16.4 + 0.003 * AMD.mean(lambda one: 1 / one.gb_s)))
        slow = 1 / 16.4 + 1 / 5.8 + 1.5 * (1 / 4.2 + 1 / 2.9 + 1 / 3.7 + 1 / 1.8)  # a page of each NumaNode
        self.assertAlmostEqual(found.scan_gb_s(AMD, "interleaved"), 8 * 8 / slow)
        self.assertAlmostEqual(found.scan_gb_s(SGI, "one"), 16 * 61 / 60)  # over one way out

    def test_a_wrong_count_moves_the_prediction(self):
        right = gain()
        self.assertLess(gain(lookups_eris={"other": 0.7}), 0.8 * right)
        self.assertLess(gain(lookups_eris={"own": 4}), 0.9 * right)
        self.assertLess(gain(lookups_eris={"calls": 0.5}), 0.8 * right)
        self.assertLess(gain(lookups_shared={"other": 0.9}), 0.6 * right)
        self.assertEqual(gain(upserts_shared={"other": 0.9}), right)
        self.assertLess(gain(operation="upserts", upserts_shared={"calls": 0}), 0.9 * gain(operation="upserts"))
        scan = cost_model.Prediction(points()).scan_gain(SGI)
        self.assertLess(cost_model.Prediction(points(scan_local={"own": 0.7, "other": 0.3})).scan_gain(SGI), 0.6 * scan)
        self.assertGreater(cost_model.Prediction(points(scan_interleaved={"busiest": 0.5})).scan_gain(SGI), 1.5 * scan)

    def test_a_larger_index_takes_the_larger_one_s_lines(self):
        more = points()
        for one in more:
            if one["series"] == "eris" and one["x"] == 1 << 15:
                one["own"] = 0.5
        found = cost_model.Prediction(more, outstanding=1.5)
        self.assertGreater(found.rate(SGI, "eris", "lookups", 16 * M), 1.2 * found.rate(SGI, "eris", "lookups", 16 * G))

    def test_memories_give_what_was_fitted(self):
        found = cost_model.Prediction(points())
        self.assertAlmostEqual(found.memory_gb_s(AMD, "eris", "lookups", cost_model.AMD_KEYS), cost_model.FITTED_GB_S)

    def test_the_text_says_what_is_far_from_the_paper(self):
        self.assertIn("scan, SGI, 61 NumaNodes: all on one, GB/s: 55 % too low", cost_model.gap({"points": points()}))
        wrong = cost_model.gap({"points": points(lookups_shared={"other": 9})})
        self.assertRegex(wrong, r"lookups, SGI, 16 G keys: ERIS over shared: \d+ % too high")


class CountTest(unittest.TestCase):
    def test_lines_of_a_key(self):
        # 10 keys on two cpus; phase 9 is another one.
        result = guest.counting.parse("\n".join((
            "count\t1\t0\t0\t0\t100\t0\t14\t1", "count\t1\t0\t0\t1\t100\t0\t5\t0", "count\t4\t1\t1\t1\t100\t0\t5\t0", "count\t9\t0\t0\t0\t100\t0\t50\t0",
            "transfers\t1\t0\t0\t1\t7\t2\t3\t7\t1\t2", "transfers\t9\t0\t0\t1\t7\t2\t3\t7\t1\t2", "coherence\t1", "end")))
        work = counts.work_of(result, (1, 4), 10, 2)
        self.assertEqual((work.own, work.other, work.calls, work.busiest, work.numa_nodes), (2, 0.5, 0.3, 0.6, 2))

    def test_pressure_counts_the_part_that_a_cache_sees(self):
        for structure, parts in ("eris", 8), ("shared", 1):
            curve = counts.curve(points(), "lookups", structure)
            self.assertEqual([pressure for pressure, _ in curve.points], [20 / 16 / parts, 80 / parts])


if __name__ == "__main__":
    unittest.main()
