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
    "conditions as columns":
        "select n_nationkey > 3 as large, n_name like 'A%', n_regionkey = 1 or n_nationkey is null, true as always, "
        "(n_nationkey > 20)::int + 1 from nation order by n_nationkey",
    "conditions of nulls": "select c > 3 as x, c is null, (c > 3) = true, not (c > 3), (c > 3) is null from "
                           "(select n_nationkey as k, case when n_nationkey % 3 = 0 then n_nationkey end as c from nation) order by k",
    "groups by conditions": "select o_totalprice > 100000 as x, count(*), bool_and(o_orderkey > 1), bool_or(o_custkey = 1), "
                            "count(o_orderpriority = '1-URGENT') from orders group by 1 order by 1",
    "literal nulls": "select null as a, null::bigint as b, null::date as c, null::varchar as d, null::decimal(30, 2) as e, "
                     "case when n_nationkey > 3 then null else n_name end as f, n_nationkey + null as g from nation order by n_nationkey",
    "strings at the ends": "select min(n_name), max(n_comment), min(case when n_regionkey > 9 then n_name end) from nation",
    "strings at the ends of groups":
        "select c_nationkey, min(c_name), max(c_phone), count(distinct c_mktsegment), max(c_address) from customer "
        "group by 1 order by 1",
    "medians": "select median(l_quantity), median(l_extendedprice), median(l_suppkey), median(l_discount * l_tax), "
               "median(distinct l_partkey), median(case when l_linenumber > 9 then l_tax end) from lineitem",
    "medians of groups":
        "select l_suppkey, median(l_extendedprice), median(l_partkey * 1.5::double), count(*), median(l_linenumber) from lineitem "
        "group by 1 order by 1",
    "medians next to distinct values":
        "select l_shipmode, median(l_quantity), count(distinct l_suppkey), median(distinct l_orderkey), median(l_orderkey) from lineitem "
        "group by 1 order by 1",
    "a median of medians": "select median(m), median(n) from (select o_custkey, median(o_totalprice) as m, count(*) as n from orders "
                           "group by o_custkey)",
    "unions": "select n_nationkey as k, n_name from nation where n_regionkey = 1 union all "
              "select r_regionkey, r_name from region union all select n_nationkey, n_name from nation where n_nationkey > 9 "
              "order by k, n_name",
    "unions of distinct rows": "select n_regionkey as k, null as x from nation union select count(*), null from region "
                               "union select l_linenumber, 'x' from lineitem order by 1, 2",
    "groups of unions": "select k, count(*), sum(v) from (select o_custkey % 5 as k, o_totalprice as v from orders union all "
                        "select c_custkey % 5, c_acctbal from customer) group by k order by k",
    "the number of a union's rows": "select count(*) from (select n_name from nation union all select r_name from region)",
}


def of_eris(query):
    return query if isinstance(query, str) else query[0]


def of_duckdb(query):
    return query if isinstance(query, str) else query[1]
