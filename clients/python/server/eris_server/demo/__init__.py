"""`eris demo`: TPC-H in a server of its own, next to DuckDB, and a load that moves while the balancer follows it. main.py begins."""
