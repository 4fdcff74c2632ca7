/* Free tasks: how AEUs add and take them, sleep when there is none, and are woken one for each
 * task. tasks/task_queue.h, tasks/sleepers.h, tasks/task_scheduler.cc, tasks/locality_aware_pool.cc.
 *
 * AEUs 0 and 1 are a core group of one NumaNode, 2 (and 3) are one of another NumaNode. Each adds its
 * tasks, immediate or deferred, and then takes tasks by rules 1 to 4 until it finds none. Where a
 * queue is in use by another AEU, it counts as empty. Before an AEU sleeps it says so to its waker
 * and to the sleepers of its group, and looks once more. An AEU that adds a task takes one sleeper
 * out of the nearest group that has one, and wakes it. SPURIOUS times an AEU is woken for something
 * else.
 *
 * Abstracted: a queue is a number of tasks (its order is tests/unit/tasks/task_queue_test.cc); the
 * waker is one step (waker.pml has it in full); rule 5, which is rule 2 with AEUs farther away.
 * Sequentially consistent (see README.md).
 *
 * Properties
 *   - each task is run once: none is lost or taken twice;
 *   - with -DMEET a task ends when all have begun, and there is an AEU for each: so no AEU may stay
 *     asleep beside a task that it may take, even if another one will be free for it later; with
 *     -DBUSY, too, an AEU that has added tasks is at work until all have begun;
 *   - at rest the queues are empty; with -DLIVENESS under weak fairness all tasks are run.
 *
 * Planted bugs (-D): LOOK_BEFORE_ADD (an AEU looks for tasks, then says that it sleeps),
 * WAKE_BEFORE_PUSH (an AEU looks for sleepers, then adds the task), NO_FLAG (takers do not keep each
 * other out), BUSY_IS_NONE (an AEU goes to sleep where a queue is in use), WAKES_THE_SAME (two AEUs
 * take the same sleeper), COUNT_LATE (the task is counted when sleepers have been looked for),
 * WAKES_FAR (an immediate task wakes an AEU of another NumaNode first).
 */
#ifndef TASKS_OF_0
#define TASKS_OF_0 1
#endif
#ifndef TASKS_OF_1
#define TASKS_OF_1 1
#endif
#ifndef TASKS_OF_2
#define TASKS_OF_2 1
#endif
#ifndef SPURIOUS
#define SPURIOUS 1
#endif
#define ALL (TASKS_OF_0 + TASKS_OF_1 + TASKS_OF_2)
#ifndef AEUS
#define AEUS 3
#endif
#define GROUP(aeu) ((aeu) / 2)
#define DEFERRED(group) (AEUS + (group))
#define BIT(aeu) (1 << (aeu))

/* Queues: of an AEU's immediate tasks, of a group's deferred ones. */
byte waiting[AEUS + 2]; /* waiting_ */
byte present[AEUS + 2]; /* in the inbox or in order */
bool in_use[AEUS + 2];
byte sleeping[2];       /* Sleepers: bits, by group */
bool prepared[AEUS];    /* the waker: it sleeps, or is about to */

/* The observer's. */
byte begun, ended;
bool over;

/* The queue of each rule: the own one, the neighbour's (AEU 2 may have none), the group's, the other group's. */
byte queue_of[4 * AEUS];
#define QUEUE(rule) queue_of[4 * me + rule]

#ifdef BUSY_IS_NONE
#define NONE(queue) (waiting[queue] == 0 || in_use[queue])
#else
#define NONE(queue) (waiting[queue] == 0)
#endif

inline may_have() {
  rule = 0; may = false;
  do
  :: rule == 4 || may -> break
  :: else -> atomic { may = !NONE(QUEUE(rule)); rule++ }
  od;
  rule = 0
}

/* One rule. */
inline try_take(queue) {
  if
  :: waiting[queue] > 0 ->
#ifdef NO_FLAG
    alone = true;
#else
    atomic { alone = !in_use[queue]; in_use[queue] = true };
#endif
    if
    :: alone ->
      got = present[queue] > 0; /* Choose */
      if
      :: got -> atomic { assert(present[queue] > 0); present[queue]--; begun++ } /* Remove */
      :: else
      fi;
      in_use[queue] = false;
      if
      :: got -> waiting[queue]--
      :: else
      fi;
      alone = false
    :: else
    fi
  :: else
  fi
}

inline take() {
  rule = 0; got = false;
  do
  :: rule == 4 || got -> break
  :: else ->
    try_take(QUEUE(rule));
    rule++
  od;
  rule = 0
}

inline wake_one(group) {
  atomic { seen = sleeping[group]; other = 0 };
  do
  :: other == AEUS || woke -> break
  :: else ->
    if
    :: seen & BIT(other) ->
#ifdef WAKES_THE_SAME
      woke = true;
      sleeping[group] = sleeping[group] & ~BIT(other);
#else
      atomic { woke = (sleeping[group] & BIT(other)) != 0; sleeping[group] = sleeping[group] & ~BIT(other) };
#endif
      if
      :: woke -> prepared[other] = false
      :: else
      fi
    :: else
    fi;
    other++
  od;
  atomic { seen = 0; other = 0 }
}

inline wake_for() {
  woke = false;
#ifdef WAKES_FAR
  wake_one(1 - GROUP(me));
#endif
  if
  :: !woke -> wake_one(GROUP(me))
  :: else
  fi;
  if
  :: deferred && !woke -> wake_one(1 - GROUP(me))
  :: else
  fi;
  woke = false
}

inline push() {
  queue = QUEUE(2 * deferred);
#ifdef WAKE_BEFORE_PUSH
  wake_for();
#endif
#ifndef COUNT_LATE
  waiting[queue]++;
#endif
  present[queue]++;
#ifndef WAKE_BEFORE_PUSH
  wake_for();
#endif
#ifdef COUNT_LATE
  waiting[queue]++;
#endif
  queue = 0
}

proctype Aeu(byte me; byte to_push) {
  byte rule, queue, seen, other;
  bool got, may, alone, woke, deferred;
  do
  :: to_push > 0 ->
    to_push--;
#ifdef IMMEDIATE
    deferred = false;
#else
    if
    :: deferred = true
#ifndef MEET
    :: deferred = false
#endif
    fi;
#endif
    push();
    deferred = false;
#ifdef BUSY
    if
    :: to_push == 0 -> begun == ALL || over
    :: else
    fi
#endif
  :: to_push == 0 ->
    take();
    if
    :: got ->
#ifdef MEET
      begun == ALL || over;
#endif
      atomic { ended++; got = false }
    :: else ->
#ifdef LOOK_BEFORE_ADD
      may_have();
      if
      :: may -> may = false
      :: else ->
        prepared[me] = true;
        sleeping[GROUP(me)] = sleeping[GROUP(me)] | BIT(me);
#else
      prepared[me] = true;
      sleeping[GROUP(me)] = sleeping[GROUP(me)] | BIT(me);
      may_have();
      if
      :: may -> atomic { prepared[me] = false; may = false }
      :: else ->
#endif
        if
        :: atomic { !prepared[me] -> skip }
        :: over -> break
        fi
      fi;
      sleeping[GROUP(me)] = sleeping[GROUP(me)] & ~BIT(me)
    fi
  od
}

/* A command, or the kernel. */
proctype Other() {
  byte left = SPURIOUS;
  do
  :: left == 0 || over -> break
  :: atomic { left > 0 && prepared[0] -> prepared[0] = false; left-- }
  :: atomic { left > 0 && prepared[1] -> prepared[1] = false; left-- }
  :: atomic { left > 0 && prepared[2] -> prepared[2] = false; left-- }
  od
}

proctype Observer() {
  byte n;
  timeout;
  atomic {
    assert(ended == ALL && begun == ALL);
    for (n : 0 .. AEUS + 1) { assert(waiting[n] == 0) };
    over = true
  }
}

init {
  byte n;
  atomic {
    for (n : 0 .. AEUS - 1) {
      queue_of[4 * n] = n;
      queue_of[4 * n + 1] = (n == AEUS - 1 && AEUS % 2 == 1 -> n : n + 1 - 2 * (n % 2));
      queue_of[4 * n + 2] = DEFERRED(GROUP(n));
      queue_of[4 * n + 3] = DEFERRED(1 - GROUP(n))
    };
    run Aeu(0, TASKS_OF_0);
    run Aeu(1, TASKS_OF_1);
    run Aeu(2, TASKS_OF_2);
#if AEUS > 3
    run Aeu(3, 0);
#endif
    run Other();
    run Observer()
  }
}

#ifdef LIVENESS
ltl all_are_run { <> (ended == ALL) }
#endif
