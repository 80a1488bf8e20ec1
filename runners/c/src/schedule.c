#include "schedule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "clock.h"
#include "generator.h"

int schedule_new(Schedule *schedule, uint64_t seed, const Role *role, size_t workers, Fault *fault) {
    double rate = role->load.rate;
    if (!isfinite(rate) || rate <= 0) return fault_other(fault, "role `%s`: a rate of %g is none", role->name, rate);
    char stream[32];
    snprintf(stream, sizeof stream, "arrivals.%" PRIu32, role->first_in_role);
    *schedule = (Schedule){
        .rate = rate,
        .phase = (double)(role->first_in_role + role->workers) / (double)role->workers_in_role,
        .exponential = role->load.arrivals == ARRIVALS_POISSON,
        .key = stream_key(seed, role->name, stream),
        .left = keep(workers, sizeof *schedule->left),
    };
    pthread_mutex_init(&schedule->lock, NULL);
    return 0;
}

uint64_t schedule_take(Schedule *schedule, uint64_t end) {
    pthread_mutex_lock(&schedule->lock);
    /* A gap comes before its arrival, the first one, too: nothing is due at `go` itself. Constant ones come from the
     * number, not by adding up, so that no rounding gathers. */
    double elapsed = schedule->exponential
                         ? schedule->elapsed - log(1 - unit(word(schedule->key, schedule->number))) / schedule->rate
                         : ((double)schedule->number + schedule->phase) / schedule->rate;
    double nanos = elapsed * 1e9;
    uint64_t due = nanos < 0x1p63 ? (uint64_t)nanos : NEVER;
    if (due > end) {
        due = NEVER;
    } else {
        schedule->number++;
        schedule->elapsed = elapsed;
    }
    pthread_mutex_unlock(&schedule->lock);
    return due;
}

void schedule_leave(Schedule *schedule, uint64_t due) {
    pthread_mutex_lock(&schedule->lock);
    schedule->left[schedule->left_count++] = due;
    pthread_mutex_unlock(&schedule->lock);
}

uint64_t schedule_unserved(Schedule *schedule, uint64_t end) {
    uint64_t unserved = 0;
    while (schedule_take(schedule, end) != NEVER) unserved++;
    for (size_t i = 0; i < schedule->left_count; i++) unserved += schedule->left[i] <= end;
    return unserved;
}
