"""Runs in the environment of python_embedded_test.py: the engine in this process does what a server does (python_client_calls.py), and what
only eris.open() has: arrays that are not copied, and an engine that lives as long as they do.
"""
import ctypes
import gc
import statistics
import subprocess
import sys
import threading

import eris
import harness
import numpy as np
import pyarrow
import python_client_calls
import python_client_dataset
import python_client_tables
from harness import refused
from python_client_calls import SEED, run_on_databases

ROWS = 400_000
CHUNK_BYTES = 1 << 20  # in which the engine puts rows of a table's scan
SMALLEST = 4096  # a copy of any column of the batches below has more bytes


def filled(db, name="rows"):
    rows = db.create_index(name, expect=(0, ROWS))
    keys = np.arange(ROWS, dtype=np.uint64)
    rows.put(np.random.default_rng(SEED).permutation(keys), 7)
    rows.put(keys, keys * np.uint64(3))
    return rows


def check_scans_are_not_copied(db):
    """The arrays of a scan are the engine's buffers, which go round; a reader that keeps them all gets copies."""
    rows = filled(db)
    places, scan = set(), rows.scan()
    while (batch := next(scan, None)) is not None:
        places.add(batch[0].__array_interface__["data"][0])
        batch = None
    kept = list(rows.scan())
    harness.check(len(kept) > 6, f"{len(kept)} batches")
    harness.check(len(places) <= 5, f"{len(kept)} batches in {len(places)} places")
    harness.check(bool((np.concatenate([keys for keys, _ in kept]) == np.arange(ROWS, dtype=np.uint64)).all()), "keys that were kept")
    harness.check(all(bool((values == keys * np.uint64(3)).all()) for keys, values in kept), "values that were kept")
    harness.check(not kept[0][0].flags.writeable, "the arrays can be written")
    db.drop("rows")


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
                                                     "keepcost")]


def allocated():
    """Bytes that C and C++ have allocated in this process, and pyarrow in its own pool."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Mallinfo
    now = mallinfo()
    return now.uordblks + now.hblkhd + pyarrow.total_allocated_bytes()


def look_at_scan(table, columns, keep):
    """In how many places batches begin, the most bytes from a batch's first buffer to the end of its last, and how many were allocated to give
    a batch (the median: other threads allocate, too)."""
    places, spans, grown, kept, batches = set(), [], [], [], iter(table.scan(columns))
    while True:
        before = allocated()
        if (batch := next(batches, None)) is None:
            return len(places), max(spans), statistics.median(grown)
        grown.append(allocated() - before)
        buffers = [buffer for column in batch.columns for buffer in column.buffers() if buffer]
        begin = min(buffer.address for buffer in buffers)
        places.add(begin)
        spans.append(max(buffer.address + buffer.size for buffer in buffers) - begin)
        kept += [batch] if keep else []
        batch = buffers = None


def check_tables_are_not_copied(db):
    """The buffers of a batch are in one chunk of the engine, of which there are few, and no memory is allocated in which a copy of one of them
    would be. The test sees the copies that a reader gets who keeps all
    batches."""
    numbers = np.arange(5 * ROWS)
    given = pyarrow.table({"id": numbers, "small": pyarrow.array(numbers % 1000, pyarrow.int32()),
                           "ratio": pyarrow.array(numbers / 8, mask=numbers % 7 == 0), "note": pyarrow.array(numbers).cast(pyarrow.string())})
    table = db.create_table("rows", given, key="id")
    table.write(given)
    for columns in (given.column_names, ["ratio"], ["note"]):
        look_at_scan(table, columns, False)  # the engine makes its chunks
        places, span, grown = look_at_scan(table, columns, False)
        print(f"a scan of {columns}: {places} places, buffers of a batch within {span} bytes, {grown:.0f} bytes allocated for a batch", flush=True)
        harness.check(places <= 8 and span <= CHUNK_BYTES and grown < SMALLEST, f"{columns}: {places} places, {span} bytes, {grown} allocated")
        harness.check(look_at_scan(table, columns, True)[2] > 16 * SMALLEST, "copies that a reader gets who keeps all batches are not seen")
    db.drop("rows")


def check_arrays_outlive_the_database():
    db = eris.open("512MiB", aeus=2)
    rows = filled(db)
    scan = rows.scan()
    keys, values = next(scan)
    lookup, found = rows.get(np.arange(ROWS))
    db.close()
    refused(eris.FailedPrecondition, lambda: rows.get(1), "closed")
    refused(eris.FailedPrecondition, lambda: db.list(), "closed")
    rest = sum(len(more) for more, _ in scan)  # the scan was under way
    harness.check_equal(len(keys) + rest, ROWS, "rows of a scan that began before")
    harness.check(bool((values == keys * np.uint64(3)).all()) and bool(found.all()) and int(lookup[-1]) == 3 * (ROWS - 1), "arrays")


def check_memory_comes_back():
    """A hundred engines, one after the other, with all kinds of things left over."""
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    before = 0
    for number in range(12):
        with eris.open("256MiB", aeus=2) as db:
            filled(db)
            snapshot = db.snapshot()
            snapshot.__enter__()
            next(db.index("rows").scan())
        del db, snapshot
        gc.collect()
        if number == 3:
            before = resident()
    harness.check(resident() < before + (48 << 20), f"{resident() - before} bytes more after eight engines")


def check_threads(db):
    rows = db.create_index("threads")
    errors = []

    def work(number):
        try:
            keys = np.arange(number, ROWS, 8, dtype=np.uint64)
            for _ in range(5):
                rows.add(keys, 1)
            values, found = rows.get(keys)
            harness.check(bool(found.all()) and bool((values == 5).all()), "counters")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    harness.check_equal(errors, [], "errors of threads")
    db.drop("threads")


def check_memory_limits():
    """What the texts mean, and that this is what the engine gets."""
    for text, size in (("4GiB", 4 << 30), ("1.5GiB", 3 << 29), ("512MiB", 512 << 20), ("512 MiB", 512 << 20), ("64Ki", 65536), ("2TiB", 2 << 40),
                       ("4096", 4096), ("4096B", 4096), ("0.3B", 1), ("0", 0), (4096, 4096), (2**64 - 1, 2**64 - 1), ("9007199254740993", 2**53 + 1)):
        harness.check_equal(eris.embedded._bytes_of(text), size, f"bytes of {text!r}")
    refused(eris.ResourceExhausted, lambda: eris.open("1.5KiB", aeus=1), " 1536 bytes")
    for bad in ("a lot", "", "4GB", "4gib", "-1", "1e9", ".5GiB", "4GiB ", "4  GiB", "16777216TiB", -1, 2**64, 1.5, float("nan"), True, None):
        refused(eris.InvalidArgument, lambda: eris.open(bad), "memory_limit is a number of bytes below 2**64, or a text like '4GiB'", f"got {bad!r}")
    refused(eris.InvalidArgument, lambda: eris.open(10**5000), "got one of 16610 bits")  # repr() refuses it
    refused(eris.InvalidArgument, lambda: eris.open("9" * 5000), "got '999")


def check_refusals():
    with eris.open("64MiB", aeus=2) as db:
        rows = db.create_index("full", value="bytes")
        keys = np.arange(1000)
        error = refused(eris.ResourceExhausted, lambda: rows.put(keys, [bytes(100_000)] * 1000), "rows were written")
        harness.check_equal(rows.count(), error.rows_written, "rows that were written")
        db.drop("full")
        rows = db.create_index("full")
        rows.put([1], [1])
        harness.check_equal(rows.get(1), 1, "after the refusal")


def check_a_fork_and_an_end():
    """A forked process is told; a program that leaves its database open ends."""
    program = """
import os, eris
db = eris.open("64MiB", aeus=2)
rows = db.create_index("a")
rows.put([1], [2])
if os.fork() == 0:
    try:
        rows.get(1)
    except eris.FailedPrecondition:
        os._exit(7)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.wait()[1]), rows.get(1))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    harness.check_equal((done.stdout, done.returncode, done.stderr), ("7 2\n", 0, ""), "a fork and an end")


def main():
    print(f"seed {SEED}", flush=True)
    for suite in python_client_calls, python_client_tables, python_client_dataset:
        run_on_databases(vars(suite), {"embedded": lambda: eris.open("512MiB", aeus=2),
                                       "embedded, four NumaNodes": lambda: eris.open("512MiB", topology="numa:4 core:1 pu:1")})
    with eris.open("512MiB", aeus=2) as db:
        check_scans_are_not_copied(db)
        check_tables_are_not_copied(db)
        check_threads(db)
    check_arrays_outlive_the_database()
    check_memory_comes_back()
    check_memory_limits()
    check_refusals()
    check_a_fork_and_an_end()
    print("embedded: ok", pyarrow.__version__)


if __name__ == "__main__":
    main()
