"""Objects of one server and of a map of two as dataframes of Spark (spark_calls.py), and whether its measurement runs (bench/doors/spark.py), in
an environment of its own: PySpark is 480 MB. Not in ./dev test, but in ./dev soak. Skipped without a Java.
"""
import json
import pathlib
import shutil
import subprocess
import sys

import harness
from python_client_test import FRAMES, PACKAGES, ROOT, make_environment

HERE = pathlib.Path(__file__).resolve().parent


def main():
    args = harness.parse_args()
    if not shutil.which("java"):
        harness.skip("openjdk-17-jre-headless", "there is no java")
    python, _ = make_environment(args.build, "spark_wheel", (*PACKAGES, *FRAMES, "pyspark==4.3.0", "tpchgen-cli==4.0.0"))
    subprocess.run([python, "-B", HERE / "spark_calls.py", "--build", args.build], check=True)
    command = [sys.executable, "-B", ROOT / "bench" / "doors" / "spark.py", args.build, "--tiny", "--python", python]
    measured = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    harness.check_equal(measured["partitions"], {"eris": 2, "memory": 2}, "partitions of the measurement")


if __name__ == "__main__":
    main()
