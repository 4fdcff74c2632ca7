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
}


def of_eris(query):
    return query if isinstance(query, str) else query[0]


def of_duckdb(query):
    return query if isinstance(query, str) else query[1]
