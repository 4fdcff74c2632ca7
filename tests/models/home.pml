/* The way home of blocks with answers: routing/return_point.h, routing/answers.cc, routing/block_pool.h
 * (Release), aeu/aeu.cc (SendOn), engine/completion/answer_point.h, and Request::Await in engine/core/request.cc.
 *
 * A session has BLOCKS blocks under way, each with one command at the AEU of its number. An AEU answers the
 * keys that it has, and may send PIECES pieces of its command on to the other AEU, which answers in the same
 * block. Each piece holds the block, as the first AEU does until its turn ends. Who lets go of it last brings
 * it home: pushes it, and tells somebody if the queue was empty. That is the attendant, the session's thread
 * while it waits for an answer, or else the completion thread. The attendant waits for the first block's
 * answers, or its deadline passes at any moment; then it leaves. Who takes blocks puts their answers in order
 * and gives them back to the pool, from which a block may be used once more.
 *
 * Abstracted: requests of several blocks (request.pml counts answers); the order of blocks in the queue; the
 * pool's memory; a point that is used again by another session, which at most is told without a block; the mark
 * of a sleeper and the futex call are one step (the explorer has a pusher that stops between them).
 * Sequentially consistent (see README.md; tests/explore/home_test.cc has the weak orders).
 *
 * Properties
 *   - an answer is put in order after its block's last piece was answered, and once;
 *   - a block is not written to after it has come home, and not used again before its answers are in order;
 *   - no state without a successor but the end: every block's answers are put in order, whoever sleeps.
 *
 * Planted bugs (-D): HOME_BEFORE_PIECES (pieces that were sent on do not hold the block), HOME_TWICE (let go,
 * then look whether it was the last), USED_BEFORE_ORDERED (back to the pool, then in order), TOLD_BEFORE_PUSH
 * (looks for the attendant, then pushes), SLEEPS_UNANNOUNCED (looks for blocks, then announces that it sleeps),
 * LEAVES_UNSEEN (does not look when it leaves), FLAG_AFTER_TAKE (the listener takes blocks, then says that it
 * may be told again), WAKE_FORGOTTEN (a block of the listener's that the attendant waits for).
 */
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef PIECES
#define PIECES 1
#endif
#ifndef USES
#define USES 1 /* of each block */
#endif
#define AEUS 2

#define NOBODY 0
#define AWAKE 1
#define ASLEEP 2

chan work[AEUS] = [BLOCKS] of { byte };           /* commands, by their blocks */
chan sent_on[AEUS] = [BLOCKS * PIECES] of { byte };

byte readers[BLOCKS];
byte unanswered[BLOCKS]; /* parts of the command without an answer */
byte under_way[BLOCKS];  /* 1: from its use until it is home */
byte uses[BLOCKS];
bool free[BLOCKS];       /* in the pool */
bool queued[BLOCKS];     /* in the queue at home */
byte queue;              /* how many */
byte attendance = NOBODY;
bool asleep;             /* in the kernel */
bool told;               /* the listener's task is queued */
byte in_order;           /* uses whose answers are in order */
bool first_in_order;     /* those that the attendant waits for */
bool attendant_left;

inline wake() {
  atomic {
    if
    :: attendance == ASLEEP -> attendance = AWAKE; asleep = false
    :: else
    fi
  }
}

inline tell() {
  atomic { seen = attendance };
  if
  :: seen == NOBODY -> told = true
  :: seen == ASLEEP -> wake()
  :: seen == AWAKE
  fi;
  seen = NOBODY
}

/* BlockPool::Release, by one that held block b; `last`, `first` and `seen` are the process's. */
inline release(b) {
#ifdef HOME_TWICE
  readers[b]--;
  atomic { last = (readers[b] == 0) };
#else
  atomic { assert(readers[b] > 0); readers[b]--; last = (readers[b] == 0) };
#endif
  if
  :: last ->
#ifdef TOLD_BEFORE_PUSH
    atomic { first = (queue == 0) };
    if
    :: first -> tell()
    :: else
    fi;
#endif
    atomic {
      assert(!queued[b]); /* it comes home once */
      first = (queue == 0);
      queued[b] = true;
      queue++;
      under_way[b] = 0
    };
#ifndef TOLD_BEFORE_PUSH
    if
    :: first -> tell()
    :: else
    fi;
#endif
    first = false
  :: else
  fi;
  last = false
}

/* CollectAnswers. `any`: whether there were blocks; `taken` is the process's. */
inline collect() {
  atomic {
    any = (queue > 0);
    for (k : 0 .. BLOCKS - 1) {
      taken[k] = queued[k];
      queued[k] = false
    };
    k = 0;
    queue = 0
  };
  k = 0;
  do
  :: k < BLOCKS && taken[k] ->
    taken[k] = false;
#ifdef USED_BEFORE_ORDERED
    free[k] = true;
#endif
    atomic {
      assert(unanswered[k] == 0);
      assert(!under_way[k]); /* it has not been used again */
      in_order++;
      if
      :: k == 0 -> first_in_order = true
      :: else
      fi
    };
#ifndef USED_BEFORE_ORDERED
    free[k] = true;
#endif
    k++
  :: k < BLOCKS && !taken[k] -> k++
  :: k == BLOCKS -> k = 0; break
  od
}

/* The Port: uses blocks that are free. */
proctype Sender() {
  byte b;
  do
  :: atomic {
      b < BLOCKS && free[b] && uses[b] < USES ->
      free[b] = false;
      uses[b]++;
      under_way[b] = 1;
      readers[b] = 1;
      unanswered[b] = 1
    };
    work[b % AEUS]!b
  :: atomic { b < BLOCKS && uses[b] == USES -> b++ }
  :: b == BLOCKS -> break
  od
}

proctype Aeu(byte me) {
  byte b, p, seen;
  bool last, first;
end:
  do
  :: work[me]?b ->
    p = 0;
    do
    :: p < PIECES ->
      p++;
      if
      :: true /* it has the keys */
      :: atomic {
          unanswered[b]++;
#ifndef HOME_BEFORE_PIECES
          readers[b]++;
#endif
          sent_on[1 - me]!b
        }
      fi
    :: else -> p = 0; break
    od;
    atomic { assert(under_way[b]); unanswered[b]-- };
    release(b)
  :: sent_on[me]?b ->
    atomic { assert(under_way[b]); assert(unanswered[b] > 0); unanswered[b]-- };
    release(b)
  od
}

/* Request::Await in an attendance: the first block's answers, or the deadline. */
proctype Attendant() {
  byte k;
  bool any;
  bool taken[BLOCKS];
  attendance = AWAKE;
  do
  :: first_in_order -> break
  :: break /* the deadline */
  :: !first_in_order ->
    collect();
    if
    :: any -> any = false
    :: else ->
#ifdef SLEEPS_UNANNOUNCED
      if
      :: queue == 0 && !first_in_order -> atomic { attendance = ASLEEP; asleep = true }
      :: else
      fi;
#else
      attendance = ASLEEP;
      if
      :: queue == 0 && !first_in_order ->
        atomic {
          if
          :: attendance == ASLEEP -> asleep = true /* the kernel compares */
          :: else
          fi
        }
      :: else
      fi;
#endif
      !asleep; /* it sleeps without a deadline: its end is one that wakes */
      attendance = AWAKE
    fi
  od;
  attendance = NOBODY;
#ifndef LEAVES_UNSEEN
  if
  :: queue > 0 -> told = true
  :: else
  fi;
#endif
  attendant_left = true
}

/* The completion thread, as far as this session's task goes. */
proctype Listener() {
  byte k;
  bool any;
  bool taken[BLOCKS];
end:
  do
  :: told ->
#ifndef FLAG_AFTER_TAKE
    told = false;
#endif
    collect();
#ifdef FLAG_AFTER_TAKE
    told = false;
#endif
    any = false;
#ifndef WAKE_FORGOTTEN
    /* Finish of the request that the attendant waits for. */
    if
    :: first_in_order -> wake()
    :: else
    fi
#endif
  od
}

init {
  byte b;
  atomic {
    for (b : 0 .. BLOCKS - 1) { free[b] = true };
    b = 0;
    run Sender();
    run Aeu(0);
    run Aeu(1);
    run Attendant();
    run Listener()
  };
  in_order == BLOCKS * USES && attendant_left; /* the end */
}
