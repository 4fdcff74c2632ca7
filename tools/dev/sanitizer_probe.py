#!/usr/bin/env python3
"""Shows which planted faults the sanitizers of g++ and of clang find: the reason why the sanitizers' trees are built with
clang (DECISIONS 81).

    tools/dev/sanitizer_probe.py [--json FILE]

Each fault is a program of a few lines, built with each compiler and run. Prints a line per fault: found or not. Exit
code 1 if g++ finds one that clang does not.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

COMPILERS = ("g++", "clang++-14")
ADDRESS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-D_GLIBCXX_SANITIZE_VECTOR=1")
THREAD = ("-fsanitize=thread",)
HEAD = """#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>
#include <sanitizer/asan_interface.h>
volatile int sink;
"""
# Name: flags, declarations, body of main.
FAULTS = {
    "heap use after free": (ADDRESS, "", "int* p = new int[4]; delete[] p; sink = p[1];"),
    "heap overflow by one": (ADDRESS, "", "int* p = new int[4]; sink = p[argc + 3]; delete[] p;"),
    "overflow of a vector's size": (ADDRESS, "", "std::vector<int> v(3); v.reserve(8); sink = v.data()[argc + 3];"),
    "stack overflow by one": (ADDRESS, "", "int a[4] = {}; sink = a[argc + 3];"),
    "stack use after scope": (ADDRESS, "", "int* volatile p; { int a = argc; p = &a; } sink = *p;"),
    "stack use after return": (ADDRESS, "__attribute__((noinline)) int* Local() { int a = 7; int* volatile p = &a; return p; }",
                               "sink = *Local();"),
    "global overflow by one": (ADDRESS, "int g[4];", "sink = g[argc + 3];"),
    "use of a poisoned block": (ADDRESS, "alignas(16) char block[256];",
                                "__asan_poison_memory_region(block + 64, 64); sink = block[argc + 64];"),
    "double free": (ADDRESS, "", "int* p = new int; delete p; delete p;"),
    "new[] and delete": (ADDRESS, "", "int* p = new int[4]; delete p;"),
    "memcpy that overlaps": (ADDRESS, "", "char a[16] = {}; volatile size_t n = 8; memcpy(a + argc, a, n); sink = a[3];"),
    "leak": (ADDRESS, "__attribute__((noinline)) void Leak() { int* volatile p = new int[100]; p = nullptr; }", "Leak();"),
    "signed overflow": (ADDRESS, "", "int a = INT32_MAX; a += argc; sink = a;"),
    "shift beyond the width": (ADDRESS, "", "sink = 1 << (argc + 31);"),
    "misaligned load": (ADDRESS, "", "char a[16] = {}; sink = *reinterpret_cast<int*>(a + argc);"),
    "enum or bool of no value": (ADDRESS, "", "unsigned char a = 3; bool b; memcpy(&b, &a, 1); sink = b;"),
    "null dereference of a member": (ADDRESS, "struct S { int a; };", "S* volatile s = nullptr; sink = s->a;"),
    "array index": (ADDRESS, "struct S { int a[4]; int b; };", "S s = {}; sink = s.a[argc + 3];"),
    "float to int out of range": (ADDRESS, "", "double d = 1e20 * argc; sink = static_cast<int>(d);"),
    "division by zero": (ADDRESS, "", "sink = 7 / (argc - 1);"),
    "data race": (THREAD, "int shared;", "std::thread t([] { for (int i = 0; i < 1000; ++i) shared++; });"
                                        " for (int i = 0; i < 1000; ++i) shared++; t.join();"),
    "race on a relaxed flag": (THREAD, "int data; std::atomic<int> flag;",
                               "std::thread t([] { data = 1; flag.store(1, std::memory_order_relaxed); });"
                               " while (!flag.load(std::memory_order_relaxed)) {} sink = data; t.join();"),
    "race with free": (THREAD, "std::atomic<int> flag;",
                       "int* p = new int(1); std::thread t([p] { sink = *p; flag.store(1, std::memory_order_relaxed); });"
                       " while (!flag.load(std::memory_order_relaxed)) {} delete p; t.join();"),
    "locks in two orders": (THREAD, "std::mutex a, b;",
                            "{ std::lock_guard x(a); std::lock_guard y(b); } { std::lock_guard x(b); std::lock_guard y(a); }"),
    "unlock by another thread": (THREAD, "std::mutex m;", "m.lock(); std::thread t([] { m.unlock(); }); t.join();"),
}


def finds(compiler, flags, declarations, body, folder):
    source = pathlib.Path(folder, "fault.cc")
    source.write_text(f"{HEAD}{declarations}\nint main(int argc, char**) {{ {body} return 0; }}\n", encoding="utf-8")
    program = pathlib.Path(folder, "fault")
    subprocess.run([compiler, "-std=c++20", "-O1", "-g", "-w", *flags, source, "-o", program, "-pthread"], check=True)
    environment = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:detect_leaks=1", "TSAN_OPTIONS": "detect_deadlocks=1",
                   "UBSAN_OPTIONS": "print_stacktrace=0"}
    done = subprocess.run([program], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    return done.returncode != 0 and ("Sanitizer" in done.stderr or "runtime error" in done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, fault in FAULTS.items():
            found[name] = {compiler: finds(compiler, *fault, folder) for compiler in COMPILERS}
            words = ", ".join(f"{compiler} {'found' if yes else 'not found'}" for compiler, yes in found[name].items())
            print(f"{name:<32} {words}", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    counts = ", ".join(f"{compiler} {sum(one[compiler] for one in found.values())}" for compiler in COMPILERS)
    print(f"{len(found)} faults; found: {counts}")
    return 1 if any(one["g++"] and not one["clang++-14"] for one in found.values()) else 0


sys.exit(main())
