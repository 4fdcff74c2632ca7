/* Memory that migrates while threads write it: leap/held_area.{h,cc} and leap/migration.cc.
 *
 * An area of two words. WRITERS threads increment a word each, INCREMENTS times. The migrator makes
 * up to ATTEMPTS attempts: it puts the area in the handler's table, protects it, copies word by word,
 * and ends the attempt: a remap puts new memory, which is writable, in the old one's place. A write
 * to protected memory is a fault; the thread comes to the handler at any later time (FAULTED), which
 * searches the table, and tries the write again. Without an area there it looks how many areas have
 * been let go: a second fault with the same number in between is not ours, and the process would
 * end.
 *
 * Hold (the default): the handler waits until the area is let go. Retry (-DRETRY): it notes that the
 * area is dirty and removes the protection, under the area's lock, under which the migrator checks
 * and remaps. Its last attempt holds. Owner (-DOWNER): the only writer is the migrator, which writes
 * between attempts.
 *
 * In each of them a reader looks at one word meanwhile.
 *
 * Abstracted: sizes, pieces of a dirty area (an attempt at all of it), userfaultfd (the kernel does
 * what the table and the wait do here), other areas. Sequentially consistent (see README.md).
 *
 * Properties
 *   - no write is lost: in the end each word has its increments;
 *   - no fault of ours is taken for somebody else's;
 *   - old memory is freed only when no mapping refers to it, so no thread reads freed memory;
 *   - no state without a successor but the end: no writer waits for ever; the area has moved.
 *
 * Planted bugs (-D): with RETRY CHECK_APART (the protocol as it is printed: the check and the remap
 * are two steps), STALE_HANDLER (a handler removes the protection of whatever attempt is under way,
 * and notes nothing), MARK_CLEARED_LATE (the mark of the attempt before is cleared after the area has
 * been protected); COUNT_LATE (an area is counted as let go after it has left the table), FREED_EARLY
 * (the old memory is freed before the remap), UNPROTECT_AT_END (hold: somebody takes the protection
 * away before the remap, so that writers go on sooner), LATE_TABLE (the area is protected before it is
 * in the table), and with OWNER NO_BOUNDARY (the owner writes between copy and remap).
 */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef INCREMENTS
#define INCREMENTS 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif

#define UNUSED 0
#define WAITING 1
#define NOTING 2
#define DIRTY 3

byte old_memory[2];
byte new_memory[2];
bool moved;     /* the mapping */
bool protected; /* of the old memory's mapping; the new one is writable */
bool old_freed;

/* The slot of the table. `use` makes its word another one each time. */
byte slot = UNUSED;
byte use;
bool locked;
byte let_go;

byte running; /* writers */

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

/* The store itself: the processor looks at the mapping and its rights in one step. */
inline increment(w) {
  if
  :: moved -> new_memory[w]++
  :: else -> assert(!old_freed); old_memory[w]++
  fi
}

proctype Writer(byte w) {
  byte done, seen_use, last_let_go;
  bool unknown; /* the last fault was in no area */
  do
  :: done == INCREMENTS -> break
  :: else ->
    atomic {
      if
      :: moved || !protected -> increment(w); done++; goto next
      :: else /* a fault */
      fi
    };
    /* The handler. */
    atomic {
      seen_use = use;
      if
      :: slot == UNUSED -> goto none
      :: slot == WAITING -> goto wait
      :: slot == NOTING -> goto note
      :: slot == DIRTY -> goto next
      fi
    };
wait:
    atomic { !(slot == WAITING && use == seen_use) -> goto next };
note:
#ifdef STALE_HANDLER
    protected = false;
#else
    lock();
    if
    :: slot == NOTING && use == seen_use -> slot = DIRTY; protected = false
    :: else
    fi;
    unlock();
#endif
    goto next;
none:
    atomic {
      assert(let_go > 0 && !(unknown && last_let_go == let_go));
      unknown = true;
      last_let_go = let_go
    };
next:
    seen_use = 0
  od;
  running--
}

proctype Migrator() {
  byte attempt, i;
  bool clean;
  do
  :: moved || attempt == ATTEMPTS -> break
  :: else ->
    attempt++;
#ifdef LATE_TABLE
    protected = true;
#endif
    atomic {
      use++;
#ifdef RETRY
      slot = (attempt < ATTEMPTS -> NOTING : WAITING);
#else
      slot = WAITING;
#endif
    };
#ifndef LATE_TABLE
    protected = true;
#endif
#ifdef MARK_CLEARED_LATE
    atomic {
      if
      :: slot == DIRTY -> slot = NOTING
      :: else
      fi
    };
#endif
    new_memory[0] = old_memory[0];
    new_memory[1] = old_memory[1];
#ifdef FREED_EARLY
    old_freed = true;
#endif
#ifdef UNPROTECT_AT_END
    protected = false;
#endif
#ifndef CHECK_APART
    lock();
#endif
    clean = slot != DIRTY;
    if
    :: clean -> atomic { moved = true; old_freed = true }
    :: else -> protected = false
    fi;
#ifdef COUNT_LATE
    slot = UNUSED;
    let_go++;
#else
    let_go++;
    slot = UNUSED;
#endif
#ifndef CHECK_APART
    unlock();
#endif
    clean = false
  od
}

/* The only writer, at whose boundaries the area moves. */
proctype Owner() {
  byte done, i;
  do
  :: done < INCREMENTS -> atomic { increment(0); done++ }
  :: !moved ->
    new_memory[0] = old_memory[0];
#ifdef NO_BOUNDARY
    if
    :: done < INCREMENTS -> atomic { increment(0); done++ }
    :: true
    fi;
#endif
    new_memory[1] = old_memory[1];
    atomic { moved = true; old_freed = true }
  :: done == INCREMENTS && moved -> break
  od;
  running--
}

proctype Reader() {
  byte seen, now, times;
  for (times : 1 .. 3) {
    atomic {
      if
      :: moved -> now = new_memory[0]
      :: else -> assert(!old_freed); now = old_memory[0]
      fi;
      assert(now >= seen); /* no older value comes back */
      seen = now
    }
  }
  running--
}

init {
  byte i;
#ifdef OWNER
  atomic { running = 2; run Owner(); run Reader() };
  (_nr_pr == 1);
  assert(moved && new_memory[0] == INCREMENTS)
#else
  atomic {
    running = WRITERS + 1;
    run Migrator();
    run Reader();
    for (i : 0 .. WRITERS - 1) { run Writer(i) }
  };
  (_nr_pr == 1);
  assert(moved);
  for (i : 0 .. WRITERS - 1) { assert(new_memory[i] == INCREMENTS) }
#endif
}
