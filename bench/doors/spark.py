#!/usr/bin/env python3
"""Spark reads all of TPC-H's lineitem: a job over eris.spark, compared with the same job over a Python data source that has its rows in memory.

    bench/doors/spark.py <builddir> [--scale 0.1] [--rounds 9] [--python PYTHON] [--json out.json] [--tiny]

Both sources give Spark the same Arrow batches of all columns, in the same two partitions and with the same schema. The peer's are files in
/dev/shm that each Python worker maps, so it has no network, no copy, and nothing to make (spark_side.py). A job counts the rows and sums a
column; it is timed from `spark.read` to the answer, planning included. Server, Spark and its workers share two cores; tpchgen-cli
writes the table. Rounds are in turns, after three that are not counted (Java compiles what it runs); a figure is the median, with minimum and
maximum. Answers are checked.

PySpark comes from PyPI into a virtual environment under the build directory (requirements_spark.txt, 480 MB), or is PYTHON's, which then has
the client, too. --tiny: only checks that it runs; the figures mean nothing. Exit code 77: something cannot be installed.
"""
import argparse
import decimal
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from run import CANNOT_BE_HAD, HERE, LabProcess, Peer, cpus, environment, figures, in_turns, machine, pinned, wheels  # noqa: E402


def load(options, its_python, work, server):
    """Fills the table. The answer of a job, by the text of the table."""
    subprocess.run([os.path.join(os.path.dirname(its_python), "tpchgen-cli"), "-s", options.scale, "--tables", "lineitem", "--output-dir", work,
                    "--quiet"], check=True, stdout=subprocess.DEVNULL)
    table = os.path.join(work, "lineitem.tbl")
    subprocess.run([f"{options.build}/clients/cli/eris", "import", "lineitem", table, "--schema", "tpch:lineitem", "--server", server], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(table, encoding="utf-8") as file:
        quantities = [int(line.split("|")[4]) for line in file]
    return len(quantities), decimal.Decimal(sum(quantities))


def measured(options, its_python):
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory(dir=shared) as kept:
        both = ",".join(map(str, cpus()))
        eris = Peer(pinned(both, [f"{options.build}/clients/cli/eris", "serve", "--aeus", "2", "--listen", "127.0.0.1:0", "--port-file", f"{work}/port"]),
                    port_file=f"{work}/port")
        try:
            server = f"127.0.0.1:{eris.port}"
            expected = load(options, its_python, work, server)
            spark = LabProcess(pinned(both, [its_python, "-B", str(HERE / "spark_side.py"), server, kept]), {}, "spark_side.py")
            try:
                read = spark.ask("keep")

                def side(name):
                    def call():
                        answer = spark.ask(f"read {name}")
                        if (answer["rows"], decimal.Decimal(answer["quantity"])) != expected:
                            sys.exit(f"spark.py: read {name}: wrong answer: {answer}, expected {expected}")
                        return answer
                    return call
                sides = {name: side(name) for name in ("eris", "memory")}
                first = in_turns(1 if options.tiny else 3, sides)
                if first["eris"][0]["schema"] != first["memory"][0]["schema"]:
                    sys.exit("spark.py: the sources have other schemas")
                found = in_turns(options.rounds, sides)
            finally:
                spark.stop()
        finally:
            eris.stop()
    return {"scale": options.scale, "rows": expected[0], **read, "partitions": {name: answers[0]["partitions"] for name, answers in found.items()},
            "seconds": figures(found, "seconds")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--scale")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--python")
    parser.add_argument("--json", default="-")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    options.scale = options.scale or ("0.01" if options.tiny else "0.1")
    options.rounds = options.rounds or (1 if options.tiny else 9)
    if shutil.which("java") is None:
        print("SKIPPED: openjdk-17-jre-headless cannot be installed: there is no java")
        sys.exit(CANNOT_BE_HAD)
    its_python = options.python
    if its_python is None:
        its_python = environment(options.build, str(HERE / "requirements_spark.txt"), "spark-peers")
        wheels(options.build, its_python, False)
    report = json.dumps({**machine(), "rounds": options.rounds, **measured(options, its_python)}, indent=1)
    if options.json == "-":
        print(report)
    else:
        pathlib.Path(options.json).write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
