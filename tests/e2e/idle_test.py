"""A server that has nothing to do uses less than 1 % of a core over 10 s, before and after work."""
import os
import time

import harness

SECONDS = 10
SHARE_MAX = 0.01


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        # Behind the program's name, which may hold anything: state is field 3, utime 14, stime 15.
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    programs = harness.Programs(harness.parse_args().build)
    with harness.Server(programs, "--aeus", "4") as server:
        server.bench("load", "--keys", "100000")
        server.bench("lookup", "--keys", "100000", "--seconds", "1")
        time.sleep(0.5)
        before = cpu_seconds(server.process.pid)
        time.sleep(SECONDS)
        share = (cpu_seconds(server.process.pid) - before) / SECONDS
        print(f"{100 * share:.2f} % of a core over {SECONDS} s")
        harness.check(share < SHARE_MAX, f"an idle server uses {100 * share:.2f} % of a core")


if __name__ == "__main__":
    main()
