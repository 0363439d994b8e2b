/* Games of many tables, which pbt/envs/native_games.py calls. A game gives turns one behind the
other, those of one table together. Tables are known by their positions. All seats are of one role
with masks, an action is one choice, and the only reward is the game's own.

A game NAME defines the type Table, calls TABLE_GAME(NAME), and defines the functions below. A Table
holds no pointers, so a copy of its bytes is a copy of the game, and whatever chance will bring
stands in it from the start (chance.h).

int64_t NAME_begin(int64_t count, const int64_t *positions, const int64_t *seeds, Table *tables,
                   Turns *turns)
    starts games, whose chance follows from their seeds alone; returns the number of turns.
int64_t NAME_step(int64_t count, const int64_t *positions, const int64_t *seats,
                  const int64_t *actions, Table *tables, Turns *turns)
    acts, once for each entry; returns the number of turns. An action that the rules forbid gives
    one turn with `seat` FORBIDDEN, and the game is then not to be used again.
void NAME_observe(int64_t count, const int64_t *positions, const int64_t *seats,
                  const int64_t *places, const Table *tables, Observation *observations,
                  uint8_t *masks)
    writes what seats see, and what they may do, at these places of both columns. After the end it
    is called only where `NativeRules.shows_end` says so.
void NAME_rank(int64_t count, const int64_t *positions, const Table *tables, int64_t *ranking)
    gives every seat of these tables its place after the game is over: 0 is the first, and equal
    seats share a place. */
#ifndef PBT_TABLE_GAME_H
#define PBT_TABLE_GAME_H
#include <stdint.h>
#include <string.h>

#define FORBIDDEN (-1)

/* Raised with every change of the functions, so that a library that was built before is not used:
pbt/native/__init__.py:TABLE_GAME_FORM. */
#define TABLE_GAME_FORM 1
#define TABLE_GAME(name)                                                                           \
    int64_t name##_form(void) { return TABLE_GAME_FORM; }                                          \
    int64_t name##_table_bytes(void) { return (int64_t)sizeof(Table); }

/* Columns with room for every seat of every table: the reward since the seat's last turn, whether
the rules ended its episode, and the ticks that its last action covered, 0 before the first. */
typedef struct {
    int64_t *position, *seat;
    double *reward;
    uint8_t *terminated;
    int64_t *tics;
} Turns;

static inline int64_t add_turn(const Turns *turns, int64_t at, int64_t position, int64_t seat,
                               double reward, int over, int64_t tics) {
    turns->position[at] = position;
    turns->seat[at] = seat;
    turns->reward[at] = reward;
    turns->terminated[at] = (uint8_t)over;
    turns->tics[at] = tics;
    return at + 1;
}
#endif
