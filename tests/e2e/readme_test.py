"""The commands of the README and of the guide, run as they stand: every ```sh block and every block that begins with $,
line by line in one shell for each page, against the server that the page itself starts. A command that fails, or prints
something else than the page shows, fails. C++ examples are compiled, Python programs run with stubs of the protos, or
in the page's shell if they import eris itself, which the page has installed there.

Some things differ from a reader's terminal: the program is this build's and its server takes a free port; the line
behind `eris serve &` waits until it serves, as a reader who types does; stubs, tpchgen-cli, and on other
pages than the README eris-sql come from environments of the tests' own; `./dev wheel` builds in a tree of links, and pip takes pinned packages.
"""
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import grpcurl_test
import harness
import python_client_test
import sql_test
import tpch_data

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGES = ("README.md", "docs/guide/tutorial.md", "docs/guide/cli.md", "docs/guide/clients.md", "docs/guide/queries.md")
CPP_PAGES = ("README.md", "docs/guide/embedding.md", "docs/guide/queries.md")
BUILD = "./dev build release eris && PATH=$PWD/build/release/clients/cli:$PATH"
END = "--- exit code "
GRPC_TOOLS = "grpcio-tools==1.85.1"
ADDRESS = "127.0.0.1:7411"


def fenced(page):
    """Pairs (language, text) of the page's blocks."""
    with open(os.path.join(ROOT, page)) as file:
        return re.findall(r"^```(\w*)\n(.*?)^```$", file.read(), re.M | re.S)


def blocks(page, language):
    return [text for name, text in fenced(page) if name == language]


def shell_blocks(page):
    """Those that run: of sh, and those without a language that begin with a command."""
    return [text for name, text in fenced(page) if name == "sh" or name == "" and text.startswith("$ ")]


def goes_on(command):
    """Whether the next line belongs to the command: a quote is open, or a backslash ends it."""
    return command.endswith("\\") or any(command.count(quote) % 2 == 1 for quote in "'\"")


def commands(block):
    """Pairs (command, the output that is shown, or None where the block shows none)."""
    if not block.startswith("$ "):
        return [(line, None) for line in block.splitlines()]
    out = []
    for line in block.splitlines():
        if line.startswith("$ "):
            out.append([line[2:], []])
        elif goes_on(out[-1][0]):
            out[-1][0] += "\n" + line
        else:
            out[-1][1].append(line)
    return [(command, "\n".join(shown) if shown else None) for command, shown in out]


class Shell:
    """One bash; the directory of the programs leads its PATH."""

    def __init__(self, directory, environment):
        self.bash = subprocess.Popen(["bash"], cwd=directory, env=environment, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, command):
        """Exit code and output."""
        self.bash.stdin.write(f"{command}\ncode=$?; echo; echo '{END}'$code\n")
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line.startswith(END):
                return int(line[len(END):]), "".join(lines).removesuffix("\n")
            lines.append(line)
        raise AssertionError(f"the shell ended at: {command}\n{''.join(lines)}")

    def close(self):
        self.bash.stdin.close()
        self.bash.wait(60)


def write_wrapper(programs, directory):
    """An eris whose server listens on a free port, and whose clients find it there."""
    port = os.path.join(directory, "port")
    # Ranges are cut between two AEUs in one of the commands.
    aeus = "--aeus 2" if len(os.sched_getaffinity(0)) < 2 else ""
    path = os.path.join(directory, "bin", "eris")
    os.mkdir(os.path.dirname(path))
    with open(path, "w") as file:
        file.write(f"""#!/bin/sh
if [ "$1" = serve ]; then
  shift
  exec {shlex.quote(programs.eris)} serve --listen 127.0.0.1:0 --port-file {port} {aeus} "$@" > {directory}/log 2>&1
fi
[ -s {port} ] && export ERIS_SERVER=127.0.0.1:$(cat {port})
exec {shlex.quote(programs.eris)} "$@"
""")
    os.chmod(path, 0o755)
    return port


def check_command(shell, command, shown):
    code, output = shell.run(command)
    print(f"$ {command}\n{output}", flush=True)
    if lacking := re.search(r"No matching distribution found for ([\w.\[\]-]+)", output):
        harness.skip(f"{lacking[1]} (PyPI)", output[-2000:])
    wanted = {0}
    if command.startswith("eris memory verify"):
        wanted.add(6)  # a system that does not tell, or refuses to bind memory
    if command.startswith("eris doctor"):
        wanted.add(7)  # something of this machine is bad
    harness.check(code in wanted, f"exit code {code} of: {command}\n{output}")
    if shown is not None:
        harness.check_equal(output.strip(), shown.strip(), f"output of: {command}")


def check_compiles(programs, page, fence, compiler, *flags):
    """The page's examples of a language compile."""
    with open(os.path.join(programs.build, "CMakeCache.txt")) as file:
        program = re.search(rf"^{compiler}:\w+=(.*)$", file.read(), re.M).group(1)
    examples = blocks(page, fence)
    harness.check(examples, f"{page} has no example in {fence}")
    for number, example in enumerate(examples, 1):
        done = subprocess.run([program, *flags, "-Wall", "-Wextra", "-fsyntax-only", f"-I{os.path.join(ROOT, 'include')}", "-"],
                              input=example, capture_output=True, text=True)
        harness.check(done.returncode == 0, f"example {number} in {fence} of {page} does not compile:\n{done.stderr}")


@functools.cache
def make_stubs(build):
    """The Python of an environment that can run the stubs, and the folder in which they are; skips where it cannot be had."""
    python = harness.make_python(build, "python_stubs", [GRPC_TOOLS])
    stubs = os.path.join(os.path.abspath(build), "tests", "e2e", "python_stubs", "stubs")
    shutil.rmtree(stubs, ignore_errors=True)
    os.makedirs(stubs)
    proto = os.path.join(ROOT, "proto")
    files = [os.path.join(proto, "eris", "v1", name) for name in sorted(os.listdir(os.path.join(proto, "eris", "v1")))]
    subprocess.run([python, "-m", "grpc_tools.protoc", "-I", proto, f"--python_out={stubs}", f"--grpc_python_out={stubs}",
                    *(file for file in files if file.endswith(".proto"))], check=True)
    return python, stubs


def tpchgen(build):
    """tpchgen-cli as the test e2e_tpch_data has installed it; skips where that could not."""
    path = os.path.join(os.path.dirname(tpch_data.folder(build)), "venv", "bin", "tpchgen-cli")
    if not os.path.exists(path):
        harness.skip(f"{tpch_data.TPCHGEN} (PyPI)", f"{path} is not there; see the test e2e_tpch_data")
    return path


def check_python(python, stubs, address, page, program):
    done = subprocess.run([python, "-"], input=program.replace(ADDRESS, address), capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=stubs), timeout=120)
    print(f"a Python program of {page}:\n{done.stdout}{done.stderr}", flush=True)
    harness.check_equal(done.returncode, 0, f"exit code of a Python program of {page}")
    harness.check_equal(done.stdout.split("\n")[:-1], python_client_test.printed(program), f"output of a Python program of {page}")


class Page:
    """A page's shell and server, in a directory of its own."""

    def __init__(self, programs, page, directory):
        self.page, self.directory, self.build = page, directory, programs.build
        self.port = write_wrapper(programs, directory)
        path = f"{directory}/bin:{os.environ['PATH']}"
        pinned = os.path.join(directory, "pinned")
        with open(pinned, "w") as file:
            file.write("\n".join((*python_client_test.PACKAGES, python_client_test.POLARS, sql_test.DATAFUSION)))
        wheel = python_client_test.wheel_environment(pathlib.Path(programs.build).resolve(), "python_readme")
        self.shell = Shell(directory, dict(os.environ, PATH=path, TMPDIR=directory, PIP_CONSTRAINT=pinned, **wheel))
        self.ran = 0

    def run(self, needs_grpcurl):
        for block in shell_blocks(self.page):
            for command, shown in commands(block):
                if command == BUILD or command.startswith("./dev ") and "./dev wheel" not in command:
                    continue  # this build is what is tested; tests of their own run ./dev
                if "grpcio-tools" in command or "grpc_tools" in command:
                    continue  # make_stubs does
                if "grpcurl" in command:
                    needs_grpcurl.append((command, shown))
                    continue
                # Two pages must not write each other's files.
                command = command.replace("/tmp/", f"{self.directory}/")
                if command.startswith("tpchgen-cli "):
                    command = command.replace("tpchgen-cli", shlex.quote(tpchgen(self.build)), 1)
                if self.page != "README.md" and ("./dev wheel" in command or "eris sql" in command):
                    self.add_sql_programs()
                    if "./dev wheel" in command:
                        continue  # the README's is built and installed
                if "./dev wheel" in command:
                    python_client_test.link_tree(self.directory)
                check_command(self.shell, command, shown)
                self.ran += 1
                if command.startswith("eris serve"):
                    harness.wait_until(lambda: os.path.exists(self.port) and os.path.getsize(self.port) > 0, "the server", 60)

    @functools.cache
    def add_sql_programs(self):
        """Gives the page eris-sql and eris-shell; skips where their packages cannot be had."""
        check_command(self.shell, f"PATH=$PATH:{shlex.quote(sql_test.make_programs(self.build))}", None)

    @property
    def address(self):
        with open(self.port) as file:
            return f"127.0.0.1:{file.read().strip()}"

    def end(self):
        code, output = self.shell.run("kill %1; wait %1")
        self.shell.close()
        return code, output


def run_page(programs, page):
    """How many commands ran."""
    with tempfile.TemporaryDirectory() as directory:
        at = Page(programs, page, directory)
        try:
            needs_grpcurl = []
            at.run(needs_grpcurl)
            for program in blocks(page, "python"):
                if re.search(r"^import eris$", program, re.M):
                    shown = "\n".join(python_client_test.printed(program))
                    check_command(at.shell, f"python3 - <<'END'\n{program.replace(ADDRESS, at.address)}END", shown)
                else:
                    check_python(*make_stubs(programs.build), at.address, page, program)
            if needs_grpcurl:
                shutil.copy(grpcurl_test.build_grpcurl(programs.build), os.path.join(directory, "bin"))  # skips where it cannot be had
            for command, shown in needs_grpcurl:
                check_command(at.shell, command.replace(ADDRESS, at.address), shown)
        finally:
            code, output = at.end()
        harness.check_equal(code, 0, f"the exit code of the server of {page}; {output}")
        return at.ran


def main():
    programs = harness.Programs(harness.parse_args().build)
    for page in CPP_PAGES:
        check_compiles(programs, page, "cpp", "CMAKE_CXX_COMPILER", "-std=c++20", "-x", "c++")
    check_compiles(programs, "docs/guide/embedding.md", "c", "CMAKE_C_COMPILER", "-std=c99", "-pedantic-errors", "-x", "c")
    ran = {page: run_page(programs, page) for page in PAGES}
    harness.check(ran["README.md"] >= 5 and sum(ran.values()) > 40, f"commands that ran: {ran}")


if __name__ == "__main__":
    main()
