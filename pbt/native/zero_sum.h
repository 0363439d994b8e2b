/* Games of OpenSpiel of two seats that move in turn, where one gains what the other loses: what
they share. The rewards come at the end, when the seats are told in order. */
#ifndef PBT_ZERO_SUM_H
#define PBT_ZERO_SUM_H
#include "table_game.h"

enum { SEATS = 2, NO_SEAT = -1 };

/* due: the seat to move, NO_SEAT when the game is over; acted: bit i for seat i; gained: by seat 0
once the game is over. */
typedef struct {
    int64_t due, acted;
    double gained;
} Course;

static inline int64_t begin_course(Course *course, int64_t position, const Turns *turns,
                                   int64_t made) {
    *course = (Course){0, 0, 0.0};
    return add_turn(turns, made, position, 0, 0.0, 0, 0);
}

static inline int64_t refuse(int64_t position, const Turns *turns, int64_t made) {
    return add_turn(turns, made, position, FORBIDDEN, 0.0, 1, 0);
}

/* Adds the turn of the seat that moves next. */
static inline int64_t go_on(Course *course, int64_t next, int64_t position, const Turns *turns,
                            int64_t made) {
    course->due = next;
    return add_turn(turns, made, position, next, 0.0, 0, course->acted >> next & 1);
}

static inline int64_t end_course(Course *course, double gained, int64_t position,
                                 const Turns *turns, int64_t made) {
    course->due = NO_SEAT;
    course->gained = gained;
    for (int64_t seat = 0; seat < SEATS; seat++) {
        double reward = seat ? 0.0 - gained : gained;
        made = add_turn(turns, made, position, seat, reward, 1, course->acted >> seat & 1);
    }
    return made;
}

static inline void rank_seats(const Course *course, int64_t *ranking) {
    ranking[0] = course->gained < 0;
    ranking[1] = course->gained > 0;
}
#endif
