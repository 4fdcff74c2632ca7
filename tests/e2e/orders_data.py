"""Makes the TPC-H table orders at scale factor 1 in the build directory, once.

tpchgen-cli comes from PyPI into a virtual environment of the tests' own, at a pinned version.
"""
import os
import subprocess
import sys

import harness

TPCHGEN = "tpchgen-cli==4.0.0"
ROWS = 1_500_000


def path(build):
    return os.path.join(os.path.abspath(build), "tests", "e2e", "data", "orders.tbl")


def run(command, package):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        harness.skip(package, done.stdout[-2000:])


def main():
    args = harness.parse_args()
    target = path(args.build)
    if os.path.exists(target):
        print(f"{target} is there")
        return
    directory = os.path.dirname(target)
    os.makedirs(directory, exist_ok=True)
    venv = os.path.join(os.path.dirname(directory), "venv")
    run([sys.executable, "-m", "venv", "--clear", venv], "python3-venv")
    run([os.path.join(venv, "bin", "pip"), "install", "--quiet", TPCHGEN], f"{TPCHGEN} (PyPI)")
    part = os.path.join(directory, "part")
    subprocess.run([os.path.join(venv, "bin", "tpchgen-cli"), "-s", "1", "--tables", "orders",
                    "--output-dir", part, "--overwrite", "--quiet"], check=True)
    with open(os.path.join(part, "orders.tbl"), "rb") as file:
        rows = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    harness.check_equal(rows, ROWS, "rows of orders at scale factor 1")
    # Renamed at the end: a file that is there is whole.
    os.replace(os.path.join(part, "orders.tbl"), target)
    print(f"{target}: {rows} rows")


if __name__ == "__main__":
    main()
