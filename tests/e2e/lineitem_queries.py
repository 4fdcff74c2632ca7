"""The queries of the lineitem test: each as `eris scan` takes it, and as SQL for DuckDB, which gives the expected rows.

The first two are TPC-H's Q6 and Q1; the others go through every type, nulls aside, and every kind of expression.
"""
PRICES = "sum(l_extendedprice * (1 - l_discount))"
CHARGE = "sum(l_extendedprice * (1 - l_discount) * (1 + l_tax))"
Q1 = (f"sum(l_quantity), sum(l_extendedprice), {PRICES}, {CHARGE}, avg(l_quantity), avg(l_extendedprice), "
      "avg(l_discount), count(*)")
EXTREMES = ("min(l_orderkey), max(l_orderkey), min(l_linenumber), max(l_linenumber), min(l_extendedprice), "
            "max(l_extendedprice), min(l_shipdate), max(l_receiptdate), sum(l_partkey), avg(l_suppkey)")

# name: (filter, with dates in braces; aggregates; group by)
QUERIES = {
    "q6": ("l_shipdate >= {1994-01-01} and l_shipdate < {1995-01-01} and l_discount between 0.05 and 0.07 "
           "and l_quantity < 24", "sum(l_extendedprice * l_discount)", ""),
    "q1": ("l_shipdate <= {1998-09-02}", Q1, "l_returnflag, l_linestatus"),
    "extremes": ("", EXTREMES, ""),
    "in": ("l_shipmode in ('AIR', 'MAIL') and not l_shipinstruct = 'NONE'", "count(*), sum(l_quantity)", "l_shipmode"),
    "or": ("l_quantity > 49 or l_tax = 0.08 or l_comment < 'b'", "count(*), sum(l_orderkey)", ""),
    "strings": ("l_comment >= 'carefully' and l_comment < 'carefullz' or l_shipmode <> 'RAIL' and l_linenumber = 7",
                "count(*), max(l_shipdate)", "l_linenumber"),
    "days": ("l_receiptdate > l_commitdate and l_shipdate < l_commitdate", "count(*), " + PRICES,
             "l_shipmode, l_linestatus, l_returnflag, l_linenumber"),
    "patterns": ("l_comment like '%special%packages%' or l_shipinstruct like 'TAKE_BACK%' and not l_comment like '%e'",
                 "count(*), sum(l_quantity)", "l_shipmode"),
    "dates": ("date_part('year', l_shipdate) = 1995 and date_part('month', l_commitdate) in (1, 6, 12)",
              "count(*), sum(date_part('day', l_receiptdate)), max(date_part('quarter', l_receiptdate))", "l_linestatus"),
    "quotients": ("l_extendedprice / l_quantity > 1900 or l_quantity / l_linenumber < 0.5",
                  "count(*), min(l_extendedprice / l_quantity), max(l_quantity / (l_linenumber + 1))", "l_returnflag"),
    "cases": ("case when l_linenumber > 3 then l_shipmode else l_shipinstruct end in ('AIR', 'NONE')",
              "count(*), sum(case when l_shipmode = 'AIR' then l_extendedprice else 0 end), "
              "sum(case when l_quantity < 10 then 1 when l_quantity < 20 then l_discount end), "
              "max(case when l_returnflag = 'R' then l_shipdate else l_commitdate end)", "l_linestatus"),
    "casts": ("cast(l_quantity as int64) in (1, 7, 49) and cast(l_extendedprice as int32) > 1500",
              "count(*), sum(cast(l_extendedprice as int64)), sum(cast(l_extendedprice as decimal(12, 1))), "
              "sum(cast(l_extendedprice as decimal(30, 4)) + l_quantity), min(cast(l_tax as float64) / 2), "
              "max(cast(l_orderkey as decimal(15, 2)))", "l_returnflag"),
    "substrings": ("substring(l_comment, 1, 3) in ('the', 'car', 'fur') or substring(l_comment from 4 for 4) = 'ular' "
                   "or substring(l_shipinstruct, 6) like 'BACK%'", "count(*), sum(l_quantity)", "l_shipmode"),
    "wide": ("l_extendedprice between 20000.000000000000000001 and 30000.5 and l_orderkey < 100000000000000000000000",
             "count(*), sum(l_extendedprice)", ""),
    "nothing": ("l_quantity < 0", "count(*), sum(l_tax), min(l_shipdate), avg(l_tax)", ""),
}


def eris_arguments(name):
    condition, aggregates, groups = QUERIES[name]
    arguments = ["--agg", aggregates]
    if condition:
        arguments += ["--filter", condition.replace("{", "").replace("}", "")]
    if groups:
        arguments += ["--group-by", groups.replace(" ", "")]
    return arguments


def sql(name):
    condition, aggregates, groups = QUERIES[name]
    parts = [f"select {groups + ', ' if groups else ''}{aggregates} from lineitem"]
    if condition:
        parts.append("where " + condition.replace("{", "date '").replace("}", "'"))
    if groups:
        parts.append(f"group by {groups} order by {groups}")
    return " ".join(parts).replace("float64", "double")
