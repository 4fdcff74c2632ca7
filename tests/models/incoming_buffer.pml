/* An AEU's incoming buffers: routing/incoming_buffer.{h,cc}. Paper: ERIS 3.2.
 *
 * Two halves, each with a descriptor | active | offset | writers | in one word. WRITERS threads run
 * TryWrite until RECORDS records each are in; one owner runs TryTake, reads what it took, and takes
 * again. Every access to a shared word (descriptors, `writable`, each word of a record) is a step
 * of its own; the CAS and the fetch operations are one step, as in the machine.
 *
 * Abstracted: records are one or two words long (by writer), a half has HALF words; a writer that
 * is refused tries again with the same record; the owner looks once at the writers instead of 64
 * times, then goes on to its next turn; the weak CAS does not fail without a reason, which would
 * only repeat the step. A word that has been read is set to 0: the real buffer leaves it, here it
 * makes a word that was read too early, or overwritten, visible. Sequentially consistent: memory
 * orders are not modelled (see README.md).
 *
 * Properties
 *   - every record written is read exactly once (`been_read`), and none is lost;
 *   - no word is read before it is written, none is overwritten before it is read (memory[] == 0);
 *   - a half is never opened while a writer is inside it;
 *   - what the owner reads ends inside the half;
 *   - `writable` always names an open half, so a writer that finds a closed one never waits for the
 *     owner: a newer value of `writable` is there already;
 *   - with -DLIVENESS: under weak fairness every record is read at last;
 *   - the records of one writer are read in the order in which it wrote them. That is what the
 *     generation in the descriptor is for: without it (-DNO_GENERATION -DIN_ORDER) a writer that
 *     stood still between loading `writable` and the descriptor may find its old half opened again
 *     and not yet published, reserve there, and put its next record into the half that is still
 *     published, which is read first.
 *
 * Planted bugs (-D; in the protocol without the generation): NO_ACTIVE_TEST, ACTIVE_TESTED_APART
 * (in another load than the one that the CAS compares), CLOSE_FIRST (close, open, publish),
 * END_BEFORE_CLOSE (the end is read, then the half closed), OPEN_TOO_EARLY (the half is opened
 * before it is read), NO_WAIT_FOR_WRITERS, FETCH_ADD (instead of the CAS: a record that does not
 * fit still moves the end, and the owner reads what nobody has written).
 */
#ifndef WRITERS
#define WRITERS 3
#endif
#ifndef RECORDS
#define RECORDS 2
#endif
#ifndef HALF
#define HALF 3 /* words */
#endif

#define ACTIVE 128
#ifndef NO_GENERATION
#define IN_ORDER
/* Flips are few here, so all of the count stands in the descriptor. */
#define LOOK(half) generation = writable; half = generation & 1
#define OPENED (ACTIVE | ((generation + 1) << 8))
#define PUBLISH writable = generation + 1
#define STALE (seen >> 8) != generation
#else
#define LOOK(half) half = writable
#define OPENED ACTIVE
#define PUBLISH writable = 1 - half
#define STALE false
#endif
#define OFFSET(d) (((d) & 127) >> 2)
#define INSIDE(d) ((d) & 3)
#define SIZE(w) (1 + (w) % 2)
#define RESERVE(w) (SIZE(w) * 4 + 1)
/* What word `part` of record `r` of writer `w` holds; never 0. */
#define WORD(w, r, part) (1 + (part) + 2 * ((r) + RECORDS * (w)))

short descriptor[2];
byte writable;
byte memory[2 * HALF];

/* The observer's. */
byte been_read[WRITERS]; /* a bit for each record */
byte read_records;
byte finished; /* writers */

proctype Writer(byte me) {
  byte half, part, sent, generation;
  short seen;
#ifdef ACTIVE_TESTED_APART
  byte tested;
#endif
  do
  :: sent == RECORDS -> break
  :: else ->
find:
    atomic { LOOK(half) };
#ifdef ACTIVE_TESTED_APART
    tested = descriptor[half];
#endif
    atomic {
      seen = descriptor[half];
      assert((seen & ACTIVE) || (writable & 1) != half)
    };
test:
    if
#ifdef ACTIVE_TESTED_APART
    :: (tested & ACTIVE) == 0 -> goto find
#elif !defined(NO_ACTIVE_TEST)
    :: (seen & ACTIVE) == 0 || STALE -> goto find
#endif
    :: else ->
#ifdef FETCH_ADD
      atomic {
        seen = descriptor[half];
        descriptor[half] = seen + RESERVE(me)
      };
      if
      :: OFFSET(seen) + SIZE(me) > HALF ->
        descriptor[half] = descriptor[half] - 1;
        writable != half; /* once a half: the word must not overflow */
        goto find
      :: else
      fi
#else
      if
      :: OFFSET(seen) + SIZE(me) > HALF -> goto find /* refused: the caller tries again */
      :: else
      fi;
      atomic {
        if
        :: descriptor[half] == seen -> descriptor[half] = seen + RESERVE(me)
        :: else -> seen = descriptor[half]; goto test
        fi
      }
#endif
    fi;
    do
    :: part < SIZE(me) ->
      atomic {
        assert(OFFSET(seen) + part < HALF);
        assert(memory[half * HALF + OFFSET(seen) + part] == 0);
        memory[half * HALF + OFFSET(seen) + part] = WORD(me, sent, part);
        part++
      }
    :: else -> break
    od;
    atomic {
      descriptor[half] = descriptor[half] - 1;
      part = 0; seen = 0; half = 0;
      sent++;
      if
      :: sent == RECORDS -> finished++
      :: else
      fi
    }
  od
}

proctype Owner() {
  byte half, end, at, word, part, from, record, generation;
  bool closing;
  do
  :: !closing ->
    atomic {
      LOOK(half);
      if
      :: OFFSET(descriptor[half]) == 0 && finished == WRITERS ->
        assert(read_records == WRITERS * RECORDS); /* nothing lost */
        break
      :: OFFSET(descriptor[half]) == 0 && finished < WRITERS -> goto turn
      :: else
      fi
    };
#ifdef CLOSE_FIRST
    atomic {
      end = OFFSET(descriptor[half]);
      descriptor[half] = descriptor[half] & ~ACTIVE
    };
#endif
    atomic { /* open */
      assert(INSIDE(descriptor[1 - half]) == 0);
#ifdef OPEN_TOO_EARLY
      descriptor[1 - half] = descriptor[1 - half] | ACTIVE
#else
      descriptor[1 - half] = OPENED
#endif
    };
    PUBLISH;
#ifdef END_BEFORE_CLOSE
    end = OFFSET(descriptor[half]);
    descriptor[half] = descriptor[half] & ~ACTIVE;
#elif !defined(CLOSE_FIRST)
    atomic { /* close */
      end = OFFSET(descriptor[half]);
      descriptor[half] = descriptor[half] & ~ACTIVE
    };
#endif
    assert(end <= HALF);
    closing = true
  :: closing ->
#ifndef NO_WAIT_FOR_WRITERS
    if
    :: INSIDE(descriptor[half]) != 0 -> goto turn /* looked at again in the next turn */
    :: else
    fi;
#endif
#ifdef OPEN_TOO_EARLY
    descriptor[half] = ACTIVE;
#endif
    do
    :: at < end ->
      d_step {
        word = memory[half * HALF + at];
        memory[half * HALF + at] = 0;
        assert(word != 0); /* complete */
        from = (word - 1) / 2 / RECORDS;
        record = ((word - 1) / 2) % RECORDS;
        assert(word == WORD(from, record, part)); /* whole: its words one after the other */
        assert((been_read[from] >> record & 1) == 0);
#ifdef IN_ORDER
        assert(record == 0 || (been_read[from] >> (record - 1) & 1) == 1);
#endif
        at++;
        part++;
        if
        :: part == SIZE(from) ->
          part = 0;
          been_read[from] = been_read[from] | (1 << record);
          read_records++
        :: else
        fi;
        word = 0; from = 0; record = 0
      }
    :: else -> break
    od;
    assert(part == 0);
    atomic { at = 0; end = 0; half = 0; closing = false };
turn:
    skip
  od
}

init {
  byte w;
  atomic {
    descriptor[0] = ACTIVE;
    run Owner();
    for (w : 0 .. WRITERS - 1) { run Writer(w) }
  }
}

#ifdef LIVENESS
ltl all_read { <> (read_records == WRITERS * RECORDS) }
#endif
