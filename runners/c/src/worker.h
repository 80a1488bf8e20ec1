/* A worker: repeats its role's steps until the role ends. */
#pragma once

#include "access.h"
#include "record.h"
#include "schedule.h"
#include "transaction.h"

/* One step of a role, as this worker does it. */
typedef struct Task {
    const Step *step;
    Plan plan;
    Params params;
    Record record;
    Counters *counters;
    bool shares;
    /* How often this worker has started it. */
    uint64_t times;
} Task;

typedef struct Worker {
    size_t database;
    const Role *role;
    size_t role_index;
    /* Its place in the role, over all processes. */
    uint64_t place;
    /* Index among all workers of its database. */
    uint32_t index;
    Handle handle;
    Task *tasks;
    Values values;
    Memory memory;
    const Retrying *retry;
    /* NULL in a closed loop. */
    Schedule *schedule;
    End end;
    /* End of the warm-up in nanoseconds from `go`. */
    uint64_t warm;
    /* Stream of the draws between steps, and the sum of weights. */
    uint64_t choice, weights;
    /* Left when it is done: when it ended, in nanoseconds from `go`, and nanoseconds after the warm-up in transactions
     * and between them. */
    uint64_t ended, inside, outside;
} Worker;

/* Works until the role ends, or something goes wrong that is not SQLite's. */
int worker_run(Worker *worker, const Clock *clock, Fault *fault);
