/* Tables that change hands under the eyes of snapshots: Lend, Ingest, Forget of storage/table/, the
 * gate between steps and scans in engine/, the members of an object (engine/objects/object_entry.h).
 * docs/internals/tables.md has the rule; handover.pml has the hand-over itself.
 *
 * AEUS AEUs and a table of ROWS rows, each in a chunk of its own. A coordinator moves rows, MOVES
 * times in all. The target stores the row as born in its turn's epoch, the source marks its own
 * dead in the same one when it hears of it, and older snapshots go on finding it there. Snapshots
 * begin at any time; but a scan of one that began after the step under way waits for its end. The
 * target may refuse (REFUSALS). A writer changes rows, WRITES times in all, by a table that it has
 * read before: along the stub or by the table its commands go on. SCANS scans take a snapshot each,
 * pass the gate, ask all members of the object, AEUs that ever had a part of it, and end their
 * snapshot. A turn of an AEU: take a command, read E and which snapshots are held, execute it under
 * these. With LINKS a row leaves as it is, in its segment, if none is held then: the source keeps
 * nothing of it, and its birth goes along (of heap tables; storage/table/table_segments.cc).
 *
 * Abstracted: turns of more than one command (snapshot.pml); pieces of a scan's part; a row that
 * was dead before (a move copies living rows only); who passes the gate first. Of dead rows that is kept which a held
 * snapshot sees, which is decided when they die.
 * Sequentially consistent (see README.md).
 *
 * Properties
 *   - a scan finds each row exactly once, with the value that the last write left whose epoch is
 *     not above the snapshot's: so nothing that was acknowledged before it began is missing;
 *   - a write finds what all before it have left;
 *   - no deadlock.
 *
 * Planted bugs (-D): NO_GATE, GATE_TAKEN_LATE (when the source has been told), GATE_OPENED_EARLY
 * (before the source has heard the conclusion), OWNERS_ASKED (instead of members),
 * MEMBERS_READ_FIRST (before the snapshot begins), ROWS_FREED (the source keeps nothing for
 * snapshots), BIRTHS_KEPT (the target stores rows as born when the source's were), DIES_LATER (the
 * source marks its rows dead in the epoch of its own turn); with LINKS also LINKED_UNDER_SNAPSHOTS
 * (whatever is held) and SNAPSHOTS_READ_BEFORE (the source reads them before it takes the command).
 */
#ifndef AEUS
#define AEUS 3
#endif
#ifndef ROWS
#define ROWS 1 /* at most 2 */
#endif
#ifndef MOVES
#define MOVES 2
#endif
#ifndef REFUSALS
#define REFUSALS 1
#endif
#ifndef WRITES
#define WRITES 2
#endif
#ifndef SCANS
#define SCANS 2 /* at most 2 */
#endif

#define AT(aeu, row) ((aeu) * ROWS + (row))
#define KEPT(aeu, row, scan) (AT(aeu, row) * SCANS + (scan))
#define NO_ROW ROWS

byte E = 1;
byte since; /* the epoch at which the step under way began; 0: none is */
byte table[ROWS];
bool member[AEUS];

/* What AEUs have. Of a row that was lent the copy stays, and lives until it is forgotten. */
bool owns[AEUS * ROWS];
bool lives[AEUS * ROWS];
byte birth[AEUS * ROWS];
byte value[AEUS * ROWS];
byte kept[AEUS * ROWS * SCANS]; /* 1 + the value that the snapshot sees; 0: none */
byte stub_row[AEUS] = NO_ROW;
byte stub_to[AEUS];

/* Commands: what, and the row or the scan. */
#define WRITE 1
#define SCAN 2
#define GIVE 3
#define HANDOVER 4
#define CONCLUDE 5
chan queue[AEUS] = [SCANS + 3] of { byte, byte };

/* The step under way. */
#define UNDER_WAY 0
#define INSTALLED 1
#define RETURNED 2
byte step_outcome;
byte step_target;
byte step_value;
byte step_birth;
byte step_born; /* when the row was born at the target */
bool step_linked;
bool step_over;
byte refusals = REFUSALS;

bool written; /* the writer's command is answered */
byte snapshot[SCANS]; /* 0: none */
byte asked[SCANS];
byte answered[SCANS];

/* The observer's. */
byte truth[ROWS];
byte at_snapshot[ROWS * SCANS];
byte found[ROWS * SCANS];
byte seen[ROWS * SCANS];
byte ends;

/* Of single steps. */
hidden byte row, scan, to;

/* The copy of `row` here dies in epoch e. */
inline die() {
  scan = 0;
  do
  :: scan < SCANS ->
    if
    :: snapshot[scan] > 0 && birth[AT(me, row)] <= snapshot[scan] && snapshot[scan] < e ->
      assert(kept[KEPT(me, row, scan)] == 0);
      kept[KEPT(me, row, scan)] = 1 + value[AT(me, row)]
    :: else
    fi;
    scan++
  :: else -> break
  od
}

inline write() {
  if
  :: owns[AT(me, row)] ->
    assert(lives[AT(me, row)] && value[AT(me, row)] == truth[row]);
    die();
    birth[AT(me, row)] = e;
    value[AT(me, row)]++;
    truth[row]++;
    scan = 0;
    do
    :: scan < SCANS ->
      if
      :: snapshot[scan] >= e -> at_snapshot[row * SCANS + scan] = truth[row]
      :: else
      fi;
      scan++
    :: else -> break
    od;
    written = true
  :: else ->
    if
    :: stub_row[me] == row -> to = stub_to[me]
    :: else -> to = table[row]
    fi;
    assert(to != me);
    queue[to]!WRITE, row
  fi
}

inline scan_all() {
  row = 0;
  do
  :: row < ROWS ->
    if
    :: lives[AT(me, row)] && birth[AT(me, row)] <= snapshot[scan] ->
      found[row * SCANS + scan]++;
      seen[row * SCANS + scan] = value[AT(me, row)]
    :: else
    fi;
    if
    :: kept[KEPT(me, row, scan)] > 0 ->
      found[row * SCANS + scan]++;
      seen[row * SCANS + scan] = kept[KEPT(me, row, scan)] - 1
    :: else
    fi;
    row++
  :: else -> break
  od;
  answered[scan]++
}

inline give() {
  assert(owns[AT(me, row)]);
  owns[AT(me, row)] = false;
  stub_row[me] = row;
  stub_to[me] = step_target;
  step_value = value[AT(me, row)];
  step_birth = birth[AT(me, row)];
#ifdef LINKS
#ifdef LINKED_UNDER_SNAPSHOTS
  held = false;
#endif
  step_linked = !held;
  if
  :: step_linked -> lives[AT(me, row)] = false; birth[AT(me, row)] = 0; value[AT(me, row)] = 0
  :: else
  fi;
#endif
  queue[step_target]!HANDOVER, row
}

/* Whether any snapshot is. */
inline look_for_snapshots() {
#ifdef LINKS
  scan = 0;
  held = false;
  do
  :: scan < SCANS -> held = held || snapshot[scan] > 0; scan++
  :: else -> break
  od
#else
  skip
#endif
}

inline hand_over() {
  if
  :: refusals > 0 -> refusals--; step_outcome = RETURNED
  :: true ->
    assert(!lives[AT(me, row)]);
    owns[AT(me, row)] = true;
    lives[AT(me, row)] = true;
    value[AT(me, row)] = step_value;
#ifdef BIRTHS_KEPT
    birth[AT(me, row)] = step_birth;
#else
    birth[AT(me, row)] = (step_linked -> step_birth : e);
#endif
    step_born = e;
    step_outcome = INSTALLED
  fi
}

inline conclude() {
  if
  :: step_linked ->
    if
    :: step_outcome == INSTALLED
    :: else ->
      owns[AT(me, row)] = true;
      lives[AT(me, row)] = true;
      birth[AT(me, row)] = step_birth;
      value[AT(me, row)] = step_value
    fi
  :: !step_linked && step_outcome == INSTALLED ->
#ifndef DIES_LATER
    e = step_born;
#endif
#ifndef ROWS_FREED
    die();
#endif
    lives[AT(me, row)] = false;
    birth[AT(me, row)] = 0;
    value[AT(me, row)] = 0
  :: else -> owns[AT(me, row)] = true
  fi;
  stub_row[me] = NO_ROW;
  stub_to[me] = 0;
  step_over = true
}

proctype Aeu(byte me) {
  byte e, what, which;
  bool held;
end:
  do
#ifdef SNAPSHOTS_READ_BEFORE
  :: atomic { what == 0 -> look_for_snapshots(); what = 255 };
end_of_turn:
    atomic { queue[me]?what, which };
    atomic { e = E };
#else
  :: atomic { queue[me]?what, which };
    atomic { e = E; look_for_snapshots() };
#endif
    atomic {
      row = which;
      if
      :: what == WRITE -> write()
      :: what == SCAN -> scan = which; scan_all()
      :: what == GIVE -> give()
      :: what == HANDOVER -> hand_over()
      :: what == CONCLUDE -> conclude()
      fi;
      e = 0;
      held = false;
      what = 0;
      which = 0
    }
  od
}

proctype Writer() {
  byte left = WRITES, which, at;
  do
  :: atomic { left > 0 ->
      left--;
      if
      :: which = 0
      :: ROWS > 1 -> which = ROWS - 1
      fi;
      at = table[which]
    };
    atomic { queue[at]!WRITE, which; at = 0; which = 0 };
    atomic { written -> written = false }
  :: atomic { left == 0 -> ends++; break }
  od
}

#ifdef NO_GATE
#define TAKE_GATE skip
#else
#define TAKE_GATE atomic { assert(since == 0); since = E }
#endif

proctype Coordinator() {
  byte left = MOVES, which, source;
  do
  :: left > 0 ->
#ifndef GATE_TAKEN_LATE
    TAKE_GATE;
#endif
    atomic {
      left--;
      if
      :: which = 0
      :: ROWS > 1 -> which = ROWS - 1
      fi;
      source = table[which];
      if
      :: source != 0 -> step_target = 0
      :: source != 1 -> step_target = 1
      :: AEUS > 2 && source != AEUS - 1 -> step_target = AEUS - 1
      fi;
      step_outcome = UNDER_WAY;
      member[step_target] = true; /* reserved */
      queue[source]!GIVE, which
    };
#ifdef GATE_TAKEN_LATE
    TAKE_GATE;
#endif
    atomic { step_outcome == INSTALLED -> table[which] = step_target }
      unless { step_outcome == RETURNED };
#ifdef GATE_OPENED_EARLY
    since = 0;
#endif
    atomic { queue[source]!CONCLUDE, which };
    atomic {
      step_over ->
      step_over = false;
      step_outcome = 0;
      step_target = 0;
      step_value = 0;
      step_birth = 0;
      step_born = 0;
      step_linked = false;
      source = 0;
      which = 0
    };
#ifndef GATE_OPENED_EARLY
    since = 0
#else
    skip
#endif
  :: atomic { left == 0 -> ends++; break }
  od
}

/* Whom scan `me` asks. */
inline read_members() {
  row = 0;
  do
  :: row < AEUS ->
#ifdef OWNERS_ASKED
    ask[row] = table[0] == row || table[ROWS - 1] == row;
#else
    ask[row] = member[row];
#endif
    asked[me] = asked[me] + ask[row];
    row++
  :: else -> break
  od
}

proctype Scan(byte me) {
  bool ask[AEUS];
  byte i;
#ifdef MEMBERS_READ_FIRST
  atomic { read_members() };
#endif
  atomic {
    snapshot[me] = E;
    E++;
    i = 0;
    do
    :: i < ROWS -> at_snapshot[i * SCANS + me] = truth[i]; i++
    :: else -> break
    od;
    i = 0
  };
  (since == 0 || snapshot[me] < since);
#ifndef MEMBERS_READ_FIRST
  atomic { read_members() };
#endif
  do
  :: atomic { i < AEUS ->
      if
      :: ask[i] -> queue[i]!SCAN, me; ask[i] = false
      :: else
      fi;
      i++
    }
  :: atomic { i == AEUS -> i = 0; break }
  od;
  atomic { answered[me] == asked[me] ->
    do
    :: i < ROWS ->
      assert(found[i * SCANS + me] == 1);
      assert(seen[i * SCANS + me] == at_snapshot[i * SCANS + me]);
      found[i * SCANS + me] = 0;
      seen[i * SCANS + me] = 0;
      at_snapshot[i * SCANS + me] = 0;
      i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < AEUS * ROWS -> kept[i * SCANS + me] = 0; i++
    :: else -> break
    od;
    i = 0;
    snapshot[me] = 0;
    asked[me] = 0;
    answered[me] = 0;
    ends++
  }
}

init {
  byte i;
  atomic {
    member[0] = true;
    for (i : 0 .. ROWS - 1) {
      owns[AT(0, i)] = true;
      lives[AT(0, i)] = true
    };
    for (i : 0 .. AEUS - 1) { run Aeu(i) };
    for (i : 0 .. SCANS - 1) { run Scan(i) };
    run Writer();
    run Coordinator();
    i = 0
  };
  ends == SCANS + 2;
  atomic {
    for (i : 0 .. ROWS - 1) {
      assert(owns[AT(table[i], i)] && lives[AT(table[i], i)]);
      assert(value[AT(table[i], i)] == truth[i])
    }
  }
}
