"""Shared by benchmark drivers: the allocators that are compared, which library each is, and what its own documentation
offers for huge pages. Debian's libraries (group bench of tools/dev/packages), preloaded and never linked, so that all run
the same program.
"""
import dataclasses
import os
import subprocess


@dataclasses.dataclass(frozen=True)
class Allocator:
    libraries: str  # for LD_PRELOAD; empty: the program's own malloc
    huge_pages: dict  # settings, as variables of the environment

    def environment(self, huge_pages=False):
        return {**({"LD_PRELOAD": self.libraries} if self.libraries else {}), **(self.huge_pages if huge_pages else {})}


#   glibc      manual, "Memory Allocation Tunables": 1 makes it madvise (2 wants reserved pages)
#   jemalloc   jemalloc(3): opt.thp, opt.metadata_thp
#   mimalloc   readme, "Environment Options": it asks for reserved huge pages, falls back to madvise
#   tbbmalloc  "Configuring the Memory Allocator": takes reserved pages, or transparent ones where the system's policy
#              is `always`; it never calls madvise
#   tcmalloc   gperftools' tcmalloc.html: only a file in a hugetlbfs (TCMALLOC_MEMFS_MALLOC_PATH), so nothing where no
#              pages are reserved; there is no knob for transparent ones
ALLOCATORS = {
    "glibc": Allocator("", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}),
    "jemalloc": Allocator("libjemalloc.so.2", {"MALLOC_CONF": "thp:always,metadata_thp:always"}),
    "mimalloc": Allocator("libmimalloc.so.2", {"MIMALLOC_LARGE_OS_PAGES": "1", "MIMALLOC_EAGER_COMMIT_DELAY": "0"}),
    "tbbmalloc": Allocator("libtbbmalloc_proxy.so.2 libtbbmalloc.so.2", {"TBB_MALLOC_USE_HUGE_PAGES": "1"}),
    "tcmalloc": Allocator("libtcmalloc_minimal.so.4", {}),
}


def absent():
    """Those whose library the loader does not find: it would only warn, and glibc would be measured under their names."""
    def loads(allocator):
        done = subprocess.run(["true"], env={**os.environ, **allocator.environment()}, capture_output=True, text=True)
        return "cannot be preloaded" not in done.stderr
    return [name for name, allocator in ALLOCATORS.items() if not loads(allocator)]
