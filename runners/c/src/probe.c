#include "probe.h"

#include "memory.h"

void condition_new(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t nanos) {
    /* A year is as good as ever, and overflows nothing. */
    const uint64_t year = UINT64_C(31536000000000000);
    uint64_t until = monotonic() + (nanos < year ? nanos : year);
    struct timespec time = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
    pthread_cond_timedwait(condition, lock, &time);
}

/* A timer that is due while the last one is still late counts too, so a stall of ten periods weighs as ten. */
static void *run(void *argument) {
    Probe *probe = argument;
    pthread_mutex_lock(&probe->lock);
    while (!probe->stop) {
        uint64_t now = clock_read(probe->clock);
        if (now < probe->due) {
            condition_wait(&probe->wake, &probe->lock, probe->due - now);
            continue;
        }
        uint64_t late = now - probe->due;
        if (late > probe->longest) probe->longest = late;
        if (probe->due >= probe->from) histogram_record(probe->lateness, late);
        probe->due += probe->period;
    }
    pthread_mutex_unlock(&probe->lock);
    return NULL;
}

int probe_start(Probe *probe, const Clock *clock, uint64_t period_ms, uint64_t from) {
    *probe = (Probe){
        .clock = clock,
        .period = times(period_ms, 1000000),
        .due = times(period_ms, 1000000),
        .from = from,
        .lateness = keep(1, sizeof *probe->lateness),
    };
    pthread_mutex_init(&probe->lock, NULL);
    condition_new(&probe->wake);
    return pthread_create(&probe->thread, NULL, run, probe);
}

uint64_t probe_take_longest(Probe *probe) {
    pthread_mutex_lock(&probe->lock);
    uint64_t now = clock_read(probe->clock), longest = probe->longest;
    if (now > probe->due && now - probe->due > longest) longest = now - probe->due;
    probe->longest = 0;
    pthread_mutex_unlock(&probe->lock);
    return longest;
}

void probe_stop(Probe *probe) {
    pthread_mutex_lock(&probe->lock);
    probe->stop = true;
    pthread_mutex_unlock(&probe->lock);
    pthread_cond_signal(&probe->wake);
    pthread_join(probe->thread, NULL);
}
