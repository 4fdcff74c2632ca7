"""The wheel with the server in bare systems: Debian 12, where `eris demo` and SQL run, and Debian 11, whose C library is older than the program's
and whose Python is too old for the client. Neither has a compiler or a library of ours.

Needs root and debootstrap.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import harness
import python_client_test
from demo_test import check_lines
from package_test import Root, run

# suite: whether its Python is new enough for the client
SUITES = {"bookworm": True, "bullseye": False}
SERVES = r"""
eris serve --listen 127.0.0.1:0 --port-file /tmp/port > /tmp/log 2>&1 &
for try in $(seq 300); do [ -s /tmp/port ] && break; sleep 0.1; done
export ERIS_SERVER=127.0.0.1:$(cat /tmp/port)
eris create a --expect 0:1000 && eris put a 7=49 && eris get a 7
eris get a 8; echo "a missing key: $?"
eris sql 'select count(*) as n from a'; echo "sql: $?"
kill $!; wait $!; echo "the server: $?"; cat /tmp/log
"""


def inside(folder, wheels, has_client):
    root = Root(folder)
    shutil.copytree(wheels, root.path("/wheels"), dirs_exist_ok=True)
    root.run("apt-get", "update", "-q")
    root.run("apt-get", "install", "-q", "-y", "--no-install-recommends", "python3-venv")
    root.run("python3", "-m", "venv", "/venv")
    both = '/wheels/eris_engine-*.whl "$(echo /wheels/eris_engine_server-*.whl)[demo]"'  # as docs/guide/first_hour.md says
    root.run("sh", "-c", f"/venv/bin/pip install --quiet {both if has_client else '/wheels/eris_engine_server-*.whl'}")
    said = root.run("sh", "-c", f"export PATH=/venv/bin:$PATH LC_ALL=C.UTF-8; {SERVES}")
    for text in ("  7     49", "a missing key: 1", f"sql: {0 if has_client else 1}", "the server: 0"):
        harness.check(text in said, f"{text!r} is not in {said}")
    root.run("/venv/bin/eris", "doctor", code=None)
    done = subprocess.run(["chroot", folder, "env", "LC_ALL=C.UTF-8", "HOME=/root", "/venv/bin/eris", "demo", "--scale", "0.01", "--seconds", "3"],
                          capture_output=True, text=True)
    print(done.stdout, done.stderr, flush=True)
    if has_client:
        check_lines(done.stdout)
    harness.check_equal(done.returncode, 0 if has_client else 1, "exit code of the demo")
    harness.check(has_client or "it needs Python 3.11, as the client eris-engine does, and this is 3.9." in done.stderr, done.stderr)


def main():
    if sys.argv[1:2] == ["--inside"]:
        del os.environ["ERIS_WHEEL_PROGRAM"]  # eris serve refuses variables that it does not know
        inside(sys.argv[2], sys.argv[3], sys.argv[4] == "True")
        return
    build = pathlib.Path(harness.parse_args().build).resolve()
    if not shutil.which("debootstrap"):
        harness.skip("debootstrap", "it is not there: ./dev deps deb")
    if os.geteuid() != 0:
        harness.skip("a root of its own", "this is not root")
    os.environ["ERIS_WHEEL_PROGRAM"] = str(build / "clients" / "cli" / "eris")
    with tempfile.TemporaryDirectory(prefix="eris-wheel.") as folder:
        folder = pathlib.Path(folder)
        wheels = python_client_test.dev_wheel(build, folder / "tree", "server")
        for suite, has_client in SUITES.items():
            root = folder / suite
            run(python_client_test.ROOT / "tools" / "fresh_root.sh", "-k", "-s", suite, "-d", root, "help")
            # Mounts and processes of its own: whatever happens, none is left over.
            subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B", __file__, "--inside", root,
                            wheels, str(has_client)], check=True)
            print(f"{suite}: ok", flush=True)
            run("rm", "-rf", "--one-file-system", root)


if __name__ == "__main__":
    main()
