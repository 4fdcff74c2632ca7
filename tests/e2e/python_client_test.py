"""The Python client: its wheel is built and installed in a fresh environment, mypy finds nothing in it, its calls do what a dict does
(python_client_calls.py), refused rows are sent again (python_client_refusals.py), tables go in from frames and come out equal
(python_client_tables.py), also as datasets (python_client_dataset.py), a map of two servers is one database (python_client_servers.py), objects
are dataframes of Dask (python_client_dask.py), a filter on one AEU's keys is read by that AEU alone (python_client_one_share.py), TLS and tokens
reach the server (python_client_security.py), and the programs of its guides print what they say.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLIENT = ROOT / "clients" / "python"
HERE = pathlib.Path(__file__).resolve().parent
# Pinned, so that a run of today is a run of tomorrow. The client itself takes newer ones.
PACKAGES = ["grpcio==1.85.1", "protobuf==7.36.2", "numpy==2.4.6", "pyarrow==26.0.1"]
POLARS = "polars==2.1.0"
FRAMES = [POLARS, "pandas==3.1.1", "duckdb==2.0.0", "dask[dataframe]==2026.8.0"]
TOOLS = ["hatchling", "grpcio-tools==1.85.1"]  # build the client's wheel
EMBEDDED_TOOLS = ["scikit-build-core==1.1.2", "nanobind==3.1.0"]  # and that of the engine
CHECKERS = ["mypy==2.4.1", "types-grpcio==1.85.0.20261028", "types-protobuf==7.35.1.20260906"]
# In programs of the guide that need environments of their own: python_embedded_test.py, spark_calls.py, sql_test.py
OTHERS = ("eris.open(", "eris.spark", "= db.sql(")


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    harness.check(done.returncode == 0, f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def link_tree(folder):
    """The project's tree as links, so that what `./dev` builds there is in a folder of its own."""
    for its in ROOT.iterdir():
        link = pathlib.Path(folder, its.name)
        if its.name not in ("build", ".git") and not link.is_symlink():
            link.symlink_to(its)


def wheel_environment(build, name):
    """That of `./dev wheel embedded`: the engine is compiled as in `build`, in a tree `name` beside it, so that the compiler cache has its objects
    already. What is compiled stays for the next run."""
    cache = dict(re.findall(r"^(\w+):\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M))
    same = ";".join(f"{each}={cache[each]}" for each in ("CMAKE_CXX_COMPILER", "CMAKE_CXX_FLAGS_RELWITHDEBINFO", "ERIS_DCHECKS"))
    like = {"BUILD_DIR": build.parent / name, "CMAKE_SOURCE_DIR": ROOT, "CMAKE_BUILD_TYPE": cache["CMAKE_BUILD_TYPE"], "CMAKE_DEFINE": same}
    return {f"SKBUILD_{each}": str(value) for each, value in like.items()}


def dev_wheel(build, tree, *what):
    """The folder of the wheels that `./dev wheel` builds."""
    tree.mkdir(exist_ok=True)
    link_tree(tree)
    said = run(tree / "dev", "wheel", *what, env=os.environ | wheel_environment(build, "python_embedded"))
    wheels = tree / "build" / "wheel"
    harness.check_equal(said.splitlines()[-1].split(), [f"build/wheel/{its.name}" for its in sorted(wheels.glob("*.whl"))], "what ./dev wheel says")
    return wheels


def make_environment(build, name="python_client_wheel", packages=(*PACKAGES, *FRAMES, *CHECKERS), embedded=False):
    """An environment with packages and the client's wheel, and the wheel; beside it lies that of the engine, if wanted. Skips where packages
    cannot be had."""
    build = pathlib.Path(build).resolve()
    folder = build / "tests" / "e2e" / name
    pip, tools = folder / "venv" / "bin" / "pip", [*TOOLS, *(EMBEDDED_TOOLS if embedded else ())]
    for package, command in (("python3-venv", [sys.executable, "-m", "venv", "--clear", folder / "venv"]),
                             (f"{', '.join(packages)} (PyPI)", [pip, "install", "--quiet", *packages]),
                             # Builds nothing: only whether what builds a wheel can be had.
                             (f"{', '.join(tools)} (PyPI)", [pip, "download", "--quiet", "--no-deps", "--dest", folder / "tools", *tools])):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            harness.skip(package, done.stderr[-2000:])
    (wheel,) = dev_wheel(build, folder / "tree", *(("embedded",) if embedded else ())).glob("eris_engine-*.whl")
    run(pip, "install", "--quiet", f"{wheel}[polars]")  # its own dependencies must allow the pinned ones
    run(pip, "check")
    return folder / "venv" / "bin" / "python", wheel


def check_wheel(programs, python, wheel):
    """Nothing that is generated is left in the tree, types are right, and the version is the server's."""
    left = subprocess.run(["git", "-C", ROOT, "status", "--porcelain", "--ignored", "clients/python"], capture_output=True, text=True)
    if left.returncode == 0:
        harness.check("pb2" not in left.stdout, f"generated files in the tree:\n{left.stdout}")
    version = wheel.name.split("-")[1]
    harness.check(f" {version} " in programs.run("--version", code=0).stdout, f"the version of the wheel, {version}, is not the server's")
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "zipfile", "-e", wheel, folder)
        print("mypy --strict of the client:", run(python, "-m", "mypy", "--strict", "-p", "eris", cwd=folder), flush=True)
        user = pathlib.Path(folder, "user.py")
        user.write_text(USER)
        run(python, "-m", "mypy", "--strict", user, cwd=tempfile.gettempdir())
        user.write_text(USER.replace("orders.get(1)", "orders.get('1')"))
        done = subprocess.run([python, "-m", "mypy", "--strict", user], capture_output=True, text=True, cwd=tempfile.gettempdir())
        harness.check(done.returncode == 1 and "arg-type" in done.stdout, f"a wrong key: {done.stdout}")


# What mypy must understand.
USER = """
import numpy as np
import eris

with eris.connect() as db:
    orders = db.index("orders")
    one: int | str | bytes | None = orders.get(1)
    values, found = orders.get(np.arange(3))
    there: int = int(found.sum())
    orders.put([1, 2], [3, 4])
    total: int = orders.add(7, 1)
    for keys, values in orders.scan(1, 5):
        print(len(keys), values)
    table = db.create_table("rows", {"id": [1], "tax": [0.5]}, key=["id"], nullable=False)
    written: int = table.write({"id": [1], "tax": [0.5]})
    for batch in table.scan(["id"], filter="tax > 0", limit=5):
        print(batch.num_rows, table.scan().numpy()["id"], table.count("tax > 0"))

async def read() -> int | str | bytes | None:
    async with eris.aio.connect() as db:
        rows: int = await db.table("rows").count()
        frame = await db.table("rows").scan(filter="tax > 0").polars()
        print(rows, frame)
        return await db.index("orders").get(42)
"""


def printed(program):
    """What a Python program says that it prints: the comments behind its prints."""
    return re.findall(r"^ *print\(.*\)  # (.*)$", program, re.M)


def guide_programs(page, needs=None):
    """The programs of a page of the guide that need a client alone, or also the one of OTHERS that is named."""
    with open(ROOT / "docs" / "guide" / page) as file:
        programs = re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)
    return [program for program in programs if next((its for its in OTHERS if its in program), None) == needs]


def check_guide(programs, python, page, load):
    """The programs of a page run one after the other, each against the same server, and print what their comments say."""
    blocks = guide_programs(page)
    harness.check(len(blocks) >= 3, f"programs of {page}")
    with harness.Server(programs, "--aeus", "2") as server:
        load(server)
        for number, block in enumerate(blocks):
            done = run(python, "-c", block.replace("127.0.0.1:7411", server.address), cwd=server.directory.name)
            harness.check_equal(done.splitlines(), printed(block), f"output of program {number} of {page}")


def load_lineitem(server):
    path = os.path.join(server.directory.name, "lineitem.tbl")
    server.eris("generate", "lineitem", path)
    server.eris("import", "lineitem", path, "--schema", "tpch:lineitem")


def main():
    args = harness.parse_args()
    programs = harness.Programs(args.build)
    python, wheel = make_environment(args.build)
    check_wheel(programs, python, wheel)
    for suite in ("python_client_refusals.py", "python_client_calls.py", "python_client_tables.py", "python_client_dataset.py",
                  "python_client_servers.py", "python_client_dask.py", "python_client_one_share.py", "python_client_security.py"):
        subprocess.run([python, "-B", HERE / suite, "--build", args.build], check=True)
    check_guide(programs, python, "python.md", lambda server: None)
    check_guide(programs, python, "tools.md", load_lineitem)
    measured = run(python, "-B", ROOT / "bench" / "remote" / "python_client.py", args.build, "--seconds", "0.05", "--rounds", "1")
    harness.check(measured.count(" keys/s ") == 10, f"whether the measurement runs at all:\n{measured}")


if __name__ == "__main__":
    main()
