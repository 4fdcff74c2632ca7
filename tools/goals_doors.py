"""The goals of the doors by which others come in: Arrow Flight, Python, Spark, the web page. Part of tools/goals.py."""
from goals_run import Part, Step, at_least, at_most
from goals_tables import words_of

DRIVER = "bench/doors/run.py"


def flight_get(run):
    found = run.script(DRIVER, "--parts", "get")["get"]
    ours, theirs = found["cpu_s_per_gb"]["eris"], found["cpu_s_per_gb"]["pyarrow"]
    run.goal("doors.get_cpu_over_pyarrow", ours["median"] / max(theirs["median"], 1e-9),
             f"CPU of the server for a GB into pyarrow: {words_of(ours, 's')} vs. {words_of(theirs, 's')} of pyarrow's own server with ready "
             f"batches; {words_of(found['gb_s']['eris'], 'GB/s')} vs. {words_of(found['gb_s']['pyarrow'], 'GB/s')}")


def flight_put(run):
    found = run.script(DRIVER, "--parts", "put")["put"]
    run.goal("doors.put_over_write_stream", found["do_put"]["median"] / found["write_stream"]["median"],
             f"rows of four u64 into a clustered table: {words_of(found['do_put'], 'rows/s')} from pyarrow vs. "
             f"{words_of(found['write_stream'], 'rows/s')} from the C++ client")


def python(run):
    found = run.script(DRIVER, "--parts", "python")["python"]
    for count in (4096, 256):
        best = max((f"call {count}", f"tasks {count}"), key=lambda name: found[name]["median"])
        run.goal(f"doors.python_get_{count}_over_cpp", found[best]["median"] / found[f"c++ {count}"]["median"],
                 f"16 tasks {words_of(found[f'tasks {count}'], 'keys/s')}, one call after the other {words_of(found[f'call {count}'], 'keys/s')}, "
                 f"the C++ client {words_of(found[f'c++ {count}'], 'keys/s')}")


def tasks(run):
    found = run.script(DRIVER, "--parts", "tasks")["tasks"]
    best = max((name for name in found if name != "eris"), key=lambda name: found[name]["median"])
    run.goal("doors.python_tasks_over_redis", found["eris"]["median"] / found[best]["median"],
             f"1,000 tasks of one key: {words_of(found['eris'], 'keys/s')} vs. {words_of(found[best], 'keys/s')} of redis.asyncio, "
             f"{best.split()[1]} connections")


def embedded(run):
    found = run.script(DRIVER, "--parts", "embedded")["embedded"]
    run.goal("doors.embedded_get_over_session", found["python"]["median"] / found["session"]["median"],
             f"65,536 keys, one AEU: {words_of(found['python'], 'keys/s')} by eris.open() vs. {words_of(found['session'], 'keys/s')} by "
             "Session::Lookup")


def spark(run):
    if run.tiny:
        run.no_goal("doors.spark_read_over_memory", "tiny: PySpark is 480 MB; tests/e2e/spark_test.py, of ./dev soak, runs the driver")
        return
    found = run.script("bench/doors/spark.py")
    ours, theirs = found["seconds"]["eris"], found["seconds"]["memory"]
    run.goal("doors.spark_read_over_memory", ours["median"] / theirs["median"],
             f"a job over lineitem of scale {found['scale']}, {found['bytes'] / 1e6:.0f} MB in {found['batches']} batches and "
             f"{found['partitions']['eris']} partitions: {words_of(ours, 's')} by eris.spark vs. {words_of(theirs, 's')} by a Python data source "
             "whose batches are in memory")


def page(run):
    found = run.script("bench/remote/page_cost.py")
    polls = found["polls"]
    where = f"{found['topology']}, {found['objects']} objects, {found['ranges']:,} ranges that are looked up in"
    run.goal("doors.page_core_percent", found["share_of_a_core"] * 100, f"of the page's thread, by one open page; {where}")
    run.goal("doors.page_poll_ms", max(poll["cpu_ms"] for poll in polls.values()),
             "CPU of the dearest poll; medians: " + ", ".join(f"{name} {poll['cpu_ms']:.3g}" for name, poll in polls.items()) + f" ms; {where}")


DOORS = Part(8, (
    Step(flight_get, {"doors.get_cpu_over_pyarrow": at_most(1.6)}),
    Step(flight_put, {"doors.put_over_write_stream": at_least(0.9)}),
    Step(python, {"doors.python_get_4096_over_cpp": at_least(0.7), "doors.python_get_256_over_cpp": at_least(0.15)}),
    Step(tasks, {"doors.python_tasks_over_redis": at_least(30)}),
    Step(embedded, {"doors.embedded_get_over_session": at_least(0.9)}),
    Step(spark, {"doors.spark_read_over_memory": at_most(1.2)}),
    Step(page, {"doors.page_core_percent": at_most(1), "doors.page_poll_ms": at_most(5)})))
