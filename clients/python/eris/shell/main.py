"""The programs eris-sql and eris-shell, which `eris sql` and `eris shell` start."""
import argparse
import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable
from typing import BinaryIO

import grpc

from eris.errors import Error, InvalidArgument
from eris.security import Security
from eris.shell.output import FORMATS
from eris.shell.session import ROWS_SHOWN, Session
from eris.sync import Database, connect

DESCRIPTION = """SQL over the objects of a server: DataFusion plans a statement, the server runs it. Names without quotes are found whatever
their letters' case. Only plans and answers cross the network."""
CODES = """exit codes: 0 fine, 1 a package is missing, 2 a statement, a plan or a file that is refused, or a result outside its type,
3 no server, or no answer in time, 4 anything else that the server refuses, 130 interrupted"""
EXAMPLES = """examples:
  eris sql "select o_orderpriority, count(*) from orders group by 1 order by 1"
  eris sql --format csv -f report.sql > report.csv
  eris sql "explain analyze select count(*) from orders, lineitem where o_orderkey = l_orderkey"
  eris sql --plan-out q.plan -f report.sql && eris query q.plan
  eris shell
"""


def _connecting() -> argparse.ArgumentParser:
    """The options that both programs have."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--server", metavar="ADDRESS", default=os.environ.get("ERIS_SERVER") or "127.0.0.1:7411",
                        help="HOST:PORT or the path of a Unix socket (ERIS_SERVER)")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="until the answer to a call (%(default)s)")
    for name, what in (("tls-ca", "authorities of the server's certificate"), ("tls-cert", "the client's certificate"),
                       ("tls-key", "its key"), ("token-file", "a file whose first line is the token")):
        parser.add_argument(f"--{name}", metavar="FILE", help=f"{what} (ERIS_{name.upper().replace('-', '_')})")
    parser.add_argument("--format", "--output", choices=FORMATS, default="table", help="of the rows (%(default)s)")
    return parser


def _parser(program: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=program, description=DESCRIPTION, epilog=f"{CODES}\n\n{EXAMPLES}", parents=[_connecting()],
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def _open(args: argparse.Namespace) -> Database:
    given = {name: getattr(args, name) for name in ("tls_ca", "tls_cert", "tls_key", "token_file") if getattr(args, name)}
    security = dataclasses.replace(Security.from_environment(), **given)
    return connect(args.server, timeout=args.timeout, security=security)


def tell(error: BaseException) -> int:
    """Writes an error. Gives the exit code that it has."""
    if isinstance(error, Error):
        print(f"eris: {error.code.name}: {error}", file=sys.stderr)
        return {grpc.StatusCode.INVALID_ARGUMENT: 2, grpc.StatusCode.UNIMPLEMENTED: 2, grpc.StatusCode.OUT_OF_RANGE: 2,
                grpc.StatusCode.UNAVAILABLE: 3, grpc.StatusCode.DEADLINE_EXCEEDED: 3}.get(error.code, 4)
    print(f"eris: {error}", file=sys.stderr)
    return 1 if isinstance(error, ImportError) else 2


def _statements(args: argparse.Namespace) -> str:
    if args.sql is not None:
        return str(args.sql)
    if args.file in (None, "-"):
        if sys.stdin is None:
            raise InvalidArgument("there is no standard input, and no statement is given")
        return sys.stdin.buffer.read().decode("utf-8-sig")
    return pathlib.Path(args.file).read_text(encoding="utf-8-sig")


def _run(args: argparse.Namespace, out: BinaryIO) -> int:
    text = _statements(args)
    with _open(args) as database:
        if args.plan_out:
            pathlib.Path(args.plan_out).write_bytes(database.sql(text).plan())
            return 0
        if args.explain or args.analyze:
            out.write(database.sql(text).explain(analyze=args.analyze).encode())
            return 0
        Session(database, out, form=args.format, timing=args.timing).run_all(text)
    return 0


def sql() -> int:
    """eris-sql"""
    parser = _parser("eris sql")
    parser.add_argument("sql", nargs="?", metavar="SQL", help="statements with semicolons between them")
    parser.add_argument("-f", "--file", metavar="FILE", help="a file with them; -: standard input, as without SQL")
    parser.add_argument("--timing", action="store_true", help="show the time of each statement")
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--explain", action="store_true", help="show the server's steps of one statement, without running it")
    one.add_argument("--analyze", action="store_true", help="run it, and show what each step has done")
    one.add_argument("--plan-out", metavar="FILE", help="write its plan to FILE instead of running it")
    args = parser.parse_args()
    if args.sql is not None and args.file is not None:
        parser.error("give SQL or --file, not both")
    return _guarded(lambda: _run(args, _output(args)))


def _output(args: argparse.Namespace) -> BinaryIO:
    """Errors: InvalidArgument (there is none, or a terminal, for bytes)."""
    if sys.stdout is None:
        raise InvalidArgument("there is no standard output")
    if args.format == "arrow" and sys.stdout.isatty():
        raise InvalidArgument("arrow is bytes, and standard output a terminal: write to a file, > FILE")
    return sys.stdout.buffer


def _guarded(work: Callable[[], int]) -> int:
    """Its exit code, or that of its error, which is told."""
    try:
        return work()
    except BrokenPipeError:  # the reader has what it wants
        sys.stdout = None
        return 0
    except KeyboardInterrupt:
        return 130
    except (Error, ImportError, OSError, ValueError, OverflowError) as error:
        return tell(error)


def shell() -> int:
    """eris-shell"""
    args = _parser("eris shell").parse_args()

    def work() -> int:
        if sys.stdin is None or not sys.stdin.isatty():  # statements from a file, as eris sql takes them
            args.sql = args.file = args.plan_out = None
            args.explain = args.analyze = args.timing = False
            return _run(args, _output(args))
        from eris.shell.terminal import converse  # readline is for terminals alone

        with _open(args) as database:
            session = Session(database, _output(args), form=args.format, timing=True, rows_max=ROWS_SHOWN)
            print(f"{args.server}; \\? for help, \\d for the objects, \\q to leave", flush=True)
            return converse(session, tell)
    return _guarded(work)
