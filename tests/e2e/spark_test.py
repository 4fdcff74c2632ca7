"""Objects of one server and of a map of two as dataframes of Spark (spark_calls.py), in an environment of its own: PySpark is 480 MB. Not in
./dev test, but in ./dev soak. Skipped without a Java.
"""
import pathlib
import shutil
import subprocess

import harness
from python_client_test import FRAMES, PACKAGES, make_environment

HERE = pathlib.Path(__file__).resolve().parent


def main():
    args = harness.parse_args()
    if not shutil.which("java"):
        harness.skip("openjdk-17-jre-headless", "there is no java")
    python, _ = make_environment(args.build, "spark_wheel", (*PACKAGES, *FRAMES, "pyspark==4.3.0"))
    subprocess.run([python, "-B", HERE / "spark_calls.py", "--build", args.build], check=True)


if __name__ == "__main__":
    main()
