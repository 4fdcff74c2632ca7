"""Puts the program eris into the wheel: stripped, with every shared library that it needs. The C library and its loader are among them, so the
program runs on any Linux for x86-64, whatever C library that has. eris_server/launch.py starts it.

The variable ERIS_WHEEL_PROGRAM names the program; ./dev wheel server sets it. Licences are those of Debian's packages.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# It needs no C library of the system, so it has the tags of the oldest ones that pip knows, of both kinds.
TAG = "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64"
QUERIES = ("q01.sql", "q03.sql", "q06.sql")


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True).stdout


def libraries_of(program):
    """The paths of the shared libraries, and that of the loader. Errors: FileNotFoundError (one is missing)."""
    told = run("ldd", program)
    if missing := re.findall(r"^\s*(\S+) => not found", told, re.M):
        raise FileNotFoundError(f"{program} needs {', '.join(missing)}, which this machine does not have")
    loader = re.search(r"^\s*(/\S*/ld-linux-x86-64\.so\.2) \(", told, re.M)
    if loader is None:
        raise FileNotFoundError(f"{program} has no loader ld-linux-x86-64.so.2: this wheel is for Linux on x86-64")
    return re.findall(r" => (/\S+) \(", told), loader.group(1)


def package_of(path):
    """The Debian package of a file."""
    for name in (path, os.path.realpath(path), path.removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise FileNotFoundError(f"no Debian package has {path}, so its licence is unknown")


def built_in(tree):
    """The packages whose code is compiled or linked into the program itself."""
    lines = (tree / "tools" / "dev" / "packages").read_text().splitlines()
    names = [line.split()[1] for line in lines if line.startswith("build ")]
    return ["libfmt-dev"] + [name for name in names if "-dev" in name and not re.search("gtest|gmock|rapidcheck|benchmark", name)]


class Hook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        tree = pathlib.Path(self.root).parents[2]
        program = pathlib.Path(os.environ.get("ERIS_WHEEL_PROGRAM", ""))
        if not program.is_file():
            raise FileNotFoundError(f"ERIS_WHEEL_PROGRAM is '{program}', which is no program: ./dev wheel server builds it and this wheel")
        self.made = pathlib.Path(tempfile.mkdtemp(prefix="eris-program-"))
        try:
            self.add_program(program)
            self.add_licences(tree, program)
            self.add_queries(tree)
        except BaseException:  # then nobody calls finalize
            shutil.rmtree(self.made, ignore_errors=True)
            raise
        build_data["force_include"] |= {str(self.made / "program"): "eris_server/program", str(self.made / "queries"): "eris_server/demo/queries"}
        build_data["pure_python"] = False
        build_data["tag"] = TAG

    def add_program(self, program):
        """The loader has the name eris: ps, top and pgrep show the name of the file that was started."""
        libraries, loader = libraries_of(program)
        folder = self.made / "program"
        (folder / "lib").mkdir(parents=True)
        for library in libraries:
            shutil.copy(library, folder / "lib")
        shutil.copy(loader, folder / "eris")
        run("strip", "--strip-unneeded", "-o", folder / "lib" / "eris.bin", program)
        for path in (folder / "eris", folder / "lib" / "eris.bin"):
            path.chmod(0o755)

    def add_licences(self, tree, program):
        """A file for each Debian package, and the list of the libraries with their versions: their sources are Debian's."""
        folder = self.made / "program" / "licences"
        folder.mkdir()
        libraries, loader = libraries_of(program)
        packages = {path: package_of(path) for path in [*libraries, loader]}
        for package in {*packages.values(), *built_in(tree)}:
            shutil.copy(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")
        versions = {package: run("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package) for package in packages.values()}
        lines = sorted(f"{pathlib.Path(path).name}: {versions[package]}\n" for path, package in packages.items())
        (folder / "libraries.txt").write_text("The libraries are Debian's, unchanged. Each with its source package and version:\n\n" + "".join(lines))
        shutil.copy(tree / "LICENSE", folder / "eris.txt")
        page = next((tree / "server/http/page").glob("*license*"))
        shutil.copy(page, folder / "uplot.txt")

    def add_queries(self, tree):
        queries = self.made / "queries"
        queries.mkdir()
        for name in QUERIES:
            shutil.copy(tree / "tests/tpch/queries" / name, queries)

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.made, ignore_errors=True)
