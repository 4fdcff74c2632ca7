"""The Debian packages: lintian finds nothing; in a root of nothing but Debian's minbase they are installed, the service serves as its unit says,
an upgrade keeps the configuration and does not end the server, a C program is compiled against liberis-dev, and a purge leaves nothing.

No systemd runs in that root: this test is the service manager. It takes user, command and readiness from the unit, and systemd's own
systemd-analyze says whether the unit is right. Needs root, debootstrap and debhelper.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import harness

SOURCE = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(eris VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)
VERSIONS = (VERSION, f"{VERSION}+later")
CONFIG = "/etc/eris/eris.toml"
LISTEN = "unix:/run/eris/eris.sock"  # other tests on this machine may want the port
PROGRAM = r"""
#include <stdio.h>
#include <eris/eris.h>
int main(void) {
  eris_engine* engine = NULL;
  eris_error* error = NULL;
  if (eris_engine_open(NULL, &engine, &error) != ERIS_OK) {
    puts(eris_error_message(error));
    return 1;
  }
  printf("engine of %s\n", eris_version());
  return eris_engine_close(engine, NULL);
}
"""


def run(*command, code=0, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    harness.check(code is None or done.returncode == code,
                  f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


class Root:
    """A Debian in a folder, with the mounts that programs want. Everything mounted is this process's own (see main)."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for kind, name in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "run")):
            run("mount", "-t", kind, kind, self.folder / name)
        run("mount", "--rbind", "/dev", self.folder / "dev")
        (self.folder / "packages").mkdir(exist_ok=True)

    def path(self, name):
        return self.folder / name.lstrip("/")

    def run(self, *command, **more):
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", LC_ALL="C.UTF-8", PATH="/usr/sbin:/usr/bin:/sbin:/bin", ERIS_SERVER=LISTEN)
        return run("chroot", self.folder, *command, env=environment, **more)

    def install(self, packages, *options):
        for package in packages:
            shutil.copy(package, self.folder / "packages")
        self.run("apt-get", "install", "-q", "-y", "--no-install-recommends", *options, *(f"/packages/{package.name}" for package in packages))


def unit_of(root):
    """The unit's settings; the last line of each counts."""
    text = root.path("/lib/systemd/system/eris.service").read_text()
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.M))


class Service:
    """The server as the unit starts it."""

    def __init__(self, root, unit):
        self.root = root
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.settimeout(120)
        path = root.path("/run/notify")
        self.manager.bind(str(path))
        path.chmod(0o777)
        self.process = subprocess.Popen(
            [shutil.which("chroot"), f"--userspec={unit['User']}:{unit['Group']}", root.folder, *unit["ExecStart"].split()],
            env={"NOTIFY_SOCKET": "/run/notify", "PATH": "/usr/bin:/bin"})
        told = self.manager.recv(4096).decode()
        harness.check(told.startswith("READY=1\n"), told)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        told = self.manager.recv(4096).decode()
        harness.check(told.startswith("STOPPING=1\n"), told)
        harness.check_equal(self.process.wait(60), 0, "exit code of the service")


def check_unit(root):
    unit = unit_of(root)
    harness.check_equal(unit["Type"], "notify", "the unit's type")
    # What systemd does not try again is what the server says of a configuration that is refused.
    root.run("eris", "serve", "--config", "none", "--listen", "0.0.0.0:0", code=int(unit["RestartPreventExitStatus"]))
    harness.check_equal((unit["StartLimitIntervalSec"], unit["StartLimitBurst"]), ("2min", "5"), "the limit of starts")
    root.run("systemd-analyze", "verify", "--man=no", "/lib/systemd/system/eris.service")
    exposure = root.run("systemd-analyze", "security", "--offline=yes", "--no-pager", "/lib/systemd/system/eris.service", code=None)
    level = float(re.search(r"Overall exposure level for eris.service: ([\d.]+)", exposure).group(1))
    print(f"systemd-analyze security: exposure {level}", flush=True)
    harness.check(level < 3.0, exposure)
    return unit


def configure(root, key, value):
    """Takes the # away from an option of the package's file and sets it; the whole text."""
    file = root.path(CONFIG)
    text, changed = re.subn(rf"^#{key} = .*$", f"{key} = {value}", file.read_text(), count=1, flags=re.M)
    harness.check(changed == 1, f"{CONFIG} has no {key} behind a #")
    file.write_text(text)
    return text


def check_serves(root, unit):
    configure(root, "listen", f'"{LISTEN}"')
    folder = root.path(f"/run/{unit['RuntimeDirectory']}")
    folder.mkdir(mode=int(unit["RuntimeDirectoryMode"], 8))
    root.run("chown", f"{unit['User']}:{unit['Group']}", f"/run/{unit['RuntimeDirectory']}")
    service = Service(root, unit)
    root.run("eris", "create", "a", "--expect", "0:1000")
    root.run("eris", "put", "a", "7=49")
    harness.check("49" in root.run("eris", "get", "a", "7"), "what was put is not got")
    user = root.run("stat", "-c", "%U", f"/proc/{service.process.pid}")
    harness.check_equal(user, "eris\n", "the server's user")
    return service


def check_upgrade(root, service, later):
    changed = configure(root, "drain_timeout_ms", "2000")
    root.install(later, "-o", "Dpkg::Options::=--force-confold")
    harness.check_equal(root.path(CONFIG).read_text(), changed, "the configuration after an upgrade")
    harness.check("49" in root.run("eris", "get", "a", "7"), "the upgrade has ended the server")
    harness.check(VERSIONS[1] in root.run("dpkg-query", "-W", "-f", "${Version}", "eris"), "it is no upgrade")
    in_force = root.run("eris", "serve", "--config", CONFIG, "--print-config")
    harness.check("drain_timeout_ms = 2000" in in_force, "the changed line is not in force")
    service.stop()


def check_library(root):
    root.run("apt-get", "install", "-q", "-y", "--no-install-recommends", "gcc", "libc6-dev", "pkg-config")
    root.path("/packages/program.c").write_text(PROGRAM)
    root.run("sh", "-c", "cc /packages/program.c $(pkg-config --cflags --libs eris) -o /packages/program && /packages/program")


def check_completion(root):
    """The words that bash would offer."""
    words = root.run("bash", "-c", ". /usr/share/bash-completion/completions/eris; COMP_WORDS=(eris se); COMP_CWORD=1; _eris; echo ${COMPREPLY[*]}; "
                     "COMP_WORDS=(eris serve --conf); COMP_CWORD=2; _eris; echo ${COMPREPLY[*]}")
    harness.check_equal(words, "serve\n--config\n", "completion")


def check_purge(root):
    root.run("apt-get", "purge", "-q", "-y", "eris", "liberis-dev", "liberis0")
    left = root.run("find", "/etc", "/usr", "/lib", "/var/lib", "-name", "*eris*", "-not", "-path", "/var/lib/apt/*")
    left = [line for line in left.splitlines() if re.search(r"/(lib)?eris([._-][^/]*|0[^/]*)?$", line)]
    harness.check_equal(left, [], "files after a purge")


def inside(folder, packages):
    root = Root(folder)
    first = [package for package in packages if f"_{VERSIONS[0]}_" in package.name]
    root.install(first)
    unit = check_unit(root)
    service = check_serves(root, unit)
    check_completion(root)
    check_upgrade(root, service, [package for package in packages if package not in first])
    check_library(root)
    check_purge(root)


def make_packages(build, folder):
    """Both versions; lintian looks at the first."""
    packages = []
    for version in VERSIONS:
        out = folder / version
        made = run(sys.executable, "-B", SOURCE / "tools/dev/deb.py", build, "--out", out, "--version", version)
        packages += [pathlib.Path(line) for line in made.splitlines()]
    findings = run("lintian", "--fail-on", "none", "--tag-display-limit", "0", *(folder / VERSIONS[0]).glob("*.changes"), code=None)
    harness.check_equal([line for line in findings.splitlines() if re.match(r"[EW]:", line)], [], "what lintian finds")
    return packages


def main():
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], [pathlib.Path(name) for name in sys.argv[3:]])
        return
    args = harness.parse_args()
    for program, package in (("dh", "debhelper"), ("lintian", "lintian"), ("debootstrap", "debootstrap")):
        if not shutil.which(program):
            harness.skip(package, "it is not there: ./dev deps deb")
    if os.geteuid() != 0:
        harness.skip("a root of its own", "this is not root")
    with tempfile.TemporaryDirectory(prefix="eris-package.") as folder:
        folder = pathlib.Path(folder)
        packages = make_packages(args.build, folder)
        root = folder / "root"
        run(SOURCE / "tools/fresh_root.sh", "-k", "-d", root, "help")
        # Mounts and processes of its own: whatever happens, none is left over.
        subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B", __file__, "--inside", root,
                        *packages], check=True)


if __name__ == "__main__":
    main()
