"""Runs a checker of tools/ on a tree of the test's own."""
import pathlib
import subprocess
import sys
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


def write_tree(folder, files):
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run(tool, files, prepare=None):
    """Exit status and output of the checker on a tree with these files. `prepare`, called with the folder, adds to the
    tree and says which arguments come with it."""
    with tempfile.TemporaryDirectory() as folder:
        write_tree(folder, files)
        more = prepare(folder) if prepare else []
        done = subprocess.run([sys.executable, TOOLS / tool, "--root", folder, *more], capture_output=True, text=True)
        return done.returncode, done.stdout
