/* How a superblock changes hands with its blocks: memory/superblock_claim.{h,cc},
 * memory/superblock_census.{h,cc}, memory/local_cache_returns.cc, ReturnRun and TakeSuperblock in
 * memory/memory_manager.cc, GaveBlocksAway in memory/local_cache.h and its call in
 * aeu/transfers/transfer_runner.cc, aeu/transfers/homecoming.cc, CollectMemory in
 * aeu/aeu_upkeep.cc.
 *
 * One superblock of two blocks, in RUNS runs. It is A's; its blocks are A's, B's and C's, free, or
 * in A's magazine. An AEU may write to a block that it has, free it, give it to another AEU (a leap
 * or a link; MOVES in all), and allocate (ALLOCATIONS in all): from its magazine, a run of its own,
 * or a new run. A freed block goes to the owner that the owner table names, in the freeing AEU's
 * only carrier (CARRIERS=0: it has none) or alone. A run without blocks in use is kept or returned;
 * when all are returned so is the superblock, and A may take it again with new pages (BIRTHS).
 *
 * A claimant (CLAIMANTS, a bit each: B, or A and B) notes its blocks one by one, does other things
 * in between, and claims the superblock; CLAIMS times. The owner looks whether all blocks in use
 * are noted and no run has given out one since the first note. Then it gives: the entries of the
 * owner table, run by run, and the answer. The claimant adopts. Once none of its blocks is alone on
 * its way, it copies and remaps, or the kernel refuses. An AEU looks into its bin when it has been
 * told, and takes in BOUND blocks at a time. C is on the NumaNode of A (C_MANAGER=0) or of B (1).
 * SHARED: the second run is C's. At any moment all of that may end, and AEUs do only what is left
 * to do.
 *
 * Abstracted: the other superblocks of a claim (the time between the entries and the answer stands
 * for them), sizes, the bin's own steps, sleep, and the carriers' way home (all in
 * recollection.pml), ranges (a block moves by itself), refused memory, other caches that take spans
 * of a superblock. What a manager's mutex guards is one step, except that others see the entries as
 * they are written. Sequentially consistent (see README.md).
 *
 * Properties
 *   - no write is lost: between copy and remap none but the claimant writes to the superblock, be
 *     it to a block in use, to the header, or to a freed block that is part of a list;
 *   - a block is in one place, and comes into a span and out of it only at the cache that the owner
 *     table names;
 *   - a superblock is given, moved and returned only by the manager that has it;
 *   - where nothing can go on, each freed block is in its span, no list has anything, each claim
 *     has been answered, nothing waits to be moved, and the balances of each manager are even: its
 *     account has the blocks in use of its superblocks.
 *
 * Planted bugs (-D). At the note: TAKEN_READ_LATE (at the claim), TAKEN_READ_AGAIN (at each note),
 * CENSUS_NOT_COMPARED (a block has been given away before the claim). At the owner: TAKEN_IGNORED,
 * NOTED_NOT_CHECKED (another block is in use), RUNS_OF_OTHERS (another cache has a run),
 * MAGAZINES_KEPT (blocks of it are in a magazine), HOLDER_IGNORED (it may have been returned),
 * GIVEN_YET_USED (a run that has been given is still in its old owner's lists). On the way:
 * ON_ITS_WAY_IGNORED (the claimant takes blocks in before it has adopted), NOT_SENT_ON (the old
 * owner takes in what is no longer its own). At the claimant: GIVEN_NOT_COMPARED (a block has been
 * given away before the answer), GIVEN_NOT_CLEARED (the same, after it), KEPT_UNSEEN (what it has
 * already is moved without a look), MOVED_UNSEEN (what it had is moved without a look),
 * ALONE_IGNORED (pages move while a block is alone on its way). And four that are not seen at
 * first: POSTPONED_FORGOTTEN (a block that has come before the answer is tried again before
 * the next answer is taken in, and after that nothing tells the AEU), TAKEN_BEGINS_AGAIN (at 0 in
 * new pages), COUNTED_SENT_ON (a block that the old owner's manager has counted arrives at the new
 * owner's manager as counted), HELD_TOO_LONG (the manager lets go of a superblock some time after
 * its last run has been returned). ANSWER_LAST (an answer is taken in after what has come with it)
 * costs time alone.
 */
#ifndef RUNS
#define RUNS 1
#endif
#ifndef ALLOCATIONS
#define ALLOCATIONS 1
#endif
#ifndef MOVES
#define MOVES 1
#endif
#ifndef BIRTHS
#define BIRTHS 1
#endif
#ifndef CLAIMS
#define CLAIMS 1
#endif
#ifndef CLAIMANTS
#define CLAIMANTS 2
#endif
#ifndef CARRIERS
#define CARRIERS 1
#endif
#ifndef BOUND
#define BOUND 9
#endif
#ifndef C_MANAGER
#define C_MANAGER 0
#endif

#define AEUS 3
#define A 0
#define B 1
#define C 2
#define MANAGER_OF(n) ((n) == C -> C_MANAGER : (n))
#define IS_CLAIMANT(n) ((CLAIMANTS >> (n)) & 1)

#define BLOCKS 2
#if RUNS == 1
#define RUN_OF(b) 0
#define RUN_EMPTY(r) (at[0] == FREE && at[1] == FREE)
#define NO_RUN (entry[0] == 0)
#else
#define RUN_OF(b) (b)
#define RUN_EMPTY(r) (at[r] == FREE)
#define NO_RUN (entry[0] == 0 && entry[1] == 0)
#endif

/* Where a block is. */
#define FREE 0  /* in its span */
#define FREED 1 /* on its way there */
#define LIVE(n) (2 + (n))
#define MAGAZINE(n) (2 + AEUS + (n))
byte at[BLOCKS];
#define HAS_LIVE(n) (at[0] == LIVE(n) || at[1] == LIVE(n))
#define HAS_EMPTY(n) \
  ((linked[0] == ID(n) && RUN_EMPTY(0)) || (linked[RUNS - 1] == ID(n) && RUN_EMPTY(RUNS - 1)))
#define HAS_MAGAZINE(n) (at[0] == MAGAZINE(n) || at[1] == MAGAZINE(n))

/* The superblock. */
#define NONE 0
#define ID(n) ((n) + 1)
#define ON_ITS_WAY 8
#define OWNER(e) (((e) & 7) - 1)
byte entry[RUNS];  /* of the owner table: NONE, or ID and perhaps ON_ITS_WAY */
byte linked[RUNS]; /* ID of the cache that has the run in its lists */
byte taken[RUNS];
byte holder; /* NONE, or ID of the manager */
byte list;   /* NONE: the shared one; or ID of the cache; meaningless if not `listed` */
bool listed;
byte home; /* the manager that its pages belong to */
bool pooled;
byte births;
byte moving; /* NONE, or ID of the AEU that is between copy and remap */

/* Batches: the blocks, which are alone; the carriers, by AEU; the claims, by claimant. */
#define ALONE(b) ((b) + 1)
#define CARRIER(n) (BLOCKS + 1 + (n))
#define CLAIM(c) (BLOCKS + 1 + AEUS + (c))
#define BLOCK_OF(batch) ((batch) - 1)
#define AEU_OF(batch) ((batch) - BLOCKS - 1)
#define CLAIM_OF(batch) ((batch) - BLOCKS - AEUS - 1)
byte next[BLOCKS + AEUS + AEUS * CLAIMS + 1];

byte alone_from[BLOCKS];
bool alone_counted[BLOCKS];

#define AT_HOME 0
#define BEING_FILLED 1
#define SENT 2
byte carrier_state[AEUS];
byte carrier_owner[AEUS];
byte carrier_blocks[AEUS]; /* a bit each */
bool carrier_counted[AEUS];
#define CARRIED(n) ((carrier_blocks[n] & 1) + (carrier_blocks[n] >> 1))

#define UNUSED 0
#define ASKED 1
#define ANSWERED 2
#define TAKEN_IN 3
byte claim_state[AEUS * CLAIMS];
byte claim_blocks[AEUS * CLAIMS]; /* noted: a bit each */
byte claim_taken[AEUS * CLAIMS * RUNS];
byte claim_given_away[AEUS * CLAIMS];
bool claim_given[AEUS * CLAIMS];

/* By AEU. */
byte bin[AEUS];
bool filled[AEUS];        /* Recollection::filled_ */
byte collecting[AEUS];
byte postponed[AEUS];
bool collect_again[AEUS]; /* of the AEU */
byte alone_out[AEUS];
byte given_away[AEUS];
bool to_bring[AEUS];
byte claims_made[AEUS];

short balance[2]; /* by manager */
byte allocated, moved;
bool quiet; /* from now on AEUs do only what they must */

/* A store to a block of the superblock, or to its header. */
inline writes() { assert(moving == NONE || moving == ID(me)) }

inline push(to, batch) {
  next[batch] = bin[to];
  if
  :: bin[to] == NONE -> filled[to] = true
  :: else
  fi;
  bin[to] = batch
}

/* --- spans ------------------------------------------------------------------------------------ */

/* The manager's. */
inline return_run(r) {
  entry[r] = NONE;
  linked[r] = NONE;
  if
  :: NO_RUN ->
    assert(listed && holder == ID(MANAGER_OF(me)));
    listed = false;
#ifdef HELD_TOO_LONG
    returns = true
#else
    holder = NONE;
    pooled = true
#endif
  :: else
  fi
}

inline end_return() {
#ifdef HELD_TOO_LONG
  if
  :: returns -> atomic { holder = NONE; pooled = true; returns = false }
  :: else
  fi
#else
  skip
#endif
}

/* ReturnToSpan. */
inline to_span(b) {
  assert(entry[RUN_OF(b)] == ID(me));
  writes();
  at[b] = FREE;
  if
  :: RUN_EMPTY(RUN_OF(b)) -> return_run(RUN_OF(b))
  :: true /* or it is kept */
  fi
}

inline trim() {
  for (i : 0 .. BLOCKS - 1) {
    if
    :: at[i] == MAGAZINE(me) -> to_span(i)
    :: else
    fi
  };
  for (i : 0 .. RUNS - 1) {
    if
    :: linked[i] == ID(me) && RUN_EMPTY(i) -> return_run(i)
    :: else
    fi
  };
  i = 0
}

#define HAS_ROOM(n, b) (at[b] == FREE && linked[RUN_OF(b)] == ID(n))
#define HAS_NEW_RUN(n, b) \
  (at[b] == FREE && entry[RUN_OF(b)] == NONE && listed && holder == ID(MANAGER_OF(n)) && \
   list == ID(n))

/* Block b out of its span; another one of the same run may come into the magazine with it. */
inline out_of_span(b) {
  assert(entry[RUN_OF(b)] == ID(me) && at[b] == FREE);
  writes();
  at[b] = LIVE(me);
  taken[RUN_OF(b)]++;
#if RUNS == 1
  if
  :: at[1 - b] == FREE -> at[1 - b] = MAGAZINE(me)
  :: true
  fi
#endif
}

inline new_run(b) {
  entry[RUN_OF(b)] = ID(me);
  linked[RUN_OF(b)] = ID(me);
  out_of_span(b)
}

inline allocate() {
  if
  :: at[0] == MAGAZINE(me) -> at[0] = LIVE(me)
  :: at[1] == MAGAZINE(me) -> at[1] = LIVE(me)
  :: HAS_ROOM(me, 0) -> out_of_span(0)
  :: HAS_ROOM(me, 1) -> out_of_span(1)
  :: HAS_NEW_RUN(me, 0) -> new_run(0)
  :: HAS_NEW_RUN(me, 1) -> new_run(1)
  :: me == A && pooled && births < BIRTHS ->
    births++;
    pooled = false;
    listed = true;
    holder = ID(MANAGER_OF(A));
    list = ID(A);
    home = MANAGER_OF(A);
    for (i : 0 .. RUNS - 1) {
#ifdef TAKEN_BEGINS_AGAIN
      taken[i] = 0
#else
      taken[i] = births * 16
#endif
    };
    i = 0;
    if
    :: new_run(0)
    :: new_run(1)
    fi
  fi;
  allocated++
}
#define CAN_ALLOCATE(n) \
  (HAS_MAGAZINE(n) || HAS_ROOM(n, 0) || HAS_ROOM(n, 1) || HAS_NEW_RUN(n, 0) || \
   HAS_NEW_RUN(n, 1) || ((n) == A && pooled && births < BIRTHS))

/* --- freeing, and what comes back ------------------------------------------------------------- */

/* FreeForeign, to the owner that the entry named. */
inline free_foreign() {
  atomic {
    to = OWNER(e);
    if
    :: MANAGER_OF(to) == MANAGER_OF(me) -> balance[MANAGER_OF(me)]--
    :: else
    fi;
    if
    :: CARRIERS > 0 && (carrier_state[me] == AT_HOME ||
                        (carrier_state[me] == BEING_FILLED && carrier_owner[me] == to)) ->
      carrier_state[me] = BEING_FILLED;
      carrier_owner[me] = to;
      carrier_blocks[me] = carrier_blocks[me] | (1 << b);
      carrier_counted[me] = MANAGER_OF(to) == MANAGER_OF(me)
    :: else ->
      alone_out[me]++;
      writes();
      alone_from[b] = me;
      alone_counted[b] = MANAGER_OF(to) == MANAGER_OF(me);
      push(to, ALONE(b))
    fi;
    to = 0
  }
}

#ifdef ON_ITS_WAY_IGNORED
#define IS_OWN(e) (OWNER(e) == me)
#else
#define IS_OWN(e) ((e) == ID(me))
#endif

inline free_block() {
  if
  :: IS_OWN(e) -> atomic { assert(e == ID(me)); at[b] = MAGAZINE(me) }
  :: else -> free_foreign()
  fi;
  e = 0;
  b = 0
}

inline come_home(x, counted) {
  assert(at[x] == FREED);
  if
  :: counted -> balance[MANAGER_OF(me)]++
  :: else
  fi;
  to_span(x)
}

/* What a manager has counted has left its blocks in use with the superblock. */
inline settle(counted, number) {
#ifndef COUNTED_SENT_ON
  if
  :: counted && MANAGER_OF(to) != MANAGER_OF(me) ->
    counted = false;
    balance[MANAGER_OF(me)] = balance[MANAGER_OF(me)] + number
  :: else
  fi
#else
  skip
#endif
}

inline send_on() {
  assert(e != NONE);
  to = OWNER(e);
  if
  :: to == me -> next[batch] = postponed[me]; postponed[me] = batch
  :: else -> push(to, batch)
  fi
}

#ifdef NOT_SENT_ON
#define STAYS(e) true
#else
#define STAYS(e) IS_OWN(e)
#endif

inline take_in_alone() {
  atomic {
    b = BLOCK_OF(batch);
    e = entry[RUN_OF(b)];
    if
    :: STAYS(e) ->
      come_home(b, alone_counted[b]);
      alone_out[alone_from[b]]--;
      alone_counted[b] = false;
      alone_from[b] = 0
    :: else ->
      to = OWNER(e);
      settle(alone_counted[b], 1);
      writes();
      send_on()
    fi;
    e = 0; b = 0; to = 0
  };
  end_return()
}

inline take_in() {
  for (b : 0 .. BLOCKS - 1) {
    atomic {
      if
      :: (carrier_blocks[AEU_OF(batch)] >> b) & 1 ->
        if
        :: STAYS(entry[RUN_OF(b)]) ->
          come_home(b, carrier_counted[AEU_OF(batch)]);
          carrier_blocks[AEU_OF(batch)] = carrier_blocks[AEU_OF(batch)] & ~(1 << b)
        :: else -> e = entry[RUN_OF(b)]
        fi
      :: else
      fi
    };
    end_return()
  };
  atomic {
    b = 0;
    if
    :: carrier_blocks[AEU_OF(batch)] != 0 ->
      to = OWNER(e);
      settle(carrier_counted[AEU_OF(batch)], CARRIED(AEU_OF(batch)));
      send_on()
    :: else ->
      carrier_state[AEU_OF(batch)] = AT_HOME;
      carrier_owner[AEU_OF(batch)] = 0;
      carrier_counted[AEU_OF(batch)] = false
    fi;
    e = 0; to = 0
  }
}

/* --- claims ----------------------------------------------------------------------------------- */

/* IsWhole, with what claim c has noted. */
inline is_whole(c) {
  whole = true;
  for (i : 0 .. RUNS - 1) {
    if
    :: entry[i] != NONE ->
#ifndef RUNS_OF_OTHERS
      whole = whole && entry[i] == ID(me);
#endif
#ifndef TAKEN_IGNORED
      whole = whole && (RUN_EMPTY(i) || claim_taken[(c) * RUNS + i] == taken[i] + 1)
#endif
    :: else
    fi
  };
#ifndef NOTED_NOT_CHECKED
  for (i : 0 .. BLOCKS - 1) {
    whole = whole && (at[i] == FREE || ((claim_blocks[c] >> i) & 1))
  };
#endif
  i = 0
}
#ifdef HOLDER_IGNORED
#define HOLDS(n) true
#else
#define HOLDS(n) (holder == ID(MANAGER_OF(n)) && (list == NONE || list == ID(n)))
#endif

inline forget_claim(c) {
  claim_blocks[c] = 0;
  claim_given_away[c] = 0;
  for (i : 0 .. RUNS - 1) { claim_taken[(c) * RUNS + i] = 0 };
  i = 0
}

/* The owner that is asked; `batch` is the claim. */
inline answer() {
  atomic {
    to = CLAIM_OF(batch) / CLAIMS;
#ifndef MAGAZINES_KEPT
    trim()
#endif
  };
  end_return();
  atomic {
    if
    :: HOLDS(me) -> is_whole(CLAIM_OF(batch))
    :: else
    fi;
    if
    :: whole ->
      assert(listed);
      writes();
      listed = false
    :: else
    fi
  };
  if
  :: whole ->
    for (b : 0 .. RUNS - 1) {
      atomic {
        if
        :: entry[b] != NONE ->
          entry[b] = ID(to) | ON_ITS_WAY;
#ifndef GIVEN_YET_USED
          linked[b] = NONE
#endif
        :: else
        fi
      }
    };
    atomic { b = 0; holder = NONE }
  :: else
  fi;
  atomic {
    claim_given[CLAIM_OF(batch)] = whole;
    claim_state[CLAIM_OF(batch)] = ANSWERED;
    push(to, batch);
    whole = false;
    to = 0
  }
}

/* Claim c of this AEU is back. */
inline adopt(c) {
  if
  :: claim_given[c] ->
    assert(holder == NONE && !listed && !pooled);
    holder = ID(MANAGER_OF(me));
    list = ID(me);
    listed = true;
    writes();
    for (i : 0 .. RUNS - 1) {
      if
      :: entry[i] != NONE ->
        assert(entry[i] == (ID(me) | ON_ITS_WAY));
        entry[i] = ID(me);
        linked[i] = ID(me)
      :: else
      fi
    };
    i = 0;
#ifndef GIVEN_NOT_COMPARED
    to_bring[me] = claim_given_away[c] == given_away[me] || to_bring[me]
#else
    to_bring[me] = true
#endif
  :: else
  fi;
  claim_state[c] = TAKEN_IN;
  claim_given[c] = false;
  forget_claim(c)
}

/* TakeBatches: adopts, and puts the others into `collecting`, in their order. */
inline take_batches() {
  batch = bin[me];
  bin[me] = NONE;
  do
  :: batch != NONE ->
    following = next[batch];
    next[batch] = NONE;
    if
#ifndef ANSWER_LAST
    :: batch >= CLAIM(0) && claim_state[CLAIM_OF(batch)] == ANSWERED ->
      adopt(CLAIM_OF(batch));
      adopted = true
#endif
    :: else ->
      if
      :: batch <= BLOCKS -> writes()
      :: else
      fi;
      if
      :: last == NONE -> collecting[me] = batch
      :: else -> next[last] = batch
      fi;
      last = batch
    fi;
    batch = following
  :: else -> break
  od;
#ifndef POSTPONED_FORGOTTEN
  if
  :: adopted -> try_again()
  :: else
  fi;
#endif
  adopted = false; last = NONE; following = NONE
}

/* What was postponed comes before the rest. */
inline try_again() {
  if
  :: postponed[me] != NONE ->
    last = postponed[me];
    do
    :: next[last] != NONE -> last = next[last]
    :: else -> break
    od;
    next[last] = collecting[me];
    collecting[me] = postponed[me];
    postponed[me] = NONE;
    last = NONE
  :: else
  fi
}

/* CollectMemory, and Collect. */
inline collect() {
  atomic {
    filled[me] = false;
    collect_again[me] = false;
#ifdef POSTPONED_FORGOTTEN
    try_again()
#endif
  };
  do
  :: blocks >= BOUND -> break
  :: else ->
    atomic {
      if
      :: collecting[me] == NONE -> take_batches()
      :: else
      fi;
      batch = collecting[me];
      if
      :: batch == NONE -> break
      :: else
      fi;
      collecting[me] = next[batch];
      next[batch] = NONE
    };
    if
    :: batch <= BLOCKS -> blocks++; take_in_alone()
    :: batch > BLOCKS && batch < CLAIM(0) ->
      blocks = blocks + CARRIED(AEU_OF(batch));
      take_in()
    :: batch >= CLAIM(0) && claim_state[CLAIM_OF(batch)] == ASKED -> answer()
#ifdef ANSWER_LAST
    :: batch >= CLAIM(0) && claim_state[CLAIM_OF(batch)] == ANSWERED ->
      atomic { adopt(CLAIM_OF(batch)); try_again() }
#endif
    fi;
    batch = NONE
  od;
  atomic {
#ifdef POSTPONED_FORGOTTEN
    collect_again[me] = blocks >= BOUND && postponed[me] == NONE;
#else
    collect_again[me] = blocks >= BOUND;
#endif
    batch = NONE; blocks = 0
  }
}

/* --- the claimant ----------------------------------------------------------------------------- */

#define MINE (me * CLAIMS + claims_made[me]) /* the claim that its census is for */
#define CAN_NOTE(n, b) \
  (at[b] == LIVE(n) && home != MANAGER_OF(n) && !((claim_blocks[MINE] >> (b)) & 1))

inline note(x) {
  if
  :: claim_blocks[MINE] == 0 ->
    claim_given_away[MINE] = given_away[me];
    noted_owner = entry[RUN_OF(x)];
    mixed = false
  :: else -> mixed = mixed || noted_owner != entry[RUN_OF(x)]
  fi;
#ifndef TAKEN_READ_AGAIN
  if
  :: claim_taken[MINE * RUNS + RUN_OF(x)] == 0 ->
    claim_taken[MINE * RUNS + RUN_OF(x)] = taken[RUN_OF(x)] + 1
  :: else
  fi;
#else
  claim_taken[MINE * RUNS + RUN_OF(x)] = taken[RUN_OF(x)] + 1;
#endif
  claim_blocks[MINE] = claim_blocks[MINE] | (1 << x)
}

/* LocalCache::Claim. */
inline claim() {
  atomic {
#ifdef TAKEN_READ_LATE
    for (i : 0 .. RUNS - 1) { claim_taken[MINE * RUNS + i] = taken[i] + 1 };
    i = 0;
#endif
    trim()
  };
  end_return();
  atomic {
    if
#ifndef CENSUS_NOT_COMPARED
    :: claim_given_away[MINE] != given_away[me] -> forget_claim(MINE)
    :: claim_given_away[MINE] == given_away[me] && (mixed || (noted_owner & ON_ITS_WAY)) ->
      forget_claim(MINE)
    :: claim_given_away[MINE] == given_away[me] && !(mixed || (noted_owner & ON_ITS_WAY)) ->
#else
    :: mixed || (noted_owner & ON_ITS_WAY) -> forget_claim(MINE)
    :: else ->
#endif
      if
      :: noted_owner == ID(me) -> /* KeepWhole */
        if
#ifdef KEPT_UNSEEN
        :: HOLDS(me) -> to_bring[me] = true
#else
        :: HOLDS(me) -> is_whole(MINE); to_bring[me] = to_bring[me] || whole; whole = false
#endif
        :: else
        fi;
        forget_claim(MINE)
      :: else ->
        claim_state[MINE] = ASKED;
        claim_given_away[MINE] = given_away[me];
        to = OWNER(noted_owner);
        push(to, CLAIM(MINE));
        claims_made[me]++;
        to = 0
      fi
    fi;
    noted_owner = NONE;
    mixed = false
  }
}

/* BeginMove, the copy, and EndMove. */
inline bring() {
  atomic {
    to_bring[me] = false;
    if
#ifdef MOVED_UNSEEN
    :: true ->
#else
    :: HOLDS(me) && home != MANAGER_OF(me) ->
#endif
      whole = true;
#ifndef MOVED_UNSEEN
      for (i : 0 .. RUNS - 1) { whole = whole && (entry[i] == NONE || entry[i] == ID(me)) };
#endif
      i = 0
    :: else
    fi;
    if
    :: whole -> assert(listed); listed = false; moving = ID(me)
    :: else
    fi
  };
  if
  :: whole ->
    atomic {
      if
      :: home = MANAGER_OF(me)
      :: true /* the kernel refuses */
      fi;
      moving = NONE;
      list = ID(me);
      listed = true;
      whole = false
    }
  :: else
  fi
}

proctype Aeu(byte me) {
  byte b, e, to, i, batch, following, last, blocks, noted_owner;
  bool whole, mixed, adopted, returns;
end:
  do
  :: atomic { !quiet && HAS_LIVE(me) -> writes() }
  :: atomic {
       !quiet && HAS_LIVE(me) ->
       if
       :: at[0] == LIVE(me) -> b = 0
       :: at[1] == LIVE(me) -> b = 1
       fi;
       at[b] = FREED;
       e = entry[RUN_OF(b)]
     };
     free_block()
  :: atomic {
       !quiet && HAS_LIVE(me) && moved < MOVES ->
       if
       :: at[0] == LIVE(me) -> b = 0
       :: at[1] == LIVE(me) -> b = 1
       fi;
       if
       :: me != A -> at[b] = LIVE(A)
       :: me != B -> at[b] = LIVE(B)
       :: me != C -> at[b] = LIVE(C)
       fi;
       given_away[me]++;
#ifndef GIVEN_NOT_CLEARED
       to_bring[me] = false;
#endif
       moved++;
       b = 0
     }
  :: atomic { !quiet && allocated < ALLOCATIONS && CAN_ALLOCATE(me) -> allocate() }
  :: atomic { !quiet && (HAS_MAGAZINE(me) || HAS_EMPTY(me)) -> trim() };
     end_return()
  :: atomic { /* the turn ends */
       carrier_state[me] == BEING_FILLED ->
       carrier_state[me] = SENT;
       push(carrier_owner[me], CARRIER(me))
     }
  :: filled[me] || collect_again[me] -> collect()
  :: atomic {
       !quiet && IS_CLAIMANT(me) && claims_made[me] < CLAIMS &&
       (CAN_NOTE(me, 0) || CAN_NOTE(me, 1)) ->
       if
       :: CAN_NOTE(me, 0) -> note(0)
       :: CAN_NOTE(me, 1) -> note(1)
       fi
     }
  :: claims_made[me] < CLAIMS && claim_blocks[MINE] != 0 -> claim()
#ifndef ALONE_IGNORED
  :: to_bring[me] && alone_out[me] == 0 -> bring()
#else
  :: to_bring[me] -> bring()
#endif
  od
}

proctype Stop() { quiet = true }

/* Where nothing else can go on. */
proctype Observer() {
  byte n;
  timeout;
  atomic {
    for (n : 0 .. BLOCKS - 1) { assert(at[n] != FREED) };
    for (n : 0 .. RUNS - 1) { assert((entry[n] & ON_ITS_WAY) == 0) };
    for (n : 0 .. AEUS - 1) {
      assert(bin[n] == NONE && collecting[n] == NONE && postponed[n] == NONE);
      assert(carrier_state[n] == AT_HOME && alone_out[n] == 0);
      assert(!to_bring[n])
    };
    for (n : 0 .. AEUS * CLAIMS - 1) {
      assert(claim_state[n] == UNUSED || claim_state[n] == TAKEN_IN)
    };
    assert(pooled == (holder == NONE) && listed == (holder != NONE));
    assert(balance[0] == 0 && balance[1] == 0)
  }
}

/* A block of A's run. */
inline begin(b) {
  if
  :: at[b] = FREE
  :: at[b] = MAGAZINE(A)
  :: at[b] = LIVE(A)
  :: at[b] = LIVE(B)
  :: at[b] = LIVE(C)
  fi
}

init {
  byte n;
  atomic {
    holder = ID(MANAGER_OF(A));
    listed = true;
    at[0] = LIVE(B);
    for (n : 0 .. RUNS - 1) { entry[n] = ID(A); linked[n] = ID(A); taken[n] = 1 };
#ifdef SHARED
    entry[1] = ID(C);
    linked[1] = ID(C);
    if
    :: at[1] = FREE
    :: at[1] = LIVE(B)
    :: at[1] = LIVE(C)
    fi;
#else
    list = ID(A);
    begin(1);
#endif
    for (n : 0 .. AEUS - 1) { run Aeu(n) };
    run Stop();
    run Observer()
  }
}
