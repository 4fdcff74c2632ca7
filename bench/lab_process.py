"""Shared by benchmark drivers: a process that answers commands with JSON lines, figures over rounds, and the Python
environment of the peers.
"""
import datetime
import json
import os
import statistics
import subprocess
import sys

PACKAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scan", "requirements.txt")
CANNOT_BE_HAD = 77


def environment(build, packages=PACKAGES, name="scan-peers"):
    """A python with the peers, which a requirements.txt names; made once. Ends the program if they cannot be installed."""
    home = os.path.join(build, name)
    python = os.path.join(home, "bin", "python")
    done = os.path.join(home, "installed")
    wanted = read(packages)
    if not os.path.exists(done) or read(done) != wanted:
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        told = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", packages], text=True,
                              capture_output=True)
        if told.returncode != 0:
            print(f"SKIPPED: {wanted.splitlines()[0]} (PyPI) cannot be installed: {' '.join(told.stderr.split())[-500:]}")
            sys.exit(CANNOT_BE_HAD)
        with open(done, "w", encoding="utf-8") as file:
            file.write(wanted)
    return python


class LabProcess:
    """A program that reads a command per line and answers each with a line of JSON."""

    def __init__(self, command, env, label):
        self.label = label
        self.process = subprocess.Popen(command, env={**os.environ, **env}, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def send(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise OSError(f"{self.label} ended with {self.process.wait(60)}, its answer is missing")
        return json.loads(line)

    def ask(self, command):
        self.send(command)
        return self.answer()

    def stop(self):
        """Errors: OSError (it ended with an error, e.g. a sanitizer's)."""
        self.process.stdin.close()
        if code := self.process.wait(60):
            raise OSError(f"{self.label} ended with {code}")


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def rotated(items, by):
    return items[by % len(items):] + items[:by % len(items)]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def cpu():
    """The processor by name, and by family and model where the system tells them: a virtual machine may tell no more than AMD EPYC."""
    told = dict(map(str.strip, line.split(":", 1)) for line in read("/proc/cpuinfo").splitlines() if ":" in line)
    name = told.get("model name", "unknown")
    return f"{name} (family {told['cpu family']}, model {told['model']})" if {"cpu family", "model"} <= set(told) else name


def machine():
    """The head of a report."""
    return {"cpu": cpu(),
            "cpus": len(os.sched_getaffinity(0)), "date": datetime.date.today().isoformat(),
            "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled")}
