/* Lookups that AEUs generate while they scan: an index join. Aeu::Step in aeu/aeu.cc (take
 * commands, advance scans, flush), Port::Send and Port::Flush of an AEU's Port, the reader of the
 * join.
 *
 * AEUS AEUs, all of them scan ROWS outer rows and look each up in an index that is spread over the
 * same AEUs; so all send to each other, through incoming buffers of CAPACITY commands (the open
 * half; what was taken is being processed) and an outgoing buffer of one command for each target. A
 * slice of a scan fills a join block with up to SLICE rows (its reply space, too), of BLOCKS that a
 * scan has; without a free block, or while its output is full, the scan pauses, and the AEU goes on
 * with its turns. A row that finds no room within a slice is answered "moved" at once. Lookups
 * that meet an AEU that does not hold their key, as a balancer changes MOVES times where the keys
 * are, go on by the table in force if there is room and they have not hopped HOPS times, else they
 * are answered "moved". Who gives a block's last answer hands it to the reader: that sends what was
 * moved again, from outside (an ingress, of POOL blocks), and when nothing is owed gives the block
 * back.
 *
 * Abstracted: what is looked up; batches (one command each); how a block reaches the reader
 * (request.pml); the reader waits for a block of its pool without a bound, and takes the joins'
 * blocks one after another, which is the worse case; the transfer is one step. Sequentially
 * consistent (see README.md).
 *
 * Properties
 *   - no deadlock: the only end is that all rows have been joined;
 *   - each outer row is joined exactly once;
 *   - an answer goes into the block of its row, and a block is given back when none is owed;
 *   - with -DLIVENESS: under weak fairness that end is reached.
 *
 * Planted bugs (-D): GENERATOR_BLOCKS (a slice waits for room, in the middle of a turn),
 * PAUSE_STOPS_DRAINING (an AEU whose output is full takes nothing), SLICE_LOST (rows that found no
 * room in a slice are forgotten), BLOCK_REUSED_EARLY (the reader gives the block back when it has
 * sent the moved rows again).
 */
#ifndef AEUS
#define AEUS 2
#endif
#ifndef ROWS
#define ROWS 3 /* of each AEU */
#endif
#ifndef SLICE
#define SLICE 2
#endif
#ifndef BLOCKS
#define BLOCKS 1 /* of each AEU */
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef POOL
#define POOL 1
#endif
#ifndef MOVES
#define MOVES 1
#endif
#ifndef HOPS
#define HOPS 1
#endif

#define ALL_ROWS (AEUS * ROWS)
#define ALL_BLOCKS (AEUS * BLOCKS)
#define PLACES (ALL_BLOCKS * SLICE)
#define BLOCK_OF(place) ((place) / SLICE)
/* A lookup: its row, the place of its answer, how often it has been forwarded; never 0. */
#define COMMAND(row, place, hops) (1 + ((row) * PLACES + (place)) * (HOPS + 1) + (hops))
#define ROW_OF(c) (((c) - 1) / (HOPS + 1) / PLACES)
#define PLACE_OF(c) (((c) - 1) / (HOPS + 1) % PLACES)
#define HOPS_OF(c) (((c) - 1) % (HOPS + 1))
/* The range of keys that a row's is in. Range n is at first held by AEU n + 1: so an AEU's rows all
 * name the next one's, or with SPREAD one after another. */
#ifdef SPREAD
#define KEYS_OF(row) (((row) / ROWS + (row) % ROWS) % AEUS)
#else
#define KEYS_OF(row) ((row) / ROWS)
#endif

chan incoming[AEUS] = [CAPACITY] of { byte };
chan ingress[AEUS] = [POOL] of { byte };
byte pool = POOL; /* the reader's free blocks */
byte holder[AEUS]; /* the AEU that holds range n */
byte table[AEUS];  /* the AEU that the partition table names for it */

/* The join blocks. */
#define NONE 0
#define OWED 1
#define MOVED 2
#define FOUND 3
byte state[PLACES], row_at[PLACES];
byte owed[ALL_BLOCKS];
bool taken[ALL_BLOCKS]; /* by a scan, until the reader gives it back */
bool ready[ALL_BLOCKS]; /* for the reader */

/* The observer's. */
bool joined[ALL_ROWS];
byte joins;

inline answer(row, place, what) {
  assert(state[place] == OWED && row_at[place] == row);
  state[place] = what;
  owed[BLOCK_OF(place)]--;
  if
  :: owed[BLOCK_OF(place)] == 0 -> ready[BLOCK_OF(place)] = true
  :: else
  fi
}

#define CAN_FLUSH_TO(to) (outgoing[to] != 0 && len(incoming[to]) < CAPACITY)
#if AEUS == 2
#define CAN_FLUSH (CAN_FLUSH_TO(0) || CAN_FLUSH_TO(1))
#define OUTPUT_FULL (outgoing[0] != 0 || outgoing[1] != 0)
#else
#define CAN_FLUSH (CAN_FLUSH_TO(0) || CAN_FLUSH_TO(1) || CAN_FLUSH_TO(2))
#define OUTPUT_FULL (outgoing[0] != 0 || outgoing[1] != 0 || outgoing[2] != 0)
#endif
#if BLOCKS == 1
#define HAS_BLOCK (!taken[me])
#else
#define HAS_BLOCK (!taken[me * BLOCKS] || !taken[me * BLOCKS + 1])
#endif
#define CAN_SCAN (scanned < ROWS && !OUTPUT_FULL && HAS_BLOCK)
#ifdef PAUSE_STOPS_DRAINING
#define MAY_TAKE !OUTPUT_FULL
#else
#define MAY_TAKE true
#endif
#define CAN_TAKE ((len(incoming[me]) > 0 || len(ingress[me]) > 0) && MAY_TAKE)

/* MakeRoom: one try, never waits. */
inline make_room() {
  if
  :: outgoing[to] != 0 && nfull(incoming[to]) -> incoming[to]!outgoing[to]; outgoing[to] = 0
  :: outgoing[to] == 0 || full(incoming[to])
  fi
}

#define MOST_TAKEN (CAPACITY + POOL)

proctype Aeu(byte me) {
  byte work[MOST_TAKEN], outgoing[AEUS];
  byte from_ingress, scanned, c, n, to, block, place;
  bool worked;
end:
  do
  :: CAN_TAKE || CAN_SCAN || CAN_FLUSH ->
    /* All that has arrived, whatever stands in the outgoing buffers. */
    atomic {
      if
      :: MAY_TAKE ->
        do
        :: len(incoming[me]) > 0 -> incoming[me]?c; work[n] = c; n++
        :: len(incoming[me]) == 0 -> break
        od;
        do
        :: len(ingress[me]) > 0 -> ingress[me]?c; work[n] = c; n++; from_ingress++
        :: len(ingress[me]) == 0 -> break
        od
      :: else
      fi;
      worked = (n > 0);
      n = 0; c = 0
    };
    do
    :: n < MOST_TAKEN && work[n] != 0 ->
      atomic {
        c = work[n];
        work[n] = 0;
        n++;
        if
        :: holder[KEYS_OF(ROW_OF(c))] == me -> answer(ROW_OF(c), PLACE_OF(c), FOUND)
        :: else ->
          to = table[KEYS_OF(ROW_OF(c))];
          if
          :: HOPS_OF(c) < HOPS -> make_room()
          :: else
          fi;
          if
          :: HOPS_OF(c) < HOPS && outgoing[to] == 0 -> outgoing[to] = c + 1 /* one hop more */
          :: else -> answer(ROW_OF(c), PLACE_OF(c), MOVED)
          fi
        fi;
        c = 0; to = 0
      }
    :: atomic { n == MOST_TAKEN || work[n] == 0 ->
        pool = pool + from_ingress; /* their blocks go home */
        n = 0; from_ingress = 0;
        break
      }
    od;
    /* A slice of the scan, if it may run in this turn. */
    if
    :: atomic { CAN_SCAN ->
        block = me * BLOCKS;
        if
        :: taken[block] -> block++
        :: else
        fi;
        assert(owed[block] == 0);
        taken[block] = true;
        n = 0;
        do
        :: n < SLICE && scanned + n < ROWS ->
          row_at[block * SLICE + n] = me * ROWS + scanned + n;
          state[block * SLICE + n] = OWED;
          n++
        :: else -> break
        od;
        owed[block] = n; /* announced before the first is sent */
        place = block * SLICE;
        block = 0
      };
      do
      :: n > 0 ->
        atomic { to = table[KEYS_OF(me * ROWS + scanned)] };
#ifdef GENERATOR_BLOCKS
        if
        :: outgoing[to] != 0 -> incoming[to]!outgoing[to]; outgoing[to] = 0
        :: else
        fi;
#endif
        atomic {
          make_room();
          if
          :: outgoing[to] == 0 -> outgoing[to] = COMMAND(me * ROWS + scanned, place, 0)
          :: else ->
#ifdef SLICE_LOST
            state[place] = NONE;
            owed[BLOCK_OF(place)]--
#else
            answer(me * ROWS + scanned, place, MOVED)
#endif
          fi;
          n--; place++; scanned++; to = 0
        }
      :: atomic { n == 0 -> place = 0; break }
      od
    :: worked || !CAN_SCAN /* the turn's time is up; all read, no block, or the output is full */
    fi;
    worked = false;
    do
    :: to < AEUS -> atomic { make_room(); to++ }
    :: atomic { to == AEUS -> to = 0; break }
    od
  od
}

proctype Reader() {
  byte block, place, again, to;
  do
  :: atomic {
      if
      :: ready[0] -> block = 0
      :: ready[1] -> block = 1
#if AEUS * BLOCKS > 2
      :: ready[2] -> block = 2
#endif
#if AEUS * BLOCKS > 3
      :: ready[3] -> block = 3
#endif
      fi;
      ready[block] = false;
      for (place : block * SLICE .. block * SLICE + SLICE - 1) {
        if
        :: state[place] == FOUND ->
          assert(!joined[row_at[place]]);
          joined[row_at[place]] = true;
          joins++;
          state[place] = NONE;
          row_at[place] = 0
        :: state[place] == MOVED -> again++; state[place] = OWED
        :: state[place] == NONE
        fi /* and none is owed */
      };
      place = 0;
      owed[block] = again
    };
    if
    :: again > 0 ->
      place = block * SLICE;
      do
      :: again > 0 ->
        if
        :: state[place] == OWED ->
          atomic { pool > 0 -> pool-- };
          atomic {
            to = table[KEYS_OF(row_at[place])];
            ingress[to]!COMMAND(row_at[place], place, 0);
            to = 0;
            again--
          }
        :: else
        fi;
        place++
      :: atomic { again == 0 -> place = 0; break }
      od;
#ifdef BLOCK_REUSED_EARLY
      taken[block] = false
#endif
    :: else -> taken[block] = false
    fi;
    block = 0
  :: joins == ALL_ROWS -> break
  od
}

#if MOVES
proctype Balancer() {
  byte left = MOVES, range;
  do
  :: left > 0 ->
    atomic {
      if
      :: range = 0
      :: range = 1
      fi;
      holder[range] = (holder[range] + 1) % AEUS
    };
    atomic { table[range] = holder[range]; range = 0; left-- } /* published */
  :: left == 0 -> break
  od
}
#endif

init {
  byte n;
  atomic {
    for (n : 0 .. AEUS - 1) {
      holder[n] = (n + 1) % AEUS;
      table[n] = (n + 1) % AEUS;
      run Aeu(n)
    };
    run Reader();
#if MOVES
    run Balancer()
#endif
  };
  joins == ALL_ROWS
}

#ifdef LIVENESS
ltl all_joined { <> (joins == ALL_ROWS) }
#endif
