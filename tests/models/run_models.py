#!/usr/bin/env python3
"""Runs the SPIN models of this folder. Usage: run_models.py [--keep DIR] [--if-changed|--record] [model...] (default: all).

A clean run must search every state and find nothing; a run with a planted bug must find it, by the
property that it breaks. Prints states and seconds of each; exit status 1 if one is not as it should
be, 77 if spin is not installed.
"""
import argparse
import datetime
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
MEMORY_MIB = 1800
FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
# What each model was when it was last searched, with the code that it mirrors. A search takes minutes and
# its outcome depends on nothing else, so tests repeat it only when one of them has changed.
SEARCHED = FOLDER / "searched.json"
DEADLOCK = "invalid end state"
STARVES = "acceptance cycle"

# model: [(defines, what is found; None: nothing)]. LIVENESS checks the model's ltl property under
# weak fairness; the other runs its assertions, and that there is no deadlock.
RUNS = {
    "incoming_buffer": [
        ("WRITERS=2 RECORDS=4", None),
        ("WRITERS=3 RECORDS=2", None),
        ("WRITERS=2 RECORDS=3 HALF=2", None),
        ("LIVENESS WRITERS=2 RECORDS=3", None),
        ("NO_GENERATION WRITERS=2", None),  # what most of the bugs below are planted in
        ("NO_ACTIVE_TEST NO_GENERATION WRITERS=2", r"read_records=="),
        ("ACTIVE_TESTED_APART NO_GENERATION WRITERS=2", r"read_records=="),
        ("CLOSE_FIRST NO_GENERATION WRITERS=2", r"\(writable&1\)!=half"),
        ("END_BEFORE_CLOSE NO_GENERATION WRITERS=2", r"read_records=="),
        ("OPEN_TOO_EARLY NO_GENERATION WRITERS=2", r"memory\["),
        ("NO_WAIT_FOR_WRITERS NO_GENERATION WRITERS=2", r"word!=0"),
        ("FETCH_ADD NO_GENERATION WRITERS=2", r"end<=3"),
        ("NO_GENERATION IN_ORDER WRITERS=2 RECORDS=3", r"record==0"),
    ],
    "waker": [
        ("SENDERS=2 RECORDS=4 SPURIOUS=2", None),
        ("LIVENESS SENDERS=2 RECORDS=2", None),
        ("CHECK_BEFORE_STORE", r"blocked"),
        ("WAKE_BEFORE_PUBLISH", r"blocked"),
        ("SLEEP_WITHOUT_COMPARE", r"blocked"),
        ("WAKE_WITHOUT_MARK", r"blocked"),
        ("WAKE_ALONE", r"blocked"),
        ("STORE_FOR_CAS", r"at_work"),
        ("CANCEL_FORGOTTEN", r"state==0"),
        ("GENERATION_FORGOTTEN RECORDS=3", r"blocked"),
    ],
    "home": [
        ("", None),
        ("PIECES=2", None),
        ("USES=2", None),
        ("BLOCKS=3", None),
        ("HOME_BEFORE_PIECES", r"unanswered|under_way|readers"),
        ("HOME_TWICE", r"queued|invalid end state"),
        ("USED_BEFORE_ORDERED USES=2", r"unanswered|under_way"),
        ("TOLD_BEFORE_PUSH", DEADLOCK),
        ("SLEEPS_UNANNOUNCED", DEADLOCK),
        ("LEAVES_UNSEEN", DEADLOCK),
        ("FLAG_AFTER_TAKE", DEADLOCK),
        ("WAKE_FORGOTTEN", DEADLOCK),
    ],
    "turn_door": [
        ("VISITORS=2 SENDERS=1 RECORDS=2", None),
        ("VISITORS=3 SENDERS=0 RECORDS=2", None),
        ("LIVENESS VISITORS=2 SENDERS=1 RECORDS=1", None),
        ("NO_LOCK", r"in_turn"),
        ("SHUT_UNSAID", DEADLOCK),
        ("MORE_UNSAID", r"asleep"),
        ("CHECK_BEFORE_PREPARE", DEADLOCK),
        ("RUNNER_KEPT", r"in_turn"),
    ],
    "leap": [
        ("INCREMENTS=3", None),
        ("RETRY INCREMENTS=3", None),
        ("RETRY INCREMENTS=2 ATTEMPTS=4", None),
        ("OWNER INCREMENTS=3", None),
        ("RETRY CHECK_APART", r"new_memory|assert"),
        ("RETRY STALE_HANDLER ATTEMPTS=3", r"new_memory|assert"),
        ("RETRY MARK_CLEARED_LATE ATTEMPTS=3", r"new_memory|assert"),
        ("COUNT_LATE", r"let_go"),
        ("FREED_EARLY", r"old_freed"),
        ("UNPROTECT_AT_END", r"new_memory|old_freed|assert"),
        ("LATE_TABLE", r"let_go"),
        ("OWNER NO_BOUNDARY", r"new_memory|assert"),
    ],
    "ingress": [
        ("RECORDS=3", None),
        ("RECORDS=2 STOPS=1", None),
        ("RECORDS=2 STOPS=1 BLOCKS=2 TURN=2", None),
        ("LIVENESS RECORDS=2 STOPS=1 REFUSALS=0", None),
        ("WAKE_ALONE RECORDS=2", None),  # right, as long as nobody stops
        ("WAKE_ALONE STOPS=1", DEADLOCK),
        ("SHARED_HALF RECORDS=2", None),  # right, as long as nobody stops
        ("SHARED_HALF STOPS=1", DEADLOCK),
        ("PUSH_BY_STORE", r"with_aeu"),
        ("TAKE_BY_LOAD", DEADLOCK),
        ("NO_REVERSE BLOCKS=2", r"executed"),
        ("HOME_TOO_EARLY", r"executed|what!=0|with_aeu"),
        ("PUSH_TOO_EARLY", r"what!=0"),
        ("REST_FORGOTTEN", DEADLOCK),
        ("WAKE_BEFORE_PUSH", r"blocked"),
        ("WAIT_BEFORE_WAKE", DEADLOCK),
        ("REFUSED_YET_SENT", r"refused"),
    ],
    "multicast": [
        ("COMMANDS=3", None),
        ("COMMANDS=3 ROOM=2", None),
        ("COMMANDS=2 AEUS=3", None),
        ("COMMANDS=3 BLOCKS=2 AHEAD=2 SLICES=1", None),
        ("LIVENESS COMMANDS=2", None),
        ("HELD_BY_SCAN", DEADLOCK),
        ("HELD_BY_SCAN BLOCKS=2 AHEAD=2", DEADLOCK),
        ("RELEASE_TWICE", r"freed|unread"),
        ("COUNT_AFTER_SEND", r"freed|unread"),
        ("NO_HOLD ROOM=2", r"unread"),
        ("FREED_BY_FIRST_READER", r"unread"),
        ("REFUSED_NOT_COUNTED", DEADLOCK),
        ("COLLECT_BY_LOAD BLOCKS=2", r"n==allocated"),
        ("POOL_FREED_BY_PORT", r"n==allocated"),
    ],
    "backpressure": [
        ("AEUS=2 CAPACITY=1 POOL=2", None),
        ("AEUS=2 CAPACITY=2 POOL=1", None),
        ("AEUS=3 CAPACITY=1 POOL=1", None),
        ("AEUS=2 CAPACITY=1 POOL=1 MOVES=1 REFUSALS=1", None),
        ("AEUS=2 CAPACITY=1 POOL=2 MOVES=1 CREDIT=1 REQUESTS=3 CANCELS=1", None),
        ("LIVENESS AEUS=2 CAPACITY=1 POOL=1 MOVES=1", None),
        ("LIVENESS AEUS=2 CAPACITY=1 POOL=1 MOVES=2 CREDIT=1", None),
        ("DRAINING_STOPS", DEADLOCK),
        ("DRAINING_STOPS CAPACITY=2 REQUESTS=3 CREDIT=3 POOL=3", DEADLOCK),
        ("BLOCKING_FORWARD", DEADLOCK),
        ("CREDIT_AT_CANCEL REQUESTS=3 CANCELS=1", r"owed\[me\]<="),
        ("FORWARD_AND_ANSWER", r"reply\[r\]==|executed"),
    ],
    "join": [
        ("AEUS=2 ROWS=3 SLICE=3", None),
        ("AEUS=2 ROWS=3 SPREAD", None),
        ("AEUS=2 ROWS=2 MOVES=2", None),
        ("AEUS=2 ROWS=2 SLICE=1 BLOCKS=2", None),
        ("AEUS=3 ROWS=2", None),
        ("LIVENESS AEUS=2 ROWS=3", None),
        ("GENERATOR_BLOCKS SLICE=3 MOVES=0", DEADLOCK),
        ("GENERATOR_BLOCKS SLICE=3 MOVES=0 AEUS=3", DEADLOCK),
        ("PAUSE_STOPS_DRAINING MOVES=0", DEADLOCK),
        ("SLICE_LOST", DEADLOCK),
        ("BLOCK_REUSED_EARLY", r"owed\[|row_at"),
    ],
    "recollection": [
        ("FREERS=2 BLOCKS=3", None),
        ("FREERS=2 BLOCKS=2 CARRIERS=2 IN=1 LOOKS=1", None),
        ("FREERS=3 BLOCKS=1 LOOKS=1", None),
        ("FREERS=2 BLOCKS=3 CARRIERS=0", None),
        ("LIVENESS FREERS=2 BLOCKS=2 LOOKS=1", None),
        ("FLAG_BEFORE_PUSH", r"home=="),
        ("WAKE_BEFORE_FLAG", r"home==|blocked&&"),
        ("CLEAR_AFTER_TAKE", r"home=="),
        ("TOLD_WHEN_FULL", r"home=="),
        ("CHECK_BEFORE_STORE", r"home==|blocked&&"),
        ("SET_ONLY", r"home==|blocked&&"),
        ("PUSH_BY_STORE", r"home==|place"),
        ("TAKE_BY_LOAD", r"home=="),
        ("HOME_TOO_EARLY BLOCKS=3", r"place"),
        ("NEXT_TOO_LATE BLOCKS=3", r"home"),
        ("SENT_YET_FILLED", r"place"),
        ("REST_FORGOTTEN", r"home=="),
        ("BIN_FORGOTTEN", r"home=="),
    ],
    "superblock": [
        ("ALLOCATIONS=2", None),
        ("RUNS=2 BOUND=1 C_MANAGER=1", None),
        ("RUNS=2 SHARED", None),
        ("CLAIMANTS=3 MOVES=2", None),
        ("CLAIMS=2 ALLOCATIONS=0 CARRIERS=0", None),
        ("TAKEN_READ_LATE", r"moving==0"),
        ("TAKEN_READ_AGAIN", r"moving==0"),
        ("TAKEN_BEGINS_AGAIN", r"moving==0"),
        ("TAKEN_IGNORED", r"moving==0"),
        ("CENSUS_NOT_COMPARED", r"moving==0"),
        ("NOTED_NOT_CHECKED", r"moving==0"),
        ("RUNS_OF_OTHERS RUNS=2 SHARED", r"listed|entry\["),
        ("MAGAZINES_KEPT", r"entry\["),
        ("HOLDER_IGNORED", r"listed"),
        ("HELD_TOO_LONG RUNS=2 SHARED", r"listed"),
        ("GIVEN_YET_USED", r"entry\["),
        ("ON_ITS_WAY_IGNORED", r"e==\(me"),
        ("NOT_SENT_ON", r"entry\["),
        ("POSTPONED_FORGOTTEN", r"at\[n\]!="),
        ("ANSWER_LAST", None),  # costs time alone
        ("COUNTED_SENT_ON", r"balance"),
        ("GIVEN_NOT_COMPARED", r"moving==0"),
        ("GIVEN_NOT_CLEARED", r"moving==0"),
        ("KEPT_UNSEEN CLAIMS=2", r"moving==0"),
        ("MOVED_UNSEEN", r"listed"),
        ("ALONE_IGNORED", r"moving==0"),
    ],
    "snapshot": [
        ("SCANS=1 ROUNDS=2 SPINS=2", None),
        ("SCANS=1 ROUNDS=2 PAUSES SLOT_BY_SLOT ABORTS=1 CANCELS=1", None),
        ("SCANS=2 ROUNDS=1", None),
        ("E_BEFORE_CUT SCANS=1 SPINS=1", r"seen\["),
        ("REGISTRY_BEFORE_E SCANS=1", r"seen\[|versions==0"),
        ("REGISTERED_LATE SCANS=1", r"seen\["),
        ("SECOND_DRAIN SCANS=1 SPINS=1", r"seen\["),
        ("FREED_AT_CANCEL SCANS=1 CANCELS=1", r"slot\[j\].s=="),
        ("RELEASE_FIRST SCANS=1", r"versions==0"),
        ("NO_HOLDS SCANS=1 ABORTS=1", r"seen\["),
    ],
    "handover": [
        ("KEYS=2", None),
        ("OPS=2", None),
        ("KEYS=2 AEUS=4 COORDINATORS=2", None),
        ("SCANS=1 CLIENTS=1 KEYS=2 CANCELS=1", None),
        ("LIVENESS", None),
        ("LIVENESS CONTROL_STARVES", STARVES),
        ("PUBLISH_EARLY", r"table\[key\]!=me"),
        ("PUBLISH_EARLY BOUNCES", r"owns\["),
        ("PUBLISH_EARLY BOUNCES REFUSALS=0", None),  # right, as long as no target refuses
        ("STUB_DROPPED_EARLY", r"table\[key\]!=me"),
        ("STUB_DROPPED_EARLY BOUNCES", None),  # costs time alone
        ("CONCLUDED_EARLY BOUNCES", r"number==1"),
        ("CONCLUDED_EARLY REFUSALS=0", r"table\[key\]!=me"),
        ("CONCLUDED_EARLY BOUNCES REFUSALS=0", None),
        ("TWO_PUBLISHERS KEYS=2 AEUS=4 COORDINATORS=2", r"owns\["),
        ("SPLIT_LOSES", r"value\["),
        ("RETURN_LOSES", r"value\["),
        ("TAKEN_BACK_INSTALLED", r"number==1"),
        ("HANDOVER_OVERTAKEN", r"number==0"),
        ("ROWS_ON_TOP", r"^assertion violated \(value\["),
        ("GROUP_ACROSS_GIVE", r"value\["),
        ("SERVES_UNDER_STUB", r"^assertion violated \(value\["),
        ("PARTS_COUNTED SCANS=1 KEYS=2 CLIENTS=1", r"seen=="),
        ("VERSIONS_LEFT SCANS=1 CLIENTS=1", r"at_snapshot"),
        ("LIMBO_SCANNED SCANS=1 CLIENTS=1", r"at_snapshot"),
        ("FREED_AT_CANCEL SCANS=1 CLIENTS=1 CANCELS=1", r"held"),
    ],
    "handover_table": [
        ("SCANS=1", None),
        ("SCANS=1 ROWS=2 WRITES=1 AEUS=2", None),
        ("SCANS=2 AEUS=2 WRITES=1 MOVES=1", None),
        ("LINKS SCANS=1", None),
        ("LINKS SCANS=1 ROWS=2 WRITES=1 AEUS=2", None),
        ("LINKS SCANS=2 AEUS=2 WRITES=1 MOVES=1", None),
        ("NO_GATE SCANS=1 WRITES=1", r"found\["),
        ("GATE_TAKEN_LATE SCANS=1 WRITES=1", r"found\["),
        ("GATE_OPENED_EARLY SCANS=1 WRITES=1", r"found\["),
        ("OWNERS_ASKED SCANS=1 WRITES=1", r"found\["),
        ("MEMBERS_READ_FIRST SCANS=1 WRITES=1", r"found\["),
        ("ROWS_FREED SCANS=1 WRITES=1", r"found\["),
        ("BIRTHS_KEPT SCANS=1 WRITES=1", r"found\["),
        ("DIES_LATER SCANS=1 WRITES=1", r"found\["),
        ("LINKS NO_GATE SCANS=1 WRITES=1", r"found\["),
        ("LINKS GATE_OPENED_EARLY SCANS=1 WRITES=1", r"found\["),
        ("LINKED_UNDER_SNAPSHOTS LINKS SCANS=1 WRITES=1", r"found\["),
        ("SNAPSHOTS_READ_BEFORE LINKS SCANS=1 WRITES=1", r"found\["),
    ],
    "order": [
        ("COMMANDS=4 MOVES=2", None),
        ("COMMANDS=3 MOVES=3", None),
        ("COMMANDS=3 MOVES=3 CAPACITY=1", None),
        ("COMMANDS=3 MOVES=4 AEUS=2", None),
        ("LIVENESS COMMANDS=2 MOVES=2", None),
        ("SINCE_FORGOTTEN", r"n==\(executed"),
        ("STUB_FORGETS_SINCE AEUS=3 MOVES=3", r"n==\(executed"),
        ("STUB_MENDS CAPACITY=1", r"n==\(executed"),
        ("TABLES_MIXED", r"n==\(executed"),
        ("SENT_PAST", r"n==\(executed"),
        ("SENT_UNSORTED", r"n==\(executed"),
        ("RETURNED_UNSEEN", r"n==\(executed"),
        ("RETURN_PUBLISHED_FIRST", r"n==\(executed"),
    ],
    "query_stage": [
        ("", None),
        ("CANCEL", None),
        ("CANCEL FAILURES=2 REFUSALS=2", None),
        ("AEUS=3 FAILURES=0 REFUSALS=0", None),
        ("LIVENESS CANCEL", None),
        ("COUNTED_SHORT", r"state\["),
        ("FREED_UNDER_READER", r"state\["),
        ("FLUSH_LOST", r"reads\["),
        ("TAKEN_BY_ALL", r"taker\[|reads\["),
        ("LEFT_UNDER_WAY CANCEL", r"state\["),
        ("LEFT_UNDER_READER", r"state\["),
        ("TAKEN_BEFORE_ADDED", r"state\["),
        ("REFUSED_NOT_COUNTED", DEADLOCK),
        ("LEFT_WITHOUT_MEMORY", r"state\["),
    ],
    "tasks": [
        ("", None),
        ("TASKS_OF_0=2 TASKS_OF_1=0", None),
        ("MEET TASKS_OF_0=3 TASKS_OF_1=0 TASKS_OF_2=0", None),
        ("MEET TASKS_OF_0=2 TASKS_OF_1=0", None),
        ("MEET IMMEDIATE TASKS_OF_0=2 TASKS_OF_1=0 TASKS_OF_2=0", None),
        ("MEET BUSY TASKS_OF_0=2 TASKS_OF_1=0 TASKS_OF_2=0", None),
        ("MEET BUSY AEUS=4 TASKS_OF_2=0 SPURIOUS=0", None),
        ("LIVENESS TASKS_OF_1=0", None),
        ("LOOK_BEFORE_ADD MEET BUSY TASKS_OF_1=0 TASKS_OF_2=0", r"ended=="),
        ("WAKE_BEFORE_PUSH MEET BUSY TASKS_OF_1=0 TASKS_OF_2=0", r"ended=="),
        ("COUNT_LATE MEET BUSY TASKS_OF_1=0 TASKS_OF_2=0", r"ended=="),
        ("NO_FLAG", r"present\["),
        ("BUSY_IS_NONE MEET TASKS_OF_0=2 TASKS_OF_1=0", r"ended=="),
        ("WAKES_THE_SAME MEET BUSY AEUS=4 TASKS_OF_2=0", r"ended=="),
        ("WAKES_FAR MEET IMMEDIATE TASKS_OF_0=2 TASKS_OF_1=0 TASKS_OF_2=0", r"ended=="),
    ],
    "stage_tasks": [
        ("", None),
        ("STOP", None),
        ("AEUS=3 HELPERS=0 TASKS=1 STOP", None),
        ("HELPERS=2 TASKS=1 STOP", None),
        ("LIVENESS STOP TASKS=1", None),
        ("ENDS_AT_ONCE", r"queued\[me\]==0|ended==0"),
        ("STOP_ENDS STOP", r"queued\[me\]==0|ended==0"),
        ("FAILED_NOT_COUNTED", DEADLOCK),
        ("ADDED_LATE FAILURES=0", r"left>=|ended==0"),
        ("ADDED_APART FAILURES=0", r"ended==0"),
        ("UNPUSHED_KEPT", DEADLOCK),
        ("DROPPED STOP", DEADLOCK),
        ("COUNT_BY_LOAD FAILURES=0", DEADLOCK),
        ("WAKES_NONE", DEADLOCK),
        ("LOOK_BEFORE_PREPARE", DEADLOCK),
    ],
    "request": [
        ("KEYS=3 AEUS=2", None),
        ("KEYS=4 AEUS=3 MOVES=3", None),
        ("LIVENESS KEYS=3 AEUS=2", None),
        ("ASYNC KEYS=3 AEUS=2", None),
        ("ASYNC KEYS=4 AEUS=3 MOVES=3", None),
        ("ASYNC LIVENESS KEYS=3 AEUS=2", None),
        ("FREED_BY_CALLER", r"!\(freed\)"),
        ("LAST_BY_LOAD", r"!\(freed\)"),
        ("MOVED_POSTS", r"unwritten==0|state\[k\]|given"),
        ("EXPECT_AFTER_SEND", r"owed>0"),
        ("WAKE_AFTER_UNREF", r"!\(freed\)"),
        ("ABANDONED_UNLOCKED", r"!\(returned\)|!\(freed\)"),
        ("ABANDONED_HELD", r"!\(freed\)|references"),
        ("ASYNC LAST_BY_LOAD", r"posted|freed"),
        ("ASYNC MOVED_POSTS", r"given|state\[k\]|owed>0"),
        ("ASYNC EXPECT_AFTER_SEND", r"owed>0"),
        ("ASYNC SETTLE_AT_CANCEL", r"unwritten==0"),
        ("ASYNC CALLBACK_UNGUARDED", r"outcomes==1"),
    ],
}


def command(arguments, folder):
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0 or "Error:" in done.stdout:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")


def search(model, defines, folder, short):
    """What pan says about one run. short: the search will soon find something."""
    for old in folder.glob("pan*"):
        old.unlink()
    fair = "LIVENESS" in defines.split()
    flags = [f"-D{define}" for define in defines.split()]
    command(["spin", "-a", *flags, str(FOLDER / f"{model}.pml")], folder)
    # COLLAPSE: a third of the memory. NFAIR: processes and claim for the fairness counters.
    command(["gcc", "-O0" if short else "-O2", "-w", "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MIB}",
             *(["-DNFAIR=3"] if fair else ["-DSAFETY"]), "-o", "pan", "pan.c"], folder)
    return subprocess.run(["./pan", "-m200000", "-n", *(["-a", "-f"] if fair else [])],
                          cwd=folder, capture_output=True, text=True).stdout


def verdict(output, expected):
    """(as it should be, in words)."""
    found = re.search(r"^pan:\d+: (.*) \(at depth", output, re.M)
    errors = re.search(r"errors: (\d+)", output)
    if errors is None:
        return False, "the search died"
    if expected is not None:
        if not found:
            return False, "NOT FOUND"
        return re.search(expected, found[1]) is not None, f"found: {' '.join(found[1].split())}"
    if found or errors[1] != "0":
        return False, f"FAILS: {found[1] if found else 'see the output'}"
    if re.search(r"not completed|depth too small|out of memory|pan: reached", output):
        return False, "NOT EXHAUSTIVE"
    return True, "nothing found, all states"


def run_model(model, folder):
    failed = 0
    print(f"{model}.pml")
    for defines, expected in RUNS[model]:
        begin = time.monotonic()
        output = search(model, defines, folder, short=expected is not None)
        seconds = time.monotonic() - begin
        good, words = verdict(output, expected)
        states = re.search(r"^\s*(\S+) states, stored", output, re.M)
        memory = re.search(r"([\d.]+)\s+total actual memory", output)
        count = int(float(states[1])) if states else 0
        mib = float(memory[1]) if memory else 0
        print(f"  {'ok  ' if good else 'FAIL'} {defines:62} {count:>11,} states {mib:7.0f} MiB "
              f"{seconds:5.1f} s  {words}", flush=True)
        if not good:
            failed += 1
            print(output)
    return failed


def without_comments(text):
    """C++ and Promela without comments and line breaks: a better sentence changes no protocol."""
    return " ".join(re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S).split())


def mirrored(model):
    """The files whose protocol the model is, by the table of README.md."""
    for line in (FOLDER / "README.md").read_text().splitlines():
        cells = line.split("|")
        if len(cells) > 2 and cells[1].strip() == f"`{model}.pml`":
            paths = [ROOT / name for name in re.findall(r"`([^`]+)`", cells[2])]
            return sorted(file for path in paths
                          for file in ([path] if path.is_file() else [*path.glob("*.h"), *path.glob("*.cc")]))
    raise LookupError(f"README.md does not say which code {model}.pml mirrors")


def state_of(model):
    """A word that changes when the model, its runs or what it mirrors change."""
    state = hashlib.sha256(repr(RUNS[model]).encode())
    for file in [FOLDER / f"{model}.pml", *mirrored(model)]:
        state.update(without_comments(file.read_text()).encode())
    return state.hexdigest()[:32]


def searched():
    return json.loads(SEARCHED.read_text()) if SEARCHED.exists() else {}


def note_search(model):
    notes = searched()
    notes[model] = {"state": state_of(model), "date": datetime.date.today().isoformat()}
    SEARCHED.write_text(json.dumps(dict(sorted(notes.items())), indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=pathlib.Path, help="work here, and leave the last trail")
    parser.add_argument("--if-changed", action="store_true", help=f"only models for which {SEARCHED.name} is not right")
    parser.add_argument("--record", action="store_true", help=f"note what was searched in {SEARCHED.name}")
    parser.add_argument("models", nargs="*", metavar="model", help=", ".join(RUNS))
    args = parser.parse_args()
    unknown = set(args.models) - set(RUNS)
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))} (there are {', '.join(RUNS)})")
    models = args.models or list(RUNS)
    if args.if_changed:
        notes = searched()
        for model in [model for model in models if notes.get(model, {}).get("state") == state_of(model)]:
            print(f"{model}: neither it nor what it mirrors has changed since it was searched, {notes[model]['date']}")
            models.remove(model)
        if not models:
            return 0
    for program in ("spin", "gcc"):
        if shutil.which(program) is None:
            print(f"SKIPPED: {program} cannot be installed: it is not on the PATH "
                  f"(apt-get install {program})")
            return SKIPPED
    failed = 0
    with tempfile.TemporaryDirectory(prefix="eris-models-") as folder:
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
        for model in models:
            wrong = run_model(model, args.keep or pathlib.Path(folder))
            failed += wrong
            if args.record and not wrong:
                note_search(model)
    print(f"{failed} runs are not as they should be" if failed else "all runs as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
