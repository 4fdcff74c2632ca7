"""Real data end to end: TPC-H orders at scale factor 1 goes through `eris import` into an index
o_orderkey -> o_custkey of a real server; orders_check then compares all of it with the file over gRPC.
"""
import os
import random
import shlex

import harness
import orders_data


def main():
    args = harness.parse_args(lambda parser: (
        parser.add_argument("--serve", default="", help="further flags of eris serve, as one text"),
        parser.add_argument("--aeus", type=int, help="AEUs that there must be"),
        parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))))
    print(f"seed {args.seed}", flush=True)
    orders = orders_data.path(args.build)
    if not os.path.exists(orders):
        harness.skip("tpchgen-cli (PyPI)", f"{orders} is not there; see the test e2e_orders_data")
    programs = harness.Programs(args.build)
    with harness.Server(programs, *shlex.split(args.serve)) as server:
        if args.aeus:
            harness.check_equal(len(server.stats()["aeus"]), args.aeus, "AEUs")
        loaded = server.eris_json("import", "orders", orders, "--key", "o_orderkey", "--value",
                                  "o_custkey")
        harness.check_equal(int(loaded["rows"]), orders_data.ROWS, "rows loaded")
        harness.check_equal(int(loaded["replaced"]), 0, "rows replaced")
        print(f"imported at {loaded['rows_per_second']:.0f} rows/s", flush=True)
        done = server.run(os.path.join(programs.tests, "orders_check"), "--file", orders, "--seed",
                          str(args.seed))
        print(done.stdout)
        server.wait_until_quiet()


if __name__ == "__main__":
    main()
