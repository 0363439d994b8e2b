/* Tic-tac-toe by the rules of PettingZoo's tictactoe_v3. */
#include "two_seats.h"

enum { CELLS = 9 };

TABLE_GAME(tictactoe)

/* Bit i of a board is the mark on square i. */
static int has_three(uint64_t board) {
    static const uint64_t lines[] = {0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124};
    for (int i = 0; i < 8; i++) {
        if ((board & lines[i]) == lines[i]) {
            return 1;
        }
    }
    return 0;
}

int64_t tictactoe_begin(int64_t count, const int64_t *positions, const int64_t *seeds,
                        Table *tables, Turns *turns) {
    (void)seeds;
    return begin_games(count, positions, tables, turns);
}

int64_t tictactoe_step(int64_t count, const int64_t *positions, const int64_t *seats,
                       const int64_t *actions, Table *tables, Turns *turns) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t seat = seats[i], square = actions[i];
        Table *table = &tables[positions[i]];
        uint64_t taken = table->boards[0] | table->boards[1];
        int forbidden = square < 0 || square >= CELLS || taken >> square & 1;
        if (forbidden || !may_move(table, seat)) {
            made = add_turn(turns, made, positions[i], FORBIDDEN, 0.0, 1, 0);
            continue;
        }
        uint64_t mark = UINT64_C(1) << square;
        made = place_piece(table, positions[i], seat, mark, has_three, CELLS, turns, made);
    }
    return made;
}

/* Observations: [CELLS, 2] bytes, square by square; own marks, then the other seat's. */
void tictactoe_observe(int64_t count, const int64_t *positions, const int64_t *seats,
                       const int64_t *places, const Table *tables, int8_t *observations,
                       uint8_t *masks) {
    for (int64_t i = 0; i < count; i++) {
        const Table *table = &tables[positions[i]];
        uint64_t own = table->boards[seats[i]], other = table->boards[1 - seats[i]];
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
    rank_games(count, positions, tables, ranking);
}
