/* Connect four by the rules of PettingZoo's connect_four_v3. */
#include "table_game.h"

enum { ROWS = 6, COLUMNS = 7, CELLS = ROWS * COLUMNS, SEATS = 2, NO_WINNER = 2, HEIGHT = ROWS + 1 };

/* Bit column * HEIGHT + height of a board is the piece at that height, counted from the bottom.
The bit above each column stays empty, so no line runs from one column into the next. */
typedef struct {
    uint64_t boards[SEATS];
    int64_t moves;
    int64_t winner;
} Table;

TABLE_GAME(connect_four)

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
    (void)seeds; /* only the players decide */
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        tables[positions[i]] = (Table){{0, 0}, 0, NO_WINNER};
        made = add_turn(turns, made, positions[i], 0, 0.0, 0, 0);
    }
    return made;
}

int64_t connect_four_step(int64_t count, const int64_t *positions, const int64_t *seats,
                          const int64_t *actions, Table *tables, Turns *turns) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t position = positions[i], seat = seats[i], other = 1 - seat, column = actions[i];
        Table *table = &tables[position];
        uint64_t pieces = table->boards[0] | table->boards[1];
        uint64_t free = column < 0 || column >= COLUMNS ? 0 : column_bits(column) & ~pieces;
        if (!free || seat != table->moves % SEATS || table->winner != NO_WINNER) {
            made = add_turn(turns, made, position, FORBIDDEN, 0.0, 1, 0);
            continue;
        }
        table->boards[seat] |= free & -free; /* the lowest free cell */
        table->moves++;
        int won = has_four(table->boards[seat]);
        if (won) {
            table->winner = seat;
        }
        if (won || table->moves == CELLS) {
            /* The seat that would move next is told first. */
            made = add_turn(turns, made, position, other, won ? -1.0 : 0.0, 1, 1);
            made = add_turn(turns, made, position, seat, won ? 1.0 : 0.0, 1, 1);
        } else {
            made = add_turn(turns, made, position, other, 0.0, 0, table->moves > 1);
        }
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
    for (int64_t i = 0; i < count; i++) {
        int64_t winner = tables[positions[i]].winner;
        *ranking++ = winner == 1;
        *ranking++ = winner == 0;
    }
}
