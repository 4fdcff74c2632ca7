"""The engine in a Python process: `./dev wheel embedded` builds its wheel and the client's, which are installed in a fresh environment, its
types are right, the guide's program prints what it says, and eris.open() does what eris.connect() does (python_embedded_calls.py).
"""
import pathlib
import subprocess
import tempfile

import harness
import python_client_test
from python_client_test import HERE, run


def main():
    args = harness.parse_args()
    python, client = python_client_test.make_environment(args.build, "python_embedded_wheel", embedded=True)
    refused = subprocess.run([python, "-c", "import eris; eris.open()"], capture_output=True, text=True)
    harness.check("ImportError" in refused.stderr and "eris-engine-embedded" in refused.stderr, f"without the engine: {refused.stderr}")
    (engine,) = client.parent.glob("eris_engine_embedded-*.whl")
    run(python.parent / "pip", "install", "--quiet", "--no-deps", engine)
    run(python.parent / "pip", "check")
    with tempfile.TemporaryDirectory() as folder:
        user = pathlib.Path(folder, "user.py")
        user.write_text("import eris\nimport eris_embedded\nwith eris.open('1GiB') as db:\n"
                        "    one: int | str | bytes | None = db.index('a').get(1)\n")
        run(python, "-m", "mypy", "--strict", user, cwd=folder)
    (program,) = python_client_test.guide_programs("python.md", "eris.open(")
    harness.check_equal(run(python, "-c", program).splitlines(), python_client_test.printed(program), "output of the guide's program")
    print(run(python, "-B", HERE / "python_embedded_calls.py"), flush=True)


if __name__ == "__main__":
    main()
