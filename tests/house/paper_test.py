"""The papers' figures without measuring: recorded answers of their programs become report, picture and text; what a machine
cannot measure is said; bench/paper/run.py names the program that fails."""
import contextlib
import dataclasses
import io
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAPER = ROOT / "bench" / "paper"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PAPER))

import common  # noqa: E402
import energy  # noqa: E402
import experiments  # noqa: E402
import fig1_scaling  # noqa: E402
import fig5_buffer_size  # noqa: E402
import fig8_index_size  # noqa: E402
import fig9_scan_bandwidth  # noqa: E402
import fig10_12_traffic  # noqa: E402
import fig13_dynamic  # noqa: E402
import guest  # noqa: E402
import ratios  # noqa: E402
import run  # noqa: E402
import shared_index  # noqa: E402
import table2_nodes  # noqa: E402
from cost import cost_model, counts, model  # noqa: E402
from leap import fig1_remote, fig2_copies, fig4_quiet, fig5_small_pages, fig6_throughput, fig8_queries, leap_runs, page_leap, table2_overhead  # noqa: E402

# What programs print: on one NumaNode, on two, on any machine; shortened, with round numbers.
RECORDED = json.loads((ROOT / "tests" / "house" / "paper_answers.json").read_text(encoding="utf-8"))


class RecordedLab(common.Lab):
    """Programs that answer what they once did, and a counter that has counted before."""

    def __init__(self, answers):
        super().__init__("build/none", common.SCALES["full"])
        self.answers = answers

    def path(self, program):
        if program not in self.answers:
            raise common.NotPossible(f"{program} is not built")
        return pathlib.Path(program)

    def run(self, program, *arguments, prefix=()):
        self.path(program)
        answer = self.answers[program]
        if callable(answer):
            return answer(*map(str, arguments))
        if "--placements" in arguments:
            wanted = arguments[arguments.index("--placements") + 1]
            answer = "\n".join(line for line in answer.splitlines() if json.loads(line)["placement"] in wanted)
        return answer


def shifting(*arguments):
    """A load on two AEUs, of which one has half its throughput after each change until the balancer has moved ranges."""
    balanced, seconds, phases = 400_000, 4, 6
    at_work = "--processes" not in arguments and arguments[arguments.index("--algorithm") + 1] != "off"
    keys = []
    for window in range(100 * seconds * phases + 1):
        phase, into = divmod(window, 100 * seconds)
        slow = phase > 0 and (not at_work or into < 150)
        keys.append(balanced // 2 if slow else balanced)
    moved = [{"begin_s": phase * seconds + 1.4, "seconds": 0.05, "rows": 1000} for phase in range(1, phases)] if at_work else []
    return json.dumps({"window_ms": 10, "phase_s": seconds, "period_ms": 500, "keys": keys, "transfers": moved, "keys_by_aeu": [],
                       "phases": [{"name": f"phase {phase}", "batch_p999_us": 100} for phase in range(phases)]})


def stepped(*arguments):
    moved = {"one_shot": [2, 1.1, 1, 1, 1, 1, 1, 1], "ma(8)": [2, 1.6, 1.1, 1, 1, 1, 1, 1], "ma(1)": [2, 1.9, 1.8, 1.7, 1.5, 1.1, 1, 1]}
    loads = moved[arguments[arguments.index("--algorithm") + 1]]
    phase = {"max_over_mean": loads, "bound": 1.0, "rows_moved": [int(1000 * (a - b)) for a, b in zip(loads, loads[1:])]}
    return json.dumps({"phases": [phase, phase]})


def leap_lab(*arguments):
    """A migration of 100 ms, with memcpy's time of 50 ms and memcpy's into fresh memory of 75; retry copies half of the range twice."""
    given = dict(zip(arguments, arguments[1:]))
    rate = int(given.get("--writes-per-s", 0)) or (30_000_000 if "--flat-out" in arguments else 0)
    one = {"ms": 100.0, "memcpy_ms": 50.0, "fresh_memcpy_ms": 75.0, "over_memcpy": 2.0, "area_copy_us": 10.0, "ended": "OK", "how": "userfaultfd",
           "home_bytes": 1 << 29, "left_bytes": 0, "copied_over_bytes": 1.5 if given["--method"] == "retry" else 1.0, "splits": 3,
           "longest_hold_us": 20.0, "alone_writes_s": 40_000_000 if rate else 0, "writes_s": rate, "longest_write_us": 1500.0,
           "alone_read_gb_s": 20.0, "read_gb_s": 10.0 if "--reader" in arguments else 0.0, "longest_read_us": 2000.0}
    return json.dumps({"method": given["--method"], "pages": given["--pages"], "mib": 512, "area_kib": int(given.get("--area-kib", 16384)),
                       "rounds": [one, {**one, "ms": 110.0}, {**one, "ms": 90.0}], "writes": rate, "longest_write_us": 1500.0, "lost": 0})


def leap_queries(*arguments):
    """Queries of 60 ms, and of 90 ms while the columns migrate."""
    given = dict(zip(arguments, arguments[1:]))
    one = {"migration_ms": 40.0, "ended": "OK", "before_ms": 60.0, "during_ms": 90.0, "after_ms": 61.0, "five_ms": 330.0, "writes_s": 0}
    return json.dumps({"method": given["--method"], "pages": given["--pages"], "rows": 1 << 24, "mib": 480, "area_kib": 16384,
                       "queries": {"q1": [one] * 3, "q6": [one] * 3}, "writes": 0, "lost": 0})


def answers(numa_nodes):
    """By program."""
    found = {program: "\n".join(map(json.dumps, lines)) for program, lines in RECORDED["any"].items()}
    found.update({program: "\n".join(map(json.dumps, lines)) for program, lines in RECORDED[f"{numa_nodes} NumaNodes"].items()})
    return {**found, "bench/balancer/shifting_load": shifting, "bench/balancer/stepped_load": stepped,
            leap_runs.PROGRAM: leap_lab, fig8_queries.PROGRAM: leap_queries,
            **dict.fromkeys((*guest.SCAN_PROGRAMS[:1], *guest.POINT_PROGRAMS, *guest.SHARED_PROGRAMS), "{}")}


def counted_scans(_build, *_arguments, **_options):
    """Of 4 NumaNodes: all local, a quarter, a quarter."""
    return [guest.scan_placement.Scan(placement, "sum_a", phase, 4, 1000, 1000, local, 1000, local, (250,) * 4)
            for phase, (placement, local) in enumerate((("local", 0.999), ("interleaved", 0.25), ("one", 0.25)), 1)], None


def counted_points(_build):
    lines = [f"count\t{phase}\t0\t0\t{memory}\t1000\t0\t{misses}\t0" for phase in range(1, 7)
             for memory, misses in ((0, 990 if phase < 3 else 250), (1, 10 if phase < 3 else 750))]
    return guest.counting.parse("\n".join([*lines, "end"]))


def counted_transfers(_build):
    """A key of the shared index takes four times what one of the engine's takes."""
    def per_key(far):
        return guest.shared_access.PerKey(far_lines=far, far_cache=0.01, upgrades_far=far, claims_far=0, near=0.1, for_nothing=0)
    job = {"eris": per_key(0.1), "shared": per_key(0.3), "shared_batched": per_key(0.4)}
    return guest.shared_access.Found({}, {(operation, batch): job for operation in ("lookups", "upserts") for batch in (1024, 4096)}, {})


def counted_work(_build, numa_nodes, _keys):
    """All of the engine's lines are near, all of the shared index' far."""
    work = {"eris": model.Work(2, 0, 0, 1 / numa_nodes, numa_nodes), "shared": model.Work(0, 2, 0, 1 / numa_nodes, numa_nodes)}
    return {(operation, structure): one for operation in counts.OPERATIONS for structure, one in work.items()}


def report_of(figure, lab, numa_nodes=1):
    """As common.measure makes it, on a machine of 2 cores without hardware events."""
    here = {"cpu": "a cpu", "cores": 2, "numa_nodes": numa_nodes, "memory_gib": 16}
    with mock.patch.object(common, "numa_nodes", lambda: numa_nodes), mock.patch.object(common, "machine", lambda: here), \
            mock.patch.object(common, "Lab", lambda build, scale: lab), mock.patch.object(lab, "cores", 2), \
            mock.patch.object(guest.scan_placement, "measure", counted_scans), \
            mock.patch.object(guest.local_access, "measure", counted_points), \
            mock.patch.object(guest.shared_access, "measure", counted_transfers), mock.patch.object(counts, "point_works", counted_work), \
            mock.patch("shutil.which", lambda name: None), \
            contextlib.redirect_stderr(io.StringIO()):
        return common.measure(figure, "build/none", "full")


def row(figure, report, *words):
    """The row whose description and source contain the words."""
    found = [one for one in figure.compare(report) if all(word in f"{one.what} {one.source}" for word in words)]
    assert len(found) == 1, (words, figure.compare(report))
    return found[0]


class FigureTest(unittest.TestCase):
    def made(self, figure, numa_nodes=1, given=None):
        report = report_of(figure, RecordedLab(answers(numa_nodes) if given is None else given), numa_nodes)
        self.assertEqual(report["outcome"], common.DONE, report["reason"])
        for one in report["points"]:
            self.assertLessEqual(one["min"], one["median"], one)
            self.assertLessEqual(one["median"], one["max"], one)
        json.dumps(report)
        xml.etree.ElementTree.fromstring(figure.draw(report))
        self.assertIn("| here | paper |", experiments.text([figure], {figure.NAME: report}))
        return report

    def test_every_figure_from_recorded_answers(self):
        for numa_nodes in (1, 2):
            for figure in run.FIGURES:
                with self.subTest(figure=figure.NAME, numa_nodes=numa_nodes):
                    self.made(figure, numa_nodes)

    def test_without_any_program_nothing_is_possible_and_the_text_says_why(self):
        for figure in run.FIGURES:
            with self.subTest(figure=figure.NAME):
                report = report_of(figure, RecordedLab({}))
                self.assertEqual(report["outcome"], common.NOT_POSSIBLE)
                self.assertIn("is not built", common.outcome_line(report))
                text = experiments.text([figure], {figure.NAME: report})
                self.assertIn("Not possible", text)
                self.assertNotIn("svg", text)

    def test_an_answer_in_another_form_fails_that_figure(self):
        for figure in run.FIGURES:
            if figure in (fig10_12_traffic, cost_model):
                continue  # without events no program of their own answers
            with self.subTest(figure=figure.NAME):
                self.assertEqual(report_of(figure, RecordedLab(dict.fromkeys(answers(1), '{"other": []}')))["outcome"], common.FAILED)

    def test_a_figure_that_is_no_number_fails(self):
        for program, figure in ((shared_index.PROGRAM, fig8_index_size), (shared_index.PROGRAM, fig1_scaling)):
            report = json.loads(answers(1)[program])
            report["structures"]["eris"]["lookups_s"]["median"] = float("nan")
            report = report_of(figure, RecordedLab({**answers(1), program: json.dumps(report)}))
            self.assertEqual(report["outcome"], common.FAILED)
            self.assertIn("is no figure", report["reason"])

    def test_every_part_of_a_figure_has_a_tiny_size_but_the_emulated_machine(self):
        left = [field.name for field in dataclasses.fields(common.Scale) if not getattr(common.SCALES["tiny"], field.name)]
        self.assertEqual(left, ["guest"])

    def test_table2_compares_the_farthest_with_local_memory(self):
        report = self.made(table2_nodes, 2)
        self.assertAlmostEqual(row(table2_nodes, report, "farthest", "all cores", "Intel").ours, 5 / 20)
        self.assertAlmostEqual(row(table2_nodes, report, "farthest", "latency", "SGI").ours, 300 / 100)
        alone = self.made(table2_nodes, 1)
        self.assertIsNone(row(table2_nodes, alone, "farthest", "latency", "SGI").ours)
        self.assertIn("remote memory (one NumaNode)", common.outcome_line(alone))

    def test_table2_refuses_memory_that_lies_elsewhere(self):
        elsewhere = answers(2)
        elsewhere["bench/paper/node_matrix"] = elsewhere["bench/paper/node_matrix"].replace('"pages_there": 1.0', '"pages_there": 0.5')
        report = report_of(table2_nodes, RecordedLab(elsewhere))
        self.assertEqual(report["outcome"], common.FAILED)
        self.assertIn("only 0.500 lies there", report["reason"])

    def test_fig5_finds_where_the_best_is_reached(self):
        report = self.made(fig5_buffer_size)
        self.assertEqual(row(fig5_buffer_size, report, "raw: buffer that reaches").ours, 256)
        found = row(fig5_buffer_size, report, "lookups, 1 M keys")
        self.assertEqual((found.ours, found.paper), (64, 128))

    def test_fig5_without_the_peer_s_header_still_has_lookups(self):
        given = answers(1)
        del given[fig5_buffer_size.RAW]
        report = self.made(fig5_buffer_size, given=given)
        self.assertIn("raw routing (bench/routing/raw_routing is not built)", common.outcome_line(report))
        self.assertIsNone(row(fig5_buffer_size, report, "raw: buffer that reaches").ours)
        self.assertNotIn("memcpys", fig5_buffer_size.here(report))

    def test_fig5_does_not_describe_lookups_that_were_not_measured(self):
        given = answers(1)
        del given[fig5_buffer_size.LOOK_UPS]
        self.assertNotIn("indexes of", fig5_buffer_size.here(self.made(fig5_buffer_size, given=given)))
        self.assertIn("indexes of 1 M", fig5_buffer_size.here(self.made(fig5_buffer_size)))

    def test_fig1_divides_growth_by_the_aeus_and_goes_on_without_the_shared_index(self):
        report = self.made(fig1_scaling)
        self.assertAlmostEqual(row(fig1_scaling, report, "lookups, ERIS: 2 AEUs over 1").ours, 0.5)  # the answer is always the same
        self.assertAlmostEqual(row(fig1_scaling, report, "upserts, 2 AEUs: ERIS over shared, batched").ours, 20 / 15)
        given = answers(1)
        del given["bench/shared/shared_index_lab"]
        report = self.made(fig1_scaling, given=given)
        self.assertEqual(common.outcome_line(report).count("shared_index_lab is not built"), 1)
        self.assertIsNone(row(fig1_scaling, report, "lookups, ERIS").ours)
        self.assertAlmostEqual(row(fig1_scaling, report, "scans, 2 AEUs").ours, 25 / 27)

    def test_fig8_compares_at_the_largest_index(self):
        report = self.made(fig8_index_size)
        self.assertEqual(len({one["x"] for one in report["points"]}), len(common.SCALES["full"].index_sizes))
        self.assertAlmostEqual(row(fig8_index_size, report, "the largest index", "AMD", "ERIS over").ours, 4)
        self.assertAlmostEqual(row(fig8_index_size, report, "the largest index", "AMD", "AEUs ask over").ours, 5)
        largest = "67.1 M keys"
        for words, ratio in ((("lookups by Zipf's law", largest, "ERIS over N processes"), 3), ((largest, "law over uniform"), 1.5),
                             (("lookups,", largest, "AEUs ask over ERIS"), 1.25),
                             (("upserts", largest, "N processes"), 1.25)):
            self.assertAlmostEqual(row(fig8_index_size, report, *words).ours, ratio)

    def test_the_table_of_ratios_says_how_each_was_measured(self):
        reports = {figure.NAME: self.made(figure) for figure in (fig1_scaling, fig8_index_size)}
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in ratios.table(reports)[2:]]
        self.assertEqual([line[0] for line in lines], [*2 * ["Figure 1, 2 AEUs"], *2 * ["Figure 8, the smallest index"], *2 * ["Figure 8, the largest index"],
                                                       "`./dev goals remote`", "[remote.md](remote.md), several runs"])
        self.assertEqual(lines[4][1:8], ["dense", "67.1 M", "2 client threads, 2 AEUs, on the same 2 cores", "1,024, 16 in flight", "4", "0.952", "2"])
        for line in lines[6:]:
            self.assertEqual(line[1:3], ["sparse", "67.1 M"])
            self.assertNotIn("–", line)
        self.assertEqual(ratios.table({}), [])
        self.assertEqual(ratios.of_goals("no table"), [])

    def test_fig9_compares_with_interleaved_memory_where_there_is_any(self):
        report = self.made(fig9_scan_bandwidth, 2)
        self.assertAlmostEqual(row(fig9_scan_bandwidth, report, "shared column, interleaved").ours, 40 / 10)
        self.assertAlmostEqual(row(fig9_scan_bandwidth, report, "plain read").ours, 40 / 40)  # both NumaNodes' 20
        counted = row(fig9_scan_bandwidth, report, "counted", "ERIS, interleaved", "1 / NumaNodes is 0.25")
        self.assertEqual((counted.ours, counted.paper), (0.25, None))  # the paper's machine has other NumaNodes
        alone = self.made(fig9_scan_bandwidth, 1)
        self.assertIsNone(row(fig9_scan_bandwidth, alone, "shared column, interleaved").ours)
        self.assertIn("(one NumaNode)", common.outcome_line(alone))

    def test_fig10_12_has_the_emulated_counts_where_there_are_no_events(self):
        report = self.made(fig10_12_traffic)
        self.assertIn("perf is not installed", common.outcome_line(report))
        self.assertAlmostEqual(row(fig10_12_traffic, report, "lookups: remote misses").ours, 10 / 750)
        self.assertIsNone(row(fig10_12_traffic, report, "lookups: local part of the misses, interleaved", "1 / NumaNodes is 0.25").paper)
        self.assertIsNone(row(fig10_12_traffic, report, "L3 miss ratio").ours)
        links = row(fig10_12_traffic, report, "emulated, lookups: lines over links per key, ERIS over shared")
        self.assertAlmostEqual(links.ours, 0.25)
        self.assertAlmostEqual(links.paper, 0.133, places=3)
        self.assertAlmostEqual(row(fig10_12_traffic, report, "emulated, upserts: lines over links per key, shared").ours, 0.8)

    def test_fig10_12_reads_events_and_refuses_those_that_are_not_counted(self):
        lines = ["# started", ""] + [f"{count},,{event},1000,100.00,," for count, event in zip((1000, 100, 50, 10), fig10_12_traffic.EVENTS)]
        self.assertEqual(fig10_12_traffic.read_events("\n".join(lines))["node-loads"], 50)
        for bad in [line.replace("50,", "<not supported>,", 1) for line in lines], lines[:-1]:
            with self.assertRaisesRegex(common.NotPossible, "node-load"):
                fig10_12_traffic.read_events("\n".join(bad))

    def test_fig10_12_with_hardware_events(self):
        lab = RecordedLab(answers(1))
        with mock.patch.object(fig10_12_traffic, "perf",
                               lambda lab, *command: dict(zip(fig10_12_traffic.EVENTS, (1000, 100, 50, 10)))):
            report = report_of(fig10_12_traffic, lab)
        self.assertEqual(common.median_of(report, fig10_12_traffic.MISS_RATIO, "eris"), 0.1)
        self.assertEqual(common.median_of(report, fig10_12_traffic.REMOTE_LOADS, "shared"), 0.2)
        self.assertAlmostEqual(row(fig10_12_traffic, report, "L3 miss ratio").ours, 1)
        xml.etree.ElementTree.fromstring(fig10_12_traffic.draw(report))

    def test_fig13_says_how_far_and_how_soon_the_throughput_comes_back(self):
        report = self.made(fig13_dynamic)
        self.assertAlmostEqual(row(fig13_dynamic, report, "one-shot: end of a phase", "maximum").ours, 1)
        self.assertAlmostEqual(row(fig13_dynamic, report, "off: end of a phase over the even load").ours, 0.5)
        self.assertAlmostEqual(row(fig13_dynamic, report, "one-shot: back").ours, 3, delta=0.1)
        self.assertEqual(row(fig13_dynamic, report, "MA8: cycles").ours, 2)
        self.assertIn("MA1 on real AEUs", common.outcome_line(report))
        self.assertAlmostEqual(row(fig13_dynamic, report, "one-shot over N processes, lookups/s: end").ours, 2)
        self.assertAlmostEqual(row(fig13_dynamic, report, "one-shot over N processes, lookups/s: even").ours, 1)
        self.assertIn("3 rounds in turns", fig13_dynamic.here(report))
        self.assertNotIn("not ", fig13_dynamic.gap(report))

    def test_what_was_measured_at_the_papers_size_is_a_section_of_its_own(self):
        report = self.made(fig8_index_size)
        text = experiments.text([fig8_index_size], {fig8_index_size.NAME: report}, {fig8_index_size.NAME: {**report, "seconds": 77}})
        size = " ".join(text.split("## At the paper's size\n")[1].split())
        self.assertIn("`./dev paper fig8_index_size --paper-size`, 77 s", size)
        self.assertIn("| the largest index, lookups: ERIS over shared | 4 |", size)
        self.assertNotIn("At the paper's size", experiments.text([fig8_index_size], {fig8_index_size.NAME: report}))

    def test_fig13_has_the_spread_of_rounds_in_turns(self):
        order = []

        def slower_each_round(*arguments):
            seed = int(arguments[arguments.index("--seed") + 1])
            order.append((seed, arguments[1] if "--algorithm" in arguments else "processes"))
            report = json.loads(shifting(*arguments))
            report["keys"] = [keys // seed for keys in report["keys"]]
            return json.dumps(report)

        report = self.made(fig13_dynamic, given={**answers(1), fig13_dynamic.SHIFTING: slower_each_round})
        self.assertEqual(order, [(1, "off"), (1, "one_shot"), (1, "processes"), (2, "one_shot"), (2, "processes"), (2, "off"),
                                 (3, "processes"), (3, "off"), (3, "one_shot")])
        line = report["timelines"]["off"]
        self.assertEqual((line["low"][0], line["mkeys_s"][0], line["high"][0]), (13.333, 20, 40))
        self.assertEqual(fig13_dynamic.draw(report).count("<polygon"), 6)

    def test_fig13_says_what_never_came_back_or_even(self):
        given, rounds = answers(1), itertools.count()

        def late(*arguments):
            report = json.loads(shifting(*arguments))
            # One round of one-shot never gets over its third change.
            if "one_shot" in arguments and next(rounds) == 1:
                report["keys"][1200:1601] = [200_000] * 401
            return json.dumps(report)

        def uneven(*arguments):
            phase = {"max_over_mean": [2] * 9, "bound": 1.0, "rows_moved": [1] * 8}
            return json.dumps({"phases": [phase, phase]}) if "ma(1)" in arguments else stepped(*arguments)

        report = self.made(fig13_dynamic, given={**given, fig13_dynamic.SHIFTING: late, fig13_dynamic.STEPPED: uneven})
        back, even = row(fig13_dynamic, report, "one-shot: back"), row(fig13_dynamic, report, "MA1: cycles")
        self.assertEqual((back.ours, back.instead), (None, "not back in 1 of 5 phases"))
        self.assertEqual((even.ours, even.instead), (None, "not even within 1000 cycles"))
        text = experiments.text([fig13_dynamic], {fig13_dynamic.NAME: report})
        for words in "| not back in 1 of 5 phases |", "| not even within 1000 cycles |":
            self.assertIn(words, text)
        for words in "in 1 of 5 phases, in one of its rounds", "not even within 1000 cycles of MA1":
            self.assertIn(words, fig13_dynamic.gap(report))

    def test_energy_is_time_and_wake_ups_and_joules_only_where_they_are_counted(self):
        report = self.made(energy)
        self.assertAlmostEqual(row(energy, report, "idle: the same over AEUs").ours, 0.005)
        self.assertAlmostEqual(row(energy, report, "half-loaded: wake-ups of AEUs per batch").ours, 2)
        self.assertIsNone(row(energy, report, "idle: watts").ours)
        self.assertIn("No joule was measured", energy.gap(report))
        self.assertIn("powercap", common.outcome_line(report))
        counting = json.loads(answers(1)[energy.PROGRAM])
        for watts, state in enumerate(counting["states"].values(), 10):
            state["watts"] = {"median": watts, "min": watts, "max": watts}
        report = self.made(energy, given={energy.PROGRAM: json.dumps({**counting, "packages": 2})})
        self.assertEqual(row(energy, report, "loaded: watts", "half").ours, 11)
        self.assertNotIn("No joule", energy.gap(report))

    def test_fig13_says_nothing_of_what_was_not_run(self):
        given = answers(1)
        del given[fig13_dynamic.SHIFTING]
        self.assertEqual(row(fig13_dynamic, self.made(fig13_dynamic, given=given), "one-shot: back").instead, "")


class PageLeapTest(unittest.TestCase):
    """The figures of the other paper, and the page that has them."""

    def reports(self, numa_nodes=1, given=None):
        lab = RecordedLab(answers(numa_nodes) if given is None else given)
        return {figure.NAME: report_of(figure, lab, numa_nodes) for figure in page_leap.FIGURES}

    def test_every_figure_from_recorded_answers(self):
        for numa_nodes in (1, 2):
            for figure in page_leap.FIGURES:
                with self.subTest(figure=figure.NAME, numa_nodes=numa_nodes):
                    report = report_of(figure, RecordedLab(answers(numa_nodes)), numa_nodes)
                    remote = figure is fig1_remote and numa_nodes == 1
                    self.assertEqual(report["outcome"], common.NOT_POSSIBLE if remote else common.DONE, report["reason"])
                    if remote:
                        continue
                    json.dumps(report)
                    xml.etree.ElementTree.fromstring(figure.draw(report))
                    self.assertTrue(figure.compare(report))

    def test_the_page_says_what_one_numa_node_cannot_show(self):
        page = page_leap.text("", self.reports())
        self.assertIn("**Here.** Not possible: one NumaNode, so there is no remote memory.", page)
        for what in leap_runs.NO_MOVE_PAGES, leap_runs.NO_BALANCING:
            self.assertIn(what["why"], " ".join(page.split()))
        self.assertNotIn(leap_runs.NO_BALANCING["why"], " ".join(page_leap.text("", self.reports(2)).split()))

    def test_the_text_around_the_generated_part_stays(self):
        reports = self.reports()
        first = page_leap.text("# Mine\n\nBy hand.\n", reports)
        self.assertTrue(first.startswith("# Mine\n\nBy hand.\n\n" + page_leap.BEGIN))
        again = page_leap.text(first + "\nBehind it.\n", reports)
        self.assertEqual(again, first + "\nBehind it.\n")
        self.assertEqual(again.count(page_leap.BEGIN), 1)

    def test_figures_divide_as_the_paper_does(self):
        reports = self.reports()
        self.assertAlmostEqual(row(fig2_copies, reports[fig2_copies.NAME], "small pages", "fresh").ours, 1.5)
        at_optimum = row(fig4_quiet, reports[fig4_quiet.NAME], "huge pages", "16 MiB: hold")
        self.assertEqual((at_optimum.ours, at_optimum.paper), (2, 1))
        table = reports[table2_overhead.NAME]
        memory = row(table2_overhead, table, "small pages, 16 MiB: retry, memory")
        self.assertAlmostEqual(memory.ours, 50)
        self.assertEqual(memory.paper, 52.5)
        self.assertAlmostEqual(row(table2_overhead, table, "small pages, 16 MiB: retry, time").ours, 100 * (2 / 1.5 - 1))
        self.assertAlmostEqual(row(fig6_throughput, reports[fig6_throughput.NAME], "6 M writes/s", "retry").ours, 1)
        self.assertAlmostEqual(row(fig8_queries, reports[fig8_queries.NAME], "query 6, written", "hold").ours, 330 / 300)

    def test_a_flat_out_writer_is_compared_with_itself_alone(self):
        report = report_of(fig5_small_pages, RecordedLab(answers(1)))
        line = next(line for line in fig5_small_pages.details(report) if line.startswith("| as fast as it can | 16 MiB | hold |"))
        self.assertIn("| 75 |", line)

    def test_pages_left_behind_are_told(self):
        def late(*arguments):
            found = json.loads(leap_lab(*arguments))
            if "retry" in arguments and "--flat-out" in arguments:
                found["rounds"][1].update(left_bytes=8192, ended="DEADLINE_EXCEEDED: the deadline has passed with 8192 bytes left")
            return json.dumps(found)

        report = report_of(fig5_small_pages, RecordedLab({leap_runs.PROGRAM: late}))
        self.assertIn("left behind by retry with areas of 4 KiB, writes as fast as it can (DEADLINE_EXCEEDED, OK)", fig5_small_pages.gap(report))
        self.assertIn("No page was left behind", fig5_small_pages.gap(report_of(fig5_small_pages, RecordedLab(answers(1)))))

    def test_a_lost_write_fails_the_figure(self):
        for program, figure in (leap_runs.PROGRAM, fig5_small_pages), (fig8_queries.PROGRAM, fig8_queries):
            given = answers(1)
            whole = given[program]
            report = report_of(figure, RecordedLab({program: lambda *words: whole(*words).replace('"lost": 0', '"lost": 2')}))  # noqa: B023
            self.assertEqual(report["outcome"], common.FAILED)
            self.assertIn("lost increments of 2 words", report["reason"])

    def test_the_paper_and_its_figures_are_chosen_by_words(self):
        self.assertEqual(run.chosen([])[1], list(run.FIGURES))
        paper, figures = run.chosen(["leap"])
        self.assertEqual((paper.document, figures), ("page_leap.md", list(page_leap.FIGURES)))
        self.assertEqual(run.chosen(["leap", "fig4", "table2"])[1], [fig4_quiet, table2_overhead])
        self.assertEqual(run.chosen(["fig1"])[1], [fig1_scaling])
        for wrong in (["leap", "fig13"], ["fig2"], ["fig1", "leap"]):
            with self.assertRaises(ValueError):
                run.chosen(wrong)

    def test_the_document_has_every_figure(self):
        page = (ROOT / "docs" / "lab" / "page_leap.md").read_text(encoding="utf-8")
        generated = page.split(page_leap.BEGIN)[1].split(page_leap.END)[0]
        for figure in page_leap.FIGURES:
            self.assertIn(f"](#{experiments.anchor(figure.TITLE)})", generated)
            section = generated.split(f"### {figure.TITLE}\n")[1].split("\n### ")[0]
            picture = ROOT / "docs" / "lab" / "figures" / f"paper_{figure.NAME}.svg"
            self.assertTrue(("**Here.** Not possible" in section) != (f"(figures/{picture.name})" in section), section)
            self.assertTrue("svg" not in section or picture.is_file())


class RunTest(unittest.TestCase):
    """The command itself, with stand-ins for programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def stand_in(self, program, script):
        path = self.folder / "build" / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def call(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(PAPER / "run.py"), str(self.folder / "build"), "--scale", "tiny", *arguments,
                               "--results", str(self.folder), "--docs", str(self.folder / "docs")], capture_output=True, text=True)

    def answering(self, program):
        self.stand_in(program, "cat <<'ANSWER'\n" + answers(1)[program] + "\nANSWER")

    def test_a_program_that_fails_is_named_and_the_others_run(self):
        self.stand_in("bench/paper/node_matrix", "echo no memory left >&2; exit 3")
        for program in ("bench/routing/raw_routing", "bench/routing/routed_keys"):
            self.answering(program)
        done = self.call("table2", "fig5")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"table2_nodes .* failed: bench/paper/node_matrix ended with 3: no memory left\n")
        self.assertRegex(done.stdout, r"fig5_buffer_size .* s  done\n")

    def test_a_program_that_prints_no_json_is_a_failure(self):
        self.stand_in("bench/paper/node_matrix", "echo hello")
        done = self.call("table2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("node_matrix printed no JSON: 'hello", done.stdout)

    def test_what_is_not_built_is_not_possible_and_no_failure(self):
        done = self.call("table2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not possible here: bench/paper/node_matrix is not built", done.stdout)
        self.assertIn("not assembled: no report yet of", done.stdout)
        self.assertFalse((self.folder / "docs" / "experiments.md").exists())

    def test_the_text_is_written_once_every_figure_has_a_report(self):
        done = self.call()
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / "docs" / "experiments.md").read_text(encoding="utf-8")
        for figure in run.FIGURES:
            self.assertIn(f"## {figure.TITLE}", text)
        self.assertIn("Scale: tiny.", text)

    def test_at_the_papers_size_the_text_has_the_figures_that_were_named(self):
        done = self.call("fig8", "--paper-size")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / "docs" / "experiments.md").read_text(encoding="utf-8")
        self.assertIn(f"## {fig8_index_size.TITLE}", text)
        self.assertNotIn(fig13_dynamic.TITLE, text)
        self.assertIn("Scale: paper-size.", text)

    def test_the_other_paper_has_a_page_of_its_own(self):
        done = self.call("leap")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / "docs" / "page_leap.md").read_text(encoding="utf-8")
        for figure in page_leap.FIGURES:
            self.assertIn(f"### {figure.TITLE}\n", text)
        self.assertFalse((self.folder / "docs" / "experiments.md").exists())

    def test_assembling_takes_saved_reports_and_measures_nothing(self):
        self.assertEqual(self.call("--assemble").returncode, 1)  # nothing there
        self.answering("bench/paper/node_matrix")
        self.assertEqual(self.call().returncode, 0)
        (self.folder / "build" / "bench" / "paper" / "node_matrix").unlink()
        (self.folder / "docs" / "experiments.md").unlink()
        self.assertEqual(self.call("--assemble").returncode, 0)
        self.assertIn("paper_table2_nodes.svg", (self.folder / "docs" / "experiments.md").read_text(encoding="utf-8"))

    def test_an_unknown_figure_is_refused_by_name(self):
        done = self.call("fig99")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'fig99'", done.stderr)

    def test_a_figure_alone_prints_its_report(self):
        self.answering("bench/paper/node_matrix")
        done = subprocess.run([sys.executable, "-B", str(PAPER / "table2_nodes.py"), str(self.folder / "build"), "--json", "-",
                               "--scale", "tiny", "--results", str(self.folder), "--docs", str(self.folder)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        for key in ("figure", "machine", "commit", "seed", "protocol", "points"):
            self.assertIn(key, report)


class DocumentTest(unittest.TestCase):
    def test_the_document_names_every_figure_and_has_its_picture(self):
        text = (ROOT / "docs" / "lab" / "experiments.md").read_text(encoding="utf-8")
        for figure in run.FIGURES:
            self.assertIn(f"](#{experiments.anchor(figure.TITLE)})", text)
            section = text.split(f"## {figure.TITLE}\n")[1].split("\n## ")[0]
            picture = ROOT / "docs" / "lab" / "figures" / f"paper_{figure.NAME}.svg"
            self.assertTrue(("**Here.** Not possible" in section) != (f"({picture.relative_to(ROOT / 'docs' / 'lab')})" in section), section)
            self.assertTrue("svg" not in section or picture.is_file())

    def test_dev_builds_what_the_figures_run(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            sys.argv = ["run.py", "build/release", "--programs"]
            run.main()
        self.assertIn("bench/paper/node_matrix", out.getvalue().split())


if __name__ == "__main__":
    unittest.main()
