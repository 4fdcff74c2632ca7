/* A step of a query whose work is free tasks: who waits for whom, and when the inputs are freed.
 * tasks/task.h, tasks/task_scheduler.h.
 *
 * AEUS take part in the step. A shared counter, `left`, begins with their number. Each adds the
 * number of its tasks before it pushes them, and then takes 1 off for itself. Each task that has
 * ended takes 1 off. The AEU that brings it to 0 wakes all. An AEU that takes part waits until it is
 * 0, running tasks meanwhile or asleep; then it frees its inputs and ends. HELPERS are AEUs that do
 * not take part and run tasks all the same. FAILURES times an AEU fails while it makes its tasks: it
 * takes off what it has added and not pushed, and stops the query. With -DSTOP somebody else may
 * stop it, too. Tasks of a stopped query end without work.
 *
 * Abstracted: the queues are numbers, and adding a task wakes all AEUs (tasks.pml has both in full);
 * the waker is one step (waker.pml). Sequentially consistent (see README.md).
 *
 * Properties
 *   - no AEU ends, and frees its inputs, while a task of it is queued or being run;
 *   - no task is added or run once an AEU has ended: its rows are its runner's; each is run once;
 *   - all AEUs end: no deadlock, and with -DLIVENESS under weak fairness.
 *
 * Planted bugs (-D): ENDS_AT_ONCE (an AEU ends when it has nothing to do itself), STOP_ENDS (the same,
 * if the query is stopped), FAILED_NOT_COUNTED (an AEU that fails does not take 1 off),
 * ADDED_LATE (pushed, then added), ADDED_APART (it takes 1 off for itself, then adds), UNPUSHED_KEPT
 * (an AEU that fails leaves in the counter what it has not pushed), DROPPED (tasks of a stopped query
 * are not counted as ended), COUNT_BY_LOAD (the counter is read and written in two steps), WAKES_NONE
 * (nobody is woken at 0), LOOK_BEFORE_PREPARE (an AEU looks, then says that it sleeps).
 */
#ifndef AEUS
#define AEUS 2
#endif
#ifndef HELPERS
#define HELPERS 1
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef FAILURES
#define FAILURES 1
#endif
#define ALL (AEUS + HELPERS)

byte left = AEUS;
bool stopped;
byte queued[AEUS];  /* tasks of each AEU that wait */
bool prepared[ALL]; /* the waker: it sleeps, or is about to */
byte failures = FAILURES;

/* The observer's. */
byte running[AEUS]; /* tasks of each AEU that are being run */
bool freed[AEUS];
byte ended;

#if AEUS == 2
#define ANY (queued[0] + queued[1] > 0)
#define NOBODY_LEFT (ended == 2)
#else
#define ANY (queued[0] + queued[1] + queued[2] > 0)
#define NOBODY_LEFT (ended == 3)
#endif

inline wake_all() {
  for (other : 0 .. ALL - 1) { prepared[other] = false }
  other = 0
}

/* The AEU that brings it to 0 wakes all. */
inline take_off(number) {
#ifdef COUNT_BY_LOAD
  now = left - (number);
  left = now;
#else
  atomic { assert(left >= number); now = left - (number); left = now };
#endif
  if
#ifndef WAKES_NONE
  :: now == 0 -> wake_all()
#endif
  :: else
  fi;
  now = 0
}

inline take_and_run() {
  atomic {
    if
    :: queued[0] > 0 -> owner = 0; got = true
    :: queued[1] > 0 -> owner = 1; got = true
#if AEUS > 2
    :: queued[2] > 0 -> owner = 2; got = true
#endif
    :: else
    fi;
    if
    :: got -> queued[owner]--; running[owner]++; assert(!freed[owner] && ended == 0)
    :: else
    fi
  };
  if
  :: got ->
    if
    :: !stopped -> assert(!freed[owner]) /* it reads its input */
    :: else
    fi;
    atomic { assert(!freed[owner]); running[owner]-- };
#ifdef DROPPED
    if
    :: !stopped -> take_off(1)
    :: else
    fi
#else
    take_off(1)
#endif
  :: else
  fi
}

#define PUSH atomic { assert(ended == 0); queued[me]++; pushed++ }

inline make_tasks() {
  if
  :: tasks = 0
  :: tasks = 1
#if TASKS > 1
  :: tasks = 2
#endif
  fi;
#ifdef ADDED_APART
  take_off(1);
#endif
#ifndef ADDED_LATE
#ifdef COUNT_BY_LOAD
  now = left + tasks;
  left = now;
#else
  left = left + tasks;
#endif
#endif
  do
  :: pushed == tasks -> break
  :: pushed < tasks -> PUSH; wake_all()
  :: atomic { pushed < tasks && failures > 0 -> failures--; failed = true }; stopped = true; break
  od;
#ifdef ADDED_LATE
  left = left + tasks;
#endif
#ifdef ADDED_APART
  take_off(tasks - pushed);
#else
  if
  :: failed ->
#ifdef FAILED_NOT_COUNTED
    take_off(tasks - pushed)
#else
#ifdef UNPUSHED_KEPT
    take_off(1)
#else
    take_off(tasks - pushed + 1)
#endif
#endif
  :: else -> take_off(1)
  fi;
#endif
  atomic { tasks = 0; pushed = 0; failed = false }
}

/* `over`: the AEU waits no longer. */
inline run_tasks_until(over) {
  do
  :: over -> break
  :: else ->
    take_and_run();
    if
    :: got -> atomic { got = false; owner = 0 }
    :: else ->
#ifdef LOOK_BEFORE_PREPARE
      if
      :: over || ANY
      :: else ->
        prepared[me] = true;
        !prepared[me]
      fi
#else
      prepared[me] = true;
      if
      :: over || ANY -> prepared[me] = false
      :: else -> !prepared[me]
      fi
#endif
    fi
  od
}

proctype Aeu(byte me) {
  byte tasks, pushed, owner, other, now;
  bool got, failed;
  make_tasks();
#ifdef STOP_ENDS
  run_tasks_until((left == 0 || stopped));
#else
#ifndef ENDS_AT_ONCE
  run_tasks_until((left == 0));
#endif
#endif
  atomic {
    assert(queued[me] == 0 && running[me] == 0);
    freed[me] = true;
    ended++
  };
  if
  :: NOBODY_LEFT -> wake_all()
  :: else
  fi
}

proctype Helper(byte me) {
  byte owner, other, now;
  bool got;
  run_tasks_until((NOBODY_LEFT))
}

#ifdef STOP
proctype Stopper() {
  stopped = true
}
#endif

init {
  byte n;
  atomic {
    for (n : 0 .. AEUS - 1) { run Aeu(n) };
    n = AEUS;
    do
    :: n < ALL -> run Helper(n); n++
    :: else -> break
    od;
#ifdef STOP
    run Stopper()
#endif
  }
}

#ifdef LIVENESS
ltl all_end { <> NOBODY_LEFT }
#endif
