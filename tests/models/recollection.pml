/* How blocks come home that other AEUs have freed: memory/recollection_bin.h, the freeing side and
 * Collect in memory/local_cache_returns.cc, aeu/recollection.h, the owner's turn in aeu/aeu.cc (Step,
 * HasWork) and its sleep in aeu/aeu_thread.cc.
 *
 * FREERS AEUs free BLOCKS blocks each, all of one owner's cache. A freer fills one carrier at a
 * time, of up to IN blocks, and sends it when it is full or at the end of a turn, which may be after
 * any block. It has CARRIERS of them; while all are under way, a block goes alone. Whoever pushes to
 * an empty bin tells the owner: the flag, then Wake. The owner clears the flag, takes all, reads
 * each carrier's blocks and pushes the carrier onto its home's bin, one batch a turn; it sleeps when
 * nothing of that is left and the flag is clear.
 * LOOKS times it looks into its bin without having been told, as it does at the memory limit.
 *
 * Abstracted: several owners and several bins of one owner (one flag for all of them), what is in
 * a block, the spans that it goes back to. Sequentially consistent: what weaker orders allow is
 * searched by tests/explore/ (recollection_scenario.h). A freer does not stop for good: who pushes
 * to an empty bin and then loses its core holds up the news of what others push behind it, which is
 * memory that comes home later, and nobody waits for it.
 *
 * Properties
 *   - no block is taken in twice, a carrier is in one place at a time: at its home, being filled, on
 *     its way;
 *   - no block is lost, no wake-up is lost: where nothing can go on, all blocks and carriers are at
 *     home, and the owner sleeps with a clear flag, although nobody pushes any more;
 *   - with -DLIVENESS: under weak fairness it comes to that, and stays so.
 *
 * Planted bugs (-D): FLAG_BEFORE_PUSH (told of what is not there yet), WAKE_BEFORE_FLAG,
 * CLEAR_AFTER_TAKE (the flag is cleared when the bin has been emptied), TOLD_WHEN_FULL (told when
 * the bin was not empty), CHECK_BEFORE_STORE (the owner looks at the flag, then says that it
 * sleeps), SET_ONLY (the flag without a wake-up), PUSH_BY_STORE (a load and a store for the CAS),
 * TAKE_BY_LOAD (a load and a store for the exchange), HOME_TOO_EARLY (the carrier goes home before
 * its blocks are read), NEXT_TOO_LATE (what follows in the list is read when the carrier has gone
 * home), SENT_YET_FILLED (a carrier that has been sent because a turn ended is filled on),
 * REST_FORGOTTEN (one piece, and no further turn), BIN_FORGOTTEN (the flag is cleared by a turn that
 * goes on with what it had taken before, and then there is none that looks into the bin).
 */
#ifndef FREERS
#define FREERS 2
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef CARRIERS
#define CARRIERS 1
#endif
#ifndef IN
#define IN 2
#endif
#ifndef LOOKS
#define LOOKS 0
#endif

/* A batch is a number from 1: first the carriers, by freer, then the blocks, by freer. */
#define ALL_CARRIERS (FREERS * CARRIERS)
#define ALL_BLOCKS (FREERS * BLOCKS)
#define HOME_OF(carrier) (((carrier) - 1) / CARRIERS)
#define NONE 0
byte next[ALL_CARRIERS + ALL_BLOCKS + 1];
byte count[ALL_CARRIERS + 1];
byte block_in[(ALL_CARRIERS + 1) * IN];

byte bin;              /* the owner's */
byte returned[FREERS]; /* the freers' bins of carriers */
bool filled;           /* Recollection::filled_ */
byte state;            /* Waker::state_ */
#define AWAKE 0
#define SLEEPING 1
#define BEING_WOKEN 2
bool blocked; /* the owner, in the kernel */

/* The observer's. */
short home; /* a bit for each block that is */
#define ALL_HOME ((1 << ALL_BLOCKS) - 1)
#define AT_HOME 0
#define BEING_FILLED 1
#define ON_ITS_WAY 2
byte place[ALL_CARRIERS + 1];

/* RecollectionBin::Push. `seen`: what was there. */
inline push(head, batch) {
  do
  :: atomic { seen = head; next[batch] = seen };
     atomic {
       if
#ifdef PUSH_BY_STORE
       :: head = batch; break
#else
       :: head == seen -> head = batch; break
       :: else
#endif
       fi
     }
  od
}

/* RecollectionBin::TakeAll. */
inline take_all(head, into) {
#ifdef TAKE_BY_LOAD
  into = head;
  head = NONE
#else
  atomic { into = head; head = NONE }
#endif
}

inline wake() {
  woken = state;
  if
  :: woken == AWAKE
  :: else ->
    atomic {
      if
      :: woken == SLEEPING ->
        woken = state;
        if
        :: state == SLEEPING -> state = BEING_WOKEN; woken = SLEEPING
        :: else
        fi
      :: else
      fi
    };
    if
    :: woken == AWAKE
    :: else -> blocked = false /* the futex */
    fi
  fi;
  woken = 0
}

inline tell() {
#ifdef WAKE_BEFORE_FLAG
  wake();
  filled = true
#else
  filled = true;
#ifndef SET_ONLY
  wake()
#endif
#endif
}

inline send_home(batch) {
#ifdef FLAG_BEFORE_PUSH
  if
  :: bin == NONE -> tell()
  :: else
  fi;
  push(bin, batch);
#else
  push(bin, batch);
  if
#ifdef TOLD_WHEN_FULL
  :: seen != NONE -> tell()
#else
  :: seen == NONE -> tell()
#endif
  :: else
  fi;
#endif
  seen = 0
}

inline take_carrier() {
  if
  :: free == NONE -> take_all(returned[me], free)
  :: else
  fi;
  atomic {
    if
    :: free != NONE -> carrier = free; free = next[carrier]
    :: free == NONE && made < CARRIERS -> made++; carrier = me * CARRIERS + made
    :: else
    fi;
    if
    :: carrier != NONE ->
      assert(place[carrier] == AT_HOME);
      place[carrier] = BEING_FILLED;
      count[carrier] = 0
    :: else
    fi
  }
}

inline send_carrier() {
  atomic { assert(place[carrier] == BEING_FILLED); place[carrier] = ON_ITS_WAY };
  send_home(carrier)
}

proctype Freer(byte me) {
  byte block, carrier, free, made, seen, woken;
  do
  :: block < BLOCKS ->
    if
    :: carrier == NONE -> take_carrier()
    :: else
    fi;
    if
    :: carrier == NONE ->
      send_home(ALL_CARRIERS + 1 + me * BLOCKS + block);
      block++
    :: else ->
      d_step {
        block_in[carrier * IN + count[carrier]] = me * BLOCKS + block;
        count[carrier]++;
        block++
      };
      if
      :: count[carrier] == IN -> send_carrier(); carrier = NONE
      :: count[carrier] < IN /* or the turn ends here, which is below or this: */
      :: count[carrier] < IN && block < BLOCKS ->
        send_carrier();
#ifndef SENT_YET_FILLED
        carrier = NONE
#endif
      fi
    fi
  :: else -> break
  od;
  if
  :: carrier != NONE -> send_carrier(); carrier = NONE
  :: else
  fi
}

inline come_home(b) {
  assert((home & (1 << (b))) == 0);
  home = home | (1 << (b))
}

inline carrier_goes_home() {
  push(returned[HOME_OF(batch)], batch);
  seen = 0
}

/* LocalCache::Collect, of a piece of one batch: `batch` is collecting_. */
inline collect() {
  if
  :: batch == NONE -> take_all(bin, batch)
  :: else
  fi;
  if
  :: batch == NONE -> again = false
  :: else ->
#ifndef REST_FORGOTTEN
    again = true;
#endif
#ifndef NEXT_TOO_LATE
    following = next[batch];
#endif
    if
    :: batch > ALL_CARRIERS -> atomic { come_home(batch - ALL_CARRIERS - 1) }
    :: else ->
      atomic { assert(place[batch] == ON_ITS_WAY); blocks = count[batch] };
#ifdef HOME_TOO_EARLY
      carrier_goes_home();
#endif
      do
      :: read < blocks -> atomic { come_home(block_in[batch * IN + read]); read++ }
      :: else -> break
      od;
      atomic { place[batch] = AT_HOME; read = 0; blocks = 0 };
#ifndef HOME_TOO_EARLY
      carrier_goes_home()
#endif
    fi;
#ifdef NEXT_TOO_LATE
    following = next[batch];
#endif
    atomic { batch = following; following = NONE };
#ifdef BIN_FORGOTTEN
    again = batch != NONE
#endif
  fi
}

proctype Owner() {
  byte batch, following, blocks, read, seen, looks;
  bool again; /* Aeu::collect_again_ */
  do
  :: looks < LOOKS -> /* all of it, as at the memory limit */
    looks++;
    do
    :: collect();
      if
      :: again || batch != NONE
      :: else -> break
      fi
    od
  :: again && !filled -> collect()
  :: filled ->
#ifdef CLEAR_AFTER_TAKE
    collect();
    filled = false
#else
    filled = false;
    collect()
#endif
  :: !filled && !again ->
#ifdef CHECK_BEFORE_STORE
    state = SLEEPING;
#else
    state = SLEEPING;
    if
    :: filled -> state = AWAKE; goto turn
    :: else
    fi;
#endif
    atomic {
      if
      :: state == SLEEPING -> blocked = true
      :: else
      fi
    };
end:
    !blocked;
    state = AWAKE;
turn:
    skip
  od
}

/* Where nothing else can go on. */
proctype Observer() {
  byte n;
  timeout;
  atomic {
    assert(home == ALL_HOME);
    assert(bin == NONE);
    assert(blocked && state == SLEEPING && !filled);
    for (n : 1 .. ALL_CARRIERS) { assert(place[n] == AT_HOME) }
  }
}

init {
  byte n;
  atomic {
    run Owner();
    for (n : 0 .. FREERS - 1) { run Freer(n) };
#ifndef LIVENESS
    run Observer()
#endif
  }
}

#ifdef LIVENESS
ltl comes_to_rest { <> [] (home == ALL_HOME && blocked) }
#endif
