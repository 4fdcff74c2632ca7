"""How the harness fails, and with which exit code."""

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
TIME_OVER = 124
NO_END = 125
BAD_INPUT = 2  # argparse's own


class BadInput(Exception):
    """The caller asked for what cannot be; the text says what and where the limit is."""


class CannotRun(Exception):
    """This machine lacks a package; its name comes first, as tools/dev/count_tests.py reads it."""

    def __init__(self, package, reason):
        super().__init__(f"SKIPPED: {package} cannot be installed: {reason}")
