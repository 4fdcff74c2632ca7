#!/usr/bin/env python3
"""Runs programs in an emulated Linux machine with several NumaNodes, and ends as they did.

  guest.py 4x2 build/dev/tests/numa/placement_test --gtest_filter='*Page*'
  guest.py --memory 512M,0 2x2 build/dev/tests/numa/topology_test
  guest.py 8x1 SEED=7 first_program ++ second_program --flag

The shape is NumaNodes x cpus of each (default 2x2). qemu emulates every instruction (no KVM, no rights needed), so
nodes differ in place, not in speed, and everything is some ten times slower: a boot takes about three
seconds, which several programs, separated by "++", share. The guest has the programs, their libraries
and the files named, all in its memory; it sees nothing of this machine's files. What a program leaves
in /out comes back with --out.

Exit code: the first program's that failed, 128 + signal where a signal ended it (137 also: the kernel
had no memory left for it); 124 the time was over; 125 the guest did not reach its end (the console's
tail is shown); 2 wrong arguments; 77 qemu or the kernel is missing (./dev deps lab).
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lab import kernel, machine, plan, report, session  # noqa: E402
from lab.errors import BAD_INPUT, NO_END, SKIPPED, TIME_OVER, BadInput, CannotRun  # noqa: E402

TAIL_LINES = 60
DEFAULT_SHAPE = "2x2"
WATCH = 0.7  # of the time limit: then init says what the threads do that still run


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="guest.py [options] [SHAPE] [NAME=VALUE...] PROGRAM [ARGUMENT...] [++ PROGRAM...]")
    add = parser.add_argument
    add("--memory", default="512M", metavar="LIST", help="of each NumaNode: one size, or one per NumaNode separated by commas; 0 is a NumaNode without memory (default 512M)")
    add("--cpus", metavar="LIST", help="cpus of each NumaNode, instead of the shape's; 0 is a NumaNode without cpus")
    add("--distances", metavar="ROWS", help="e.g. 10,21/21,10 (default: 10 and 20)")
    add("--huge-pages", default="0", metavar="LIST", help="of 2 MiB, reserved on each NumaNode before the first program")
    add("--env", action="append", default=[], metavar="NAME=VALUE", help="for every program")
    add("--file", action="append", default=[], metavar="SOURCE[:WHERE]", help="a file or folder to have in the guest, too, programs with their libraries")
    add("--out", metavar="FOLDER", help="what program n leaves in /out goes to FOLDER/n/")
    add("--gtest-report", metavar="NAME", help="GoogleTest's reports, merged, to NAME.xml in the folder that GTEST_OUTPUT names")
    add("--qemu", action="append", default=[], metavar="ARGUMENTS", help="more arguments for qemu, e.g. '-plugin counter.so'")
    add("--kernel-arguments", default="", metavar="ARGUMENTS", help="more for the kernel's command line")
    add("--timeout", type=float, default=300, metavar="SECONDS", help="boot and all programs (default 300)")
    add("--boot-timeout", type=float, default=40, metavar="SECONDS", help="until the first program; qemu sometimes stops for good before, so a guest that takes longer is booted once more (default 40)")
    add("--silence-timeout", type=float, default=90, metavar="SECONDS", help="init says every five seconds that it is alive; a guest that says nothing for so long has stopped, and is booted once more: what its programs have written until then is thrown away (default 90)")
    add("--console", metavar="FILE", help="keep the kernel's console there")
    add("--kernel", metavar="FILE", help="default: what ./dev deps lab has fetched")
    add("--init", metavar="FILE", default=str(kernel.ROOT / "build/dev/tests/numa/numa_guest_init"), help="the guest's PID 1 (default: the dev preset's)")
    add("--verbose", action="store_true", help="command line and times to stderr")
    add("--fetch-kernel", action="store_true", help="only download the kernel; nothing when it is there")
    add("words", nargs=argparse.REMAINDER, metavar="SHAPE PROGRAM", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def parse_environment(texts):
    for text in texts:
        if "=" not in text:
            raise BadInput(f"--env: '{text}' is not NAME=VALUE")
    return dict(text.split("=", 1) for text in texts)


def tell(text):
    print(f"guest.py: {text}", file=sys.stderr, flush=True)


def tail(console):
    lines = console.decode(errors="replace").splitlines()
    return "\n".join(lines[-TAIL_LINES:]) or "(nothing)"


def passed_on(stream):
    def write(data):
        stream.buffer.write(data)
        stream.buffer.flush()
    return write


def keep_files(args, control):
    reports = [ended.files.pop(report.NAME) for ended in control.ended if report.NAME in ended.files]
    if args.gtest_report and report.folder(os.environ):
        report.write(os.path.join(report.folder(os.environ), f"{args.gtest_report}.xml"), reports)
    if args.out:
        for number, ended in enumerate(control.ended):
            for name, content in ended.files.items():
                folder = os.path.join(args.out, str(number))
                os.makedirs(folder, exist_ok=True)
                # The guest names a file of /out, never a path.
                with open(os.path.join(folder, os.path.basename(name)), "wb") as file:
                    file.write(content)


def tell_end(args, programs, outcome):
    control = outcome.control
    if args.verbose:
        tell(f"init began {control.booted} s after power on; {outcome.seconds:.1f} s in all")
    if args.verbose or len(programs) > 1:
        for program, ended in zip(programs, control.ended):
            tell(f"{os.path.basename(program.path)} ended with {ended.code} after {ended.seconds:.1f} s")
    if outcome.code == TIME_OVER:
        running = programs[control.running].path if control.running is not None else None
        tell(f"time over after {args.timeout:g} s, " + (f"in {running}" if running else "outside the programs"))
    if outcome.code == NO_END and not control.done:
        tell(f"the guest did not reach its end (qemu's exit code {outcome.qemu_code}); its console:\n{tail(outcome.console)}")
    elif outcome.code == TIME_OVER and control.booted is None:
        tell(f"its console:\n{tail(outcome.console)}")


def run(args):
    if args.fetch_kernel:
        path, new = kernel.fetch()
        if new:
            print(f"fetched {path}")
        return 0
    if not args.words:
        raise BadInput("no program; --help tells more")
    if args.timeout <= 0:
        raise BadInput(f"--timeout: {args.timeout:g} s; it must be more than 0")
    if args.boot_timeout <= 0:
        raise BadInput(f"--boot-timeout: {args.boot_timeout:g} s; it must be more than 0")
    if args.silence_timeout <= 0:
        raise BadInput(f"--silence-timeout: {args.silence_timeout:g} s; it must be more than 0")
    words = list(args.words)
    shape = machine.Machine.parse(words.pop(0) if machine.is_shape(words[0]) else DEFAULT_SHAPE,
                                  args.cpus, args.memory, args.huge_pages, args.distances)
    environment = {**shape.environment(), **parse_environment(args.env)}
    if args.gtest_report:
        environment["GTEST_OUTPUT"] = f"xml:/out/{report.NAME}"
    programs = plan.parse_programs(words, environment)
    files = [plan.parse_file(text) for text in args.file]
    if not os.path.isfile(args.init):
        raise BadInput(f"--init: no file {args.init}; ./dev build makes it")
    archive = plan.build_archive(args.init, programs, files, shape.huge_pages, WATCH * args.timeout)
    shape.check_room(archive.size)
    # Last: wrong arguments are wrong also where nothing can run.
    machine.require_qemu()
    kernel_file = kernel.find(args.kernel)

    def command(archive_path, ports):
        words = shape.command(kernel_file, archive_path, ports, args.kernel_arguments,
                              machine.split_arguments(args.qemu))
        if args.verbose:
            tell(f"{archive.size >> 20} MiB of files; {' '.join(words)}")
        return words

    def boot(timeout, boot_timeout, silence_timeout, write):
        return session.run(archive, command, timeout, boot_timeout, silence_timeout, write, passed_on(sys.stderr))
    said = []
    outcome = boot(args.timeout, args.boot_timeout, args.silence_timeout, passed_on(sys.stdout) if sys.stdout.isatty() else said.append)
    if not outcome.stopped:
        passed_on(sys.stdout)(b"".join(said))
    else:
        what = (f"no program began within {args.boot_timeout:g} s" if outcome.control.booted is None else
                f"the machine has stopped: for {args.silence_timeout:g} s it has not said that it is alive")
        tell(f"{what}; once more. The console:\n{tail(outcome.console)}")
        outcome = boot(args.timeout - outcome.seconds, args.timeout, args.timeout, passed_on(sys.stdout))
    if args.console:
        with open(args.console, "wb") as file:
            file.write(outcome.console)
    keep_files(args, outcome.control)
    tell_end(args, programs, outcome)
    return outcome.code


def main():
    args = parse_arguments(sys.argv[1:])
    try:
        return run(args)
    except BadInput as error:
        tell(error)
        return BAD_INPUT
    except CannotRun as error:
        print(error, flush=True)
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
