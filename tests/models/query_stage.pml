/* Stages of a query: what all AEUs do between two moments at which they wait for each other.
 * QueryState and QueryEnd in engine/query/, QueryRunner in aeu/runners/, QueryPart, StageRun and
 * OutgoingEnvelopes in storage/query/.
 *
 * AEUS AEUs do four stages: fill (an envelope that all will refer to, and for each AEU one that is
 * full and one that is flushed at the end, into chains), take (refer to the envelopes of all; take
 * the own chains), probe (read what is referred to and what has been taken; make the answer), free
 * (the envelope that all have referred to). The engine sends a stage to all AEUs; REFUSALS of its
 * commands find no room. It waits until all have answered, and goes on unless one has failed.
 * FAILURES pieces find no memory, which stops the others; with CANCEL the query may be cancelled at
 * any step. The reader reads the answer where it is, and releases it. Then the engine has all AEUs
 * free what they have, once more those that had no memory to begin with that (FAILURES, too).
 *
 * Abstracted: what rows are; how commands and answers travel (multicast.pml, request.pml), so each
 * is one step; that the engine refers to a part only if its AEU has begun a stage of the query;
 * memory of AEUs that goes home (recollection.pml). Sequentially consistent (see README.md).
 *
 * Properties
 *   - nobody reads an envelope before it is filled, nor after it was freed;
 *   - each sent row is read by one AEU, once, if the query ends well;
 *   - each envelope is freed once, by the AEU that has it, however the query ends: nothing is left;
 *   - no deadlock: the only end is that all AEUs have freed all;
 *   - with -DLIVENESS: under weak fairness that end is reached.
 *
 * Planted bugs (-D): COUNTED_SHORT (a stage ends with a part under way), FREED_UNDER_READER (freed
 * one stage too early), FLUSH_LOST (the last envelope of a chain is not added), TAKEN_BY_ALL (an
 * AEU takes all chains), LEFT_UNDER_WAY (when the query is cancelled, AEUs free what they have
 * although a stage is under way), LEFT_UNDER_READER (and although the reader has rows),
 * TAKEN_BEFORE_ADDED (an envelope has left its chain when there is no memory for it in the list),
 * REFUSED_NOT_COUNTED (an AEU without room counts as one that will answer), LEFT_WITHOUT_MEMORY
 * (an AEU that had no memory to free what it has is not told again).
 */
#ifndef AEUS
#define AEUS 2
#endif
#ifndef REFUSALS
#define REFUSALS 1
#endif
#ifndef FAILURES
#define FAILURES 1
#endif

#define FILL 1
#define TAKE 2
#define PROBE 3
#define FREE 4
#define LEAVE 5

/* Envelopes: one that all refer to, one of the answer, and the chains, of two each. */
#define SHARED(p) (p)
#define ANSWER(p) (AEUS + (p))
#define SENT(p, to, k) (2 * AEUS + ((p) * AEUS + (to)) * 2 + (k))
#define ENVELOPES (2 * AEUS + 2 * AEUS * AEUS)

#define NONE 0
#define FILLED 1 /* with its filler: in a list, or in a chain */
#define TAKEN 2
#define LOST 3 /* in no list and no chain */
#define FREED 4
byte state[ENVELOPES];
byte taker[ENVELOPES];
byte reads[ENVELOPES];

chan command[AEUS] = [1] of { byte };
byte left[2]; /* of a stage; of the end */
bool stop, cancelled;
bool failed[AEUS];
byte refusals = REFUSALS, failures = FAILURES;
bool ended;

inline free(e) {
  assert(state[e] == FILLED || state[e] == TAKEN);
  state[e] = FREED
}

/* Whether the piece finds memory. */
inline may_fail() {
  if
  :: true
  :: failures > 0 -> failures--; bad = true; stop = true
  fi
}

#define GOES_ON (!bad && !(stop && stage != LEAVE))
#ifdef TAKEN_BY_ALL
#define TARGETS AEUS
#else
#define TARGETS 1
#endif

proctype Aeu(byte me) {
  byte stage, p, k, to, e;
  bool bad;
end:
  do
  :: command[me]?stage ->
    if
    :: stage == FILL && GOES_ON ->
      atomic { may_fail(); if :: !bad -> state[SHARED(me)] = FILLED :: else fi };
      do
      :: p < AEUS && GOES_ON ->
        atomic { may_fail(); if :: !bad -> state[SENT(me, p, 0)] = FILLED; p++ :: else fi }
      :: else -> break
      od;
      p = 0;
#ifndef FLUSH_LOST
      do
      :: p < AEUS && GOES_ON -> atomic { state[SENT(me, p, 1)] = FILLED; p++ }
      :: else -> break
      od;
      p = 0
#endif
    :: stage == TAKE && GOES_ON ->
      do
      :: p < AEUS && GOES_ON ->
        assert(state[SHARED(p)] == FILLED);
        do
        :: k < 2 * TARGETS && GOES_ON ->
#ifdef TAKEN_BY_ALL
          to = k / 2;
#else
          to = me;
#endif
          e = SENT(p, to, k % 2);
          if
          :: state[e] == FILLED ->
            /* The sender's chain and the own list are written by this AEU alone. */
#ifdef TAKEN_BEFORE_ADDED
            state[e] = LOST;
#endif
            atomic {
              may_fail();
              if
              :: !bad -> assert(taker[e] == 0); taker[e] = me + 1; state[e] = TAKEN
              :: else
              fi
            }
          :: else
          fi;
          atomic { k++; e = 0; to = 0 }
        :: else -> break
        od;
        atomic { k = 0; p++ }
      :: else -> break
      od;
      p = 0
    :: stage == PROBE && GOES_ON ->
#ifdef FREED_UNDER_READER
      free(SHARED(me));
#endif
      do
      :: p < AEUS && GOES_ON ->
        atomic {
          assert(state[SHARED(p)] == FILLED);
          may_fail()
        };
        atomic {
          for (e : 0 .. ENVELOPES - 1) {
            if
            :: !bad && taker[e] == me + 1 && e >= SENT(p, 0, 0) && e < SENT(p, 0, 0) + 2 * AEUS ->
              assert(state[e] == TAKEN);
              reads[e]++
            :: else
            fi
          };
          e = 0;
          p++
        }
      :: else -> break
      od;
      p = 0;
      atomic { if :: GOES_ON -> state[ANSWER(me)] = FILLED :: else fi }
#ifndef FREED_UNDER_READER
    :: stage == FREE && GOES_ON -> free(SHARED(me))
#endif
    :: stage == LEAVE ->
      atomic { may_fail() }; /* to begin with */
      do
      :: e < ENVELOPES && !bad ->
        atomic {
          if
          :: state[e] == TAKEN && taker[e] == me + 1 -> free(e)
          :: state[e] == FILLED && (e == SHARED(me) || e == ANSWER(me)) -> free(e)
          :: state[e] == FILLED && e >= SENT(me, 0, 0) && e < SENT(me, 0, 0) + 2 * AEUS -> free(e)
          :: else
          fi;
          e++
        }
      :: else -> break
      od;
      e = 0
    :: else
    fi;
    atomic {
      failed[me] = bad || (stop && stage != LEAVE);
      bad = false;
      left[stage == LEAVE]--;
      stage = 0
    }
  od
}

#if AEUS == 2
#define ANY_TOLD (told[0] || told[1])
#else
#define ANY_TOLD (told[0] || told[1] || told[2])
#endif

/* To all AEUs; the last stage to those that are to be told. */
inline send(what) {
  atomic {
    left[what == LEAVE] = AEUS;
#ifdef COUNTED_SHORT
    left[what == LEAVE] = (what < FREE -> AEUS - 1 : AEUS);
#endif
    n = 0
  };
  do
  :: n < AEUS ->
    atomic {
      if
      :: what == LEAVE && !told[n] -> left[1]--
      :: what != LEAVE || told[n] -> command[n]!what
      :: what != LEAVE && refusals > 0 ->
        refusals--;
        failed[n] = true;
        stop = true;
#ifndef REFUSED_NOT_COUNTED
        left[0]--
#endif
      fi;
      n++
    }
  :: else -> break
  od;
  n = 0
}

proctype Engine() {
  byte stage = FILL, n;
  bool bad, told[AEUS];
  do
  :: stage <= FREE && !bad && !cancelled ->
    send(stage);
#ifdef LEFT_UNDER_WAY
    left[0] == 0 || cancelled;
#else
    left[0] == 0;
#endif
    atomic {
      for (n : 0 .. AEUS - 1) { bad = bad || failed[n] };
      n = 0;
      stage++
    }
  :: else -> break
  od;
  atomic { bad = bad || cancelled };
#ifndef LEFT_UNDER_READER
  /* The reader has the answer, and releases it. */
  do
  :: n < AEUS && !bad -> atomic { assert(state[ANSWER(n)] == FILLED); n++ }
  :: else -> break
  od;
#endif
  atomic { for (n : 0 .. AEUS - 1) { told[n] = true } };
  do
  :: ANY_TOLD ->
    send(LEAVE);
#ifdef LEFT_UNDER_READER
    do
    :: n < AEUS && !bad -> atomic { assert(state[ANSWER(n)] == FILLED); n++ }
    :: else -> break
    od;
#endif
    left[1] == 0;
    atomic {
      for (n : 0 .. AEUS - 1) {
#ifdef LEFT_WITHOUT_MEMORY
        told[n] = false
#else
        told[n] = told[n] && failed[n]
#endif
      };
      n = 0
    }
  :: else -> break
  od;
  atomic {
    for (n : 0 .. ENVELOPES - 1) {
      assert(state[n] == NONE || state[n] == FREED);
      assert(bad || reads[n] == (n >= 2 * AEUS))
    };
    ended = true
  }
}

#ifdef CANCEL
active proctype Caller() {
  atomic { cancelled = true; stop = true }
}
#endif

init {
  byte n;
  atomic {
    for (n : 0 .. AEUS - 1) { run Aeu(n) };
    run Engine()
  };
  ended
}

#ifdef LIVENESS
ltl all_freed { <> ended }
#endif
