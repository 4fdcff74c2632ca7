"""./dev: its help, its refusals, and a quick deps when all is there."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def dev(*arguments, **more):
    return subprocess.run([ROOT / "dev", *arguments], capture_output=True, text=True, **more)


class DevScriptTest(unittest.TestCase):
    def test_help_names_every_verb(self):
        text = dev("help").stdout
        for verb in ("deps", "build", "test", "soak", "attack", "demo", "bench", "goals", "paper", "study", "numa", "fuzz", "wheel", "lint", "format", "help"):
            self.assertIn(f"\n  {verb} ", text)

    def test_unknown_verb_preset_and_group_are_refused(self):
        for arguments in (["fly"], ["build", "fast"], ["deps", "games"], ["fuzz", "long"], ["fuzz", "1", "tree"], ["soak", "long"], ["wheel", "square"]):
            done = dev(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(arguments[-1], done.stderr)

    def test_every_package_line_has_group_name_and_reason(self):
        for line in (ROOT / "tools/dev/packages").read_text().splitlines():
            if line and not line.startswith("#"):
                self.assertRegex(line, r"^(build|test|bench|lab|spark|wheel|deb) +[a-z0-9.+-]+ +# \S")

    def test_deps_installs_nothing_when_all_is_there(self):
        started = time.monotonic()
        done = dev("deps", "build")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("packages of build are there", done.stdout)
        self.assertLess(time.monotonic() - started, 30)  # no apt-get update

    def test_deps_without_root_or_sudo_says_what_to_do(self):
        done = self.deps_as_nobody("build no-such-package-anywhere  # never there\n", "build")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("needs root or sudo", done.stderr)
        self.assertIn("no-such-package-anywhere", done.stderr)

    def test_deps_goes_on_without_the_lab_but_not_when_it_was_asked_for(self):
        packages = "build bash  # always there\nlab no-such-package-anywhere  # never there\n"
        done = self.deps_as_nobody(packages)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no-such-package-anywhere", done.stderr)
        self.assertIn("going on without the NUMA lab", done.stdout)
        self.assertNotEqual(self.deps_as_nobody(packages, "lab").returncode, 0)

    def test_cmake_looks_again_after_packages_were_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            copy, dpkg = pathlib.Path(folder), pathlib.Path(folder, "dpkg")
            for made in copy / "tools/dev", copy / "bin", dpkg:
                made.mkdir(parents=True)
            (copy / "dev").write_text((ROOT / "dev").read_text())
            (copy / "tools/dev/packages").write_text("build bash  # always there\n")
            (copy / "CMakePresets.json").write_text("{}")
            self.stand_in(copy / "bin/cmake", """echo "$*" >> "$PWD/calls"
                [ "$1" = --preset ] && mkdir -p "build/$2" && echo > "build/$2/build.ninja"; exit 0""")
            self.stand_in(copy / "bin/dpkg-query", "printf installed")
            status = dpkg / "status"

            def configured():
                """Whether ./dev build has configured; what it wrote gets the time of that moment, now."""
                (copy / "calls").write_text("")
                done = subprocess.run(["bash", copy / "dev", "build", "release"], capture_output=True, text=True,
                                      env={**os.environ, "PATH": f"{copy / 'bin'}:{os.environ['PATH']}", "DPKG_ADMINDIR": str(dpkg)})
                self.assertEqual(done.returncode, 0, done.stderr)
                calls = (copy / "calls").read_text()
                self.assertIn("--build build/release", calls)
                return "--preset release" in calls

            def touch(path, seconds):
                """As if it had been written so long after the build tree."""
                at = (copy / "build/release/build.ninja").stat().st_mtime + seconds
                os.utime(path, (at, at))

            status.write_text("")
            self.assertTrue(configured())  # there is no build tree
            for path in status, copy / "CMakePresets.json":
                touch(path, -10)
            self.assertFalse(configured())
            for path in status, copy / "CMakePresets.json":
                touch(path, 10)
                self.assertTrue(configured(), path)
                touch(path, -10)
                self.assertFalse(configured(), path)
            status.unlink()  # not a Debian system
            self.assertFalse(configured())

    @staticmethod
    def stand_in(path, script):
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def deps_as_nobody(self, packages, *groups):
        """./dev deps with that list of packages, as a user who may not install any."""
        nobody = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            (copy / "tools/dev").mkdir(parents=True)
            (copy / "dev").write_text((ROOT / "dev").read_text())
            (copy / "tools/dev/packages").write_text(packages)
            os.chmod(copy, 0o755)
            os.chmod(copy / "dev", 0o755)
            (copy / "bin").mkdir()
            for tool in ("bash", "env", "sed", "tr", "dirname", "nproc", "dpkg-query", "apt-get"):
                (copy / "bin" / tool).symlink_to(shutil.which(tool))
            return subprocess.run([copy / "dev", "deps", *groups], capture_output=True, text=True,
                                  env={"PATH": str(copy / "bin")}, **nobody)


if __name__ == "__main__":
    unittest.main()
