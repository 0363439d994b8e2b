/* What a rollout worker notes of its seats when they learn something, act, or are answered. It is
the twin of pbt/sampling/bookkeeping.py, which explains each function; pbt/sampling/seats.py and
pbt/sampling/table.py explain the columns.

Seat s of the table at position p is entry p * per_table + s of the seats' columns. */
#include <stdint.h>

#define BOOKKEEPING_FORM 1

/* The columns of one role's slab that a worker writes, [slots, steps, ...]; episode_start has one
row more. */
typedef struct {
    float *rewards;
    int32_t *tics, *origin;
    uint8_t *terminated, *truncated, *valid, *episode_start;
    int64_t steps;
} Rows;

typedef struct {
    int64_t *role, *slot, *row, *steps, *frames, *version_start, *version_end, *weights;
    double *returns;
    uint8_t *learning, *pending, *episode_start, *over, *acted, *due, *chosen;
    int64_t *table_due, *table_came, *table_steps, *table_moves, *table_opening, *table_count,
        *table_number;
    int64_t per_table, terms;
    const Rows *roles;
} Books;

/* Lists with room for every seat of every table. */
typedef struct {
    int64_t *going, *going_slots, *going_rows, *full, *cut, *waiting, *opening, *ended, *produced;
} Taken;

int64_t bookkeeping_form(void) { return BOOKKEEPING_FORM; }

static int64_t complete_row(const Books *books, const Rows *rows, int64_t seat,
                            const double *rewards, int terminated, int truncated, int64_t tics) {
    int64_t at = books->slot[seat] * rows->steps + books->row[seat];
    for (int64_t term = 0; term < books->terms; term++)
        rows->rewards[at * books->terms + term] = (float)rewards[term];
    rows->tics[at] = (int32_t)tics;
    rows->terminated[at] = (uint8_t)terminated;
    rows->truncated[at] = (uint8_t)(truncated && !terminated);
    rows->valid[at] = 1;
    return ++books->row[seat];
}

void bookkeeping_take(const Books *books, int64_t turns, const int64_t *position,
                      const int64_t *seat_of, const double *rewards, const uint8_t *terminated,
                      const uint8_t *truncated, const int64_t *tics, int64_t tables,
                      const int64_t *positions, const Taken *taken, int64_t *counts) {
    int64_t going = 0, full = 0, cut = 0, waiting = 0, opening = 0, ended = 0;
    for (int64_t table = 0; table < tables; table++) {
        books->table_due[positions[table]] = 0;
        books->table_came[positions[table]] = 0;
    }
    for (int64_t turn = 0; turn < turns; turn++) {
        int64_t table = position[turn], seat = table * books->per_table + seat_of[turn];
        const Rows *rows = &books->roles[books->role[seat]];
        int completed = books->pending[seat], over = terminated[turn] || truncated[turn];
        books->returns[seat] += rewards[turn * books->terms];
        if (books->steps[seat] > 0) books->frames[seat] += tics[turn];
        books->pending[seat] = 0;
        if (completed) {
            taken->produced[books->role[seat]]++;
            int64_t row = complete_row(books, rows, seat, &rewards[turn * books->terms],
                                       terminated[turn], truncated[turn], tics[turn]);
            int is_cut = truncated[turn] && !terminated[turn];
            if (is_cut) taken->cut[cut++] = turn;
            /* The row behind a truncated episode is written before it is known. */
            if (row == rows->steps || (is_cut && row + 1 == rows->steps))
                taken->full[full++] = turn;
        }
        if (over) {
            books->over[seat] = 1;
            continue;
        }
        int64_t slot = books->slot[seat], row = books->row[seat];
        rows->episode_start[slot * (rows->steps + 1) + row] = books->episode_start[seat];
        taken->going[going] = turn;
        taken->going_slots[going] = slot;
        taken->going_rows[going++] = row;
        books->table_due[table]++;
        books->due[seat] = 1;
        if (books->table_moves[table] < books->table_opening[table])
            taken->opening[opening++] = seat;
        else
            taken->waiting[waiting++] = seat;
    }
    for (int64_t table = 0; table < tables; table++)
        if (!books->table_due[positions[table]]) taken->ended[ended++] = positions[table];
    counts[0] = going;
    counts[1] = full;
    counts[2] = cut;
    counts[3] = waiting;
    counts[4] = opening;
    counts[5] = ended;
}

int64_t bookkeeping_act(const Books *books, int64_t count, const int64_t *seats,
                        int64_t *complete) {
    int64_t found = 0;
    for (int64_t at = 0; at < count; at++) {
        int64_t seat = seats[at], table = seat / books->per_table;
        books->chosen[seat] = 1;
        books->steps[seat]++;
        books->table_steps[table]++;
        if (++books->table_came[table] == books->table_due[table]) complete[found++] = table;
    }
    return found;
}

int64_t bookkeeping_answered(const Books *books, int64_t count, const int64_t *seats,
                             int64_t version, int64_t weights, int64_t *changed) {
    int64_t found = 0;
    for (int64_t at = 0; at < count; at++) {
        int64_t seat = seats[at], table = seat / books->per_table;
        const Rows *rows = &books->roles[books->role[seat]];
        int32_t *origin = &rows->origin[4 * (books->slot[seat] * rows->steps + books->row[seat])];
        origin[0] = (int32_t)books->table_number[table];
        origin[1] = (int32_t)books->table_count[table];
        origin[2] = (int32_t)(seat - table * books->per_table);
        origin[3] = (int32_t)books->steps[seat];
        if (!books->acted[seat]) books->version_start[seat] = version;
        books->acted[seat] = 1;
        books->version_end[seat] = version;
        if (books->weights[seat] != weights) changed[found++] = seat;
        books->weights[seat] = weights;
        books->pending[seat] = books->learning[seat];
        books->episode_start[seat] = 0;
    }
    return found;
}

int64_t bookkeeping_decide(const Books *books, int64_t count, const int64_t *positions,
                           int64_t *tables, int64_t *seats) {
    int64_t found = 0;
    for (int64_t at = 0; at < count; at++) {
        int64_t first = positions[at] * books->per_table;
        books->table_moves[positions[at]]++;
        for (int64_t seat = first; seat < first + books->per_table; seat++) {
            if (!books->due[seat]) continue;
            books->due[seat] = books->chosen[seat] = 0;
            tables[found] = positions[at];
            seats[found++] = seat;
        }
    }
    return found;
}
