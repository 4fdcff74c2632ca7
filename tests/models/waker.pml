/* How an AEU goes to sleep and is woken: routing/waker.h, the sender's side in routing/port.cc
 * (SendOver, WakeTargets), the owner's in aeu/aeu_thread.cc (Run) and aeu/aeu.cc (HasWork).
 *
 * SENDERS threads send RECORDS records each: reserve (the CAS in TryWrite makes the record visible
 * to HasRecords), complete (the writer's decrement), Wake. One more thread stops the AEU when all
 * of that has been executed (AeuThread::Stop). The owner executes what is complete, and sleeps when
 * there is nothing. Every access to `sleeping` and to the work is a step; the futex compares its
 * word and blocks in one step, as the kernel does. The thread may return from its sleep without a
 * reason, SPURIOUS times.
 *
 * Abstracted: the incoming buffer is two counters (incoming_buffer.pml has the halves); spinning
 * before the sleep; full buffers of others, which keep the owner awake. Sequentially consistent, as
 * the seq_cst accesses of the real code are among themselves; that both sides need exactly this
 * order, and no weaker one, is the argument at the head of waker.h (see README.md).
 *
 * Properties
 *   - no lost wake-up: never does the owner sleep while a record or the stop is there and nobody is
 *     on the way to wake it (between making it visible and the end of Wake);
 *   - so no record is left behind: no state without a successor but the end, where all have been
 *     executed and the thread has ended;
 *   - a sleep costs at most one futex wake, however many send (`may_wake`);
 *   - with -DLIVENESS: under weak fairness all is executed and the thread stops.
 *
 * Planted bugs (-D): CHECK_BEFORE_STORE (the owner looks for work, then says that it sleeps),
 * WAKE_BEFORE_PUBLISH (the sender wakes, then makes its record visible), SLEEP_WITHOUT_COMPARE (the
 * futex does not look at its word), WAKE_WITHOUT_TAKING_BACK (the sender wakes and leaves
 * `sleeping` as it is), STORE_FOR_EXCHANGE (a load and a store: two senders go to wake one sleep).
 */
#ifndef SENDERS
#define SENDERS 3
#endif
#ifndef RECORDS
#define RECORDS 2
#endif
#ifndef SPURIOUS
#define SPURIOUS 1
#endif

bool sleeping; /* Waker::sleeping_ */
bool blocked;  /* the owner, in the kernel */
byte reserved; /* not executed yet */
byte inside;   /* writers between reservation and completion */
bool stop;

/* The observer's. */
byte executed;
byte waking; /* senders between making work visible and the end of Wake */
bool may_wake; /* the owner has said that it sleeps, and nobody has taken it back since */
bool ended;

#define WORK (reserved > 0 || stop)
#define LOST (blocked && WORK && waking == 0)

inline count_wake(seen) {
  if
  :: seen -> assert(may_wake); may_wake = false
  :: else
  fi
}

inline wake(seen) {
  seen = sleeping;
  if
  :: seen ->
#ifdef STORE_FOR_EXCHANGE
    seen = sleeping;
    sleeping = false;
    count_wake(seen);
#elif !defined(WAKE_WITHOUT_TAKING_BACK)
    atomic { seen = sleeping; sleeping = false; count_wake(seen) }; /* the exchange */
#endif
    if
    :: seen ->
      blocked = false
    :: else
    fi
  :: else
  fi
}

proctype Sender() {
  byte sent;
  bool seen;
  do
  :: sent < RECORDS ->
#ifdef WAKE_BEFORE_PUBLISH
    waking++;
    wake(seen);
    atomic { reserved++; inside++ };
    atomic { inside--; waking--; seen = false; sent++ }
#else
    atomic { reserved++; inside++; waking++ };
    inside--;
    wake(seen);
    atomic { waking--; seen = false; sent++ }
#endif
    assert(!LOST)
  :: else -> break
  od
}

proctype Stopper() {
  bool seen;
  executed == SENDERS * RECORDS;
  atomic { stop = true; waking++ };
  wake(seen);
  waking--;
  assert(!LOST)
}

inline cancel_sleep() { sleeping = false }

proctype Owner() {
  do
  :: stop -> break
  :: else ->
    if
    :: atomic { reserved > 0 && inside == 0 -> executed = executed + reserved; reserved = 0 }
    :: atomic { reserved > 0 && inside > 0 -> skip } /* HasWork: looked at again */
    :: atomic { reserved == 0 -> skip };
#ifdef CHECK_BEFORE_STORE
      if
      :: WORK
      :: else ->
        atomic { sleeping = true; may_wake = true };
        goto sleep
      fi
#else
      atomic { sleeping = true; may_wake = true }; /* PrepareToSleep */
      if
      :: reserved > 0 -> cancel_sleep()
      :: else ->
        if
        :: stop -> cancel_sleep()
        :: else -> goto sleep
        fi
      fi
#endif
    fi
  :: false ->
sleep:
    atomic {
      if
#ifndef SLEEP_WITHOUT_COMPARE
      :: !sleeping
#endif
      :: else ->
        blocked = true;
        assert(!LOST)
      fi
    };
    !blocked;
    cancel_sleep()
  od;
  ended = true
}

#if SPURIOUS
proctype Kernel() {
  byte left = SPURIOUS;
end:
  do
  :: atomic { left > 0 && blocked -> blocked = false; left-- }
  od
}
#endif

init {
  byte n;
  atomic {
    run Owner();
    for (n : 1 .. SENDERS) { run Sender() }
    run Stopper();
#if SPURIOUS
    run Kernel()
#endif
  }
}

#ifdef LIVENESS
ltl all_executed { <> (ended && executed == SENDERS * RECORDS) }
#endif
