"""Arrow Flight: pyarrow, as it comes from PyPI, reads objects of a server (flight_client.py): all types with nulls and extremes, no row and 70,000,
shares, refusals.
"""
import os
import re

import harness

PYARROW = "pyarrow==26.0.1"
HERE = os.path.dirname(os.path.abspath(__file__))
VALUES = """id,small,large,big,ratio,day,price,note,data
1,2147483647,9223372036854775807,18446744073709551615,inf,9999-12-31,99999999999999.9999,"ünïcode, ""quoted\""",\\x00ff
2,-2147483648,-9223372036854775808,0,-1e300,0001-01-01,-99999999999999.9999,"",\\x
3,,,,,,,,
"""


def load(server):
    def table(name, schema, text, key="id"):
        path = os.path.join(server.directory.name, f"{name}.csv")
        with open(path, "w") as file:
            file.write(text)
        server.eris("import", name, path, "--schema", schema, "--key", key)

    table("values", "id:int64,small:int32?,large:int64?,big:uint64?,ratio:float64?,day:date?,price:decimal(4)?,note:string?,data:bytes?",
          f"{VALUES}4,0,7,9223372036854775808,5e-324,1969-12-31,0.0001,{'x' * 60_000},raw\n")
    table("many", "id:int64,note:string?",
          "id,note\n" + "".join(f"{i},{'' if i % 7 == 0 else i}\n" for i in range(70_000)))
    table("lineitem", "l_orderkey:int64,l_tax:decimal(2)", "l_orderkey,l_tax\n1,0.05\n2,0.07\n", "l_orderkey")
    sevens = "id,value\n" + "".join(f"{i},7\n" for i in range(50_000))
    table("moving", "id:int64,value:int64", sevens)
    server.eris("import", "moving_heap", "-", "--schema", "id:int64,value:int64", input=sevens)
    server.eris("import", "moving_index", "-", "--key", "id", "--value", "value", "--expect", "0:50000", input=sevens)
    server.eris("create", "dropped", "--schema", "id:int64", "--key", "id")
    server.eris("create", "empty", "--schema", "id:int64,note:string?", "--key", "id")
    server.eris("import", "pairs", "-", "--no-header", "--key", "1,2", "--value", "3", "--key-type", "uint64,date", "--expect", "0:4",
                input="".join(f"{first},1970-01-0{day},{day}\n" for first in range(4) for day in range(1, 5)))
    server.eris("import", "index", "-", "--kind", "index", "--no-header", "--expect", "0:1000",
                input="".join(f"{i},{i * 3}\n" for i in range(1000)))


def run_page(server, python):
    """The programs of the guide's page run as they are, but for the address."""
    with open(os.path.join(HERE, "..", "..", "docs", "guide", "doors.md")) as file:
        programs = re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)
    harness.check_equal(len(programs), 4, "programs of the page")
    done = server.run(python, "-c", "\n".join(programs).replace("127.0.0.1:7411", server.address))
    printed = (" 2\n{'batches': 1, 'written': 2, 'refused': 0, 'unknown': 0}\n{'found': [True, False, True], 'l_orderkey': [9, None, 8], "
               "'l_tax': [Decimal('2.00'), None, Decimal('1.00')]}\n")
    harness.check(done.stdout.endswith(printed), f"the page's program printed {done.stdout}")


def main():
    build = harness.parse_args().build
    python = harness.make_python(build, "flight_client", [PYARROW])
    with harness.Server(harness.Programs(build), "--aeus", "4", "--flight-snapshot-ms", "2000",
                        "--advertise", "db1.example:7411") as server:
        load(server)
        print(server.run(python, "-B", os.path.join(HERE, "flight_client.py"), server.address, server.programs.eris).stdout)
        run_page(server, python)
        server.wait_until_quiet()


if __name__ == "__main__":
    main()
