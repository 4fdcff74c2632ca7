"""Reads run.py's report, for its table, the figure and the goals.

report["cells"][cell]["sides"][side][measurement][field] is a list with a value for each round, None if the side was
not measured in it.
"""
import os
import statistics
import sys

# Sides that take batches of keys; the others take them one by one.
BATCHED = ("eris", "eris_tree", "eris_hash", "eris_shared", "radix")

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lab_process import spread  # noqa: E402


def values_of(report, cell, side, name, field):
    """Values by rounds; [] if it was not measured."""
    return report["cells"].get(cell, {"sides": {}})["sides"].get(side, {}).get(name, {}).get(field, [])


def figure(report, cell, side, name, field="mkeys_s"):
    """Median, minimum and maximum; None if it was not measured."""
    values = [value for value in values_of(report, cell, side, name, field) if value is not None]
    return spread(values) if values else None


def ratio(report, cell, one, other):
    """For two (side, name, field): the median of the rounds' ratios; or the ratio of the medians if no round has
    both.
    """
    pairs = [(mine, theirs) for mine, theirs in zip(values_of(report, cell, *one), values_of(report, cell, *other))
             if mine is not None and theirs is not None]
    if pairs:
        return statistics.median(mine / theirs for mine, theirs in pairs)
    mine, theirs = figure(report, cell, *one), figure(report, cell, *other)
    return mine["median"] / theirs["median"] if mine and theirs else None


def per_key(report, cell, side, field, name="fill"):
    found = figure(report, cell, side, name, field)
    return found["median"] / report["cells"][cell]["keys"] if found else None


def huge_share(report, cell, side):
    huge, all_of_it = (figure(report, cell, side, "fill", field) for field in ("huge", "anonymous"))
    return huge["median"] / max(1, all_of_it["median"]) if huge else None
