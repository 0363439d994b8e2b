/* Connect four by the rules of PettingZoo's connect_four_v3. */
#include "two_seats.h"

enum { ROWS = 6, COLUMNS = 7, CELLS = ROWS * COLUMNS, HEIGHT = ROWS + 1 };

TABLE_GAME(connect_four)

/* Bit column * HEIGHT + height of a board is the piece at that height, counted from the bottom.
The bit above each column stays empty, so no line runs from one column into the next. */
static int has_four(uint64_t board) {
    static const int directions[] = {1, HEIGHT - 1, HEIGHT, HEIGHT + 1};
    for (int i = 0; i < 4; i++) {
        uint64_t pairs = board & (board >> directions[i]);
        if (pairs & (pairs >> 2 * directions[i])) {
            return 1;
        }
    }
    return 0;
}

static uint64_t column_bits(int64_t column) {
    return ((UINT64_C(1) << ROWS) - 1) << column * HEIGHT;
}

int64_t connect_four_begin(int64_t count, const int64_t *positions, const int64_t *seeds,
                           Table *tables, Turns *turns) {
    (void)seeds;
    return begin_games(count, positions, tables, turns);
}

int64_t connect_four_step(int64_t count, const int64_t *positions, const int64_t *seats,
                          const int64_t *actions, Table *tables, Turns *turns) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t seat = seats[i], column = actions[i];
        Table *table = &tables[positions[i]];
        uint64_t pieces = table->boards[0] | table->boards[1];
        uint64_t free = column < 0 || column >= COLUMNS ? 0 : column_bits(column) & ~pieces;
        if (!free || !may_move(table, seat)) {
            made = add_turn(turns, made, positions[i], FORBIDDEN, 0.0, 1, 0);
            continue;
        }
        uint64_t lowest = free & -free;
        made = place_piece(table, positions[i], seat, lowest, has_four, CELLS, turns, made);
    }
    return made;
}

/* Observations: [ROWS, COLUMNS, 2] bytes, the top row first; own pieces, then the other seat's. */
void connect_four_observe(int64_t count, const int64_t *positions, const int64_t *seats,
                          const int64_t *places, const Table *tables, int8_t *observations,
                          uint8_t *masks) {
    for (int64_t i = 0; i < count; i++) {
        const Table *table = &tables[positions[i]];
        uint64_t own = table->boards[seats[i]], other = table->boards[1 - seats[i]];
        int8_t *seen = observations + places[i] * CELLS * 2;
        uint8_t *mask = masks + places[i] * COLUMNS;
        for (int row = 0; row < ROWS; row++) {
            for (int column = 0; column < COLUMNS; column++) {
                int bit = column * HEIGHT + ROWS - 1 - row;
                *seen++ = (int8_t)(own >> bit & 1);
                *seen++ = (int8_t)(other >> bit & 1);
            }
        }
        for (int column = 0; column < COLUMNS; column++) {
            mask[column] = !((own | other) >> (column * HEIGHT + ROWS - 1) & 1);
        }
    }
}

void connect_four_rank(int64_t count, const int64_t *positions, const Table *tables,
                       int64_t *ranking) {
    rank_games(count, positions, tables, ranking);
}
