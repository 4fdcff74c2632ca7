/* How an AEU goes to sleep and is woken: routing/waker.h, the sender's side in routing/port.cc
 * (SendOver, WakeTargets), the owner's in aeu/aeu_thread.cc (Run) and aeu/aeu.cc (HasWork).
 *
 * SENDERS threads send RECORDS records each: reserve (the CAS in TryWrite makes the record visible
 * to HasRecords), complete (the writer's decrement), Wake. One more thread stops the AEU when all
 * of that has been executed (AeuThread::Stop). The owner executes what is complete, and sleeps when
 * there is nothing. Every access to `state` and to the work is a step; the futex compares its word
 * and blocks in one step, as the kernel does. The thread may return from its sleep without a
 * reason, SPURIOUS times.
 *
 * Abstracted: the incoming buffer is two counters (incoming_buffer.pml has the halves); spinning
 * before the sleep; full buffers of others, which keep the owner awake; senders that stop for good
 * (ingress.pml). Sequentially consistent, as the seq_cst accesses of the real code are among
 * themselves; which orders both sides need is searched by tests/explore/.
 *
 * Properties
 *   - no lost wake-up: never does the owner sleep over work whose thread has returned from Wake,
 *     whoever else is on the way to wake it, as that one may lose its core;
 *   - so no record is left behind: no state without a successor but the end, where all have been
 *     executed and the thread has ended;
 *   - an AEU at work is left alone: from CancelSleep to PrepareToSleep `state` is AWAKE, so a Wake
 *     that begins there makes no futex call (one that began before may make its one call late);
 *   - nor does a Wake that begins when the call has been made and marked, while the AEU gets up;
 *   - with -DLIVENESS: under weak fairness all is executed and the thread stops.
 *
 * Planted bugs (-D): CHECK_BEFORE_STORE (the owner looks for work, then says that it sleeps),
 * WAKE_BEFORE_PUBLISH (the sender wakes, then makes its record visible), SLEEP_WITHOUT_COMPARE (the
 * futex does not look at its word), WAKE_WITHOUT_MARK (the sender wakes and leaves `state` as it
 * is), WAKE_ALONE (who finds the AEU being woken leaves that to the other one), STORE_FOR_CAS (a
 * load and a store: an AEU that has got up counts as being woken), CANCEL_FORGOTTEN (it gets up and
 * does not say so), GENERATION_FORGOTTEN (the mark of a call that was made for an earlier sleep counts
 * for this one).
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

/* Waker::state_. */
#define AWAKE 0
#define SLEEPING 1
#define BEING_WOKEN 2
#define WOKEN 3
byte state;
byte generation; /* in the same word: a number that no thread has read of an earlier sleep */
byte held[SENDERS + 1]; /* what each thread has read of it */
bool blocked; /* the owner, in the kernel */
byte reserved; /* not executed yet */
byte inside;   /* writers between reservation and completion */
bool stop;

/* The observer's. A bit for each thread; the last is the Stopper's. */
byte executed;
byte visible;  /* its work is, and has not been executed */
byte returned; /* the same, and its Wake has returned */
bool at_work = true; /* the owner, from CancelSleep to PrepareToSleep */
bool ended;

#define WORK (reserved > 0 || stop)
#define LOST (blocked && returned != 0)

inline wake(seen, me) {
  atomic { seen = state; held[me] = generation };
  if
  :: seen == AWAKE || seen == WOKEN
  :: seen == SLEEPING || seen == BEING_WOKEN ->
#ifndef WAKE_WITHOUT_MARK
    if
    :: seen == SLEEPING ->
#ifdef STORE_FOR_CAS
      seen = state;
      if
      :: seen == SLEEPING -> state = BEING_WOKEN; seen = BEING_WOKEN; mine = true
      :: else
      fi;
#else
      atomic { /* the CAS */
        if
        :: state == SLEEPING && generation == held[me] -> state = BEING_WOKEN; seen = BEING_WOKEN; mine = true
        :: else -> seen = state; held[me] = generation
        fi
      };
#endif
      assert(!(at_work && state != AWAKE))
    :: else
    fi;
#endif
    if
    :: seen == AWAKE || seen == WOKEN
    :: else ->
#ifdef WAKE_ALONE
      if
      :: !mine -> skip /* somebody else is about to */
      :: mine ->
#endif
      blocked = false; /* the futex */
      atomic {
        if
#ifdef GENERATION_FORGOTTEN
        :: seen == BEING_WOKEN && state == BEING_WOKEN -> state = WOKEN
#else
        :: seen == BEING_WOKEN && state == BEING_WOKEN && generation == held[me] -> state = WOKEN
#endif
        :: else
        fi;
        assert(!(at_work && state != AWAKE))
      }
#ifdef WAKE_ALONE
      fi
#endif
    fi
  fi;
  atomic { mine = false; held[me] = 0 }
}

proctype Sender(byte me) {
  byte sent, seen;
  bool mine;
  do
  :: sent < RECORDS ->
#ifdef WAKE_BEFORE_PUBLISH
    wake(seen, me);
    atomic { reserved++; inside++; visible = visible | (1 << me) };
    inside--;
#else
    atomic { reserved++; inside++; visible = visible | (1 << me) };
    inside--;
    wake(seen, me);
#endif
    atomic { returned = returned | (visible & (1 << me)); seen = 0; sent++; assert(!LOST) }
  :: else -> break
  od
}

proctype Stopper() {
  byte seen;
  bool mine;
  executed == SENDERS * RECORDS;
  stop = true;
  wake(seen, SENDERS);
  atomic { returned = returned | (1 << SENDERS); seen = 0; assert(!LOST) }
}

inline prepare_to_sleep() {
  atomic {
    at_work = false;
    state = SLEEPING;
    generation = 1;
    do
    :: generation == held[0] || generation == held[1] || generation == held[SENDERS - 1] || generation == held[SENDERS] ->
      generation++
    :: else -> break
    od
  }
}

inline cancel_sleep() {
  atomic {
    at_work = true;
#ifndef CANCEL_FORGOTTEN
    state = AWAKE;
#endif
    assert(state == AWAKE)
  }
}

proctype Owner() {
  do
  :: stop -> break
  :: else ->
    if
    :: atomic { reserved > 0 && inside == 0 ->
        executed = executed + reserved;
        reserved = 0; visible = 0; returned = 0
      }
    :: atomic { reserved > 0 && inside > 0 -> skip } /* HasWork: looked at again */
    :: atomic { reserved == 0 -> skip };
#ifdef CHECK_BEFORE_STORE
      if
      :: WORK
      :: else ->
        prepare_to_sleep();
        goto sleep
      fi
#else
      prepare_to_sleep();
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
      :: state != SLEEPING
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
    for (n : 0 .. SENDERS - 1) { run Sender(n) }
    run Stopper();
#if SPURIOUS
    run Kernel()
#endif
  }
}

#ifdef LIVENESS
ltl all_executed { <> (ended && executed == SENDERS * RECORDS) }
#endif
