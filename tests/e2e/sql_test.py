"""SQL through clients/python/eris_sql.py: TPC-H's 22 queries, planned by DataFusion in each run, are answered as DuckDB does, and those of sql_queries; nulls,
wide numbers and names in quotes come through; faults are told; a query that runs long is listed and cancelled.
"""
import csv
import decimal
import io
import os
import re
import subprocess
import tempfile

import harness
import query_test
import sql_queries
import tpch_data
import answer_check  # noqa: E402, from tests/tpch, which tpch_data has put on the path

SCRIPT = str(tpch_data.ROOT / "clients" / "python" / "eris_sql.py")
# It joins lineitem with itself by a column of seven values: it would end at the limit of memory, after seconds.
LONG = ("select count(*) from lineitem a, lineitem b, lineitem c "
        "where a.l_linenumber = b.l_linenumber and b.l_linenumber = c.l_linenumber")


def make_python(build):
    """A Python with what the script says that it needs; skips where it cannot be had."""
    with open(SCRIPT) as file:
        packages = re.search(r'^INSTALL = "pip install (.*)"$', file.read(), re.M).group(1).split()
    return harness.make_python(build, "sql_client", packages)


class Case:
    def __init__(self, server, python, answers, sql_answers, directory):
        self.server = server
        self.command = [python, SCRIPT, "--port", server.address.rpartition(":")[2]]
        self.answers = answers
        self.sql_answers = sql_answers
        self.directory = directory

    def sql(self, *arguments, **kwargs):
        return self.server.run(*self.command, *arguments, **kwargs).stdout

    def rows(self, sql):
        """The rows as texts, without the head. An empty text is a null here; an empty line is a row of one."""
        lines = csv.reader(io.StringIO(self.sql("--format", "csv", "-c", sql)))
        return [[cell or None for cell in row or [""]] for row in lines][1:]


def test_tpch(case):
    for number, text in tpch_data.queries():
        answer_check.check_answer(case.rows(text), case.answers[number], text, f"query {number}")
    print(f"{len(case.answers)} of {len(case.answers)} queries answered as DuckDB does", flush=True)


def same_cell(got, expected):
    """Numbers are the same if they are worth the same, doubles to 1e-9 of it."""
    if got is None or expected is None or isinstance(expected, float):
        return answer_check.same(got, expected)
    try:
        return decimal.Decimal(got) == decimal.Decimal(expected)
    except decimal.InvalidOperation:
        return got == expected


def test_other_queries(case):
    harness.check_equal(set(case.sql_answers), set(sql_queries.QUERIES), "queries that DuckDB has answered")
    for name, query in sql_queries.QUERIES.items():
        text = sql_queries.of_eris(query)
        got, expected = case.rows(text), case.sql_answers[name]["rows"]
        if "order by" not in text:
            got, expected = (sorted(rows, key=lambda row: [(cell is not None, str(cell)) for cell in row])
                             for rows in (got, expected))
        harness.check_equal(len(got), len(expected), f"rows of {name}")
        for number, (row, wanted) in enumerate(zip(got, expected)):
            harness.check(len(row) == len(wanted) and all(map(same_cell, row, wanted)),
                          f"{name}, row {number}: got {row}, DuckDB says {wanted}")
    print(f"{len(case.sql_answers)} further queries answered as DuckDB does", flush=True)


def test_values_of_all_types(case):
    path = os.path.join(case.directory, "values.csv")
    with open(path, "w") as file:
        file.write('id,Day,price,big,ratio,note\n'
                   '-1,1969-12-31,-0.0001,9223372036854775807,0.1,\n'
                   '2,9999-12-31,12345678901234.5678,1,-1e300,""\n'
                   '3,2024-02-29,5.0000,7,inf,"a ""quoted"", ünïcode"\n')
    case.server.eris("import", "values", path, "--schema",
                     "id:int64,Day:date,price:decimal(4),big:uint64,ratio:float64,note:string?", "--key", "id")
    got = case.sql("--format", "csv", "-c", 'select id, "Day", price, big, ratio, note from "values" order by id')
    harness.check_equal(got, 'id,Day,price,big,ratio,note\n'
                             '-1,1969-12-31,-0.0001,9223372036854775807,0.1,\n'
                             '2,9999-12-31,12345678901234.5678,1,-1e+300,""\n'
                             '3,2024-02-29,5.0000,7,inf,"a ""quoted"", ünïcode"\n', "values as csv")
    table = case.sql("-c", 'select note, sum(price) as sum from "values" where id < 3 group by note order by 2')
    harness.check_equal(table, "note                  sum\n"
                               "-                 -0.0001\n"
                               "      12345678901234.5678\n", "values as a table")
    harness.check_equal(case.sql("-c", 'select id from "values" where id = 99'), "id\n", "no row")


def test_bytes(case):
    path = os.path.join(case.directory, "blobs.csv")
    with open(path, "w") as file:
        file.write("id,name,data\n1,é,\\x00ff\n2,b,zz\n3,c,\n")
    case.server.eris("import", "blobs", path, "--schema", "id:int64,name:string,data:bytes?", "--key", "id")
    for sql, expected in (("select * from blobs order by id", [["1", "é", "\\x00ff"], ["2", "b", "\\x7a7a"], ["3", "c", None]]),
                          ("select id from blobs where data = x'00ff' or data = 'zz' order by id", [["1"], ["2"]]),
                          ("select min(data), max(data), count(data) from blobs", [["\\x00ff", "\\x7a7a", "2"]]),
                          ("select a.id from blobs a join blobs b on a.data = b.data where substring(a.name, 1, 1) = 'é'", [["1"]])):
        harness.check_equal(case.rows(sql), expected, sql)
    for sql in ("select id from blobs where name = data", "select id from blobs where data like 'z%'"):
        done = subprocess.run([*case.command, "-c", sql], capture_output=True, text=True)
        harness.check(done.returncode == 2 and "are not supported" in done.stderr, done.stderr)


def test_values_of_the_text(case):
    def check(sql, expected):
        harness.check_equal(case.rows(sql), expected, sql)
    check("select 1", [["1"]])
    check("select 1 + 2, 'x', date '2024-02-29' + interval '1' day, null, true", [["3", "x", "2024-03-01", None, "1"]])
    check("select count(*), sum(v) from (select 7 as v) as one", [["1", "7"]])
    check("select 1 as v union all select 2 union all select 2 order by v", [["1"], ["2"], ["2"]])
    check("select (select count(*) from region) + 1", [["6"]])
    check("select 1 where 1 = 2", [])
    check("select r_name from region where false", [])
    check("select count(*) from region limit 0", [])
    check("values (1, 2.5), (null, 3)", [["1", "2.5"], [None, "3.0"]])
    check("select y, x from (values (1, 'a'), (2, 'b')) as t(x, y) order by x desc", [["b", "2"], ["a", "1"]])
    check("select sum(d), min(d) from (values (cast(1 as decimal(10, 2))), (2.55)) as t(d)",
          [["3.550000000000000", "1.000000000000000"]])
    check("select * from (values (date '1969-12-31', true), (null, false)) as t(d, b) order by d nulls first",
          [[None, "0"], ["1969-12-31", "1"]])
    check("select n_name, tag from nation join (values (3, 'cold'), (12, 'far'), (99, 'none'), (null, 'null')) as t(k, tag) "
          "on n_nationkey = k order by tag", [["CANADA", "cold"], ["JAPAN", "far"]])
    check("select tag, count(o_orderkey) from (values (1, 'one'), (2, 'two'), (3, 'three')) as t(k, tag) "
          "left join orders on o_orderkey % 5 = k group by tag having count(*) < 10", [])
    check("select n_name from nation where n_nationkey in (select k from (values (3), (4)) as t(k)) order by 1",
          [["CANADA"], ["EGYPT"]])
    rows = ", ".join(f"({i}, '{'x' * (i % 100)}')" for i in range(1024))
    check(f"select count(*), sum(i), max(t) from (values {rows}) as v(i, t)", [["1024", str(1024 * 1023 // 2), "x" * 99]])
    done = subprocess.run([*case.command, "-c", f"select * from (values {rows}, (0, '')) as v(i, t)"], capture_output=True, text=True)
    harness.check(done.returncode == 2 and "a table of 1025 rows, must have at most 1024" in done.stderr, done.stderr)
    explained = case.sql("--explain", "-c", "select x + 1 as y from (values (1), (2)) as t(x)")
    harness.check_equal(explained.splitlines(), ["step 0: values, 2 rows; gives f0; ~2 rows -> step 1",
                                                 "step 1: compute from step 0; gives y = f0 + 1; ~2 rows -> answer"], "explained")


def test_ways_in_and_out(case):
    path = os.path.join(case.directory, "count.sql")
    with open(path, "w") as file:
        file.write("select count(*) as n\nfrom region, nation\nwhere r_regionkey = n_regionkey;\n")
    expected = " n\n25\n"
    harness.check_equal(case.sql(path), expected, "a file")
    with open(path) as file:
        text = file.read()
    for arguments in ([], ["-"]):
        harness.check_equal(case.sql(*arguments, input=text), expected, "standard input")
    plan = os.path.join(case.directory, "count.plan")
    case.sql("--plan-out", plan, path)
    harness.check_equal(case.server.eris_json("query", plan), [{"n": "25"}], "the written plan")
    explained = case.sql("--explain", path)
    harness.check("inner join" in explained and "scan nation" in explained, explained)
    analysed = case.sql("--analyze", path)
    harness.check("scan nation" in analysed and "        25 rows; " in analysed and "answer: 1 rows" in analysed, analysed)


def test_faults_are_told(case):
    for sql, code, said in (("select * from nothing", 2, "nothing"), ("select", 2, "eris_sql.py: "),
                            ("select r_name from region where r_name = 1 +", 2, "eris_sql.py: "),
                            ("select n_nationkey * 9223372036854775807 as x from nation", 2, "OUT_OF_RANGE"),
                            ("select n_nationkey % 0 as x from nation", 2, "OUT_OF_RANGE"),
                            ("select upper(n_name) as x from nation", 2, "UNIMPLEMENTED: relations[0].root")):
        done = subprocess.run([*case.command, "-c", sql], capture_output=True, text=True)
        harness.check_equal(done.returncode, code, f"exit code of {sql}: {done.stderr}")
        harness.check(said in done.stderr and "Traceback" not in done.stderr, done.stderr)
    done = subprocess.run([*case.command[:2], "--port", "1", "-c", "select 1"], capture_output=True, text=True)
    harness.check_equal(done.returncode, 3, f"exit code without a server: {done.stderr}")
    # Without its packages it says what to install.
    done = subprocess.run([case.command[0], "-S", "-I", SCRIPT], capture_output=True, text=True)
    harness.check(done.returncode == 1 and done.stderr.count("\n") == 1 and "pip install datafusion" in done.stderr, done.stderr)


def test_a_long_query_is_listed_and_cancelled(case):
    with subprocess.Popen([*case.command, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        harness.wait_until(lambda: case.server.eris_json("query", "--list"), "the query to run")
        (query,) = case.server.eris_json("query", "--list")
        harness.check_equal((query["state"], query["rows_sent"]), ("computing", "0"), "a query that runs")
        harness.check(query["client"].startswith("ipv4:127.0.0.1:"), query)
        case.server.eris("query", "--cancel", query["id"])
        said = client.communicate(timeout=60)[1]
    harness.check(client.returncode == 4 and "CANCELLED" in said, said)
    harness.check_equal(case.server.eris_json("query", "--list"), [], "queries after it")


def main():
    args = harness.parse_args()
    answers = tpch_data.answers(args.build)
    python = make_python(args.build)
    with harness.Server(harness.Programs(args.build), "--aeus", "2") as server, \
            tempfile.TemporaryDirectory() as directory:
        query_test.load_tables(server, args.build)
        case = Case(server, python, answers, tpch_data.sql_answers(args.build), directory)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test(case)
                print(f"{name}: ok", flush=True)
        server.wait_until_quiet()


if __name__ == "__main__":
    main()
