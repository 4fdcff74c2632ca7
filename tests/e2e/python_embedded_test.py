"""The engine in a Python process: its wheel is built and installed beside the client's in a fresh environment, its types are right, and
eris.open() does what eris.connect() does (python_embedded_calls.py).
"""
import pathlib
import subprocess
import tempfile

import harness
import python_client_test
from python_client_test import HERE, ROOT, run


def build_wheel(build, python):
    """What is compiled stays for the next run. Skips where the tools cannot be had."""
    folder = pathlib.Path(build).resolve() / "tests" / "e2e" / "python_embedded_wheel" / "engine"
    folder.mkdir(exist_ok=True)
    pip = python.parent / "pip"
    tools = subprocess.run([pip, "download", "--quiet", "--no-deps", "--dest", folder / "tools", "scikit-build-core==1.1.2", "nanobind==3.1.0"],
                           capture_output=True, text=True)
    if tools.returncode != 0:
        harness.skip("scikit-build-core, nanobind (PyPI)", tools.stderr[-2000:])
    for old in folder.glob("*.whl"):
        old.unlink()
    run(pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, f"--config-settings=build-dir={pathlib.Path(build).resolve() / 'python_embedded'}",
        ROOT / "clients" / "python" / "embedded")
    (wheel,) = folder.glob("*.whl")
    return wheel


def main():
    args = harness.parse_args()
    python, _ = python_client_test.make_environment(args.build, "python_embedded_wheel")
    refused = subprocess.run([python, "-c", "import eris; eris.open()"], capture_output=True, text=True)
    harness.check("ImportError" in refused.stderr and "eris-engine-embedded" in refused.stderr, f"without the engine: {refused.stderr}")
    run(python.parent / "pip", "install", "--quiet", "--no-deps", build_wheel(args.build, python))
    run(python.parent / "pip", "check")
    with tempfile.TemporaryDirectory() as folder:
        user = pathlib.Path(folder, "user.py")
        user.write_text("import eris\nimport eris_embedded\nwith eris.open('1GiB') as db:\n"
                        "    one: int | str | bytes | None = db.index('a').get(1)\n")
        run(python, "-m", "mypy", "--strict", user, cwd=folder)
    print(run(python, "-B", HERE / "python_embedded_calls.py"), flush=True)


if __name__ == "__main__":
    main()
