/* Leduc poker for two by the rules of OpenSpiel's leduc_poker (Southey et al. 2005). Its chance is
that of pbt/envs/adapters/openspiel.py: a seed deals the same cards. */
#include "chance.h"
#include "zero_sum.h"

enum { FOLD, CALL, RAISE, ACTIONS };
enum { CARDS = 6, ROUNDS = 2, MOST_BETS = 4, MOST_RAISES = 2, ANTE = 1, NO_CARD = -1 };
enum { PRIVATE_AT = SEATS, PUBLIC_AT = PRIVATE_AT + CARDS, BETS_AT = PUBLIC_AT + CARDS };
enum { SEEN = BETS_AT + ROUNDS * MOST_BETS * 2 };

/* round: 0 before the public card, 1 after it; public_draw: decides that card; stakes: what a seat
must have paid to stay; calls: since the last raise; bets: the calls and raises of each round. */
typedef struct {
    Course course;
    double public_draw;
    int64_t hands[SEATS], public_card, round, stakes, paid[SEATS], raises, calls;
    int64_t bets[ROUNDS][MOST_BETS], made[ROUNDS];
} Table;

TABLE_GAME(leduc_poker)

/* The card at a number in [0, 1), of those that are not taken: bit i for card i. All of them are
equally likely. The subtractions are those of pbt/envs/adapters/openspiel.py. */
static int64_t drawn(int taken, double uniform) {
    int left = 0;
    int64_t last = NO_CARD;
    for (int card = 0; card < CARDS; card++) {
        left += !(taken >> card & 1);
    }
    double probability = 1.0 / left;
    for (int card = 0; card < CARDS; card++) {
        if (taken >> card & 1) {
            continue;
        }
        last = card;
        uniform -= probability;
        if (uniform < 0) {
            break;
        }
    }
    return last;
}

int64_t leduc_poker_begin(int64_t count, const int64_t *positions, const int64_t *seeds,
                          Table *tables, Turns *turns) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        double uniforms[SEATS + 1];
        Table *table = &tables[positions[i]];
        memset(table, 0, sizeof *table);
        draw_uniforms(seeds[i], "openspiel", SEATS + 1, uniforms);
        table->hands[0] = drawn(0, uniforms[0]);
        table->hands[1] = drawn(1 << table->hands[0], uniforms[1]);
        table->public_draw = uniforms[2];
        table->public_card = NO_CARD;
        table->stakes = table->paid[0] = table->paid[1] = ANTE;
        made = begin_course(&table->course, positions[i], turns, made);
    }
    return made;
}

static int may(const Table *table, int64_t seat, int64_t action) {
    return (action == FOLD && table->paid[seat] < table->stakes) || action == CALL ||
           (action == RAISE && table->raises < MOST_RAISES);
}

/* Of a seat's hand: a pair of ranks is above all others, then the higher rank, then the lower. */
static int64_t strength(const Table *table, int64_t seat) {
    int64_t own = table->hands[seat] / 2, shared = table->public_card / 2;
    int64_t high = own > shared ? own : shared, low = own > shared ? shared : own;
    return (own == shared) * CARDS * CARDS + high * CARDS + low;
}

/* What seat 0 gains at the showdown: what the other has paid, which is as much as its own. */
static double showdown(const Table *table) {
    int64_t first = strength(table, 0), second = strength(table, 1);
    return (double)((first > second) - (first < second)) * (double)table->paid[0];
}

static void pay(Table *table, int64_t seat, int64_t action) {
    if (action == RAISE) {
        table->stakes += table->round ? 4 : 2;
        table->raises++;
        table->calls = 0;
    } else {
        table->calls++;
    }
    table->paid[seat] = table->stakes;
    table->bets[table->round][table->made[table->round]++] = action;
}

/* A round ends when the others have called a raise, or all have passed. */
static int round_is_over(const Table *table) {
    return table->calls == (table->raises ? SEATS - 1 : SEATS);
}

int64_t leduc_poker_step(int64_t count, const int64_t *positions, const int64_t *seats,
                         const int64_t *actions, Table *tables, Turns *turns) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t seat = seats[i], position = positions[i], next = 1 - seat;
        Table *table = &tables[position];
        Course *course = &table->course;
        if (seat != course->due || seat == NO_SEAT || !may(table, seat, actions[i])) {
            made = refuse(position, turns, made);
            continue;
        }
        course->acted |= 1 << seat;
        if (actions[i] == FOLD) {
            double lost = (double)table->paid[seat];
            made = end_course(course, seat ? lost : -lost, position, turns, made);
            continue;
        }
        pay(table, seat, actions[i]);
        if (round_is_over(table) && table->round) {
            made = end_course(course, showdown(table), position, turns, made);
            continue;
        }
        if (round_is_over(table)) {
            int taken = 1 << table->hands[0] | 1 << table->hands[1];
            table->public_card = drawn(taken, table->public_draw);
            table->round = 1;
            table->raises = table->calls = next = 0;
        }
        made = go_on(course, next, position, turns, made);
    }
    return made;
}

/* Observations: [SEEN] floats, OpenSpiel's information state: of the seat, its card and the public
one, each 1 at one place, then a pair (called, raised) for each bet of both rounds. */
void leduc_poker_observe(int64_t count, const int64_t *positions, const int64_t *seats,
                         const int64_t *places, const Table *tables, float *observations,
                         uint8_t *masks) {
    for (int64_t i = 0; i < count; i++) {
        const Table *table = &tables[positions[i]];
        float *seen = observations + places[i] * SEEN;
        memset(seen, 0, SEEN * sizeof *seen);
        seen[seats[i]] = 1;
        seen[PRIVATE_AT + table->hands[seats[i]]] = 1;
        if (table->public_card != NO_CARD) {
            seen[PUBLIC_AT + table->public_card] = 1;
        }
        for (int64_t round = 0; round < ROUNDS; round++) {
            for (int64_t bet = 0; bet < table->made[round]; bet++) {
                int64_t at = (round * MOST_BETS + bet) * 2;
                seen[BETS_AT + at + (table->bets[round][bet] == RAISE)] = 1;
            }
        }
        for (int64_t action = 0; action < ACTIONS; action++) {
            masks[places[i] * ACTIONS + action] = (uint8_t)may(table, seats[i], action);
        }
    }
}

void leduc_poker_rank(int64_t count, const int64_t *positions, const Table *tables,
                      int64_t *ranking) {
    for (int64_t i = 0; i < count; i++) {
        rank_seats(&tables[positions[i]].course, ranking + i * SEATS);
    }
}
