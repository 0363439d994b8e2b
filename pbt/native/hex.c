/* Hex on 11 x 11 cells by the rules of OpenSpiel's hex, without the swap. Seat 0 connects the first
row to the last, seat 1 the first column to the last. */
#include "zero_sum.h"

enum { SIDE = 11, CELLS = SIDE * SIDE, PLANES = 9, NEIGHBOURS = 6 };

/* Kinds of stones. FIRST and LAST: of a group that reaches the seat's first or last edge; CONNECTED:
the stone that joins both. A cell holds the number of its plane in observations: those of seat 0's
stones lie above EMPTY, those of seat 1's below. */
enum { PLAIN = 1, LAST, FIRST, CONNECTED };
enum { EMPTY = 4 };

typedef struct {
    Course course;
    int8_t board[CELLS];
} Table;

TABLE_GAME(hex)

static int8_t plane_of(int64_t seat, int kind) {
    return (int8_t)(seat ? EMPTY - kind : EMPTY + kind);
}

static int neighbours_of(int cell, int *found) {
    static const int across[] = {0, 1, 1, 0, -1, -1}, down[] = {-1, -1, 0, 1, 1, 0};
    int count = 0;
    for (int i = 0; i < NEIGHBOURS; i++) {
        int column = cell % SIDE + across[i], row = cell / SIDE + down[i];
        if (column >= 0 && column < SIDE && row >= 0 && row < SIDE) {
            found[count++] = row * SIDE + column;
        }
    }
    return count;
}

static int kind_of_stone(const Table *table, int64_t seat, int cell) {
    int along = seat ? cell % SIDE : cell / SIDE, around[NEIGHBOURS];
    int first = along == 0, last = along == SIDE - 1, count = neighbours_of(cell, around);
    for (int i = 0; i < count; i++) {
        first |= table->board[around[i]] == plane_of(seat, FIRST);
        last |= table->board[around[i]] == plane_of(seat, LAST);
    }
    return first && last ? CONNECTED : first ? FIRST : last ? LAST : PLAIN;
}

/* The plain stones that are joined to a stone become stones of its kind. */
static void spread(Table *table, int64_t seat, int cell) {
    int waiting[CELLS], left = 1;
    waiting[0] = cell;
    while (left) {
        int around[NEIGHBOURS], from = waiting[--left], count = neighbours_of(from, around);
        for (int i = 0; i < count; i++) {
            if (table->board[around[i]] == plane_of(seat, PLAIN)) {
                table->board[around[i]] = table->board[cell];
                waiting[left++] = around[i];
            }
        }
    }
}

int64_t hex_begin(int64_t count, const int64_t *positions, const int64_t *seeds, Table *tables,
                  Turns *turns) {
    int64_t made = 0;
    (void)seeds; /* only the players decide */
    for (int64_t i = 0; i < count; i++) {
        Table *table = &tables[positions[i]];
        memset(table->board, EMPTY, CELLS);
        made = begin_course(&table->course, positions[i], turns, made);
    }
    return made;
}

int64_t hex_step(int64_t count, const int64_t *positions, const int64_t *seats,
                 const int64_t *actions, Table *tables, Turns *turns) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t seat = seats[i], position = positions[i], cell = actions[i];
        Table *table = &tables[position];
        Course *course = &table->course;
        int free = cell >= 0 && cell < CELLS && table->board[cell] == EMPTY;
        if (seat != course->due || seat == NO_SEAT || !free) {
            made = refuse(position, turns, made);
            continue;
        }
        int kind = kind_of_stone(table, seat, (int)cell);
        course->acted |= 1 << seat;
        table->board[cell] = plane_of(seat, kind);
        if (kind == CONNECTED) {
            made = end_course(course, seat ? -1.0 : 1.0, position, turns, made);
            continue;
        }
        if (kind != PLAIN) {
            spread(table, seat, (int)cell);
        }
        made = go_on(course, 1 - seat, position, turns, made);
    }
    return made;
}

/* Observations: [PLANES, SIDE, SIDE] floats, the same for both seats: 1 in the plane of what stands
on a cell. */
void hex_observe(int64_t count, const int64_t *positions, const int64_t *seats,
                 const int64_t *places, const Table *tables, float *observations, uint8_t *masks) {
    (void)seats;
    for (int64_t i = 0; i < count; i++) {
        const Table *table = &tables[positions[i]];
        float *seen = observations + places[i] * PLANES * CELLS;
        memset(seen, 0, PLANES * CELLS * sizeof *seen);
        for (int cell = 0; cell < CELLS; cell++) {
            seen[table->board[cell] * CELLS + cell] = 1;
            masks[places[i] * CELLS + cell] = table->board[cell] == EMPTY;
        }
    }
}

void hex_rank(int64_t count, const int64_t *positions, const Table *tables, int64_t *ranking) {
    for (int64_t i = 0; i < count; i++) {
        rank_seats(&tables[positions[i]].course, ranking + i * SEATS);
    }
}
