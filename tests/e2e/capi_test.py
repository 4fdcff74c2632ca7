"""liberis.so in a process that knows no C++: capi_calls.py, which also opens and closes engines, 50 times or as often as --rounds says."""
import pathlib
import subprocess
import sys

import harness


def main():
    args = harness.parse_args(lambda parser: parser.add_argument("--rounds", type=int, default=50))
    library = pathlib.Path(args.build, "capi", "liberis.so").resolve()
    if not library.exists():
        harness.skip("liberis.so", "a build with sanitizers has none")
    subprocess.run([sys.executable, "-B", pathlib.Path(__file__).parent / "capi_calls.py", library, str(args.rounds)], check=True)


if __name__ == "__main__":
    main()
