/* Who runs an AEU's turns: its own thread, or a visitor while that sleeps. routing/turn_door.h, the
 * owner's side in aeu/aeu_thread.cc (Run), the visitor's in routing/port.cc (VisitTargets).
 *
 * VISITORS threads publish RECORDS records each and come to the door: where it is free and the AEU
 * is at home they run one turn, and wake the owner if there is more to do; where it is shut they
 * wake it. SENDERS threads on other cores publish and wake. The owner is inside from waking to
 * sleeping. One more thread stops it when all has been executed. A turn executes one record at
 * most, in two steps, so that another turn would be seen in the middle of it.
 *
 * Abstracted: the waker is one step (waker.pml has it in full), the buffers are a counter
 * (incoming_buffer.pml, ingress.pml). Sequentially consistent (see README.md).
 *
 * Properties
 *   - one turn at a time, and none after the AEU's thread has ended;
 *   - no lost wake-up: when a visitor or a sender returns, its record has been executed, or the
 *     owner is awake or being woken;
 *   - no deadlock: all is executed, and the thread ends; with -DLIVENESS under weak fairness.
 *
 * Planted bugs (-D): NO_LOCK (a visitor looks at the door and does not take it), SHUT_UNSAID (who
 * finds it shut goes away), MORE_UNSAID (a visitor does not look for more after its turn),
 * CHECK_BEFORE_PREPARE (the owner looks for work, then says that it sleeps), RUNNER_KEPT (the door
 * stays open when the owner has ended).
 */
#ifndef VISITORS
#define VISITORS 2
#endif
#ifndef SENDERS
#define SENDERS 1
#endif
#ifndef RECORDS
#define RECORDS 2
#endif
#define TOTAL ((VISITORS + SENDERS) * RECORDS)

bool held;       /* the door */
bool at_home;    /* it has a runner */
bool sleeping;   /* the waker's state */
bool asleep;     /* the owner, until it is woken */
bool stop;
byte published, executed;

/* The observer's. */
bool in_turn, ended;

#define WORK (published > executed)

inline wake() {
  sleeping = false
}

inline turn(did) {
  atomic { assert(!in_turn && !ended); in_turn = true };
  atomic {
    did = WORK;
    executed = executed + did;
    in_turn = false
  }
}

proctype Owner() {
  bool did;
  atomic { !held -> held = true };
  at_home = true;
  do
  :: stop -> break
  :: !stop ->
    turn(did);
    if
    :: did -> did = false
    :: else ->
#ifdef CHECK_BEFORE_PREPARE
      if
      :: WORK || stop
      :: else ->
        sleeping = true;
#else
      sleeping = true;
      if
      :: WORK || stop -> sleeping = false
      :: else ->
#endif
        held = false;
        asleep = true;
        atomic { !sleeping -> asleep = false };
        atomic { !held -> held = true }
      fi
    fi
  od;
#ifndef RUNNER_KEPT
  at_home = false;
#endif
  atomic { ended = true; held = false }
}

#define MUST_BE_SEEN assert(executed >= mine || !asleep || !sleeping)

proctype Visitor() {
  byte sent, mine;
  bool got, did, done;
  do
  :: sent < RECORDS ->
    atomic { published++; mine = published };
#ifdef NO_LOCK
    got = !held;
#else
    atomic { got = !held; held = held || got };
#endif
    done = false;
    if
    :: got && at_home ->
      turn(did);
#ifdef MORE_UNSAID
      done = true;
#else
      done = !WORK;
#endif
      did = false
    :: else
    fi;
#ifndef NO_LOCK
    if
    :: got -> held = false
    :: else
    fi;
#endif
#ifdef SHUT_UNSAID
    if
    :: got && !done -> wake()
    :: else
    fi;
#else
    if
    :: !done -> wake()
    :: else
    fi;
#endif
    atomic { MUST_BE_SEEN; sent++; mine = 0; got = false; done = false }
  :: else -> break
  od
}

proctype Sender() {
  byte sent, mine;
  do
  :: sent < RECORDS ->
    atomic { published++; mine = published };
    wake();
    atomic { MUST_BE_SEEN; sent++; mine = 0 }
  :: else -> break
  od
}

/* AeuThread::Stop; one more comes to the door afterwards, with nothing that has to be done. */
proctype Stopper() {
  bool got, did;
  atomic { executed == TOTAL -> stop = true };
  wake();
  ended;
  atomic { got = !held; held = held || got };
  if
  :: got && at_home -> turn(did)
  :: else
  fi;
  if
  :: got -> held = false
  :: else
  fi
}

init {
  byte i;
  atomic {
    run Owner();
    run Stopper();
    for (i : 1 .. VISITORS) { run Visitor() };
    i = SENDERS;
    do
    :: i > 0 -> run Sender(); i--
    :: else -> break
    od
  };
  (_nr_pr == 1);
  assert(ended && executed == TOTAL)
}

#ifdef LIVENESS
ltl all_is_done { <> (ended && executed == TOTAL) }
#endif
