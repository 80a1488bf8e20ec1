#include "record.h"

#include <string.h>

static Histogram *only(bool wanted) {
    return wanted ? keep(1, sizeof(Histogram)) : NULL;
}

size_t first_fetch(const Transaction *transaction) {
    for (size_t s = 0; transaction->timed_rows && s < transaction->statement_count; s++) {
        Fetch fetch = transaction->statements[s].fetch;
        if (fetch == FETCH_ALL || fetch == FETCH_BUFFER) return s;
    }
    return SIZE_MAX;
}

void record_new(Record *record, const Transaction *transaction, bool shares, bool open) {
    bool fetches = first_fetch(transaction) != SIZE_MAX;
    *record = (Record){
        .service = only(true),
        .wait = only(shares),
        .response = only(open),
        .lag = only(open),
        .query = only(fetches),
        .first_row = only(fetches),
    };
}

void record_error(Record *record, int code, uint64_t seen, uint64_t cured) {
    size_t at = 0;
    while (at < record->error_count && record->errors[at].code != code) at++;
    if (at == record->error_count) {
        /* SQLite has fewer codes than there is room for. */
        if (at == ERRORS_MAX) return;
        record->errors[record->error_count++] = (ErrorCount){.code = code};
    }
    record->errors[at].seen += seen;
    record->errors[at].cured += cured;
}

void record_merge(Record *whole, const Record *part) {
    whole->measured += part->measured;
    whole->rows += part->rows;
    whole->verified += part->verified;
    whole->mismatches += part->mismatches;
    for (size_t i = 0; i < part->error_count; i++)
        record_error(whole, part->errors[i].code, part->errors[i].seen, part->errors[i].cured);
    histogram_merge(whole->service, part->service);
    histogram_merge(whole->wait, part->wait);
    histogram_merge(whole->response, part->response);
    histogram_merge(whole->lag, part->lag);
    histogram_merge(whole->query, part->query);
    histogram_merge(whole->first_row, part->first_row);
}

/* Where a pair is, from now on if it is new. */
static size_t place(Board *board, const char *role, const char *transaction) {
    size_t at = 0;
    while (at < board->sum_count &&
           (strcmp(board->names[at].role, role) || strcmp(board->names[at].transaction, transaction)))
        at++;
    if (at == board->sum_count) board->names[board->sum_count++] = (Sum){.role = role, .transaction = transaction};
    return at;
}

void board_new(Board *board, const Trial *trial) {
    size_t pairs = 0, counters = 0;
    for (size_t r = 0; r < trial->role_count; r++) {
        pairs += trial->roles[r].step_count;
        counters += trial->roles[r].workers * trial->roles[r].step_count;
    }
    counters *= trial->database_count;
    *board = (Board){
        .counters = keep(counters, sizeof *board->counters),
        .places = keep(counters, sizeof *board->places),
        .names = keep(pairs, sizeof *board->names),
        .last = keep(pairs, sizeof *board->last),
        .now = keep(2 * pairs, sizeof *board->now),
        .first_of_role = keep(trial->role_count, sizeof *board->first_of_role),
    };
    for (size_t r = 0; r < trial->role_count; r++) {
        const Role *role = &trial->roles[r];
        for (size_t s = 0; s < role->step_count; s++) {
            size_t at = place(board, role->name, trial->transactions[role->steps[s].transaction].name);
            if (s == 0) board->first_of_role[r] = at;
        }
    }
    for (size_t d = 0; d < trial->database_count; d++)
        for (size_t r = 0; r < trial->role_count; r++) {
            const Role *role = &trial->roles[r];
            for (size_t i = 0; i < role->workers * role->step_count; i++) {
                const char *name = trial->transactions[role->steps[i % role->step_count].transaction].name;
                board->places[board->counter_count++] = place(board, role->name, name);
            }
        }
}

static uint64_t counted(_Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void board_sums(const Board *board, Sum *sums) {
    memcpy(sums, board->names, board->sum_count * sizeof *sums);
    for (size_t i = 0; i < board->counter_count; i++) {
        Sum *sum = &sums[board->places[i]];
        Counters *counters = &board->counters[i];
        sum->committed += counted(&counters->committed);
        sum->empty += counted(&counters->empty);
        sum->failed += counted(&counters->failed);
        sum->errors += counted(&counters->errors);
        sum->busy += counted(&counters->busy);
    }
}

const Sum *board_tick(Board *board) {
    Sum *difference = board->now + board->sum_count;
    board_sums(board, board->now);
    for (size_t i = 0; i < board->sum_count; i++) {
        difference[i] = board->now[i];
        difference[i].committed -= board->last[i].committed;
        difference[i].empty -= board->last[i].empty;
        difference[i].failed -= board->last[i].failed;
        difference[i].errors -= board->last[i].errors;
        difference[i].busy -= board->last[i].busy;
    }
    memcpy(board->last, board->now, board->sum_count * sizeof *board->last);
    return difference;
}
