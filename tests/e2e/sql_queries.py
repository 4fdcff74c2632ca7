"""SQL over TPC-H's tables beyond its 22 queries, by name: what people write and other servers take. Where DuckDB's dialect
differs, a pair: the text for ERIS, which DataFusion plans, and the one for DuckDB.

The rows of a text with `order by` have one order only.
"""
QUERIES = {
    "ordered by what is not selected": "select n_name from nation order by n_regionkey desc, n_nationkey",
    "first rows by what is not selected":
        "select o_totalprice from orders order by o_orderdate, o_orderkey desc limit 7 offset 2",
    "ordered by an expression": "select c_name from customer order by c_acctbal * -1, c_custkey limit 5",
    "first rows in a subquery":
        "select count(*), max(p_retailprice) from (select p_retailprice from part order by p_size, p_partkey limit 11)",
    "distinct values of several columns":
        "select count(distinct l_suppkey), count(distinct l_partkey), sum(l_quantity), avg(distinct l_discount), count(*) "
        "from lineitem",
    "distinct values of several columns, by a key that is null":
        "select case when l_linenumber < 4 then l_linenumber end as line, l_shipmode, count(distinct l_suppkey), "
        "sum(distinct l_quantity), max(l_tax), count(distinct l_returnflag) from lineitem group by 1, 2 order by 1, 2",
    "quotients of integers":
        ("select l_orderkey / 7, l_linenumber / -2, l_orderkey % 7, -l_linenumber % 3, l_quantity % 7, "
         "l_extendedprice % l_quantity from lineitem where l_orderkey % 5 = 2 order by l_orderkey, l_linenumber limit 40",
         "select l_orderkey // 7, l_linenumber // -2, l_orderkey % 7, -l_linenumber % 3, l_quantity % 7, "
         "l_extendedprice % l_quantity from lineitem where l_orderkey % 5 = 2 order by l_orderkey, l_linenumber limit 40"),
    "groups by remainders": "select n_nationkey % 4 as k, count(*), sum(n_nationkey % 3) from nation group by 1 order by 1",
}


def of_eris(query):
    return query if isinstance(query, str) else query[0]


def of_duckdb(query):
    return query if isinstance(query, str) else query[1]
