"""Statements of the kinds that DuckDB's documentation shows, over TPC-H's tables, by kind. Each has DuckDB's answer, or is refused with words that
say what is missing: then it is a pair of the statement and those words. docs/guide/statements.md has them as a table: this file prints it.

A statement's rows have one order only, or none.
"""
STATEMENTS = {
    "select": [
        "select * from region",
        "select n_name, n_regionkey * 10 + 1 as code from nation",
        "select distinct n_regionkey from nation",
        "select r.* from region r",
        "select 'a' || 'b' as text",
    ],
    "filter": [
        "select n_name from nation where n_regionkey = 2 and n_nationkey > 10",
        "select count(*) from orders where o_orderdate between date '1995-01-01' and date '1995-12-31'",
        "select count(*) from orders where o_orderdate >= '1995-01-01' and o_orderdate < '1996-01-01'",
        "select count(*) from lineitem where l_shipmode in ('AIR', 'RAIL')",
        "select count(*) from lineitem where l_shipmode not in ('AIR', 'RAIL') or l_quantity < 3",
        "select count(*) from part where p_name like '%green%'",
        "select count(*) from part where p_name not like 'a%'",
        ("select count(*) from part where p_name ilike '%GREEN%'", 'the function "ilike"'),
        "select count(*) from customer where c_name is not null",
        ("select count(*) from part where regexp_matches(p_name, '^a.*e$')", "regexp_matches"),
    ],
    "group": [
        "select l_returnflag, l_linestatus, count(*), sum(l_quantity) from lineitem group by l_returnflag, l_linestatus",
        "select l_shipmode, avg(l_discount) from lineitem group by l_shipmode",
        "select n_regionkey, min(n_name), max(n_name) from nation group by 1",
        "select count(distinct o_custkey) from orders",
        "select o_orderstatus, count(*) filter (where o_totalprice > 200000) from orders group by o_orderstatus",
        "select median(o_totalprice) from orders",
        ("select stddev(o_totalprice) from orders", "stddev"),
        ("select string_agg(r_name, ',') from region", "string_agg"),
        ("select n_regionkey, count(*) from nation group by rollup (n_regionkey)", "rollup"),
    ],
    "having": [
        "select o_custkey, count(*) as n from orders group by o_custkey having count(*) > 30",
        "select l_suppkey from lineitem group by l_suppkey having sum(l_quantity) > 17000",
    ],
    "order and limit": [
        "select n_name from nation order by n_name desc limit 5",
        "select o_orderkey from orders order by o_totalprice desc, o_orderkey limit 3 offset 2",
        "select n_name from nation order by n_regionkey, 1",
        "select n_regionkey as k, count(*) as n from nation group by all order by n desc, k",
        "select c_custkey from customer order by c_acctbal nulls first, c_custkey limit 4",
    ],
    "join": [
        "select count(*) from orders join customer on o_custkey = c_custkey",
        "select n_name, r_name from nation, region where n_regionkey = r_regionkey and r_name = 'ASIA'",
        "select c_custkey, count(o_orderkey) from customer left join orders on c_custkey = o_custkey group by c_custkey",
        "select count(*) from orders right join customer on o_custkey = c_custkey and o_totalprice > 100000",
        "select count(*) from nation a join nation b using (n_regionkey)",
        "select count(*) from region cross join (select 1 as one) as t",
        ("select count(*) from nation full join region on n_nationkey = r_regionkey", "full joins"),
        ("select count(*) from nation a join nation b on a.n_nationkey < b.n_nationkey", "a join without keys"),
    ],
    "case": [
        "select case when n_regionkey = 0 then 'Africa' when n_regionkey = 3 then 'Europe' else 'other' end as place, count(*) from nation group by 1",
        "select coalesce(nullif(n_regionkey, 0), 9) from nation",
        ("select if(n_regionkey = 1, 'yes', 'no') from nation", "function 'if'"),
    ],
    "dates": [
        "select extract(year from o_orderdate) as y, count(*) from orders group by y",
        "select date_part('month', o_orderdate) as m, sum(o_totalprice) from orders group by 1",
        "select count(*) from orders where o_orderdate < date '1998-08-02' - interval '3' month",
        ("select date_trunc('month', o_orderdate) from orders", "date_trunc"),
        ("select max(o_orderdate + interval '1' day) from orders", 'literals of type "interval'),
        "select year(o_orderdate), count(*) from orders group by 1",
    ],
    "casts": [
        "select sum(cast(l_quantity as double)) from lineitem",
        "select cast(o_totalprice as bigint) as whole from orders where o_orderkey = 1",
        ("select cast(o_orderkey as varchar) from orders limit 1", 'casts of an integer to "string"'),
    ],
    "text": [
        "select substring(n_name, 1, 3) from nation",
        ("select upper(n_name), length(n_name) from nation", "upper"),
        ("select round(o_totalprice, 1) from orders", "round"),
    ],
    "subquery": [
        "select c_name from customer where c_custkey in (select o_custkey from orders where o_totalprice > 350000)",
        "select count(*) from customer where not exists (select 1 from orders where o_custkey = c_custkey)",
        "select count(*) from part where p_retailprice > (select avg(p_retailprice) from part)",
        "with big as (select o_custkey, sum(o_totalprice) as total from orders group by 1) select count(*) from big where total > 1000000",
    ],
    "sets": [
        "select n_regionkey from nation union all select r_regionkey from region",
        "select n_regionkey from nation union select 7",
        "select n_regionkey from nation intersect select 1",
        "select n_regionkey from nation except select 1",
    ],
    "window": [
        ("select n_name, row_number() over (order by n_name) from nation", "window"),
    ],
}


def all_statements():
    """Triples (kind, statement, the words of its refusal, or None)."""
    for kind, statements in STATEMENTS.items():
        for each in statements:
            yield (kind, *each) if isinstance(each, tuple) else (kind, each, None)


def table():
    lines = ["| kind | statement | |", "|---|---|---|"]
    for kind, statement, missing in all_statements():
        text = statement.replace("|", "\\|")
        lines.append(f"| {kind} | `{text}` | {f'refused: `{missing}`' if missing else 'answered'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
