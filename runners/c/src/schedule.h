/* Arrivals of an open load: one schedule for all workers of a role, from `go` on. */
#pragma once

#include <pthread.h>

#include "fault.h"
#include "protocol.h"

typedef struct Schedule {
    double rate;
    /* From `go` to the first of constant arrivals, in gaps: 1, but less in one process of several. */
    double phase;
    bool exponential;
    uint64_t key;
    pthread_mutex_t lock;
    uint64_t number;
    /* Seconds from `go` to the last arrival taken; exponential gaps only. */
    double elapsed;
    /* When the arrivals were due that a worker took and then came too late to start. */
    size_t left_count;
    uint64_t *left;
} Schedule;

/* Of a role with an open load, which has so many workers in all databases. */
int schedule_new(Schedule *schedule, uint64_t seed, const Role *role, size_t workers, Fault *fault);
/* When the next arrival is due, in nanoseconds from `go`. NEVER, and it stays, when that is after `end`. */
uint64_t schedule_take(Schedule *schedule, uint64_t end);
/* Gives back an arrival that was taken and not started; a worker does so once, at its end. */
void schedule_leave(Schedule *schedule, uint64_t due);
/* Arrivals due until `end` that nobody started. Takes what is left of the schedule. */
uint64_t schedule_unserved(Schedule *schedule, uint64_t end);
