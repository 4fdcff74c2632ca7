/* What AEUs do with full buffers: Aeu::Step and Aeu::SendOn in aeu/aeu.cc, Port::Send and
 * Port::Flush in routing/port.cc and routing/port_send.cc, the sender's side in
 * engine/sessions/session_impl.cc and engine/core/send_order.cc (credit, resend of moved keys, cancel).
 *
 * AEUS AEUs have an incoming buffer of CAPACITY commands (the open half; what was taken is being
 * processed), an outgoing buffer of one command for each other AEU, and an ingress. Session s keeps
 * REQUESTS requests for key s under way, at most CREDIT at a time, each of one key; it sends by the
 * table in force, each command in a block of its Port's POOL, which comes home when the AEU has
 * processed it. Without a block it waits, or refuses the key, REFUSALS times at most. A balancer
 * moves keys: key s changes its AEU MOVES times in all, first the AEU that holds it, then the
 * table. So commands meet AEUs that do not hold their key: they go on through the AEU's own
 * outgoing buffer, by the table in force, if there is room and they have not hopped HOPS times,
 * else they are answered "moved", and the session sends them again. CANCELS requests are given up
 * by their session before they are answered.
 *
 * Abstracted: what a command does; that an AEU sends on along the stub of a step under way alone,
 * and refuses the rest; order (order.pml); batches (one command each); a session waits
 * for a block without a bound, unless it refuses; the number of resends is not bounded; the
 * transfer is one step; how a block travels (ingress.pml). Session and completion thread are one
 * process, which is the worse case: it may be stuck in a send while its moved keys wait.
 * Sequentially consistent (see README.md).
 *
 * Properties
 *   - no deadlock: the only states without a successor are ends, where every request is answered;
 *   - with -DLIVENESS: under weak fairness every request is answered at last (no livelock);
 *   - a round has exactly one answer; each request is executed exactly once, or not at all if it
 *     was refused, or at most once if it was cancelled;
 *   - a session never has more commands in the system than its credit (`owed`), and no more blocks
 *     than its pool: this is what bounds everything else.
 *
 * Planted bugs (-D): DRAINING_STOPS (an AEU whose outgoing buffers are not empty takes nothing),
 * BLOCKING_FORWARD (a foreign command waits for room), CREDIT_AT_CANCEL (instead of at the last
 * answer), FORWARD_AND_ANSWER (a forwarded key is answered as moved, too).
 */
#ifndef AEUS
#define AEUS 2
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef SESSIONS
#define SESSIONS 2
#endif
#ifndef REQUESTS
#define REQUESTS 2 /* of each session */
#endif
#ifndef CREDIT
#define CREDIT 2
#endif
#ifndef MOVES
#define MOVES 2
#endif
#ifndef HOPS
#define HOPS 1
#endif
#ifndef POOL
#define POOL 2 /* blocks of each session's Port */
#endif
#ifndef REFUSALS
#define REFUSALS 0 /* of each session */
#endif
#ifndef CANCELS
#define CANCELS 0
#endif

#define ALL (SESSIONS * REQUESTS)
#define SESSION_OF(r) ((r) / REQUESTS)
/* A command: a request, and how often it has been forwarded; never 0. */
#define COMMAND(r, hops) (1 + (r) * (HOPS + 1) + (hops))
#define REQUEST_OF(c) (((c) - 1) / (HOPS + 1))
#define HOPS_OF(c) (((c) - 1) % (HOPS + 1))

chan incoming[AEUS] = [CAPACITY] of { byte };
chan ingress[AEUS] = [SESSIONS * POOL] of { byte };
byte free_blocks[SESSIONS];
byte holder[SESSIONS]; /* the AEU that holds key s */
byte table[SESSIONS];  /* the AEU that the partition table names for it */
bool cancelled[ALL];

/* The replies: reserved in the request, so there is always room for one. */
#define OWED 0
#define MOVED 1
#define ANSWERED 2
#define REFUSED 3
#define DONE 4
byte reply[ALL];

/* The observer's. */
byte owed[SESSIONS];
bool executed[ALL];
byte ends;

/* The last answer of a round, exactly one. */
inline answer(r, state) {
  assert(reply[r] == OWED);
  reply[r] = state
}

/* Port::Flush: each target that has room. Never waits. */
inline flush_all() {
  do
  :: to < AEUS ->
    atomic {
      if
      :: outgoing[to] != 0 && nfull(incoming[to]) -> incoming[to]!outgoing[to]; outgoing[to] = 0
      :: outgoing[to] == 0 || full(incoming[to])
      fi;
      to++
    }
  :: atomic { to == AEUS -> to = 0; break }
  od
}

#define CAN_FLUSH_TO(to) (outgoing[to] != 0 && len(incoming[to]) < CAPACITY)
#if AEUS == 2
#define CAN_FLUSH (CAN_FLUSH_TO(0) || CAN_FLUSH_TO(1))
#define STASH (outgoing[0] != 0 || outgoing[1] != 0)
#else
#define CAN_FLUSH (CAN_FLUSH_TO(0) || CAN_FLUSH_TO(1) || CAN_FLUSH_TO(2))
#define STASH (outgoing[0] != 0 || outgoing[1] != 0 || outgoing[2] != 0)
#endif
#ifdef DRAINING_STOPS
#define MAY_TAKE !STASH
#else
#define MAY_TAKE true
#endif

#define CAN_TAKE ((len(incoming[me]) > 0 || len(ingress[me]) > 0) && MAY_TAKE)
#define MOST_TAKEN (CAPACITY + SESSIONS * POOL)

proctype Aeu(byte me) {
  byte taken[MOST_TAKEN], outgoing[AEUS];
  byte from_incoming, c, r, n, to;
end:
  do
  /* A turn begins: all that has arrived is taken, whatever stands in the outgoing buffers. */
  :: atomic { CAN_TAKE ->
      do
      :: len(incoming[me]) > 0 -> incoming[me]?c; taken[n] = c; n++
      :: len(incoming[me]) == 0 -> break
      od;
      from_incoming = n;
      do
      :: len(ingress[me]) > 0 -> ingress[me]?c; taken[n] = c; n++
      :: len(ingress[me]) == 0 -> break
      od;
      n = 0; c = 0
    };
    do
    :: n < MOST_TAKEN && taken[n] != 0 ->
      atomic {
        c = taken[n];
        r = REQUEST_OF(c);
        taken[n] = 0;
        n++;
        if
        :: n > from_incoming -> free_blocks[SESSION_OF(r)]++ /* its block goes home */
        :: else
        fi;
        if
        :: cancelled[r] -> answer(r, ANSWERED); goto next
        :: !cancelled[r] && holder[SESSION_OF(r)] == me ->
          assert(!executed[r]);
          executed[r] = true;
          answer(r, ANSWERED);
          goto next
        :: else -> to = table[SESSION_OF(r)]
        fi
      };
#ifdef BLOCKING_FORWARD
      incoming[to]!COMMAND(r, 0);
#else
      /* Not in the same step: others fill and empty the buffer meanwhile. */
      atomic {
        if
        :: HOPS_OF(c) < HOPS && outgoing[to] != 0 && nfull(incoming[to]) ->
          incoming[to]!outgoing[to]; /* MakeRoom */
          outgoing[to] = 0
        :: HOPS_OF(c) == HOPS || outgoing[to] == 0 || full(incoming[to])
        fi;
        if
        :: HOPS_OF(c) < HOPS && outgoing[to] == 0 ->
          outgoing[to] = c + 1; /* one hop more */
#ifdef FORWARD_AND_ANSWER
          answer(r, MOVED)
#endif
        :: else -> answer(r, MOVED)
        fi
      };
#endif
next:
      atomic { c = 0; r = 0; to = 0 }
    :: atomic { n == MOST_TAKEN || taken[n] == 0 -> n = 0; from_incoming = 0; break }
    od;
    flush_all()
  /* A turn with nothing to take: what could not be moved is tried again. */
  :: CAN_FLUSH -> flush_all()
  od
}

#define HAS(n, state) (REQUESTS > n && reply[me * REQUESTS + (REQUESTS > n -> n : 0)] == state)
#define ANY_REPLY(state) (HAS(0, state) || HAS(1, state) || HAS(2, state))
inline pick(state) {
  if
  :: HAS(0, state) -> r = me * REQUESTS
  :: HAS(1, state) -> r = me * REQUESTS + 1
  :: HAS(2, state) -> r = me * REQUESTS + 2
  fi
}

inline send(r) {
  if
  :: atomic { free_blocks[me] > 0 -> free_blocks[me]--; to = table[me] };
    atomic { ingress[to]!COMMAND(r, 0); to = 0 }
#if REFUSALS
  :: atomic { free_blocks[me] == 0 && refusals > 0 -> refusals--; answer(r, REFUSED) }
#endif
  fi
}

proctype Session(byte me) {
  byte begun, ended, to, r, credit = CREDIT, cancels = CANCELS;
#if REFUSALS
  byte refusals = REFUSALS;
#endif
  do
  :: atomic { begun < REQUESTS && credit > 0 ->
      credit--;
      r = me * REQUESTS + begun;
      begun++;
      owed[me]++;
      assert(owed[me] <= CREDIT)
    };
    send(r)
  :: atomic {
      ANY_REPLY(MOVED) -> pick(MOVED);
      assert(!executed[r]);
      if
      :: cancelled[r] -> reply[r] = ANSWERED; goto next /* not sent again */
      :: else -> reply[r] = OWED
      fi
    };
    send(r);
next:
    skip
  :: atomic {
      if
      :: ANY_REPLY(ANSWERED) -> pick(ANSWERED); assert(executed[r] || cancelled[r])
#if REFUSALS
      :: ANY_REPLY(REFUSED) -> pick(REFUSED); assert(!executed[r])
#endif
      fi;
      reply[r] = DONE;
      owed[me]--;
#ifdef CREDIT_AT_CANCEL
      credit = credit + (cancelled[r] -> 0 : 1);
#else
      credit++;
#endif
      ended++
    }
#if CANCELS
  /* The newest request is given up. Its command, and its reply space, are still under way. */
  :: atomic { cancels > 0 && begun > 0 && reply[me * REQUESTS + begun - 1] < ANSWERED ->
      cancels--;
      cancelled[me * REQUESTS + begun - 1] = true;
#ifdef CREDIT_AT_CANCEL
      credit++
#endif
    }
#endif
  :: ended == REQUESTS -> break
  od;
  ends++
}

proctype Balancer() {
  byte left = MOVES, key;
  do
  :: left > 0 ->
    atomic {
      if
      :: key = 0
      :: key = 1
      fi;
      holder[key] = (holder[key] + 1) % AEUS /* the source hands over, the target acknowledges */
    };
    atomic { table[key] = holder[key]; key = 0; left-- } /* published */
  :: left == 0 -> break
  od
}

init {
  byte n;
  atomic {
    for (n : 0 .. SESSIONS - 1) {
      free_blocks[n] = POOL;
      holder[n] = n % AEUS;
      table[n] = n % AEUS;
      run Session(n)
    };
    for (n : 0 .. AEUS - 1) { run Aeu(n) };
    run Balancer()
  };
  ends == SESSIONS
}

#ifdef LIVENESS
ltl all_answered { <> (ends == SESSIONS) }
#endif
