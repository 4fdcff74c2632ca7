"""The interface in proto/eris keeps buf's rules but for the exceptions that proto/buf.yaml names, and what proto/released.binpb has still works:
no message, field, number, type, method or service of it is gone. Changes planted in copies are found.

After a release: python3 -B tests/house/api_test.py --build build/dev --release writes proto/released.binpb anew.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
import harness  # noqa: E402

PACKAGES = ["buf-bin==1.75.0"]
PROTO = ROOT / "proto"
RELEASED = PROTO / "released.binpb"
# file, what is there, what a careless change makes of it, the verb that refuses it, a word of the refusal.
PLANTED = (
    ("data.proto", "message LookupRequest {", "message LookUpRequest {", "breaking", "LookupRequest"),
    ("data.proto", "rpc Lookup(LookupRequest) returns (LookupResponse);", "", "breaking", 'RPC "Lookup"'),
    ("catalog.proto", "string name = 1;", "bytes name = 1;", "breaking", "type"),
    ("catalog.proto", "string name = 1;", "string name = 99;", "breaking", '"1"'),
    ("catalog.proto", "string name = 1;", "string Name = 1;", "lint", "lower_snake_case"),
)


def buf(tool, folder, verb, *more):
    """(exit code, what it has said) of buf for the interface in `folder`."""
    done = subprocess.run([tool, verb, *more], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def check_tree(tool, folder):
    """What buf finds in the interface, or an empty text."""
    done = [buf(tool, folder, *words) for words in (("lint",), ("breaking", "--against", str(RELEASED)))]
    return "".join(f"exit code {status}: {output}" for status, output in done if status or output)


def planted(tool, name, before, after, verb, said):
    """A copy of the interface with a change is refused."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "proto"
        shutil.copytree(PROTO, copy)
        file = copy / "eris/v1" / name
        text = file.read_text()
        harness.check(before in text, f"{name} no longer has '{before}'")
        file.write_text(text.replace(before, after))
        if "message " in before:  # used under its old name elsewhere
            file.write_text(text.replace(before.split()[1], after.split()[1]))
        more = ("--against", str(RELEASED)) if verb == "breaking" else ()
        status, output = buf(tool, copy, verb, *more)
        harness.check(status != 0 and said in output, f"{name}: '{before}' as '{after}': {verb} says {output!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--release", action="store_true", help="take today's interface as the released one")
    args = parser.parse_args()
    python = harness.make_python(args.build, "buf", PACKAGES)
    tool = os.path.join(os.path.dirname(python), "buf")
    if args.release:
        status, output = buf(tool, PROTO, "build", "--exclude-source-info", "-o", str(RELEASED))
        harness.check(status == 0, output)
        return
    found = check_tree(tool, PROTO)
    harness.check(not found, f"buf finds:\n{found}")
    for change in PLANTED:
        planted(tool, *change)
    print(f"api: {len(PLANTED)} planted changes found")


if __name__ == "__main__":
    main()
