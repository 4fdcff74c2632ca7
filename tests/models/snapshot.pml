/* Snapshots by epoch: routing/snapshot_registry.h, the turn in aeu/aeu.cc (TakeCommands,
 * ReadSnapshots), the versions in storage/index/version_table.cc, the scan's side in engine/core/snapshot.cc and
 * engine/reads/scan_state.cc. docs/internals/snapshots.md has the rule.
 *
 * AEUS AEUs own a key each. A client writes its values into key 0, then, after the
 * acknowledgement, into the next key, and so on, ROUNDS times. Of SCANS snapshots that are taken and
 * ended, READERS are scans', which send a part to each AEU and wait for all answers; the first may be
 * given up by somebody at any time (ABORTS), and scans be cancelled by their readers (CANCELS).
 * An AEU's turn: cut its queue, load E and the count of releases, read the slots if either has
 * changed, execute, advance scans, acknowledge, free versions.
 * SPINS turns of an AEU begin without anything to do. Each access to a shared word is a step, but that
 * slots are read together (SLOT_BY_SLOT: one by one); what an AEU does with its own key nobody sees.
 * With PAUSES a part may wait for later turns (no chunk), so that writes of its AEU come in between.
 *
 * Abstracted: the search for a free slot (each scan has its own); keys beyond one for each AEU;
 * ranges that move (handover_table.pml); limits of memory. Sequentially consistent: tests/explore/.
 *
 * Properties
 *   - a scan that is answered by rows alone has seen one moment: if a value, then all that were
 *     acknowledged before that one was sent; and not less than what was acknowledged, or seen by
 *     another scan that had ended, before it began;
 *   - an AEU reads at a snapshot only while its slot is held;
 *   - at rest no version is left (no snapshot is held then), and every part has been answered.
 *
 * Planted bugs (-D): E_BEFORE_CUT, REGISTRY_BEFORE_E (then E has not changed since, and the registry
 * is not read again), REGISTERED_LATE (E is raised, then the slot written), SECOND_DRAIN (another cut
 * in the same turn, under its E), FREED_AT_CANCEL (the slot is freed when the reader cancels),
 * RELEASE_FIRST (the release is counted before the slot is freed), NO_HOLDS (an AEU does not ask
 * whether the snapshot was given up).
 */
#ifndef AEUS
#define AEUS 2
#endif
#ifndef SCANS
#define SCANS 2
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef SPINS
#define SPINS 0
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef ABORTS
#define ABORTS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#define RECORDS (SCANS + 1)
#if SCANS == 1
#define RUNNING (running[0])
#elif SCANS == 2
#define RUNNING (running[0] || running[1])
#else
#define RUNNING (running[0] || running[1] || running[2])
#endif
#define WRITE 1
#define SCAN 2

/* The registry. A slot is one word. */
byte E = 1;
byte releases;
typedef Slot {
  byte s; /* 0: none */
  bool beginning;
  bool given_up
};
Slot slot[SCANS];

chan queue[AEUS] = [SCANS + 1] of { byte, byte }; /* WRITE, value; or SCAN, scan */

/* What scans and AEUs tell each other. */
typedef ScanOf {
  byte s;
  bool cancelled;
  byte answered;
  bool without_rows; /* some part */
  byte seen[AEUS]
};
ScanOf scan[SCANS];
byte acknowledged; /* writes: round * AEUS + key */
byte best[AEUS];   /* seen by a scan that has ended */
byte versions;     /* of all AEUs */
byte done;         /* processes that have ended, without the AEUs */

#define READ(i) act[i] = (slot[i].given_up -> 0 : slot[i].s)
#define HOLDS(i)                                                                                  \
  held = held || (slot[i].s == scan[j].s && !slot[i].beginning && !slot[i].given_up)
#if SCANS == 1
#define READ_ALL READ(0)
#define HOLDS_ANY HOLDS(0)
#elif SCANS == 2
#define READ_ALL READ(0); READ(1)
#define HOLDS_ANY HOLDS(0); HOLDS(1)
#else
#define READ_ALL READ(0); READ(1); READ(2)
#define HOLDS_ANY HOLDS(0); HOLDS(1); HOLDS(2)
#endif
/* If the mark has changed. A slot that changes meanwhile is of a snapshot that the turn need not
 * know. */
inline READ_SLOTS() {
#ifdef SLOT_BY_SLOT
  if
  :: stale -> READ_ALL
  :: else
  fi
#else
  atomic {
    if
    :: stale -> READ_ALL
    :: else
    fi
  }
#endif
}

proctype Aeu(byte me) {
  byte row;
  byte rec_end[RECORDS];
  byte rec_value[RECORDS];
  byte recs; /* oldest first */
  byte e, mark_e, mark_r;
  byte spins;
  bool stale;
  byte act[SCANS];
  byte n, i, j, what, value;
  bool running[SCANS];
  bool acks, held, needed;

end_idle:
  do
  :: atomic {
      if
      :: len(queue[me]) > 0 || RUNNING || (recs > 0 && (E != mark_e || releases != mark_r))
      :: spins < SPINS -> spins++ /* it looks for work before it sleeps */
      fi;
#ifdef E_BEFORE_CUT
      e = E
#else
      n = len(queue[me])
#endif
    };
#ifdef E_BEFORE_CUT
    n = len(queue[me]);
#endif
#ifdef REGISTRY_BEFORE_E
    atomic { stale = E != mark_e || releases != mark_r };
    READ_SLOTS();
    e = E;
    atomic { mark_r = releases; mark_e = e; stale = false };
#else
#ifndef E_BEFORE_CUT
    e = E;
#endif
    atomic { stale = e != mark_e || releases != mark_r; mark_e = e; mark_r = releases };
    READ_SLOTS();
#endif
execute:
    atomic {
      do
      :: n > 0 ->
        queue[me]?what, value;
        n--;
        if
        :: what == SCAN -> running[value] = true
        :: else ->
          /* A record only if a held snapshot below e has none with a larger end. */
          needed = false;
          i = 0;
          do
          :: i < SCANS ->
            needed = needed || (act[i] > 0 && act[i] < e &&
                                (recs == 0 || act[i] >= rec_end[recs - 1]));
            i++
          :: else -> break
          od;
          if
          :: needed ->
            assert(recs < RECORDS);
            rec_end[recs] = e;
            rec_value[recs] = row;
            recs++;
            versions++
          :: else
          fi;
          row = value;
          acks = true
        fi
      :: else -> break
      od;
      i = 0; j = 0; what = 0; value = 0; needed = false
    };
#ifdef SECOND_DRAIN
    if
    :: len(queue[me]) > 0 -> n = len(queue[me]); goto execute
    :: true
    fi;
#endif
    /* Scans, each at most once in a turn. */
    do
    :: atomic {
        j < SCANS && !held ->
        if
        :: !running[j] -> j++
        :: running[j] && scan[j].cancelled ->
          running[j] = false;
          scan[j].without_rows = true;
          scan[j].answered++;
          j++
        :: running[j] && !scan[j].cancelled ->
#ifdef NO_HOLDS
          held = true;
#else
          HOLDS_ANY;
#endif
          if
          :: held
          :: else ->
            running[j] = false;
            scan[j].without_rows = true;
            scan[j].answered++;
            j++
          fi
        fi
      }
    :: atomic {
        held ->
        /* May have been given up since, but not let go. */
        assert(slot[j].s == scan[j].s);
        /* The record with the smallest end above S, else the row. */
        scan[j].seen[me] = row;
        i = recs;
        do
        :: i > 0 && rec_end[i - 1] > scan[j].s ->
          scan[j].seen[me] = rec_value[i - 1];
          i--
        :: else -> break
        od;
        running[j] = false;
        scan[j].answered++;
        i = 0;
        held = false;
        j++
      }
#ifdef PAUSES
    :: atomic { held && len(queue[me]) > 0 -> held = false; j++ } /* no chunk: in a later turn */
#endif
    :: atomic { j == SCANS && !held -> j = 0 }; break
    od;
    atomic {
      if
      :: acks -> acknowledged++; acks = false
      :: else
      fi;
      /* Frees what no snapshot of the turn's view needs. */
      i = 0; j = 0;
      do
      :: i < recs ->
        what = 0;
        needed = false;
        do
        :: what < SCANS ->
          needed = needed || (act[what] > 0 && act[what] < rec_end[i] &&
                              (i == 0 || act[what] >= rec_end[i - 1]));
          what++
        :: else -> break
        od;
        if
        :: needed ->
          rec_end[j] = rec_end[i];
          rec_value[j] = rec_value[i];
          j++
        :: else -> versions--
        fi;
        i++
      :: else -> break
      od;
      recs = j;
      do
      :: j < RECORDS -> rec_end[j] = 0; rec_value[j] = 0; j++
      :: else -> break
      od;
      i = 0; j = 0; what = 0; needed = false; e = 0; stale = false
    }
  od
}

proctype Writer() {
  byte round = 1;
  byte key;
  do
  :: round <= ROUNDS && key < AEUS ->
    queue[key]!WRITE, round;
    atomic { acknowledged == (round - 1) * AEUS + key + 1 -> key++ }
  :: round <= ROUNDS && key == AEUS -> key = 0; round++
  :: else -> break
  od;
  done++
}

proctype Scan(byte me) {
  byte s, k;
  byte least[AEUS];
  atomic {
    do
    :: k < AEUS ->
      least[k] = (acknowledged + AEUS - 1 - k) / AEUS;
      if
      :: best[k] > least[k] -> least[k] = best[k]
      :: else
      fi;
      k++
    :: else -> break
    od;
    k = 0
  };
  /* Begin. */
#ifdef REGISTERED_LATE
  atomic { s = E; E++ };
  slot[me].s = s;
#else
  do
  :: s = E;
    atomic { slot[me].s = s; slot[me].beginning = true };
    atomic { /* the CAS */
      if
      :: E == s -> E++; break
      :: else
      fi
    }
  od;
  atomic { slot[me].beginning = false; scan[me].s = s };
#endif
#ifdef REGISTERED_LATE
  scan[me].s = s;
#endif
  if
  :: me >= READERS -> s = 0; goto release
  :: else
  fi;
  do
  :: atomic { k < AEUS -> queue[k]!SCAN, me; k++ }
  :: atomic { k == AEUS -> k = 0 }; break
  od;
  if
  :: scan[me].answered == AEUS
#if CANCELS > 0
  :: scan[me].cancelled = true;
#ifdef FREED_AT_CANCEL
    goto release;
#endif
    scan[me].answered == AEUS
#endif
  fi;
  atomic {
    if
    :: scan[me].without_rows
    :: else ->
      k = 0;
      do
      :: k < AEUS ->
        assert(scan[me].seen[k] >= least[k]);
        assert(k == 0 || (scan[me].seen[k] <= scan[me].seen[k - 1] &&
                          scan[me].seen[k] + 1 >= scan[me].seen[0]));
        if
        :: best[k] < scan[me].seen[k] -> best[k] = scan[me].seen[k]
        :: else
        fi;
        k++
      :: else -> break
      od
    fi;
    k = 0;
    do
    :: k < AEUS -> scan[me].seen[k] = 0; least[k] = 0; k++
    :: else -> break
    od;
    k = 0; s = 0; scan[me].s = 0; scan[me].answered = 0
  };
release: /* End. */
#ifdef RELEASE_FIRST
  releases++;
  atomic { slot[me].s = 0; slot[me].given_up = false };
#else
  atomic { slot[me].s = 0; slot[me].given_up = false };
  releases++;
#endif
  done++
}

/* Gives the first scan's snapshot up, if it is held and has begun. */
proctype Aborter() {
  if
  :: atomic { slot[0].s > 0 && !slot[0].beginning -> slot[0].given_up = true };
    releases++
  :: true
  fi;
  done++
}

#define PROCESSES (1 + SCANS + ABORTS)

init {
  byte i;
  atomic {
    do
    :: i < AEUS -> run Aeu(i); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < SCANS -> run Scan(i); i++
    :: else -> break
    od;
    run Writer();
#if ABORTS > 0
    run Aborter();
#endif
    i = 0
  };
  done == PROCESSES;
  timeout;
  assert(versions == 0)
}
