/* Time since `go`, and pauses. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* The end of what has not ended. */
#define NEVER UINT64_MAX

/* Nanoseconds since `go`.
 *
 * A point read takes a microsecond or two, four readings of the system's monotonic clock a tenth of one. So where the
 * kernel itself keeps time by the processor's time stamp counter (it has checked that the counter is constant and the
 * same on all processors), that counter is read directly, at a rate measured against the system's clock. */
typedef struct Clock {
    uint64_t nanos, ticks;
    /* Nanoseconds per tick times 2^32; 0 where the counter cannot be used. */
    uint64_t rate;
} Clock;

static inline uint64_t monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t counter(void) {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
}

/* Begins to measure the rate; what has to be done anyway can be done meanwhile. */
Clock clock_tune(void);
/* The rate. Takes 20 ms from clock_tune on at least. */
uint64_t clock_rate(const Clock *tuning);
/* It is `go` now. */
Clock clock_start(uint64_t rate);

static inline uint64_t clock_read(const Clock *clock) {
    if (!clock->rate) return monotonic() - clock->nanos;
    uint64_t now = counter();
    /* Two processors' counters may differ by a few ticks. */
    return now < clock->ticks ? 0 : (uint64_t)((unsigned __int128)(now - clock->ticks) * clock->rate >> 32);
}

/* `from` to `to`, or 0. */
static inline uint64_t since(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0;
}

/* a * b, and a + b, or NEVER. */
static inline uint64_t times(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? NEVER : product;
}

static inline uint64_t plus(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? NEVER : sum;
}

/* When a role's last transaction may start: a time known beforehand, or the end of another role. */
typedef struct End {
    /* Nanoseconds since `go`, or NEVER. */
    uint64_t time;
    /* When the other role ended, NEVER until it does; or NULL. */
    _Atomic uint64_t *role;
} End;

/* Whether it is too late to start at `now`. */
static inline bool end_is_past(const End *end, uint64_t now) {
    return now > end->time || (end->role && atomic_load_explicit(end->role, memory_order_acquire) != NEVER);
}

/* Sleeps until `due`, or until it is too late anyway. */
void end_sleep(const End *end, const Clock *clock, uint64_t due);

/* Sleeps so many nanoseconds. */
void pause_for(uint64_t nanos);

/* Most pauses are none, and cost nothing. */
static inline void pause_us(uint64_t micros) {
    if (micros) pause_for(times(micros, 1000));
}
