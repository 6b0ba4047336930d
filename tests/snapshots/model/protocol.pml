/* Snapshots beside a writer, for Spin: undo/snapshot_words, undo/before_images, and the stores of
 * undo/undo_log that they depend on. All that one writer and one reader can do; check.sh runs it.
 *
 * It asserts that a word which the reader accepts is what it was at the end of the snapshot's
 * block, and that the log never looks damaged. At any time the snapshot may be too old.
 *
 * Memory is as weak as C++ lets it be: what the writer stores between two release fences is seen in
 * any order, and what the reader loads between two acquire fences is loaded in any order. Fences
 * that recovery needs and no reader (undo_log.cpp, ordered()) are not there.
 *
 * Bounds: two words; a log of N chunks with one record each, used in turn; the DEPTH newest blocks
 * can be undone; one loss; one area that is outgrown and given back; a list of 2 rollbacks instead
 * of 60; and what is defined below. No run has all of it at once, so check.sh makes several.
 *
 * Not modelled:
 *  - Announcements: the writer uses a chunk again as soon as no session needs it. An announcement
 *    has it do so later. Likewise require_usable() after it, which ends early what would end.
 *  - Marks of sessions, which the reader skips, and sessions within sessions.
 *  - A writer that dies, and the next one: it begins with a loss.
 *  - Halves of records: each is stored and loaded whole, with its chunk's header.
 *  - busy_error: a reader that waits longer than its patience is one that never goes on.
 *
 * In the code, but not here, as what is asserted holds without:
 *  - The fence between the turn and the edition: that after the edition comes before the end, too.
 *  - The turn again, at the begin: an older one knows of more rollbacks. Without it a snapshot may
 *    be too old at once, where it could have begun again.
 *  - The fence between the turn again and the losses: all that is looked at there only grows, so it
 *    does not matter when after the records that is.
 * And one of FENCES_AFTER_ODD_TURN is enough: with either the turn is seen before the bytes. */

/* What is left out by -DWITHOUT=<name>; check.sh reads this list. Of the writer: */
#define FENCE_BEFORE_TAIL 1 /* the fence between a record and the tail */
#define FENCE_AFTER_TAIL 2 /* the fence between the tail and the bytes */
#define FENCES_AFTER_ODD_TURN 3 /* the fences between the odd turn and what is copied back */
#define FENCE_BEFORE_EVEN_TURN 4 /* the fence before the even turn */
#define FENCE_AFTER_ODD_EDITION 5 /* the fence after the odd edition */
#define FENCE_BEFORE_EVEN_EDITION 6 /* the fence before the even edition */
#define FENCE_AFTER_ODD_LOSSES 7 /* the fence after odd losses */
#define FENCE_BEFORE_EVEN_LOSSES 8 /* the fence before even losses */
#define FENCE_AFTER_FLOOR 9 /* the fence after the floor */
#define FENCE_AFTER_GIVEN_BACK 10 /* the fence after given_back */
#define END_BEFORE_EVEN_TURN 11 /* an end that moves back before the turn is even */
#define HOW_FAR 12 /* how far a rollback goes */
#define LOWER_OF_TWO 13 /* the lower one of two rollbacks that are merged */
#define LOSS_OF_CHANGES 14 /* the loss of a change outside of sessions */
#define LOSS_OF_LOG 15 /* the loss of an emptied log */
#define FLOOR_FIRST 16 /* a floor that is raised before a chunk is used again */
#define NEW_EPOCH 17 /* the new epoch after a block or a rollback */
/* Of the reader that begins: */
#define ACQUIRE_AFTER_EDITION 20 /* the fence between the edition and the end */
#define ACQUIRE_AFTER_END 21 /* the fence between the end and the edition again */
#define EVEN_TURN_AT_BEGIN 22 /* an even turn at the begin */
#define EVEN_LOSSES 23 /* even losses at the begin */
#define EVEN_EDITION 24 /* an even edition */
#define EDITION_AGAIN 25 /* the edition, looked at again */
/* Of the reader: */
#define ACQUIRE_AFTER_TURN 30 /* the fence after the turn */
#define ACQUIRE_AFTER_COPY 31 /* the fence between the copy and the tail */
#define ACQUIRE_AFTER_TAIL 32 /* the fence between the tail and the records */
#define ACQUIRE_AFTER_RECORDS 33 /* the fence between the records and the turn again */
#define EVEN_TURN 34 /* an even turn */
#define TURN_AGAIN 35 /* the turn, looked at again */
#define LOSSES_AGAIN 36 /* losses, looked at again */
#define FLOOR_BELOW 37 /* the floor */
#define WHOLE_CHUNK 38 /* the floor, for a block that ended where its chunk does */
#define GIVEN_BACK_BEFORE 39 /* given_back */
#define UNDONE 40 /* a look whether its block was undone */
#define READ_AGAIN 41 /* records since a rollback, read again */
#define COPY_FIRST 42 /* a copy that is made before the log is read */
#define PUT_BACK 43 /* images, put back */
#define OLDEST_LAST 44 /* the oldest image, put back last */
/* Of the reader that moves to a newer block, or catches up: */
#define COPY_AGAIN 50 /* another copy of what changed up to a newer block */
#define EVEN_TURN_NOW 51 /* an even turn after the records */
#define ACQUIRE_BEFORE_LIST 52 /* the fence between that turn and the list of rollbacks */
#define ROLLED_BACK_LATER 53 /* a look whether what was read was rolled back */
#define ACQUIRE_AFTER_LIST 54 /* the fence between the list of rollbacks and that turn again */
#define NOW_AGAIN 55 /* that turn, looked at again */
#ifndef WITHOUT
#define WITHOUT 0
#endif
#define HAS(part) (WITHOUT != part)
#define WHEN(condition, ...) if :: condition -> __VA_ARGS__ :: else fi

#ifndef CHANGES
#define CHANGES 3 /* of words */
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 2
#endif
#ifndef HAD_ROLLBACK
#define HAD_ROLLBACK false /* one before all this, so that the list is half full */
#endif
#ifndef WORDS
#define WORDS 2 /* 1: word 0 alone changes */
#endif
#ifndef MAY_LOSE
#define MAY_LOSE true
#endif
#ifndef CALLS
#define CALLS 2 /* of the reader */
#endif
#ifndef RENEWALS
#define RENEWALS 0 /* moves to the newest block, among these */
#endif
#ifndef MAY_CATCH_UP
#define MAY_CATCH_UP false /* as with_images does between two tries */
#endif
#define N 3
#define DEPTH 2

/* --- memory --- */

/* Words are 0 and 1. A time is the sequence of the chunk that comes next. So each block ends where
 * a chunk does, which is the hardest place: only this chunk tells the time of a tail there. */
#define SLOT(p) (2 + (p)) /* a chunk: its sequence, and which word had which value */
#define MADE(time, word, value) ((time) * 16 + (value) * 2 + word)
#define TIME(slot) (slot / 16)
#define VALUE(slot) (slot / 2 % 8)
#define WORD(slot) (slot % 2)
#define TAIL 5 /* which slot comes next */
#define TURN 6
#define LOSSES 7
#define FLOOR 8
#define GIVEN_BACK 9
#define EDITION 10
#define END 11 /* number of the block, instead of its revision */
#define END_TIME 12
#define END_EPOCH 13
#define COMPLETED 14 /* as TAIL */
#define COUNT 15 /* of rollbacks in the list */
#define LIST 16 /* of one: its turn, how far it went; and the same of another one */
#define BIT(v) (1 << (v))
#define OF_SLOTS (7 << SLOT(0)) /* bits of all these */
#define OF_END (15 << EDITION)
#define OF_LIST (31 << COUNT)
#define OF_CHECK (15 << TURN)
byte own[20]; /* as the writer stored them last */
byte mem[20]; /* as the reader sees them */

int pending; /* what is stored and not seen yet */
int awaited; /* what must be seen before the writer goes on */
int due;     /* what the reader loaded last, if anything since; it is seen next */
bool ended;  /* by the writer */
bool over;   /* for the reader */

/* For the assertion: the words at the end of each block, and after a loss, which may change them */
#define BLOCKS (CHANGES + 1)
#define UNUSED 8 /* outgrown: it may have any value */
#define GARBAGE 7
byte history[2 * BLOCKS * 2], expected[2];
#define HISTORY(losses, block, word) history[((losses) / 2 * BLOCKS + block) * 2 + word]
bool begun;
byte renewals;
#define IS_PUBLIC (!begun || renewals < RENEWALS) /* else nobody looks at the end any more */

/* For the reader it is the same whether the writer waits here or its later stores do. */
#define FENCE(name) awaited = (HAS(name) -> pending : 0); (!awaited)
inline put(v, x) {
    awaited = pending & BIT(v); (!awaited); /* one value after the other */
    own[v] = x;
    pending = pending | BIT(v)
}

/* What is left to load: a bit each, in the order of the code. A load waits for those before the
 * last fence that is there. */
byte todo;
#define LOAD(bit, after, when, what, ...) \
    :: atomic { (awaited || ended) && (todo & bit) && !(todo & (after)) && (when) -> \
        __VA_ARGS__; todo = todo & ~bit; due = what }
#define IS_EVEN(v) (mem[v] % 2 == 0)
#define L_TURN 1 /* the first one always; then those of begin() */
#define L_LOSSES 2
#define L_EDITION 4
#define L_END 8
#define L_END_TIME 16
#define L_END_EPOCH 32
#define L_AGAIN 64
#define ALL_AT_BEGIN 127
#define BEFORE_END (HAS(ACQUIRE_AFTER_EDITION) -> 7 : 0)
#define BEFORE_AGAIN (HAS(ACQUIRE_AFTER_END) -> 63 : BEFORE_END)
#define L_COPY 2 /* those of with_images() */
#define L_TAIL 4 /* and the list of rollbacks */
#define L_SLOTS 8
#define L_CHECK 16 /* turn, losses, floor, given_back: they only grow, so at once */
#define ALL 31
#define BEFORE_COPY (HAS(COPY_FIRST) -> (HAS(ACQUIRE_AFTER_TURN) -> 1 : 0) : 13)
#define BEFORE_TAIL (HAS(COPY_FIRST) -> (HAS(ACQUIRE_AFTER_COPY) -> 3 : BEFORE_COPY) : 1)
#define BEFORE_SLOTS (HAS(ACQUIRE_AFTER_TAIL) -> (HAS(COPY_FIRST) -> 7 : 5) : BEFORE_TAIL)
#define BEFORE_CHECK (HAS(ACQUIRE_AFTER_RECORDS) -> 15 : BEFORE_SLOTS)
#define L_PLACE 2 /* those of catch_up(), with what calls it: place, slots, now, list, check */
#define L_NOW 32
#define L_LIST 4
#define ALL_TO_CATCH_UP 63
#define BEFORE_PLACE (HAS(ACQUIRE_AFTER_TURN) -> 1 : 0)
#define BEFORE_ITS_SLOTS (HAS(ACQUIRE_AFTER_TAIL) -> 3 : BEFORE_PLACE)
#define BEFORE_NOW (HAS(ACQUIRE_AFTER_RECORDS) -> 11 : BEFORE_ITS_SLOTS)
#define BEFORE_LIST (HAS(ACQUIRE_BEFORE_LIST) -> 43 : BEFORE_NOW)
#define BEFORE_LAST (HAS(ACQUIRE_AFTER_LIST) -> 47 : BEFORE_LIST)

byte turn, losses, edition, block, from, epoch, calls, asked, kept[N], read_to; /* of the reader */
byte turn_first, turn_now, copy, tail, lowest, later, until, read[N], i; /* of one call */
byte to, to_time, to_epoch, held, values[2]; /* for moving to a newer block */
bool same, is_over, is_whole;
#define RENEWS 2 /* asked for instead of a word: find_newest() and move_to() */
#define CATCHES_UP 3 /* with_images() does that after a try, up to what is complete */
#define IS_TOO_OLD (HAS(LOSSES_AGAIN) && mem[LOSSES] != losses || \
    HAS(FLOOR_BELOW) && (mem[FLOOR] > from || HAS(WHOLE_CHUNK) && mem[FLOOR] == from) || \
    HAS(GIVEN_BACK_BEFORE) && mem[GIVEN_BACK] >= epoch)
#define LOWEST_SINCE(t) (mem[COUNT] > 0 && mem[LIST] > t -> mem[LIST + 1] : \
    (mem[COUNT] > 1 && mem[LIST + 2] > t -> mem[LIST + 3] : 255))
#define LOOKS_AGAIN (asked < RENEWS -> HAS(TURN_AGAIN) : HAS(NOW_AGAIN))

inline forget_call() {
    turn_first = 0; turn_now = 0; copy = 0; tail = 0; lowest = 0; later = 0; until = 0; i = 0;
    same = false; is_over = false; is_whole = false;
    read[0] = 0; read[1] = 0; read[2] = 0;
    to = 0; to_time = 0; to_epoch = 0
}
inline try_again() {
    todo = (asked < RENEWS -> ALL : ALL_TO_CATCH_UP);
    forget_call()
}

/* What cannot be accepted any more is not followed: another try begins as if this one had not. */
inline drop_what_fails() {
    if
    :: !begun && HAS(EDITION_AGAIN) && !(todo & L_EDITION) && (todo & L_AGAIN) ->
        over = mem[EDITION] != edition
    :: begun && (todo & L_CHECK) && IS_TOO_OLD -> over = true
    :: begun && (todo & L_CHECK) && !(todo & (asked < RENEWS -> L_TURN : L_NOW)) &&
        LOOKS_AGAIN && mem[TURN] != turn_now -> try_again()
    :: else
    fi
}

/* Has the reader see what is stored, one by one and in any order, while the writer waits for it.
 * Nothing else that the writer does is seen, so loads happen only then, too; and as late as they
 * can: a load and what is seen of something else can change places without a difference. */
#define SEE(v) :: (pending & BIT(v)) && (!due || (due & BIT(v))) -> seen = v
#define SEE_3(v) SEE(v) SEE(v + 1) SEE(v + 2)
proctype memory() {
    byte seen;
    do
    :: atomic {
        awaited && todo && !over && (!due || (due & pending)) ->
        if
        SEE_3(0) SEE_3(3) SEE_3(6) SEE_3(9) SEE_3(12) SEE_3(15) SEE(18) SEE(19)
        fi;
        d_step {
            mem[seen] = own[seen];
            pending = pending & ~BIT(seen);
            awaited = awaited & pending;
            due = 0;
            seen = 0;
            drop_what_fails()
        } }
    od
}

/* --- the writer --- */

byte time = N; /* of the tail */
byte logged; /* which words have a record in this epoch */
byte value, rollbacks, blocks, top, ends[DEPTH + 1], names[DEPTH + 1]; /* the newest at top */
byte grown, grown_epoch; /* when word 1 was outgrown; 0: not yet */
byte w, down_to, k;
byte completed = N; /* up to which time */
bool outside, loses, is_pop, gone;

inline complete() {
    WHEN(MAY_CATCH_UP && completed != time, completed = time; put(COMPLETED, time % N))
}

inline publish() {
    WHEN(IS_PUBLIC,
        put(EDITION, own[EDITION] + 1);
        FENCE(FENCE_AFTER_ODD_EDITION);
        put(END, names[top]);
        put(END_TIME, time);
        put(END_EPOCH, own[END_EPOCH] + 1);
        FENCE(FENCE_BEFORE_EVEN_EDITION);
        put(EDITION, own[EDITION] + 1))
}
inline remember(losses) {
    WHEN(IS_PUBLIC,
        HISTORY(losses, names[top], 0) = own[0];
        HISTORY(losses, names[top], 1) = (grown -> UNUSED : own[1]))
}
/* The oldest block ends are no longer what a block can be undone to. */
inline commit(condition) {
    do
    :: top > 0 && (condition) ->
        ends[0] = ends[1]; names[0] = names[1];
        ends[1] = ends[2]; names[1] = names[2];
        ends[2] = 0; names[2] = 0;
        top--
    :: else -> break
    od
}
inline raise_floor(when) {
    WHEN(when && own[FLOOR] + N <= time, put(FLOOR, time - N + 1))
}
inline append() {
    raise_floor(HAS(FLOOR_FIRST));
    FENCE(FENCE_AFTER_FLOOR);
    put(SLOT(time % N), MADE(time, w, own[w]));
    FENCE(FENCE_BEFORE_TAIL);
    raise_floor(!HAS(FLOOR_FIRST));
    time++;
    put(TAIL, time % N);
    FENCE(FENCE_AFTER_TAIL)
}
inline new_epoch() {
    logged = (HAS(NEW_EPOCH) -> 0 : logged)
}
/* A change outside of sessions stays, and its record goes. An emptied log restarts where its last
 * chunk begins. */
inline lose() {
    k = ((outside -> HAS(LOSS_OF_CHANGES) : HAS(LOSS_OF_LOG)) -> 1 : 0);
    put(LOSSES, own[LOSSES] + k);
    FENCE(FENCE_AFTER_ODD_LOSSES);
    time--;
    ends[top] = time;
    put(TAIL, time % N);
    complete();
    remember(own[LOSSES] + k);
    WHEN(!outside, publish());
    FENCE(FENCE_BEFORE_EVEN_LOSSES);
    put(LOSSES, own[LOSSES] + k);
    k = 0; loses = false; outside = false;
    new_epoch()
}
inline begin_rollback() {
    put(TURN, own[TURN] + 1);
    FENCE(FENCES_AFTER_ODD_TURN);
    k = own[COUNT];
    do
    :: k > 0 && own[LIST + 2 * k - 1] >= down_to -> k--
    :: else -> break
    od;
    WHEN(k == 2, /* there is no room: the two become one */
        WHEN(HAS(LOWER_OF_TWO), put(LIST + 3, own[LIST + 1]));
        put(LIST, own[LIST + 2]);
        put(LIST + 1, own[LIST + 3]);
        k--);
    put(LIST + 2 * k, own[TURN]);
    w = (HAS(HOW_FAR) -> down_to : time);
    put(LIST + 2 * k + 1, w);
    put(COUNT, k + 1);
    k = 0;
    FENCE(FENCES_AFTER_ODD_TURN)
}
inline roll_back() {
    rollbacks++;
    begin_rollback();
    do
    :: time > down_to ->
        time--;
        w = WORD(own[SLOT(time % N)]);
        put(w, VALUE(own[SLOT(time % N)]))
    :: else -> break
    od;
    WHEN(completed > time, complete());
    put(TAIL, time % N);
    WHEN(grown >= time, grown = 0; grown_epoch = 0);
    WHEN(HAS(END_BEFORE_EVEN_TURN) && is_pop, publish());
    FENCE(FENCE_BEFORE_EVEN_TURN);
    put(TURN, own[TURN] + 1);
    WHEN(!HAS(END_BEFORE_EVEN_TURN) && is_pop, publish());
    w = 0; down_to = 0; is_pop = false;
    new_epoch()
}

proctype writer() {
    atomic {
        do :: if
        :: value < CHANGES && time + 1 < ends[top] + N -> /* a word changes */
            if
            :: w = 0
            :: !grown && WORDS == 2 -> w = 1
            fi;
            if
            :: MAY_LOSE && !own[LOSSES] && time == ends[top] -> outside = true; commit(true)
            :: outside = false; commit(ends[0] + N <= time + 1)
            fi;
            if
            :: logged & BIT(w)
            :: else ->
                if
                :: w == 0 && !grown && !outside && WORDS == 2 -> /* and says so in word 0 */
                    grown = time;
                    grown_epoch = own[END_EPOCH]
                :: true
                fi;
                append();
                logged = logged | BIT(w)
            fi;
            value++;
            put(w, value);
            w = 0;
            loses = outside;
            if
            :: MAY_CATCH_UP && !outside -> complete() /* or the operation goes on */
            :: true
            fi
        :: time > ends[top] -> /* a block ends */
            complete();
            commit(top == DEPTH);
            top++;
            ends[top] = time;
            blocks = (IS_PUBLIC -> blocks + 1 : 0);
            names[top] = blocks;
            remember(own[LOSSES]);
            publish();
            new_epoch()
        :: rollbacks < ROLLBACKS && (time > ends[top] || top > 0) ->
            if
            :: time > ends[top] -> /* an operation or a session is undone */
                down_to = time - 1;
                do
                :: down_to > ends[top] -> down_to--
                :: break
                od
            :: top > 0 -> /* a block is undone */
                ends[top] = 0; names[top] = 0;
                top--;
                down_to = ends[top];
                is_pop = true
            fi;
            roll_back()
        :: MAY_LOSE && !own[LOSSES] && time == ends[top] && time > own[FLOOR] + 1 ->
            commit(true); /* the log is emptied */
            loses = true
        :: grown && grown < time && time == ends[top] && !gone -> /* word 1 is given back */
            commit(true);
            put(GIVEN_BACK, grown_epoch);
            FENCE(FENCE_AFTER_GIVEN_BACK);
            publish();
            put(1, GARBAGE);
            gone = true
        :: else -> break
        fi;
        WHEN(loses, lose())
        od;
        awaited = pending; (!awaited);
        ended = true
    }
}

/* --- the reader --- */

/* Once the reader has its block; states that differ only in this are the same from then on. */
inline forget_history() {
    do
    :: i < 4 * BLOCKS -> history[i] = 0; i++
    :: else -> break
    od;
    i = 0; block = 0; blocks = 0; edition = 0;
    names[0] = 0; names[1] = 0; names[2] = 0;
    own[END] = 0; own[END_TIME] = 0; own[EDITION] = 0;
    mem[END] = 0; mem[END_TIME] = 0; mem[EDITION] = 0
}
inline begin_at(its_block, its_time, its_epoch) {
    expected[0] = HISTORY(losses, its_block, 0);
    expected[1] = HISTORY(losses, its_block, 1);
    from = its_time;
    epoch = its_epoch
}
/* The records between what is known and the tail, the newest first. */
inline check_records() {
    until = (HAS(READ_AGAIN) && lowest < read_to -> lowest : read_to);
    i = TIME(read[(tail + N - 1) % N]) + 1;
    is_whole = i >= until;
    do
    :: is_whole && i > until -> i--; is_whole = TIME(read[i % N]) == i
    :: else -> break
    od;
    i = TIME(read[(tail + N - 1) % N]) + 1
}
inline take_records() {
    read_to = i;
    turn = turn_now;
    do
    :: i > until -> i--; kept[i % N] = read[i % N]
    :: else -> break
    od
}
inline put_back() {
    i = read_to;
    do
    :: i > from && HAS(PUT_BACK) ->
        i--;
        WHEN(WORD(kept[i % N]) == asked,
            copy = VALUE(kept[i % N]);
            WHEN(!HAS(OLDEST_LAST), break))
    :: else -> break
    od
}
#define IS_RIGHT(word) (values[word] == expected[word] || expected[word] == UNUSED)
inline accept_word() {
    assert(is_whole);
    take_records();
    put_back();
    values[asked] = copy;
    held = held | BIT(asked);
    assert(IS_RIGHT(asked))
}
inline move_to() {
    i = from;
    do
    :: i < to_time && HAS(COPY_AGAIN) -> held = held & ~BIT(WORD(kept[i % N])); i++
    :: else -> break
    od;
    renewals++;
    begin_at(to, to_time, to_epoch);
    i = 0;
    WHEN(renewals == RENEWALS, forget_history());
    assert(!(held & 1) || IS_RIGHT(0));
    assert(!(held & 2) || IS_RIGHT(1))
}
inline forget_records() {
    i = 0;
    do
    :: i < N ->
        kept[i] = (TIME(kept[i]) >= from && TIME(kept[i]) < read_to -> kept[i] : 0);
        i++
    :: else -> break
    od
}

proctype reader() {
    atomic { todo = ALL_AT_BEGIN }
    do /* begin */
    LOAD(L_TURN, 0, IS_EVEN(TURN) || !HAS(EVEN_TURN_AT_BEGIN), BIT(TURN), turn = mem[TURN])
    LOAD(L_LOSSES, 0, IS_EVEN(LOSSES) || !HAS(EVEN_LOSSES), BIT(LOSSES), losses = mem[LOSSES])
    LOAD(L_EDITION, 0, IS_EVEN(EDITION) || !HAS(EVEN_EDITION), BIT(EDITION),
        edition = mem[EDITION])
    LOAD(L_END, BEFORE_END, true, BIT(END), block = mem[END])
    LOAD(L_END_TIME, BEFORE_END, true, BIT(END_TIME), from = mem[END_TIME])
    LOAD(L_END_EPOCH, BEFORE_END, true, BIT(END_EPOCH), epoch = mem[END_EPOCH])
    LOAD(L_AGAIN, BEFORE_AGAIN, true, BIT(EDITION),
        WHEN(HAS(EDITION_AGAIN) && mem[EDITION] != edition, goto done))
    :: atomic { !todo ->
        d_step {
            begun = true;
            begin_at(block, from, epoch);
            read_to = from;
            WHEN(!RENEWALS, forget_history())
        };
        break }
    od;
    do
    :: calls == CALLS -> break
    :: else ->
        atomic {
            calls++;
            if
            :: asked = 0
            :: WORDS == 2 -> asked = 1
            :: renewals < RENEWALS -> asked = RENEWS
            :: MAY_CATCH_UP -> asked = CATCHES_UP
            fi;
            try_again()
        }
        do
        LOAD(L_TURN, 0, IS_EVEN(TURN) || !HAS(EVEN_TURN), BIT(TURN),
            turn_first = mem[TURN];
            turn_now = (asked < RENEWS -> turn_first : 0))
        /* with_images() */
        LOAD(L_COPY, BEFORE_COPY, asked < RENEWS, BIT(asked), copy = mem[asked])
        LOAD(L_TAIL, BEFORE_TAIL, asked < RENEWS, BIT(TAIL) | OF_LIST,
            tail = mem[TAIL];
            lowest = LOWEST_SINCE(turn))
        /* find_newest(); in with_images() what is complete; and then catch_up() */
        LOAD(L_PLACE, BEFORE_PLACE, asked == RENEWS && IS_EVEN(EDITION), OF_END,
            to = mem[END]; to_time = mem[END_TIME]; to_epoch = mem[END_EPOCH];
            tail = to_time % N)
        LOAD(L_PLACE, BEFORE_PLACE, asked == CATCHES_UP, BIT(COMPLETED), tail = mem[COMPLETED])
        LOAD(L_NOW, BEFORE_NOW, asked >= RENEWS && (IS_EVEN(TURN) || !HAS(EVEN_TURN_NOW)),
            BIT(TURN), turn_now = mem[TURN])
        LOAD(L_LIST, BEFORE_LIST, asked >= RENEWS, OF_LIST,
            lowest = LOWEST_SINCE(turn);
            later = LOWEST_SINCE(turn_first))
        /* all */
        LOAD(L_SLOTS, (asked < RENEWS -> BEFORE_SLOTS : BEFORE_ITS_SLOTS), true, OF_SLOTS,
            read[0] = mem[SLOT(0)]; read[1] = mem[SLOT(1)]; read[2] = mem[SLOT(2)])
        LOAD(L_CHECK, (asked < RENEWS -> BEFORE_CHECK : BEFORE_LAST), true, OF_CHECK,
            same = mem[TURN] == turn_now || !LOOKS_AGAIN;
            is_over = IS_TOO_OLD)
        :: atomic { !todo ->
            d_step { check_records() };
            if
            :: !same -> try_again()
            :: same && (is_over || HAS(UNDONE) && lowest < from) -> goto done
            :: else ->
                if
                :: asked >= RENEWS &&
                   (later < i && HAS(ROLLED_BACK_LATER) || i > until && !is_whole) -> try_again()
                :: else ->
                    d_step {
                        if
                        :: asked < RENEWS -> accept_word()
                        :: asked >= RENEWS && i > until -> take_records()
                        :: else
                        fi;
                        WHEN(asked == RENEWS, move_to());
                        forget_records();
                        forget_call();
                        asked = 0
                    };
                    break
                fi
            fi }
        od
    od;
done:
    over = true
}

init {
    atomic {
        own[SLOT(2)] = MADE(2, 0, 0); mem[SLOT(2)] = MADE(2, 0, 0);
        own[FLOOR] = N - 1; mem[FLOOR] = N - 1;
        own[END_TIME] = N; mem[END_TIME] = N;
        own[END_EPOCH] = 1; mem[END_EPOCH] = 1;
        WHEN(HAD_ROLLBACK,
            own[TURN] = 2; own[COUNT] = 1; own[LIST] = 1; own[LIST + 1] = N;
            mem[TURN] = 2; mem[COUNT] = 1; mem[LIST] = 1; mem[LIST + 1] = N);
        ends[0] = N;
        run memory(); run writer(); run reader()
    }
}
