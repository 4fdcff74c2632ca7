"""Parts of the NUMA lab's harness, tests/numa/guest.py."""
