"""Bad input through a real server: a clear status, and nothing has changed. Clients that vanish in the
middle of a scan or a batch leave nothing behind."""
import os
import subprocess

import harness


def test_requests_that_must_be_refused(programs):
    with harness.Server(programs) as server, harness.Server(programs) as other:
        server.env["ERIS_OTHER_SERVER"] = other.address
        print(server.run(os.path.join(programs.tests, "bad_input_check")).stdout)
        server.wait_until_quiet()


def test_client_killed_in_the_middle_of_a_scan(programs):
    with harness.Server(programs) as server:
        server.bench("load", "--keys", "3000000", "--layout", "dense")
        for _ in range(5):
            # Nobody reads the pipe, so the program stands in the middle of its scan.
            client = subprocess.Popen([programs.eris, "scan", "bench"], env=server.env,
                                      stdout=subprocess.PIPE)
            client.stdout.read(1000)
            harness.check(client.poll() is None, "the scan ended before it could be killed")
            harness.check(int(server.stats()["scans_open"]) > 0, "the server's scan has ended")
            client.kill()
            client.wait()
            client.stdout.close()
        server.wait_until_quiet()
        server.bench("scan", "--keys", "3000000", "--layout", "dense", "--scan-rows", "0",
                     "--requests", "1")


def test_client_killed_in_the_middle_of_batches(programs):
    keys = ["--keys", "1000000"]
    with harness.Server(programs) as server:
        server.bench("load", *keys)
        for _ in range(5):
            done = int(server.stats()["aeus"][0]["keys"])
            client = subprocess.Popen(
                [programs.eris, "bench", "mixed", "--upsert-percent", "50", "--connections", "2",
                 "--batch", "65536", "--in-flight", "8", "--seconds", "60", *keys], env=server.env,
                stdout=subprocess.DEVNULL)
            harness.wait_until(lambda: int(server.stats()["aeus"][0]["keys"]) > done,
                               "the load to begin")
            client.kill()
            client.wait()
        server.wait_until_quiet()
        verified = server.bench("scan", "--scan-rows", "0", "--requests", "1", *keys)
        harness.check_equal(verified["wrong"], 0, "wrong rows")


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
