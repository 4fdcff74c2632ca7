/* How Ports outside the engine reach an AEU: routing/block_queue.h, routing/block_pool.h,
 * routing/waker.h; the Port's side in routing/port.cc (SendOver, WakeTargets, Wait::Pause), the
 * AEU's in aeu/aeu.cc (TakeCommands, HasWork) and aeu/aeu_thread.cc (Run).
 *
 * Two Ports send RECORDS records each, one to a block, of BLOCKS blocks each. A block is written,
 * pushed by CAS, and the AEU woken at the end of the call (which may come after any record) or
 * before the Port waits for a block to come home; it waits with a bound, then refuses the record,
 * REFUSALS times at most. The AEU takes all by exchange, reverses it, executes TURN blocks at most
 * in a turn, sends those home, and sleeps when there is nothing. A Port's thread may stop for good
 * at ANY step, STOPS of them: none of the threads outside is pinned, so any may lose its core
 * anywhere for as long as the system likes.
 *
 * Abstracted: a block's `next` is written in the step that loads the list's head, as nobody else
 * may look at it; the list is reversed in one step, all of it is the AEU's; the pool's end
 * (multicast.pml); incoming buffers (waker.pml has the sleep for them). What stands in a block is
 * cleared when it has come home. Sequentially consistent (see README.md).
 *
 * Properties
 *   - each Port's records are executed in its order, each once; a record that was refused is not;
 *   - a block is not written while the AEU has it, and read only when it is whole;
 *   - no lost wake-up: never does the AEU sleep over a block while nobody is on the way to wake it;
 *   - no stall: whichever Ports have stopped, wherever, every record of the others is executed or
 *     refused (no other state is an end, and none is a deadlock);
 *   - with -DLIVENESS: under weak fairness that end is reached.
 *
 * Planted bugs (-D): SHARED_HALF (instead of pushing a block a Port reserves room in memory that
 * all share and writes it there; the AEU waits for who is inside), PUSH_BY_STORE, TAKE_BY_LOAD
 * (loads and stores instead of the CAS and the exchange), NO_REVERSE, HOME_TOO_EARLY (a block goes
 * home before it is read), PUSH_TOO_EARLY (before it is written), REST_FORGOTTEN (a turn that takes
 * nothing new does not look at what the last one left), WAKE_BEFORE_PUSH, WAIT_BEFORE_WAKE (the
 * Port waits for a block and has not woken who has them), WAKE_ALONE (one Port takes it on itself
 * to wake the AEU, by an exchange, and nobody else does until it sleeps again: a stall where that
 * one stops before its futex call), REFUSED_YET_SENT (the Port looks for a block once more when it
 * has refused the record).
 */
#define PORTS 2
#ifndef RECORDS
#define RECORDS 3
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef TURN
#define TURN 1
#endif
#ifndef REFUSALS
#define REFUSALS 1
#endif
#ifndef STOPS
#define STOPS 0
#endif

#define MANY (PORTS * BLOCKS)
#define OWNER(b) (((b) - 1) / BLOCKS)
#define ALL ((1 << RECORDS) - 1)

/* Waker::state_. */
#define AWAKE 0
#define SLEEPING 1
#define BEING_WOKEN 2
byte state;
bool blocked; /* the AEU, in the kernel */

/* Blocks count from 1; 0 ends a list. */
byte newest; /* BlockQueue::newest_ */
byte next[MANY + 1], record[MANY + 1];
byte returned[PORTS], free_blocks[PORTS];
#ifdef SHARED_HALF
byte inside;
#endif

/* The observer's. */
bool with_aeu[MANY + 1];
byte executed[PORTS], refused[PORTS]; /* a bit for each record */
byte waking;                          /* Ports between a push and the end of Wake */
bool stopped[PORTS], ended[PORTS];

#define LOST (blocked && newest != 0 && waking == 0)

inline put(b) {
  assert(!with_aeu[b]);
  record[b] = 0;
  next[b] = free_blocks[me];
  free_blocks[me] = b
}

/* Waker::Wake. */
inline wake() {
  if
  :: owes_wake ->
    seen = state;
    if
    :: seen == AWAKE
    :: seen != AWAKE ->
#ifdef WAKE_ALONE
      atomic { seen = state; state = AWAKE };
#else
      if
      :: seen == SLEEPING ->
        atomic { /* the CAS */
          seen = state;
          if
          :: seen == SLEEPING -> state = BEING_WOKEN
          :: else
          fi
        }
      :: else
      fi;
#endif
      if
      :: seen == AWAKE
      :: else -> blocked = false /* the futex */
      fi
    fi;
    atomic { owes_wake = false; waking--; seen = 0 };
    assert(!LOST)
  :: else
  fi
}

inline owe_wake() {
  if
  :: owes_wake
  :: else -> owes_wake = true; waking++
  fi
}

inline push() {
  atomic { head = newest; next[block] = head };
  do
  :: atomic {
#ifndef PUSH_BY_STORE
      if
      :: newest == head ->
#endif
        assert(!with_aeu[block]);
        with_aeu[block] = true;
        newest = block;
        owe_wake();
        head = 0;
        break
#ifndef PUSH_BY_STORE
      :: else -> head = newest; next[block] = head
      fi
#endif
    }
  od
}

proctype Port(byte me) {
  byte sent, block, head, seen, refusals;
  bool owes_wake, has_refused;
  {
    do
    :: sent == RECORDS -> break
    :: sent < RECORDS ->
      /* BlockPool::Take */
      do
      :: atomic { free_blocks[me] != 0 ->
          block = free_blocks[me];
          free_blocks[me] = next[block];
          next[block] = 0;
          break
        }
      :: atomic { free_blocks[me] == 0 && returned[me] != 0 ->
          head = returned[me]; /* the exchange */
          returned[me] = 0;
          do
          :: head != 0 -> block = head; head = next[block]; put(block)
          :: else -> block = 0; break
          od
        }
      :: free_blocks[me] == 0 && returned[me] == 0 ->
#ifndef WAIT_BEFORE_WAKE
        wake();
#endif
        if
        :: returned[me] != 0 -> skip
        :: atomic { refusals < REFUSALS -> /* the bound has passed */
            refusals++;
            refused[me] = refused[me] | (1 << sent);
#ifndef REFUSED_YET_SENT
            sent++;
            goto next_record
#else
            if
            :: returned[me] != 0 -> skip
            :: else -> sent++; goto next_record
            fi
#endif
          }
        fi
      od;
#ifdef WAKE_BEFORE_PUSH
      atomic { owe_wake() };
      wake();
#endif
#ifdef SHARED_HALF
      atomic {
        inside++;
        head = newest;
        next[block] = head;
        newest = block;
        with_aeu[block] = true;
        owe_wake()
      };
      head = 0;
      record[block] = sent + 1;
      inside--;
#elif defined(PUSH_TOO_EARLY)
      push();
      record[block] = sent + 1;
#else
      atomic { assert(!with_aeu[block] && record[block] == 0); record[block] = sent + 1 };
      push();
#endif
#ifdef WAKE_BEFORE_PUSH
      atomic { owes_wake = false; waking-- };
      assert(!LOST);
#endif
      atomic { block = 0; sent++ };
      if
      :: skip /* the call has more to send */
      :: wake()
      fi;
next_record:
      skip
    od;
    wake();
    ended[me] = true
  } unless { stopped[me] };
end:
  false
}

chan rest = [MANY] of { byte };     /* Aeu::blocks_ */
chan executing = [MANY] of { byte }; /* of this turn */

inline send_home(b) {
  atomic { head = returned[OWNER(b)]; next[b] = head; with_aeu[b] = false };
  do
  :: atomic {
      if
      :: returned[OWNER(b)] == head -> returned[OWNER(b)] = b; head = 0; break
      :: else -> head = returned[OWNER(b)]; next[b] = head
      fi
    }
  od
}

proctype Aeu() {
  byte block, head, turn, what;
  bool worked;
  do
  :: atomic { /* the exchange */
      head = newest;
      newest = 0;
#ifdef TAKE_BY_LOAD
      newest = head
    };
    newest = 0;
    atomic {
#endif
#ifndef NO_REVERSE
      do
      :: head != 0 -> what = next[head]; next[head] = block; block = head; head = what
      :: else -> head = block; block = 0; break
      od;
#endif
      do
      :: head != 0 -> rest!head; worked = true; head = next[head]
      :: else -> what = 0; break
      od;
#ifdef REST_FORGOTTEN
      if
      :: worked -> worked = false
      :: else -> goto nothing
      fi
#endif
    };
#ifdef SHARED_HALF
    inside == 0;
#endif
    do
    :: atomic { turn < TURN && nempty(rest) -> rest?block; turn++; worked = true };
#ifdef HOME_TOO_EARLY
      send_home(block);
#else
      assert(with_aeu[block]);
#endif
      atomic {
        what = record[block];
        assert(what != 0); /* written */
        what--;
        assert((refused[OWNER(block)] >> what & 1) == 0);
        assert(executed[OWNER(block)] >> what == 0); /* neither this one nor a later one */
        executed[OWNER(block)] = executed[OWNER(block)] | (1 << what);
        executing!block;
        block = 0; what = 0
      }
    :: atomic { turn == TURN || empty(rest) -> turn = 0; break }
    od;
    do
    :: atomic { nempty(executing) -> executing?block };
#ifndef HOME_TOO_EARLY
      send_home(block);
#endif
      block = 0
    :: atomic { empty(executing) -> break }
    od;
nothing:
    if
    :: worked -> worked = false
    :: else ->
      state = SLEEPING; /* PrepareToSleep */
      if
      :: newest != 0
      :: else ->
        atomic { /* the futex compares and blocks in one step */
          if
          :: state == SLEEPING -> blocked = true; assert(!LOST)
          :: else
          fi
        };
end:
        !blocked
      fi;
      state = AWAKE /* CancelSleep */
    fi
  od
}

#if STOPS
proctype Scheduler() {
  byte n;
end:
  do
  :: atomic { n < STOPS && !stopped[0] -> stopped[0] = true; n++ }
  :: atomic { n < STOPS && !stopped[1] -> stopped[1] = true; n++ }
  od
}
#endif

#define DONE(p) (stopped[p] || (ended[p] && (executed[p] | refused[p]) == ALL))
#define ALL_DONE (DONE(0) && DONE(1))

init {
  byte n, m;
  atomic {
    for (n : 0 .. PORTS - 1) {
      for (m : 1 .. BLOCKS) {
        next[n * BLOCKS + m] = free_blocks[n];
        free_blocks[n] = n * BLOCKS + m
      }
    };
    n = 0; m = 0;
    run Aeu();
#if STOPS
    run Scheduler();
#endif
    run Port(0);
    run Port(1)
  };
  ALL_DONE
}

#ifdef LIVENESS
ltl others_go_on { <> ALL_DONE }
#endif
