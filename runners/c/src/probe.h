/* The host probe: a thread with a timer, and how late it ran. */
#pragma once

#include <pthread.h>

#include "clock.h"
#include "histogram.h"

typedef struct Probe {
    const Clock *clock;
    uint64_t period;
    /* What is due before this, the end of the warm-up, is not recorded. */
    uint64_t from;
    Histogram *lateness;
    /* When the timer is due next, and the longest that it ran late since this was taken. */
    uint64_t due, longest;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
} Probe;

/* Fails with an errno. */
int probe_start(Probe *probe, const Clock *clock, uint64_t period_ms, uint64_t from);
/* The longest that the timer ran late since the last call, or how long it is overdue; in the warm-up, too. */
uint64_t probe_take_longest(Probe *probe);
/* After it nothing more is recorded. */
void probe_stop(Probe *probe);

/* A condition whose timeouts are by CLOCK_MONOTONIC. */
void condition_new(pthread_cond_t *condition);
/* Waits for it `nanos` at most. */
void condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t nanos);
