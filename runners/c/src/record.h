/* What a worker writes down. Each has its own; they are added up when the trial is over, so that the hot path shares
 * nothing. Only the few counts that `tick` shows are atomic, written by one thread and read by another. */
#pragma once

#include <stdatomic.h>

#include "histogram.h"
#include "protocol.h"

/* Counts of one step of one worker, on cache lines that no other worker writes to: as far apart as that takes where
 * the processor fetches two at a time. */
typedef struct Counters {
    _Atomic uint64_t committed, empty, failed, errors, busy;
    char apart[256 - 5 * sizeof(uint64_t)];
} Counters;

/* Adds without a locked instruction: there is one writer. */
static inline void count(_Atomic uint64_t *counter, uint64_t n) {
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + n, memory_order_relaxed);
}

typedef struct ErrorCount {
    int code;
    uint64_t seen, cured;
} ErrorCount;

enum { ERRORS_MAX = 128 };

/* Histograms and counts of one step of one worker, or of all. Their size does not depend on the number of operations. */
typedef struct Record {
    uint64_t measured, rows, verified, mismatches, unserved;
    /* By extended code; there are never more than a few. */
    size_t error_count;
    ErrorCount errors[ERRORS_MAX];
    Histogram *service;
    /* NULL where there is nothing to wait for, no schedule, no statement that fetches all rows. */
    Histogram *wait, *response, *lag, *query, *first_row;
} Record;

void record_new(Record *record, const Transaction *transaction, bool shares, bool open);
/* Counts the error `code` as seen so many times. */
void record_error(Record *record, int code, uint64_t seen, uint64_t cured);
void record_merge(Record *whole, const Record *part);

/* Index of the statement that `query` and `first_row` belong to, or SIZE_MAX. */
size_t first_fetch(const Transaction *transaction);

/* Counts of a role and transaction. */
typedef struct Sum {
    const char *role, *transaction;
    uint64_t committed, empty, failed, errors, busy;
} Sum;

/* The counts of all workers, and where they belong. */
typedef struct Board {
    /* One for each step of each worker: by database, role, worker and step. */
    Counters *counters;
    /* Index among the sums of each of those. */
    size_t *places;
    size_t counter_count;
    /* Each pair of role and transaction once, with no counts, and where each role's first step is among them. */
    size_t sum_count;
    Sum *names;
    size_t *first_of_role;
    /* Counts as of the last tick, and room for the next. */
    Sum *last, *now;
} Board;

void board_new(Board *board, const Trial *trial);
void board_sums(const Board *board, Sum *sums);
/* What was counted since the last call, for each role and transaction; valid until the next call. */
const Sum *board_tick(Board *board);
