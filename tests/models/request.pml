/* A request under way: engine/request.{h,cc}, engine/core/send_order.cc and engine/completion/resends.h; the
 * synchronous caller in engine/sessions/session_impl.cc (Run), and with -DASYNC engine/sessions/batch_call.cc
 * on the completion thread.
 *
 * A request of KEYS keys, one command each, to AEUS AEUs. A key's block comes home with its answer
 * (home.pml), and who takes it writes the key's column in the request, then counts the answer: here
 * the AEU's process does. Who counts the last one ends the round (LastAnswer). An AEU may
 * answer "moved" for MOVES keys in all. A round with such an answer, and one of a request that has
 * been cancelled, is given to the thread that sends again: that holds the request and sends it, with
 * the session's mutex, or finishes it. Else the AEU finishes it. The caller holds a reference, and
 * the AEUs one until it is finished. Synchronous: the caller waits, or its deadline passes at any
 * moment, and it abandons the request, with the mutex: it finishes what is held. From its return on
 * nobody reads its columns. Asynchronous: who finishes posts the call, the completion thread takes
 * it and runs the callback; a user may cancel, which posts a task of its own, and lets its handle
 * go, at any moment. Each access to the request asserts that it has not been freed.
 *
 * Abstracted: values; buffers (backpressure.pml has them); sending on, which moves the duty to
 * answer to another AEU, as here any AEU may take any command; other requests of the order, so that
 * all are in at once (order.pml has several); shared pointers to the call are counted in one step.
 * Sequentially consistent (see README.md).
 *
 * Properties
 *   - the request is never touched after it was freed, it is freed exactly once, and it is freed;
 *   - each round's last answer is found by exactly one AEU, after every column was written;
 *   - credit is given back exactly once, when nothing is owed any more (Settle);
 *   - the caller has its outcome exactly once: one return, one callback; a task is not posted while
 *     it is posted already;
 *   - the columns of a caller that has returned are not read;
 *   - no state without a successor but the end: nobody waits for an answer that does not come.
 *
 * Planted bugs (-D): FREED_BY_CALLER (deadline: the caller frees instead of letting go),
 * LAST_BY_LOAD (count down, then look whether it is zero: two are last), MOVED_POSTS (an AEU that
 * answers "moved" ends the round at once so that the key is sent again early: posted twice),
 * EXPECT_AFTER_SEND (answers are announced when they are on their way already), WAKE_AFTER_UNREF
 * (the last answer lets go, then wakes the caller through the request's word), ABANDONED_UNLOCKED
 * (without the mutex), ABANDONED_HELD (what is held stays so, and is finished), and with ASYNC
 * SETTLE_AT_CANCEL (credit goes back while answers are owed), CALLBACK_UNGUARDED (the end of a
 * cancelled call runs the callback, too).
 */
#ifndef KEYS
#define KEYS 3
#endif
#ifndef AEUS
#define AEUS 2
#endif
#ifndef MOVES
#define MOVES 2
#endif

#define OWED 0
#define MOVED 1
#define EXECUTED 2

chan commands = [KEYS] of { byte };
byte moves = MOVES;

/* The request. */
byte references = 1;
byte owed;
bool answered;
byte state[KEYS];
bool any_moved; /* in this round */
bool cancelled;
bool settled;

/* The order: the session's mutex, and what is to be sent again. */
bool locked;
bool held;
chan resends = [1] of { bool };
bool given; /* stands in resends */

/* The observer's. */
bool freed;
byte outcomes;
bool returned; /* the synchronous caller */
byte unwritten; /* columns that AEUs will still write in this round */

#define TOUCH assert(!freed)

inline settle() {
  if
  :: settled
  :: else ->
    assert(unwritten == 0); /* the credit covers what AEUs still write */
    settled = true
  fi
}

inline unref() {
  atomic {
    TOUCH;
    references--;
    if
    :: references == 0 -> settle(); freed = true
    :: else
    fi
  }
}

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

inline owe(keys) {
  atomic { TOUCH; owed = keys; any_moved = false }
}

/* Sends what has no answer yet. A command is under way from here on. */
inline send_all() {
  k = 0;
  do
  :: k < KEYS ->
    atomic {
      if
      :: state[k] == OWED -> assert(!returned); commands!k /* its columns are there */
      :: else
      fi;
      k++
    }
  :: else -> k = 0; break
  od
}

/* MovedPositions: `n` keys are to be sent again. */
inline count_moved() {
  atomic {
    TOUCH;
    n = 0; k = 0;
    do
    :: k < KEYS ->
      assert(state[k] != OWED); /* the last answer came after all the columns */
      if
      :: state[k] == MOVED -> n++
      :: else
      fi;
      k++
    :: else -> k = 0; break
    od
  }
}

inline begin_again() {
  atomic {
    TOUCH;
    k = 0;
    do
    :: k < KEYS ->
      if
      :: state[k] == MOVED -> state[k] = OWED
      :: else
      fi;
      k++
    :: else -> k = 0; break
    od;
    unwritten = n
  }
}

#ifdef ASYNC
/* The completion queue's two tasks, each at most once in it. */
chan completions = [2] of { bool };
#define ANSWERED_TASK true
#define CANCEL_TASK false
bool posted;
bool call_ended;        /* AsyncCall::ended_ */
byte handles = 2;       /* shared pointers to the call: the user's, and its own until the end */

inline drop_handle() {
  atomic {
    handles--;
    if
    :: handles == 0 -> references--; /* ~AsyncCall: Unref */
      assert(!freed);
      if
      :: references == 0 -> settle(); freed = true
      :: else
      fi
    :: else
    fi
  }
}

inline finish() {
  atomic {
    TOUCH; /* task_ and queue_ are read */
    assert(handles > 0);
    assert(!posted);
    posted = true;
    completions!ANSWERED_TASK /* the task takes the reference over */
  }
}
#else
inline finish() {
  atomic { TOUCH; answered = true };
#ifdef WAKE_AFTER_UNREF
  unref();
  TOUCH
#else
  TOUCH; /* the futex wake */
  unref()
#endif
}
#endif

inline last_answer() {
  if
  :: atomic { any_moved || cancelled -> TOUCH; assert(!given); given = true; resends!true }
  :: atomic { !any_moved && !cancelled -> TOUCH }; finish()
  fi
}

/* The thread that sends again. */
proctype Resends() {
  byte k, n;
  bool over;
end:
  do
  :: atomic { resends?true -> given = false };
    lock();
    count_moved();
    atomic {
      TOUCH;
      over = cancelled || n == 0;
      held = !over
    };
    unlock();
    if
    :: over -> over = false; n = 0; finish()
    :: else ->
      lock();
      atomic {
        if
        :: held && cancelled -> over = true
        :: else
        fi
      };
      if
      :: over -> over = false; held = false; n = 0; unlock(); finish()
      :: !over && held ->
        held = false;
        begin_again();
        owe(n);
        n = 0;
        send_all();
        unlock()
      :: !over && !held -> n = 0; unlock() /* abandoned */
      fi
    fi
  od
}

proctype Aeu() {
  byte k;
  bool last;
end:
  do
  :: commands?k ->
    atomic {
      TOUCH;
      assert(state[k] == OWED);
      if
      :: moves > 0 && !cancelled -> moves--; state[k] = MOVED; any_moved = true;
#ifdef MOVED_POSTS
        last = true
#endif
      :: state[k] = EXECUTED
      fi;
      unwritten--
    };
    k = 0;
#ifdef MOVED_POSTS
    if
    :: last -> last_answer()
    :: else
    fi;
#endif
#ifdef LAST_BY_LOAD
    atomic { TOUCH; owed-- };
    atomic { TOUCH; last = (owed == 0) };
#else
    atomic { TOUCH; assert(owed > 0); owed--; last = (owed == 0) };
#endif
    if
    :: last -> last_answer()
    :: else
    fi;
    last = false
  od
}

/* SendOrder::Send. */
inline send() {
  lock();
  atomic { TOUCH; references++ };
#ifdef EXPECT_AFTER_SEND
  send_all();
  owe(KEYS);
#else
  owe(KEYS);
  send_all();
#endif
  unlock()
}

#ifdef ASYNC
proctype Completions() {
  bool done_called;
end:
  do
  :: completions?ANSWERED_TASK ->
    posted = false;
    unref();
    atomic { TOUCH; settle() };
    call_ended = true;
#ifndef CALLBACK_UNGUARDED
    if
    :: done_called
    :: else ->
#endif
      atomic { TOUCH; done_called = true; outcomes++; assert(outcomes == 1) };
#ifndef CALLBACK_UNGUARDED
    fi;
#endif
    drop_handle()
  :: completions?CANCEL_TASK ->
    if
    :: done_called
    :: else -> atomic { TOUCH; done_called = true; outcomes++; assert(outcomes == 1) }
    fi;
#ifdef SETTLE_AT_CANCEL
    atomic { TOUCH; settle() };
#endif
    drop_handle()
  od
}

/* Sends, then cancels or not, then lets its handle go. */
proctype User() {
  byte k;
  send();
  if
  :: true /* does not cancel */
  :: !call_ended ->
    atomic { TOUCH; cancelled = true };
    atomic { handles++; completions!CANCEL_TASK }
  fi;
  drop_handle()
}
#else
/* SendOrder::Abandon. */
inline abandon() {
#ifndef ABANDONED_UNLOCKED
  lock();
#endif
  atomic {
    TOUCH;
    cancelled = true;
    mine = held;
#ifndef ABANDONED_HELD
    held = false
#endif
  };
#ifndef ABANDONED_UNLOCKED
  unlock();
#endif
  if
  :: mine -> finish()
  :: else
  fi
}

proctype Caller() {
  byte k;
  bool mine;
  send();
  if
  :: answered -> TOUCH /* Await */
  :: abandon() /* its deadline passes */
  fi;
  atomic { outcomes++; assert(outcomes == 1); returned = true };
#ifdef FREED_BY_CALLER
  freed = true
#else
  unref()
#endif
}
#endif

init {
  byte n;
  atomic {
    unwritten = KEYS;
    for (n : 1 .. AEUS) { run Aeu() };
    run Resends();
#ifdef ASYNC
    run Completions();
    run User()
#else
    run Caller()
#endif
  };
  freed && outcomes == 1; /* the end */
  assert(references == 0 && settled)
}

#ifdef LIVENESS
ltl ends_once { <> (freed && outcomes == 1) }
#endif
