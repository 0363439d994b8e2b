/* Board games of two seats that move in turn, with a board of bits for each: what they share. */
#ifndef PBT_TWO_SEATS_H
#define PBT_TWO_SEATS_H
#include "table_game.h"

enum { SEATS = 2, NO_WINNER = 2 };

typedef struct {
    uint64_t boards[SEATS];
    int64_t moves;
    int64_t winner;
} Table;

/* Starts games. Only the players decide, so they need no seeds. */
static inline int64_t begin_games(int64_t count, const int64_t *positions, Table *tables,
                                  const Turns *turns) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        tables[positions[i]] = (Table){{0, 0}, 0, NO_WINNER};
        made = add_turn(turns, made, positions[i], 0, 0.0, 0, 0);
    }
    return made;
}

static inline int may_move(const Table *table, int64_t seat) {
    return seat == table->moves % SEATS && table->winner == NO_WINNER;
}

/* Adds a seat's piece and the turns that follow from it. won: whether the piece completes a line of
the board that it gives; cells: of the whole board. */
static inline int64_t place_piece(Table *table, int64_t position, int64_t seat, uint64_t piece,
                                  int (*won)(uint64_t board), int64_t cells, const Turns *turns,
                                  int64_t made) {
    int64_t other = 1 - seat;
    table->boards[seat] |= piece;
    table->moves++;
    int wins = won(table->boards[seat]);
    if (wins) {
        table->winner = seat;
    }
    if (!wins && table->moves < cells) {
        return add_turn(turns, made, position, other, 0.0, 0, table->moves > 1);
    }
    /* The seat that would move next is told first. */
    made = add_turn(turns, made, position, other, wins ? -1.0 : 0.0, 1, 1);
    return add_turn(turns, made, position, seat, wins ? 1.0 : 0.0, 1, 1);
}

static inline void rank_games(int64_t count, const int64_t *positions, const Table *tables,
                              int64_t *ranking) {
    for (int64_t i = 0; i < count; i++) {
        int64_t winner = tables[positions[i]].winner;
        *ranking++ = winner == 1;
        *ranking++ = winner == 0;
    }
}
#endif
