/* Multicast: Port::Multicast in routing/port.cc, BlockPool in routing/block_pool.h, what the target
 * does with a reference in aeu/aeu_control.cc (RunControl). Paper: ERIS 3.2.
 *
 * A Port sends COMMANDS commands to AEUS AEUs each: one copy in a multicast buffer (a block with
 * ROOM commands, of a pool of BLOCKS) and a reference to every target, through a queue of CAPACITY.
 * readers = references not executed yet, and one for the Port while it may add to the block. Who
 * lets go last sends the block home: pushed by CAS on a list that the Port empties by exchange. A
 * target whose queue is full is refused its reference, and the Port lets go for it. An AEU copies a
 * command's parameters (two words), lets go, and begins a scan of SLICES chunks; a scan has one
 * chunk among all its parts, and its consumer gives that back only when the command AHEAD of it (1:
 * the next) has reached or been refused by every target. The Port may end after any command, with
 * blocks out: the pool is freed by whoever lets go of it last.
 *
 * Abstracted: the way a reference travels (incoming_buffer.pml, ingress.pml), so a queue is full or
 * not at one instant; a Port waits for a block without a bound, which is the worse case for a
 * deadlock; a block's `next` is written in the step that loads the list's head, as nobody else may
 * look at it; one size of blocks. What stands in a block is cleared when it has come home, to make
 * an early read visible. Sequentially consistent (see README.md).
 *
 * Properties
 *   - each target executes each command once, or the Port was told that it did not get it;
 *   - what is read is the command that was written; a block is not emptied or written while a
 *     reference to it has not been read;
 *   - no more than BLOCKS blocks; all are in the pool when it is freed, that happens once, and
 *     nothing of it is touched after;
 *   - no deadlock: the only end is that all commands and scans have ended and the pool is freed;
 *   - with -DLIVENESS: under weak fairness that end is reached.
 *
 * Planted bugs (-D): HELD_BY_SCAN (the block is let go at the end of the scan), RELEASE_TWICE
 * (there, too), COUNT_AFTER_SEND (references are counted when the first is on its way), NO_HOLD
 * (the Port adds to a block that it does not hold), FREED_BY_FIRST_READER (whoever lets go first
 * sends the block home), REFUSED_NOT_COUNTED (nobody lets go for a target that was refused),
 * COLLECT_BY_LOAD (the list is emptied by a load and a store), POOL_FREED_BY_PORT (with blocks
 * out).
 */
#ifndef AEUS
#define AEUS 2
#endif
#ifndef COMMANDS
#define COMMANDS 3
#endif
#define MOST 4 /* COMMANDS is no more */
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef ROOM
#define ROOM 1
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef AHEAD
#define AHEAD 1
#endif
#ifndef SLICES
#define SLICES 2
#endif

#define ALL ((1 << AEUS) - 1)
#define WORD(b, slot, part) words[((b) * ROOM + (slot)) * 2 + (part)]

chan incoming[AEUS] = [CAPACITY] of { byte, byte, byte }; /* block, slot; the observer's command */

/* The pool. Blocks and commands count from 1. */
byte references = 1; /* the Port's, and one for each block out */
byte returned;       /* the list of blocks that have come home */
byte free_blocks;    /* the Port's own list */
byte allocated;
byte next[BLOCKS + 1], readers[BLOCKS + 1], used[BLOCKS + 1];
byte words[(BLOCKS + 1) * ROOM * 2];

/* The scans: chunks at hand, and with the consumer. */
byte chunks[MOST + 1], delivered[MOST + 1];

/* The observer's. */
bool freed;
bool port_ended;
byte sent; /* commands */
byte unread[BLOCKS + 1];
byte executed[MOST + AHEAD + 1], refused[MOST + AHEAD + 1]; /* a bit for each AEU */
byte running; /* parts of scans */

#define TOUCH assert(!freed)

inline put(b) {
  assert(unread[b] == 0);
  used[b] = 0;
  n = 0;
  do
  :: n < ROOM -> WORD(b, n, 0) = 0; WORD(b, n, 1) = 0; n++
  :: else -> n = 0; break
  od;
  next[b] = free_blocks;
  free_blocks = b
}

/* The last step of whoever frees it: no other step of the pool follows. */
inline free_pool() {
  TOUCH;
  freed = true;
  n = 0;
  do
  :: returned != 0 -> n++; returned = next[returned]
  :: free_blocks != 0 -> n++; free_blocks = next[free_blocks]
  :: else -> break
  od;
  assert(n == allocated); /* none is missing, none is there twice */
  n = 0
}

inline unref() {
  atomic {
    TOUCH;
    references--;
    if
    :: references == 0 -> free_pool()
    :: else
    fi
  }
}

#ifdef FREED_BY_FIRST_READER
#define IS_LAST true
#else
#define IS_LAST (seen == count)
#endif

inline release(b, count) {
  atomic { TOUCH; seen = readers[b]; readers[b] = seen - count };
  if
  :: IS_LAST ->
    atomic { TOUCH; head = returned; next[b] = head };
    do
    :: atomic {
        TOUCH;
        if
        :: returned == head -> returned = b; break
        :: else -> head = returned; next[b] = head
        fi
      }
    od;
    atomic { head = 0; seen = 0 };
    unref()
  :: else -> seen = 0
  fi
}

inline let_go_of_buffer() {
  if
  :: buffer != 0 ->
#ifndef NO_HOLD
    release(buffer, 1);
#endif
    buffer = 0
  :: else
  fi
}

proctype Port() {
  byte command = 1, block, buffer, slot, to, without, head, seen, n;
  do
  :: command <= COMMANDS ->
    if
    :: buffer != 0 && used[buffer] == ROOM -> let_go_of_buffer()
    :: else
    fi;
    do
    :: buffer != 0 -> break
    :: atomic { buffer == 0 && free_blocks != 0 ->
        buffer = free_blocks;
        free_blocks = next[buffer];
        next[buffer] = 0;
#ifdef NO_HOLD
        readers[buffer] = 0;
#else
        readers[buffer] = 1;
#endif
        references++ /* HandOver: nobody else knows the block */
      }
    :: atomic { buffer == 0 && free_blocks == 0 && returned == 0 && allocated < BLOCKS ->
        allocated++;
        free_blocks = allocated
      }
    :: atomic { buffer == 0 && free_blocks == 0 && returned != 0 -> head = returned };
#ifndef COLLECT_BY_LOAD
      atomic { head = returned; returned = 0 };
#else
      returned = 0;
#endif
      atomic {
        do
        :: head != 0 -> block = head; head = next[block]; put(block)
        :: else -> block = 0; break
        od
      }
    od;
    /* The only copy. Then its readers, before the first can be one. */
    atomic {
      block = buffer;
      slot = used[block];
      used[block]++;
      assert(WORD(block, slot, 0) == 0 && WORD(block, slot, 1) == 0);
      WORD(block, slot, 0) = command
    };
    WORD(block, slot, 1) = command;
#ifndef COUNT_AFTER_SEND
    readers[block] = readers[block] + AEUS;
#endif
    do
    :: to < AEUS ->
      atomic {
        if
        :: nfull(incoming[to]) ->
          assert(used[block] > slot);
          unread[block]++;
          incoming[to]!block, slot, command;
          to++;
          goto reference_sent
        :: true /* full: also of what others have sent */
        fi
      };
      let_go_of_buffer(); /* what is buffered goes first, and is added to no more */
      atomic {
        refused[command] = refused[command] | (1 << to);
        without++;
        to++
      };
reference_sent:
#ifdef COUNT_AFTER_SEND
      if
      :: to == 1 -> readers[block] = readers[block] + AEUS
      :: else
      fi
#else
      skip
#endif
    :: to == AEUS -> to = 0; break
    od;
    if
    :: without > 0 ->
#ifndef REFUSED_NOT_COUNTED
      release(block, without);
#endif
      without = 0
    :: else
    fi;
    atomic { block = 0; slot = 0; sent++; command++ };
    if
    :: ROOM > 1 -> skip /* more may follow before the next flush */
    :: let_go_of_buffer() /* Flush */
    fi
  :: true -> break /* all is sent, or the Port ends early */
  od;
  let_go_of_buffer();
  port_ended = true;
#ifdef POOL_FREED_BY_PORT
  atomic { free_pool() }
#else
  unref()
#endif
}

#define RUNS(c) (left[c] > 0 && chunks[c] > 0)

proctype Aeu(byte me) {
  byte block, slot, command, head, seen, n;
  byte left[MOST + 1]; /* slices of the scans that run here */
#if defined(HELD_BY_SCAN) || defined(RELEASE_TWICE)
  byte held[MOST + 1];
#endif
end:
  do
  :: incoming[me]?block, slot, command ->
    atomic { TOUCH; assert(WORD(block, slot, 0) == command) };
    atomic {
      TOUCH;
      assert(WORD(block, slot, 1) == command);
      unread[block]--;
      assert(((executed[command] | refused[command]) >> me & 1) == 0);
      left[command] = SLICES;
      running++
    };
#if defined(HELD_BY_SCAN) || defined(RELEASE_TWICE)
    held[command] = block;
#endif
#ifndef HELD_BY_SCAN
    release(block, 1);
#endif
    atomic {
      executed[command] = executed[command] | (1 << me);
      block = 0; slot = 0; command = 0
    }
  /* A slice of a scan that has a chunk to fill. Without one it pauses. */
  :: atomic {
      if
      :: RUNS(1) -> command = 1
      :: RUNS(2) -> command = 2
      :: RUNS(3) -> command = 3
      :: RUNS(4) -> command = 4
      fi;
      chunks[command]--;
      delivered[command]++;
      left[command]--
    };
#if defined(HELD_BY_SCAN) || defined(RELEASE_TWICE)
    if
    :: left[command] == 0 -> block = held[command]; release(block, 1); block = 0
    :: else
    fi;
#endif
    atomic {
      if
      :: left[command] == 0 -> running--
      :: else
      fi;
      command = 0
    }
  od
}

#define GIVES_BACK(c) (delivered[c] > 0 && \
                       (port_ended || (executed[c + AHEAD] | refused[c + AHEAD]) == ALL))

proctype Consumer() {
  byte command;
end:
  do
  :: atomic {
      if
      :: GIVES_BACK(1) -> command = 1
      :: GIVES_BACK(2) -> command = 2
      :: GIVES_BACK(3) -> command = 3
      :: GIVES_BACK(4) -> command = 4
      fi;
      delivered[command]--;
      chunks[command]++;
      command = 0
    }
  od
}

#define THROUGH(c) (sent < c || (executed[c] | refused[c]) == ALL)
#define ENDED (freed && running == 0 && THROUGH(1) && THROUGH(2) && THROUGH(3) && THROUGH(4))

init {
  byte n;
  atomic {
    for (n : 1 .. COMMANDS) { chunks[n] = 1 }
    for (n : 0 .. AEUS - 1) { run Aeu(n) }
    run Consumer();
    run Port()
  };
  ENDED
}

#ifdef LIVENESS
ltl ends { <> ENDED }
#endif
