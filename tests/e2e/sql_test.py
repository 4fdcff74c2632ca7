"""SQL through `eris sql`: TPC-H's 22 queries, planned by DataFusion in each run, are answered as DuckDB does, and those of sql_queries; nulls, wide
numbers and names come through; faults are told; a query that runs long is listed and cancelled; `eris shell` on a terminal; the guide's program.
"""
import csv
import decimal
import fcntl
import functools
import io
import json
import os
import pty
import re
import select
import subprocess
import tempfile
import termios
import time

import harness
import python_client_test
import query_test
import sql_queries
import sql_statements
import tpch_data
import answer_check  # noqa: E402, from tests/tpch, which tpch_data has put on the path

DATAFUSION = "datafusion==55.0.0"
# It joins lineitem with itself by a column of seven values: it would end at the limit of memory, after seconds.
LONG = ("select count(*) from lineitem a, lineitem b, lineitem c "
        "where a.l_linenumber = b.l_linenumber and b.l_linenumber = c.l_linenumber")


@functools.cache
def make_programs(build):
    """The folder with python, eris-sql and eris-shell of an environment that has the client's wheel; skips where its packages cannot be had."""
    python = harness.make_python(build, "sql_client", [*python_client_test.PACKAGES, DATAFUSION, *python_client_test.TOOLS])
    with harness.locked(build, "sql_wheel"):
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--force-reinstall",
                               python_client_test.CLIENT], capture_output=True, text=True)
        harness.check(done.returncode == 0, f"the client's wheel: {done.stderr}")
    return os.path.dirname(python)


# Standard input is a list of statements, standard output that of their answers: {"csv": text}, or {"error": text}. As `eris sql --format csv`, which would
# need most of its time to begin.
ANSWER = """
import io, json, os, sys
import eris
from eris.shell.session import Session
answers = []
with eris.connect(os.environ["ERIS_SERVER"]) as database:
    for statement in json.load(sys.stdin):
        out = io.BytesIO()
        try:
            Session(database, out, form="csv").run_all(statement)
            answers.append({"csv": out.getvalue().decode()})
        except eris.Error as error:
            answers.append({"error": str(error)})
json.dump(answers, sys.stdout)
"""


def rows_of(text):
    """The rows of CSV as texts, without the head. An empty text is a null here; an empty line is a row of one."""
    return [[cell or None for cell in row or [""]] for row in csv.reader(io.StringIO(text))][1:]


class Case:
    def __init__(self, server, bin_folder, answers, sql_answers, directory):
        self.server = server
        self.python = os.path.join(bin_folder, "python")
        server.env["PATH"] = f"{bin_folder}:{os.environ['PATH']}"
        self.command = [server.programs.eris, "sql"]
        self.answers = answers
        self.sql_answers = sql_answers
        self.directory = directory

    def sql(self, *arguments, **kwargs):
        return self.server.run(*self.command, *arguments, **kwargs).stdout

    def fails(self, *arguments):
        """Exit code and error."""
        done = subprocess.run([*self.command, *arguments], env=self.server.env, capture_output=True, text=True)
        harness.check("Traceback" not in done.stderr, done.stderr)
        return done.returncode, done.stderr

    def rows(self, sql):
        return rows_of(self.sql("--format", "csv", sql))

    def answers_of(self, statements):
        """For each its rows, or the error as a text."""
        done = self.server.run(self.python, "-c", ANSWER, input=json.dumps(statements)).stdout
        return [rows_of(answer["csv"]) if "csv" in answer else answer["error"] for answer in json.loads(done)]


def test_tpch(case):
    queries = list(tpch_data.queries())
    for (number, text), rows in zip(queries, case.answers_of([text for _, text in queries]), strict=True):
        answer_check.check_answer(rows, case.answers[number], text, f"query {number}")
    print(f"{len(case.answers)} of {len(case.answers)} queries answered as DuckDB does", flush=True)


def same_cell(got, expected):
    """Numbers are the same if they are worth the same, doubles to 1e-9 of it."""
    if got is None or expected is None or isinstance(expected, float):
        return answer_check.same(got, expected)
    try:
        return decimal.Decimal(got) == decimal.Decimal(expected)
    except decimal.InvalidOperation:
        return got == expected


def check_rows(case, name, text, got):
    harness.check(isinstance(got, list), f"{name}: {got}")
    expected = case.sql_answers[name]["rows"]
    if "order by" not in text:
        got, expected = (sorted(rows, key=lambda row: [(cell is not None, str(cell)) for cell in row])
                         for rows in (got, expected))
    harness.check_equal(len(got), len(expected), f"rows of {name}")
    for number, (row, wanted) in enumerate(zip(got, expected)):
        harness.check(len(row) == len(wanted) and all(map(same_cell, row, wanted)),
                      f"{name}, row {number}: got {row}, DuckDB says {wanted}")


def test_other_queries(case):
    texts = {name: sql_queries.of_eris(query) for name, query in sql_queries.QUERIES.items()}
    for (name, text), got in zip(texts.items(), case.answers_of(list(texts.values())), strict=True):
        check_rows(case, name, text, got)
    print(f"{len(sql_queries.QUERIES)} further queries answered as DuckDB does", flush=True)


def test_statements(case):
    answered, refused = 0, 0
    statements = list(sql_statements.all_statements())
    for (_, text, missing), got in zip(statements, case.answers_of([text for _, text, _ in statements]), strict=True):
        if missing is None:
            check_rows(case, text, text, got)
            answered += 1
        else:
            harness.check(isinstance(got, str) and missing in got, f"{text}: {got}")
            refused += 1
    harness.check(answered + refused >= 60, f"{answered} and {refused} statements")
    with open(tpch_data.ROOT / "docs" / "guide" / "statements.md") as file:
        page = file.read()
    harness.check(sql_statements.table() in page, "docs/guide/statements.md has another table than sql_statements.py prints")
    harness.check(f"{answered} of {answered + refused} statements" in page, f"docs/guide/statements.md: {answered} of {answered + refused} are answered")
    print(f"{answered} statements answered as DuckDB does, {refused} refused by name", flush=True)


def test_values_of_all_types(case):
    path = os.path.join(case.directory, "values.csv")
    with open(path, "w") as file:
        file.write('id,Day,price,big,ratio,note\n'
                   '-1,1969-12-31,-0.0001,9223372036854775807,0.1,\n'
                   '2,9999-12-31,12345678901234.5678,1,-1e300,""\n'
                   '3,2024-02-29,5.0000,7,inf,"a ""quoted"", ünïcode"\n')
    case.server.eris("import", "values", path, "--schema",
                     "id:int64,Day:date,price:decimal(4),big:uint64,ratio:float64,note:string?", "--key", "id")
    got = case.sql("--format", "csv", 'select id, "Day", price, big, ratio, note from "values" order by id')
    harness.check_equal(got, 'id,Day,price,big,ratio,note\n'
                             '-1,1969-12-31,-0.0001,9223372036854775807,0.1,\n'
                             '2,9999-12-31,12345678901234.5678,1,-1e+300,""\n'
                             '3,2024-02-29,5.0000,7,inf,"a ""quoted"", ünïcode"\n', "values as csv")
    table = case.sql('select note, sum(price) as sum from "values" where id < 3 group by note order by 2')
    harness.check_equal(table, "note                  sum\n"
                               "-                 -0.0001\n"
                               "      12345678901234.5678\n", "values as a table")
    harness.check_equal(case.sql('select id from "values" where id = 99'), "id\n", "no row")


def test_timestamps(case):
    path = os.path.join(case.directory, "stamps.csv")
    with open(path, "w") as file:
        file.write("id,at,day\n1,2024-02-29 03:04:05.25,2024-02-29\n2,2024-03-01 00:00:00,2024-03-01\n3,,\n4,1969-12-31 23:59:59,2024-02-29\n")
    case.server.eris("import", "stamps", path, "--schema", "id:int64,at:timestamp?,day:date?", "--key", "id")
    for sql, expected in (("select id, at, day from stamps where id = 1", [["1", "2024-02-29 03:04:05.25", "2024-02-29"]]),
                          ("select id from stamps where at >= timestamp '2024-02-29 03:04:05.25' order by id", [["1"], ["2"]]),
                          ("select id from stamps where at > '2024-02-29 03:04:05.25'", [["2"]]),
                          ("select id from stamps where at < date '2024-03-01' order by id", [["1"], ["4"]]),
                          ("select id from stamps where at = day", [["2"]]),
                          ("select a.id, b.id from stamps a join stamps b on a.at = b.day", [["2", "2"]]),
                          ("select id from stamps where cast(at as date) = day order by id", [["1"], ["2"]]),
                          ("select id from stamps where at > cast(day as timestamp)", [["1"]]),
                          ("select year(at), extract(month from at), date_part('hour', at), minute(at), extract(second from at) from stamps where id < 2",
                           [["2024", "2", "3", "4", "5"]]),
                          ("select id from stamps where at between timestamp '2024-02-29 00:00:00' - interval '1' hour "
                           "and timestamp '2024-02-29' + interval '4' hour", [["1"]]),
                          ("select max(at), min(at), count(distinct at) from stamps", [["2024-03-01 00:00:00", "1969-12-31 23:59:59", "3"]]),
                          ("select at, count(*) from stamps group by at order by at desc nulls last limit 1", [["2024-03-01 00:00:00", "1"]]),
                          ("select coalesce(at, timestamp '2000-01-01 00:00:01') from stamps where id = 3", [["2000-01-01 00:00:01"]]),
                          ("select id, year(day), hour(at) from stamps where at > '2024-02-29 23:00:00'", [["2", "2024", "0"]]),
                          ("select id from stamps where at < cast('9999-01-01' as timestamp(6)) and year(at) = 1969", [["4"]]),
                          ("select timestamp '2024-01-02 03:04:05', year(timestamp '2024-01-02 03:04:05')", [["2024-01-02 03:04:05", "2024"]])):
        harness.check_equal(case.rows(sql), expected, sql)
    for sql, what in (("select max(at + interval '1' day) from stamps", "interval"), ("select date_trunc('hour', at) from stamps", "date_trunc"),
                      ("select sum(at) from stamps", "sum"), ("select timestamp '2024-01-02 03:04:05.123456789'", "no whole microseconds")):
        code, said = case.fails(sql)
        harness.check(code == 2 and what in said.lower(), f"{sql}: {said}")


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
    printed = json.loads(case.sql("select data from blobs order by id", "--format", "json"))
    harness.check_equal(printed, case.server.eris_json("scan", "blobs", "--columns", "data"), "bytes as JSON")
    harness.check_equal(printed, [{"data_base64": "AP8="}, {"data": "zz"}, {"data": None}], "bytes as JSON")
    for sql in ("select id from blobs where name = data", "select id from blobs where data like 'z%'"):
        code, said = case.fails(sql)
        harness.check(code == 2 and "are not supported" in said, said)


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
          [["3.55", "1.00"]])
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
    code, said = case.fails(f"select * from (values {rows}, (0, '')) as v(i, t)")
    harness.check(code == 2 and "a table of 1025 rows, must have at most 1024" in said, said)
    explained = case.sql("explain select x + 1 as y from (values (1), (2)) as t(x)")
    harness.check_equal(explained.splitlines(), ["step 0: values, 2 rows; gives f0; ~2 rows -> step 1",
                                                 "step 1: compute from step 0; gives y = f0 + 1; ~2 rows -> answer"], "explained")


def test_ways_in_and_out(case):
    path = os.path.join(case.directory, "count.sql")
    with open(path, "w") as file:
        file.write("select count(*) as n\nfrom region, nation\nwhere r_regionkey = n_regionkey;\n")
    expected = " n\n25\n"
    harness.check_equal(case.sql("-f", path), expected, "a file")
    with open(path) as file:
        text = file.read()
    for arguments in ([], ["-f", "-"]):
        harness.check_equal(case.sql(*arguments, input=text), expected, "standard input")
    plan = os.path.join(case.directory, "count.plan")
    case.sql("--plan-out", plan, "-f", path)
    harness.check_equal(case.server.eris_json("query", plan), [{"n": "25"}], "the written plan")
    for arguments in (["--explain", "-f", path], ["explain " + text]):
        explained = case.sql(*arguments)
        harness.check("inner join" in explained and "scan nation" in explained and "plan" not in explained, explained)
    for arguments in (["--analyze", "-f", path], ["-- what it takes\nexplain /* really */ analyze " + text]):
        analysed = case.sql(*arguments)
        harness.check("scan nation" in analysed and "        25 rows; " in analysed and "answer: 1 rows" in analysed, analysed)
    harness.check_equal(case.sql("select 1 as a; select ';' as \"b;\"; -- the end;\n"), "a\n1\n\nb;\n;\n", "two statements")
    harness.check_equal(case.sql("--timing", "--", "--a comment\nselect 1 as a").splitlines()[:2], ["a", "1"], "a statement that begins with a dash")
    timed = case.sql("--timing", "select r_name from region")
    harness.check(re.search(r"^\(5 rows, [\d.,]+ ms\)$", timed, re.M), timed)
    harness.check_equal(json.loads(case.sql("--timing", "--format", "json", "select 1 as a")), [{"a": "1"}], "json with the time beside it")
    shell = [case.server.programs.eris, "shell"]
    harness.check_equal(case.server.run(*shell, input="select 1 as a;\nselect 2 as b").stdout, "a\n1\n\nb\n2\n", "a shell without a terminal")
    for text, expected in (("/* a /* ; */ b */ select 1 as a", "a\n1\n"), ("select $$;$$ as a", "a\n;\n"), ("select e'a\\';b' as a", "a\na';b\n"),
                           ("\ufeffselect 1 as a -- ;", "a\n1\n"), ("select 'a\nb\x1b[31m' as a", "a\na\\nb\\x1b[31m\n")):
        harness.check_equal(case.sql("-f", "-", input=text), expected, repr(text))


def test_formats(case):
    query = "select cast(r_regionkey as bigint) as r_regionkey, r_name, cast(r_regionkey as int) as small, " \
            "case when r_regionkey = 0 then null else 5e-1 end as half from region " \
            "where r_regionkey < 2 order by 1"
    expected = [{"r_regionkey": "0", "r_name": "AFRICA", "small": 0, "half": None}, {"r_regionkey": "1", "r_name": "AMERICA", "small": 1, "half": 0.5}]
    harness.check_equal(json.loads(case.sql("--format", "json", query)), expected, "json")
    harness.check_equal(json.loads(case.server.run(*case.command[:1], "--output", "json", *case.command[1:], query).stdout), expected, "--output json")
    harness.check_equal(case.sql("--format", "json", "select 1 where false"), "[]\n", "no row as json")
    harness.check_equal(case.sql("--format", "csv", "select r_name from region where false"), "r_name\n", "no row as csv")
    path = os.path.join(case.directory, "rows.arrow")
    with open(path, "wb") as out:
        subprocess.run([*case.command, "--format", "arrow", query], env=case.server.env, stdout=out, check=True)
    read = f"import pyarrow; table = pyarrow.ipc.open_stream({path!r}).read_all(); table.validate(full=True); print(table['half'].to_pylist())"
    harness.check_equal(case.server.run(case.python, "-c", read).stdout, "[None, 0.5]\n", "arrow")


def test_exact_numbers_and_dates(case):
    for sql, expected in (("select o_orderkey from orders where o_totalprice = 172799.49", [["1"]]),
                          ("select count(*) from orders where o_totalprice in (172799.49, 1.0)", [["1"]]),
                          ("select 0.1 + 0.2 as a, 0.00000001 as b", [["0.3", "0.00000001"]]),
                          ("select 1e3 as a, 2.5 as b", [["1000.0", "2.5"]]),
                          ("select date '9999-12-31' + interval '1' day, date '0001-01-01' - interval '1' day", [["10000-01-01", "0000-12-31"]])):
        harness.check_equal(case.rows(sql), expected, sql)


def test_names(case):
    """Those without quotes are found whatever their case; what is no name stays."""
    path = os.path.join(case.directory, "names.csv")
    with open(path, "w") as file:
        file.write("Id,Day,Price,Select\n1,2024-02-29,1.50,a\n2,2024-03-01,,b\n")
    case.server.eris("import", "Sales", path, "--schema", "Id:int64,Day:date,Price:decimal(2)?,Select:string", "--key", "Id")
    for sql, expected in (("select id, PRICE from sales order by ID", [["1", "1.50"], ["2", None]]),
                          ("select s.day from SALES as s where s.day > date '2024-02-29'", [["2024-03-01"]]),
                          ("select extract(day from day) as day from sales order by day", [["29"], ["1"]]),
                          ("select count(*) as n, cast(min(id) as int) from Sales -- sales, Day", [["2", "1"]]),
                          ("select -id as day from sales order by day", [["-2"], ["-1"]]),
                          ("select day from (select price as day from sales where id = 1) as t", [["1.50"]]),
                          ("select sales.day from sales where day < date '2024-02-01' + interval '1' month", [["2024-02-29"]]),
                          ("select 'day', \"Select\" from sales where \"Select\" = 'a'", [["day", "a"]])):
        harness.check_equal(case.rows(sql), expected, sql)
    for sql, said in (("select 1 from slaes", "there is no object slaes; did you mean Sales?"), ("select pric from sales", 'Did you mean \'"Sales"."Price"\''),
                      ("select 1 from nothing_like_it", "there is no object nothing_like_it; there are Sales, ")):
        code, text = case.fails(sql)
        harness.check(code == 2 and said in text, text)
    case.server.eris("create", "sales")
    harness.check_equal(case.rows("select count(*) from sales"), [["0"]], "the name as it is goes first")
    case.server.eris("drop", "sales")
    case.server.eris("drop", "Sales")


def test_faults_are_told(case):
    for sql, code, said in (("select * from nothing_like_it", 2, "INVALID_ARGUMENT: there is no object nothing_like_it; there are "),
                            ("select", 2, "eris: INVALID_ARGUMENT: "),
                            ("select r_name from region where r_name = 1 +", 2, "eris: INVALID_ARGUMENT: "),
                            ("select r_name from region where r_regionkey = 'x'", 2, "INVALID_ARGUMENT: Cannot cast string 'x'"),
                            ("select n_nationkey * 9223372036854775807 as x from nation", 2, "OUT_OF_RANGE"),
                            ("select n_nationkey % 0 as x from nation", 2, "OUT_OF_RANGE"),
                            ("insert into region values (1)", 2, "insert: a statement is a query, which begins with select, with or values; `eris put`"),
                            ("create external table t (a int) stored as csv location '/etc/passwd'", 2, "create: a statement is a query"),
                            ("", 2, "there is no statement"),
                            ("select upper(n_name) as x from nation", 2, "UNIMPLEMENTED: relations[0].root")):
        got, text = case.fails(sql)
        harness.check(got == code and said in text, f"{sql}: exit code {got}, {text}")
    for arguments, code, said in ((["--server", "127.0.0.1:1", "select 1"], 3, "UNAVAILABLE"), (["-f", "/nowhere"], 2, "/nowhere"),
                                  (["-f", "x", "select 1"], 2, "not both"), (["--tls-cert", "x", "select 1"], 2, "tls_cert and tls_key")):
        got, text = case.fails(*arguments)
        harness.check(got == code and said in text, f"{arguments}: exit code {got}, {text}")
    # Without its packages it says what to install; without the package `eris` does.
    done = subprocess.run([case.python, "-c", "import sys; sys.modules['datafusion'] = None; from eris.shell.main import sql; sys.exit(sql())", "select 1"],
                          env=case.server.env, capture_output=True, text=True)
    harness.check(done.returncode == 1 and done.stderr == "eris: SQL needs datafusion: pip install 'eris-engine[sql]'\n", done.stderr)
    done = subprocess.run([*case.command, "select 1"], env=dict(case.server.env, PATH="/nowhere"), capture_output=True, text=True)
    harness.check(done.returncode == 1 and "eris-sql is not in PATH, or its Python is gone: it comes with the Python package" in done.stderr, done.stderr)


class Terminal:
    """`eris shell` on a terminal of its own."""

    def __init__(self, case):
        self.master, slave = pty.openpty()
        env = dict(case.server.env, TERM="dumb", XDG_STATE_HOME=case.directory, COLUMNS="200")
        self.shell = subprocess.Popen([case.server.programs.eris, "shell"], env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def read(self, end="eris> "):
        """What comes until `end` is the last of it."""
        text, until = "", time.monotonic() + 60
        while not text.endswith(end):
            harness.check(time.monotonic() < until, f"no {end!r} in {text!r}")
            if select.select([self.master], [], [], 1)[0]:
                text += os.read(self.master, 65536).decode(errors="replace")
        return text.replace("\r\n", "\n")

    def type(self, text, end="eris> "):
        os.write(self.master, text.encode())
        return self.read(end)


def test_shell(case):
    terminal = Terminal(case)
    harness.check("\\? for help" in terminal.read(), "the first line")
    harness.check("nation" in terminal.type("\\d\n"), "\\d")
    said = terminal.type("\\d NATION\n")
    harness.check("nation: table, 25 rows, " in said and "n_regionkey  int32" in said, said)
    harness.check_equal(terminal.type("select count(*) as n\n", "   -> ").splitlines()[-1], "   -> ", "a statement that goes on")
    said = terminal.type("from nat\t;\n")  # the rest of the name by the tab key
    harness.check(re.search(r"from nation;\n n\n25\n\(1 row, [\d.]+ ms\)\n", said), said)
    harness.check("there is no command \\x" in terminal.type("\\x\n"), "an unknown command")
    terminal.type("\\rows 2\n")
    said = terminal.type("select n_name from nation order by n_name;\n")
    harness.check("ALGERIA" in said and "BRAZIL" not in said and "... 23 more rows" in said, said)
    harness.check("ALGERIA" in terminal.type("\x1b[A\n"), "the line before")  # the arrow up
    terminal.type("\\format csv\n")
    harness.check("n_name\nALGERIA\n" in terminal.type("select n_name from nation order by 1;\n"), "csv")
    os.write(terminal.master, f"{LONG};\n".encode())
    harness.wait_until(lambda: case.server.eris_json("query", "--list"), "the query to run")
    harness.check("cancelled" in terminal.type("\x03"), "an interrupt")
    harness.wait_until(lambda: not case.server.eris_json("query", "--list"), "the query to end")
    terminal.type("select 1 as begun\n", "   -> ")
    terminal.type("\x03")
    harness.check("there is no object nowhere" in terminal.type("select 1 from nowhere;\n"), "an error")
    harness.check("\\rows 0: give a number" in terminal.type("\\rows 0\n"), "rows")
    with open(os.path.join(case.directory, "binary"), "wb") as file:
        file.write(b"\xff\x00")
    harness.check("codec can't decode" in terminal.type(f"\\i {case.directory}/binary\n"), "a file that is no text")
    os.write(terminal.master, b"\\q\n")
    harness.check_equal(terminal.shell.wait(60), 0, "exit code of the shell")
    os.close(terminal.master)
    with open(os.path.join(case.directory, "eris", "history")) as file:
        harness.check("select count(*) as n from nation;\n" in file.read(), "history")


def test_guide(case):
    (program,) = python_client_test.guide_programs("python.md", "= db.sql(")
    done = case.server.run(case.python, "-c", program.replace("127.0.0.1:7411", case.server.address)).stdout
    harness.check_equal(done.splitlines(), python_client_test.printed(program), "output of the guide's program")
    case.server.eris("drop", "visits")


def test_a_long_query_is_listed_and_cancelled(case):
    with subprocess.Popen([*case.command, LONG], env=case.server.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        harness.wait_until(lambda: case.server.eris_json("query", "--list"), "the query to run")
        (query,) = case.server.eris_json("query", "--list")
        harness.check_equal((query["state"], query["rows_sent"]), ("computing", "0"), "a query that runs")
        harness.check(query["client"].startswith("ipv4:127.0.0.1:"), query)
        case.server.eris("query", "--cancel", query["id"])
        said = client.communicate(timeout=60)[1]
    harness.check(client.returncode == 4 and "CANCELLED" in said, said)
    harness.wait_until(lambda: not case.server.eris_json("query", "--list"), "the query to end")


def main():
    args = harness.parse_args()
    answers = tpch_data.answers(args.build)
    programs = make_programs(args.build)
    with harness.Server(harness.Programs(args.build), "--aeus", "2") as server, \
            tempfile.TemporaryDirectory() as directory:
        query_test.load_tables(server, args.build)
        case = Case(server, programs, answers, tpch_data.sql_answers(args.build), directory)
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test(case)
                print(f"{name}: ok", flush=True)
        server.wait_until_quiet()


if __name__ == "__main__":
    main()
