/* Order while a range moves: aeu/state/range_history.cc, the stub of aeu/state/object_slot.h, Aeu::SendOn in
 * aeu/aeu.cc, engine/core/send_order.cc, and the versions of engine/moving/transfer_executor.cc.
 *
 * One session sends COMMANDS writes on one key, several under way at a time, while a balancer moves
 * the key's range MOVES times between AEUS AEUs, also back to where it was. A write travels with the
 * version of the table that chose its AEU. An AEU executes it if it has the range, by a version not
 * newer than the write's; if it has given the range away since, and the step has not ended, it sends
 * it on behind the range, as a write of the version by which the target will own it; else it sends
 * it back. A write that finds no room behind the range breaks the stub. RETURNS targets do not take
 * the range, and the source has it again by the next version. A session whose write comes back sends
 * nothing until all are in, and then those again, by the newest table, in their order.
 *
 * Abstracted: batches (one write each), several keys (one that others move beside it changes
 * nothing), a history of several ranges (`since` alone), deadlines, snapshots. Sequentially
 * consistent (see README.md).
 *
 * Properties
 *   - writes are executed in the order in which they were sent, each once;
 *   - with -DLIVENESS, where the session waits for a newer table: under weak fairness all are
 *     executed at last.
 *
 * Planted bugs (-D): SINCE_FORGOTTEN (what came back takes older writes), STUB_FORGETS_SINCE (so does
 * the stub), STUB_MENDS (one that found no room takes the next write), TABLES_MIXED (each write by the
 * newest table), SENT_PAST (the session sends on before it has all back), SENT_UNSORTED (again, the
 * last one first), RETURNED_UNSEEN (a range that was not taken keeps its version),
 * RETURN_PUBLISHED_FIRST (before the source has the range again).
 */
#ifndef AEUS
#define AEUS 3
#endif
#ifndef COMMANDS
#define COMMANDS 3
#endif
#ifndef MOVES
#define MOVES 3
#endif
#ifndef RETURNS
#define RETURNS 1
#endif
#ifndef CAPACITY
#define CAPACITY 2 /* records from one AEU to another */
#endif

#define VERSIONS (MOVES + 2)

mtype = { write, handover, give, conclude, installed, returned };

chan ingress[AEUS] = [COMMANDS] of { byte, byte };                  /* number, version */
chan between[AEUS * AEUS] = [CAPACITY] of { mtype, byte, byte };    /* kind, number, version */
chan control[AEUS] = [1] of { mtype, byte, byte };                  /* kind, target or outcome, version */
chan ended = [1] of { mtype };
chan answers = [COMMANDS] of { byte, bit };                         /* number, sent back */

byte version = 1;
byte owner[VERSIONS]; /* by version */
bool owns[AEUS];
byte since[AEUS];     /* the version by which the AEU has taken the range in last */
bool stub[AEUS];
byte stub_to[AEUS];
byte stub_version[AEUS];
bool broken[AEUS];

byte executed = 0; /* the last one */
byte returns_left = RETURNS;
bool all_done = false;

inline execute(n) {
  assert(n == executed + 1);
  executed = n;
  answers!n, 0
}

#ifdef STUB_FORGETS_SINCE
#define STUB_TAKES(v) (stub[me] && v < stub_version[me])
#else
#define STUB_TAKES(v) (stub[me] && v < stub_version[me] && since[me] <= v)
#endif
#ifdef SINCE_FORGOTTEN
#define OWNS(v) (owns[me])
#else
#define OWNS(v) (owns[me] && since[me] <= v)
#endif

inline handle(n, v) {
  if
  :: OWNS(v) -> execute(n)
  :: !OWNS(v) && STUB_TAKES(v) && !broken[me] ->
    if
    :: nfull(between[me * AEUS + stub_to[me]]) ->
      between[me * AEUS + stub_to[me]]!write, n, stub_version[me]
    :: full(between[me * AEUS + stub_to[me]]) ->
#ifndef STUB_MENDS
      broken[me] = true;
#endif
      answers!n, 1
    fi
  :: !OWNS(v) && (!STUB_TAKES(v) || broken[me]) -> answers!n, 1
  fi
}

proctype Aeu(byte me) {
  byte n, v;
  mtype kind;
end:
  do
  :: atomic { ingress[me]?n, v -> handle(n, v) }
  :: atomic {
       if
       :: between[0 * AEUS + me]?kind, n, v
       :: between[1 * AEUS + me]?kind, n, v
#if AEUS > 2
       :: between[2 * AEUS + me]?kind, n, v
#endif
       fi;
       if
       :: kind == write -> handle(n, v)
       :: kind == handover ->
         if
         :: owns[me] = true; since[me] = v; ended!installed
         :: returns_left > 0 -> returns_left--; ended!returned
         fi
       fi
     }
  :: atomic {
       control[me]?give(n, v) ->
       nfull(between[me * AEUS + n]);
       owns[me] = false;
       stub[me] = true; stub_to[me] = n; stub_version[me] = v; broken[me] = false;
       between[me * AEUS + n]!handover, 0, v
     }
  :: atomic {
       control[me]?conclude(n, v) ->
       stub[me] = false;
       if
       :: n == 1 ->
         owns[me] = true;
#ifndef RETURNED_UNSEEN
         since[me] = v
#endif
       :: n == 0
       fi;
       ended!installed
     }
  od
}

proctype Balancer() {
  byte moves, from, to;
  mtype outcome;
  do
  :: moves < MOVES ->
    from = owner[version];
    if
    :: to = 0 :: to = 1
#if AEUS > 2
    :: to = 2
#endif
    fi;
    if
    :: to == from -> skip
    :: to != from ->
      moves++;
      control[from]!give(to, version + 1);
      ended?outcome;
      if
      :: outcome == installed ->
        atomic { owner[version + 1] = to; version++ }
        control[from]!conclude(0, version);
        ended?_
      :: outcome == returned ->
#ifdef RETURN_PUBLISHED_FIRST
        atomic { owner[version + 1] = from; version++ }
        control[from]!conclude(1, version);
        ended?_
#else
        control[from]!conclude(1, version + 1);
        ended?_;
        atomic { owner[version + 1] = from; version++ }
#endif
      fi
    fi
  :: moves == MOVES -> break
  od
}

proctype Session() {
  byte next = 1, out = 0, table = 1, n, i;
  bit back;
  bool draining = false;
  bool refused[COMMANDS + 1];
  do
#ifdef SENT_PAST
  :: next <= COMMANDS ->
#else
  :: next <= COMMANDS && !draining ->
#endif
    atomic {
      if
      :: out == 0 -> table = version
      :: out > 0
      fi;
#ifdef TABLES_MIXED
      table = version;
#endif
      ingress[owner[table]]!next, table;
      next++; out++
    }
  :: atomic {
       answers?n, back ->
       out--;
       if
       :: back -> refused[n] = true; draining = true
       :: !back
       fi
     }
#ifdef LIVENESS
  :: draining && out == 0 && version > table ->
#else
  :: draining && out == 0 -> /* by the same table again, where there is no newer one */
#endif
    atomic {
      table = version;
#ifdef SENT_UNSORTED
      i = COMMANDS;
      do
      :: i >= 1 ->
        if :: refused[i] -> refused[i] = false; ingress[owner[table]]!i, table; out++ :: else fi;
        i--
      :: i < 1 -> break
      od;
#else
      i = 1;
      do
      :: i <= COMMANDS ->
        if :: refused[i] -> refused[i] = false; ingress[owner[table]]!i, table; out++ :: else fi;
        i++
      :: i > COMMANDS -> break
      od;
#endif
      i = 0; n = 0;
      draining = false
    }
  :: next > COMMANDS && !draining && out == 0 -> break
  od;
  assert(executed == COMMANDS);
  all_done = true
}

init {
  atomic {
    owner[1] = 0; owns[0] = true; since[0] = 1;
    byte a = 0;
    do
    :: a < AEUS -> run Aeu(a); a++
    :: a == AEUS -> break
    od;
    run Balancer();
    run Session()
  }
}

#ifdef LIVENESS
ltl answered { <> all_done }
#endif
