/* Tic-tac-toe by the rules of PettingZoo's tictactoe_v3. */
#include "table_game.h"

enum { CELLS = 9, SEATS = 2, NO_WINNER = 2 };

/* Bit i of a board is the mark on square i. */
typedef struct {
    int64_t boards[SEATS];
    int64_t moves;
    int64_t winner;
} Table;

TABLE_GAME(tictactoe)

static int has_three(int64_t board) {
    static const int64_t lines[] = {0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124};
    for (int i = 0; i < 8; i++) {
        if ((board & lines[i]) == lines[i]) {
            return 1;
        }
    }
    return 0;
}

int64_t tictactoe_begin(int64_t count, const int64_t *positions, const int64_t *seeds,
                        Table *tables, Turns *turns) {
    (void)seeds; /* only the players decide */
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        tables[positions[i]] = (Table){{0, 0}, 0, NO_WINNER};
        made = add_turn(turns, made, positions[i], 0, 0.0, 0, 0);
    }
    return made;
}

int64_t tictactoe_step(int64_t count, const int64_t *positions, const int64_t *seats,
                       const int64_t *actions, Table *tables, Turns *turns) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t position = positions[i], seat = seats[i], other = 1 - seat, square = actions[i];
        Table *table = &tables[position];
        int64_t taken = table->boards[0] | table->boards[1];
        int forbidden = square < 0 || square >= CELLS || taken >> square & 1;
        if (forbidden || seat != table->moves % SEATS || table->winner != NO_WINNER) {
            made = add_turn(turns, made, position, FORBIDDEN, 0.0, 1, 0);
            continue;
        }
        table->boards[seat] |= INT64_C(1) << square;
        table->moves++;
        int won = has_three(table->boards[seat]);
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

/* Observations: [CELLS, 2] bytes, square by square; own marks, then the other seat's. */
void tictactoe_observe(int64_t count, const int64_t *positions, const int64_t *seats,
                       const int64_t *places, const Table *tables, int8_t *observations,
                       uint8_t *masks) {
    for (int64_t i = 0; i < count; i++) {
        const Table *table = &tables[positions[i]];
        int64_t own = table->boards[seats[i]], other = table->boards[1 - seats[i]];
        int8_t *seen = observations + places[i] * CELLS * 2;
        uint8_t *mask = masks + places[i] * CELLS;
        for (int square = 0; square < CELLS; square++) {
            *seen++ = (int8_t)(own >> square & 1);
            *seen++ = (int8_t)(other >> square & 1);
            mask[square] = !((own | other) >> square & 1);
        }
    }
}

void tictactoe_rank(int64_t count, const int64_t *positions, const Table *tables,
                    int64_t *ranking) {
    for (int64_t i = 0; i < count; i++) {
        int64_t winner = tables[positions[i]].winner;
        *ranking++ = winner == 1;
        *ranking++ = winner == 0;
    }
}
