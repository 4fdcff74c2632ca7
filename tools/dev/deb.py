#!/usr/bin/env python3
"""Makes Debian packages of a build tree: eris (server, tools, service), liberis0 and liberis-dev.

Usage: deb.py BUILD [--out DIR] [--version VERSION]. Needs debhelper (the group deb of tools/dev/packages), no network, no root. Debian's rules
are in packaging/debian; changelog and copyright are made here. Prints the packages' paths.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from email.utils import formatdate

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAINTAINER = re.search(r"^Maintainer: (.*)$", (ROOT / "packaging/debian/control").read_text(), re.M).group(1)
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: eris

Files: *
Copyright: {year} ERIS developers
License: Apache-2.0

Files: server/http/page/uPlot*
Copyright: Leon Sorokin
License: Expat

Files: proto/substrait/*
Copyright: Substrait developers
License: Apache-2.0

License: Apache-2.0
 On Debian systems the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.

License: Expat
{expat}
"""


def project_version():
    return re.search(r"^project\(eris VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)


def commit_time():
    """Of the last commit, so that equal trees give equal packages; without git, now."""
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip() else int(time.time())


def expat():
    """The licence of the page's charts, as a paragraph of Debian's copyright file."""
    text = next((ROOT / "server/http/page").glob("*license*")).read_text()
    permission = text[text.index("Permission is"):].strip().splitlines()
    return "\n".join(" " + (line or ".") for line in permission)


def make_source(folder, version, when):
    """Fills the folder in which dpkg-buildpackage works."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "packaging/debian", folder / "debian")
    for name in ("make_config", "eris.1", "alerts.yml"):
        shutil.copy(ROOT / "packaging" / name, folder / name)
    for name in ("completion", "grafana"):
        shutil.copytree(ROOT / "packaging" / name, folder / name)
    (folder / "texts").mkdir()  # under its own name it would be taken for Debian's
    shutil.copy(ROOT / "CHANGELOG.md", folder / "texts/what_is_new.md")
    (folder / "debian/copyright").write_text(COPYRIGHT.format(year=time.gmtime(when).tm_year, expat=expat()))
    (folder / "debian/changelog").write_text(
        f"eris ({version}) bookworm; urgency=medium\n\n  * Release {version}: what_is_new.md of the package eris tells what is new.\n\n -- {MAINTAINER}  {formatdate(when)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/deb")
    parser.add_argument("--version", default=project_version())
    args = parser.parse_args()
    build, out = args.build.resolve(), args.out.resolve()
    for needed in ("clients/cli/eris", "capi/liberis.so"):
        if not (build / needed).exists():
            sys.exit(f"deb: {build} has no {needed}: build it first (./dev build release eris eris_shared)")
    when = commit_time()
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*eris*_*"):
        old.unlink()
    make_source(out / "source", args.version, when)
    environment = dict(os.environ, ERIS_BUILD=str(build), ERIS_ABI_SINCE=project_version(), SOURCE_DATE_EPOCH=str(when), LC_ALL="C.UTF-8",
                       DEB_BUILD_OPTIONS="nocheck")
    with open(out / "build.log", "w") as log:
        # -d: what builds the tree has built it; packaging needs debhelper alone.
        done = subprocess.run(["dpkg-buildpackage", "-b", "-us", "-uc", "-d"], cwd=out / "source", env=environment, stdout=log,
                              stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(*(out / "build.log").read_text().splitlines()[-30:], sep="\n", file=sys.stderr)
        sys.exit(f"deb: dpkg-buildpackage failed; all of it: {out}/build.log")
    print(*sorted(out.glob("*.deb")), sep="\n")


if __name__ == "__main__":
    main()
