/* Othello on 8 x 8 squares by the rules of OpenSpiel's othello. A seat without a move passes; the
game is over when neither has one. */
#include "zero_sum.h"

enum { SIDE = 8, CELLS = SIDE * SIDE, PASS = CELLS, ACTIONS = CELLS + 1, PLANES = 3 };

/* Bit row * SIDE + column of a disc; `moves`: where the seat that is due may place one. */
typedef struct {
    Course course;
    uint64_t discs[SEATS], moves;
} Table;

TABLE_GAME(othello)

static const uint64_t NOT_FIRST = UINT64_C(0xfefefefefefefefe); /* column */
static const uint64_t NOT_LAST = UINT64_C(0x7f7f7f7f7f7f7f7f);

/* All bits one square further; those that leave the board are lost. */
static inline uint64_t moved(uint64_t bits, int direction) {
    switch (direction) {
    case 0: return (bits & NOT_LAST) << 1;
    case 1: return (bits & NOT_FIRST) << 7;
    case 2: return bits << 8;
    case 3: return (bits & NOT_LAST) << 9;
    case 4: return (bits & NOT_FIRST) >> 1;
    case 5: return (bits & NOT_LAST) >> 7;
    case 6: return bits >> 8;
    default: return (bits & NOT_FIRST) >> 9;
    }
}

/* The discs of `other` that stand without a gap behind `from`. */
static inline uint64_t run(uint64_t from, uint64_t other, int direction) {
    uint64_t found = moved(from, direction) & other;
    for (int step = 0; step < SIDE - 3; step++) {
        found |= moved(found, direction) & other;
    }
    return found;
}

static uint64_t moves_of(uint64_t own, uint64_t other) {
    uint64_t found = 0;
    for (int direction = 0; direction < 8; direction++) {
        found |= moved(run(own, other, direction), direction);
    }
    return found & ~(own | other);
}

static uint64_t turned_by(uint64_t disc, uint64_t own, uint64_t other) {
    uint64_t turned = 0;
    for (int direction = 0; direction < 8; direction++) {
        uint64_t between = run(disc, other, direction);
        if (moved(between, direction) & own) {
            turned |= between;
        }
    }
    return turned;
}

static int discs_of(uint64_t board) {
    int found = 0;
    for (; board; board &= board - 1) {
        found++;
    }
    return found;
}

int64_t othello_begin(int64_t count, const int64_t *positions, const int64_t *seeds, Table *tables,
                      Turns *turns) {
    static const uint64_t black = UINT64_C(0x0000000810000000);
    static const uint64_t white = UINT64_C(0x0000001008000000);
    int64_t made = 0;
    (void)seeds; /* only the players decide */
    for (int64_t i = 0; i < count; i++) {
        Table *table = &tables[positions[i]];
        table->discs[0] = black;
        table->discs[1] = white;
        table->moves = moves_of(black, white);
        made = begin_course(&table->course, positions[i], turns, made);
    }
    return made;
}

static int may(const Table *table, int64_t action) {
    if (action == PASS) {
        return !table->moves;
    }
    return action >= 0 && action < CELLS && table->moves >> action & 1;
}

int64_t othello_step(int64_t count, const int64_t *positions, const int64_t *seats,
                     const int64_t *actions, Table *tables, Turns *turns) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t seat = seats[i], position = positions[i], next = 1 - seat;
        Table *table = &tables[position];
        Course *course = &table->course;
        if (seat != course->due || seat == NO_SEAT || !may(table, actions[i])) {
            made = refuse(position, turns, made);
            continue;
        }
        uint64_t *own = &table->discs[seat], *other = &table->discs[next];
        course->acted |= 1 << seat;
        if (actions[i] != PASS) {
            uint64_t disc = UINT64_C(1) << actions[i], turned = turned_by(disc, *own, *other);
            *own |= disc | turned;
            *other &= ~turned;
        }
        table->moves = moves_of(*other, *own);
        if (!table->moves && !moves_of(*own, *other)) {
            int first = discs_of(table->discs[0]), second = discs_of(table->discs[1]);
            double gained = (first > second) - (first < second);
            made = end_course(course, gained, position, turns, made);
        } else {
            made = go_on(course, next, position, turns, made);
        }
    }
    return made;
}

/* Observations: [PLANES, SIDE, SIDE] floats: empty squares, own discs, those of the other seat. */
void othello_observe(int64_t count, const int64_t *positions, const int64_t *seats,
                     const int64_t *places, const Table *tables, float *observations,
                     uint8_t *masks) {
    for (int64_t i = 0; i < count; i++) {
        const Table *table = &tables[positions[i]];
        uint64_t own = table->discs[seats[i]], other = table->discs[1 - seats[i]];
        float *seen = observations + places[i] * PLANES * CELLS;
        uint8_t *mask = masks + places[i] * ACTIONS;
        for (int cell = 0; cell < CELLS; cell++) {
            seen[cell] = (float)(~(own | other) >> cell & 1);
            seen[CELLS + cell] = (float)(own >> cell & 1);
            seen[2 * CELLS + cell] = (float)(other >> cell & 1);
            mask[cell] = table->moves >> cell & 1;
        }
        mask[PASS] = !table->moves;
    }
}

void othello_rank(int64_t count, const int64_t *positions, const Table *tables, int64_t *ranking) {
    for (int64_t i = 0; i < count; i++) {
        rank_seats(&tables[positions[i]].course, ranking + i * SEATS);
    }
}
