/* The games of a group of tables, in columns: what pbt/envs/native_games.py calls. A game gives
turns one behind the other, those of one table together. Tables are known by their positions.

A game NAME defines a type of its tables and

int64_t NAME_begin(int64_t count, const int64_t *positions, const int64_t *seeds, Table *tables,
                   Turns *turns)
    starts games; returns the number of turns.
int64_t NAME_step(int64_t count, const int64_t *positions, const int64_t *seats,
                  const int64_t *actions, Table *tables, Turns *turns)
    acts, once for each entry; returns the number of turns. An action that the rules forbid gives
    one turn with `seat` FORBIDDEN, and the game is then not to be used again.
void NAME_observe(int64_t count, const int64_t *positions, const int64_t *seats,
                  const int64_t *places, const Table *tables, Observation *observations,
                  uint8_t *masks)
    writes what seats see, and what they may do, at these places of both columns.
void NAME_rank(int64_t count, const int64_t *positions, const Table *tables, int64_t *ranking)
    gives every seat of these tables its place after the game is over. */
#ifndef PBT_TABLE_GAME_H
#define PBT_TABLE_GAME_H
#include <stdint.h>
#include <string.h>

#define FORBIDDEN (-1)

/* Columns with room for every seat of every table. */
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
