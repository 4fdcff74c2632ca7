#!/usr/bin/env python3
"""SQL for a running ERIS server: DataFusion plans the text over the server's schemas, the server runs the plan.

Usage: eris_sql.py [--host HOST] [--port PORT] [-c SQL | FILE]    (without both, SQL is read from standard input)
The server is 127.0.0.1:7411, or that of the variable ERIS_SERVER.

  eris_sql.py -c "select o_orderpriority, count(*) from orders group by 1 order by 1"
  eris_sql.py --format csv report.sql > report.csv
  eris_sql.py -c "select count(*) from orders, lineitem where o_orderkey = l_orderkey" --explain    (or --analyze)
  eris_sql.py --plan-out q.plan report.sql && eris query q.plan

Only plans and answers cross the network: DataFusion sees empty tables with the columns of the server's objects. Names
with capital letters are written in double quotes. One statement, a query. Exit codes: 0 fine, 1 a package
is missing, 2 SQL, a plan or a file that is refused, or a result outside its type, 3 no server, or no answer in time, 4
anything else that the server refuses.
"""
import argparse
import os
import pathlib
import sys

INSTALL = "pip install datafusion==55.0.0 pyarrow==26.0.1 grpcio==1.85.1 grpcio-tools==1.85.1"
PROTO = pathlib.Path(__file__).resolve().parent.parent.parent / "proto"

try:
    import datafusion
    import datafusion.substrait
    import grpc
    import grpc_tools  # noqa: F401: grpc reads .proto files by it
    import pyarrow
except ImportError as error:
    sys.exit(f"eris_sql.py: {error}; install what it needs: {INSTALL}")

sys.path[0] = str(PROTO)  # in place of this folder, which has a package of that name
catalog, catalog_services = grpc.protos_and_services("eris/v1/catalog.proto")
column = grpc.protos("eris/v1/column.proto")
queries, queries_services = grpc.protos_and_services("eris/v1/queries.proto")

MESSAGE_BYTES_MAX = 64 << 20
# What DataFusion is told of a DECIMAL64, which may have 18 digits: types of results grow from here.
DECIMAL_DIGITS = 15


def type_of(schema):
    """The Arrow type of a column as DataFusion plans with it."""
    return {column.COLUMN_TYPE_UINT64: pyarrow.int64(), column.COLUMN_TYPE_INT64: pyarrow.int64(),
            column.COLUMN_TYPE_FLOAT64: pyarrow.float64(), column.COLUMN_TYPE_DATE32: pyarrow.date32(),
            column.COLUMN_TYPE_INT32: pyarrow.int32(), column.COLUMN_TYPE_STRING: pyarrow.string(), column.COLUMN_TYPE_BYTES: pyarrow.binary(),
            column.COLUMN_TYPE_DECIMAL64: pyarrow.decimal128(max(DECIMAL_DIGITS, schema.scale), schema.scale),
            }[schema.type]


def answer_type(schema):
    """The Arrow type of a column of an answer, whose bytes have Arrow's layout."""
    return {column.COLUMN_TYPE_UINT64: pyarrow.uint64(),
            column.COLUMN_TYPE_DECIMAL64: pyarrow.decimal64(18, schema.scale),
            column.COLUMN_TYPE_DECIMAL128: pyarrow.decimal128(38, schema.scale)}.get(schema.type) or type_of(schema)


def context_of(objects):
    """A DataFusion session in which each object is an empty table."""
    context = datafusion.SessionContext()
    for each in objects:
        schema = pyarrow.schema([pyarrow.field(its.name, type_of(its), nullable=its.nullable) for its in each.schema.columns])
        name = each.name.replace('"', '""')
        context.register_record_batches(f'"{name}"', [[pyarrow.RecordBatch.from_pylist([], schema=schema)]])
    return context


def values_of(schema, its, rows):
    """The values of a column of a response."""
    def buffer(data):
        return pyarrow.py_buffer(data) if data else None
    buffers = [buffer(its.validity), pyarrow.py_buffer(its.data)]
    if schema.type in (column.COLUMN_TYPE_STRING, column.COLUMN_TYPE_BYTES):
        buffers.insert(1, pyarrow.py_buffer(its.offsets))
    values = pyarrow.Array.from_buffers(answer_type(schema), rows, buffers).to_pylist()
    if schema.type == column.COLUMN_TYPE_BYTES:
        return [value if value is None else "\\x" + value.hex() for value in values]
    return values


def chunks_of(responses):
    """Pairs (names, rows) of the responses; the first one, which may have no row, has the names, too."""
    schema = None
    for response in responses:
        schema = schema or response.schema.columns
        columns = [values_of(its, each, response.rows) for its, each in zip(schema, response.columns)]
        yield [its.name for its in schema], list(zip(*columns))


def text_of(value):
    if isinstance(value, float):
        return repr(value)
    return str(value)


def csv_cell(value):
    """As `eris scan --format csv`: a null is an empty field, an empty string is in quotes."""
    if value is None:
        return ""
    text = text_of(value)
    quoted = isinstance(value, str) and (text == "" or any(mark in text for mark in ',"\r\n'))
    return '"' + text.replace('"', '""') + '"' if quoted else text


def write_csv(chunks, out):
    head = True
    for names, rows in chunks:
        if head:
            print(",".join(map(csv_cell, names)), file=out)
        head = False
        for row in rows:
            print(",".join(map(csv_cell, row)), file=out)


def write_table(chunks, out):
    names, all_rows = [], []
    for names, rows in chunks:
        all_rows += rows
    cells = [["-" if value is None else text_of(value) for value in row] for row in all_rows]
    right = [all(not isinstance(row[i], str) for row in all_rows) for i in range(len(names))]
    widths = [max(len(row[i]) for row in [names, *cells]) for i in range(len(names))]
    for row in [names, *cells]:
        line = "  ".join(cell.rjust(width) if side else cell.ljust(width) for cell, width, side in zip(row, widths, right))
        print(line.rstrip(), file=out)


def sql_of(args):
    if args.command is not None:
        return args.command
    if args.file in (None, "-"):
        return sys.stdin.read()
    return pathlib.Path(args.file).read_text()


def plan_of(sql, objects):
    """The bytes of a substrait.Plan. Exceptions: DataFusion's, with the place in the text where there is one."""
    return datafusion.substrait.Serde.serialize_bytes(sql.strip().rstrip(";"), context_of(objects))


def run(args):
    sql = sql_of(args)
    channel = grpc.insecure_channel(f"{args.host}:{args.port}",
                                    options=[("grpc.max_receive_message_length", MESSAGE_BYTES_MAX)])
    objects = catalog_services.CatalogStub(channel).ListObjects(catalog.ListObjectsRequest()).objects
    try:
        plan = plan_of(sql, objects)
    except Exception as error:  # DataFusion has many kinds
        print(f"eris_sql.py: {error}", file=sys.stderr)
        return 2
    if args.plan_out:
        pathlib.Path(args.plan_out).write_bytes(plan)
        return 0
    stub = queries_services.QueriesStub(channel)
    if args.explain:
        print(stub.Explain(queries.ExplainRequest(plan=plan)).text, end="")
        return 0
    if args.analyze:
        print(stub.Analyze(queries.AnalyzeRequest(plan=plan)).text, end="")
        return 0
    chunks = chunks_of(stub.Execute(queries.ExecuteRequest(plan=plan)))
    (write_csv if args.format == "csv" else write_table)(chunks, sys.stdout)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    host, _, port = os.environ.get("ERIS_SERVER", "127.0.0.1:7411").rpartition(":")
    parser.add_argument("--host", default=host)
    parser.add_argument("--port", default=port)
    parser.add_argument("-c", "--command", metavar="SQL", help="the query")
    parser.add_argument("file", nargs="?", metavar="FILE", help="a file with the query; -: standard input")
    parser.add_argument("--format", choices=("table", "csv"), default="table")
    parser.add_argument("--explain", action="store_true", help="show the server's steps, without running them")
    parser.add_argument("--analyze", action="store_true", help="run it, and show what each step has really done")
    parser.add_argument("--plan-out", metavar="FILE", help="write the plan to FILE instead of running it")
    args = parser.parse_args()
    if args.command is not None and args.file is not None:
        parser.error("give -c or a file, not both")
    if args.explain and args.analyze:
        parser.error("give --explain or --analyze, not both")
    try:
        return run(args)
    except grpc.RpcError as error:
        print(f"eris_sql.py: {error.code().name}: {error.details()}", file=sys.stderr)
        return {grpc.StatusCode.INVALID_ARGUMENT: 2, grpc.StatusCode.UNIMPLEMENTED: 2, grpc.StatusCode.OUT_OF_RANGE: 2,
                grpc.StatusCode.UNAVAILABLE: 3, grpc.StatusCode.DEADLINE_EXCEEDED: 3}.get(error.code(), 4)
    except BrokenPipeError:  # the reader has what it wants
        sys.stdout = None
        return 0
    except OSError as error:
        print(f"eris_sql.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
