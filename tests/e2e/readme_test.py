"""The README's commands, run as they stand: every ```sh block with eris in it, line by line in one shell, against the
server that the block itself starts. A command that fails, or prints something else than the README shows, fails.

Two things differ from a reader's terminal: the program is this build's and its server takes a free port; and the line
behind `eris serve &` waits until it serves, as a reader who types does.
"""
import os
import re
import shlex
import shutil
import subprocess
import tempfile

import grpcurl_test
import harness

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
BUILD = "./dev build release && PATH=$PWD/build/release/clients/cli:$PATH"
END = "--- exit code "


def blocks(language):
    with open(README) as file:
        return re.findall(rf"^```{language}\n(.*?)^```$", file.read(), re.M | re.S)


def commands(block):
    """Pairs (command, the output that is shown, or None where the block shows none)."""
    if not block.startswith("$ "):
        return [(line, None) for line in block.splitlines()]
    out = []
    for line in block.splitlines():
        if line.startswith("$ "):
            out.append([line[2:], []])
        elif line.startswith("    ") and not out[-1][1]:  # the command goes on
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
    wanted = {0}
    if command.startswith("eris memory verify"):
        wanted.add(6)  # a system that does not tell, or refuses to bind memory
    harness.check(code in wanted, f"exit code {code} of: {command}\n{output}")
    if shown is not None:
        harness.check_equal(output.strip(), shown.strip(), f"output of: {command}")


def check_example(programs):
    """The README's C++ compiles."""
    examples = blocks("cpp")
    harness.check_equal(len(examples), 1, "C++ examples")
    with open(os.path.join(programs.build, "CMakeCache.txt")) as file:
        compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", file.read(), re.M).group(1)
    include = os.path.join(os.path.dirname(README), "include")
    done = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-fsyntax-only", f"-I{include}", "-x", "c++", "-"],
                          input=examples[0], capture_output=True, text=True)
    harness.check(done.returncode == 0, f"the C++ example does not compile:\n{done.stderr}")


def main():
    programs = harness.Programs(harness.parse_args().build)
    check_example(programs)
    shell_blocks = blocks("sh")
    with_eris = [block for block in shell_blocks if re.search(r"^(\$ )?eris ", block, re.M)]
    harness.check(len(with_eris) >= 2, "blocks with eris in them")
    with tempfile.TemporaryDirectory() as directory:
        port = write_wrapper(programs, directory)
        path = f"{directory}/bin:{os.environ['PATH']}"
        shell = Shell(directory, dict(os.environ, PATH=path, TMPDIR=directory))
        needs_grpcurl = []
        try:
            ran = 0
            for block in shell_blocks:
                for command, shown in commands(block):
                    if command == BUILD or command.startswith("./dev "):
                        continue  # this build is what is tested; tests of their own run ./dev
                    if "grpcurl" in command:
                        needs_grpcurl.append((command, shown))
                        continue
                    check_command(shell, command, shown)
                    ran += 1
                    if command.startswith("eris serve"):
                        harness.wait_until(lambda: os.path.exists(port) and os.path.getsize(port) > 0, "the server", 60)
            harness.check(ran > 20, f"{ran} commands ran")
            grpcurl = grpcurl_test.build_grpcurl(programs.build)  # skips where it cannot be had
            shutil.copy(grpcurl, os.path.join(directory, "bin"))
            with open(port) as file:
                address = f"127.0.0.1:{file.read().strip()}"
            for command, shown in needs_grpcurl:
                check_command(shell, command.replace("127.0.0.1:7411", address), shown)
        finally:
            code, output = shell.run("kill %1; wait %1")
            shell.close()
        harness.check_equal(code, 0, f"the server's exit code; {output}")


if __name__ == "__main__":
    main()
