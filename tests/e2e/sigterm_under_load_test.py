"""SIGTERM while several programs load the server: every call is answered or refused with UNAVAILABLE,
and the server ends with exit code 0.

A call that was under way at SIGTERM gets its answer or the server's own refusal. Only a call that was
sent afterwards, when the last one had been answered, may find the connection closed before a byte of
its answer has come: gRPC gives its caller UNAVAILABLE, too."""
import json
import signal
import subprocess
import time

import harness

KEYS = ["--keys", "1000000", "--output", "json", "--until-unavailable", "--seconds", "120",
        "--verify"]
LOADS = {
    "mixed": ["mixed", "--connections", "4", "--batch", "4096", "--in-flight", "16"],
    "large": ["upsert", "--connections", "1", "--batch", "262144", "--in-flight", "4"],
    "scans": ["scan", "--connections", "2", "--scan-rows", "100000"],
    "unary": ["lookup", "--connections", "4", "--batch", "64", "--unary", "--in-flight", "1"],
    "unary writes": ["f", "--connections", "2", "--batch", "64", "--unary", "--in-flight", "4"],
}


def main():
    programs = harness.Programs(harness.parse_args().build)
    with harness.Server(programs) as server:
        server.bench("load", "--keys", "1000000")
        loads = {name: subprocess.Popen([programs.eris, "bench", *flags, *KEYS], env=server.env,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                 for name, flags in LOADS.items()}
        # Any moment under load will do.
        before = sum(int(aeu["keys"]) for aeu in server.stats()["aeus"])
        harness.wait_until(lambda: sum(int(aeu["keys"]) for aeu in server.stats()["aeus"]) >
                           before + 2_000_000, "the load to be under way")
        time.sleep(0.5)
        begun_ns = time.time_ns()
        server.process.send_signal(signal.SIGTERM)
        server.await_end()
        print(f"exit code 0, {(time.time_ns() - begun_ns) / 1e9:.2f} s after SIGTERM")
        for name, load in loads.items():
            out, err = load.communicate(timeout=60)
            harness.check(load.returncode == 0, f"{name}: exit code {load.returncode}\n{out}{err}")
            run = json.loads(out)
            print(f"{name}: {run['requests']} requests, {run['answered']} answered, "
                  f"{run['refused']} refused, {run['cut_off']} cut off; {err.strip()}")
            harness.check(run["answered"] > 0, f"{name}: no request was answered before SIGTERM")
            harness.check_equal(run["answered"] + run["refused"], run["requests"],
                                f"{name}: requests with an answer or UNAVAILABLE")
            if run["cut_off"] > 0:
                harness.check(run["cut_off_begun_unix_ns"] > begun_ns,
                              f"{name}: a call from before SIGTERM was cut off")
                harness.check_equal(run["cut_off_rows"], 0, f"{name}: rows of calls then cut off")


if __name__ == "__main__":
    main()
