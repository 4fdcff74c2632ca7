"""`python -m eris.shell`"""
import sys

from eris.shell.main import shell

sys.exit(shell())
