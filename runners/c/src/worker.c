#include "worker.h"

#include <stdlib.h>

#include "generator.h"

/* The first step whose cumulative weight exceeds the draw. */
static size_t by_weight(const Worker *worker, uint64_t number) {
    uint64_t drawn = below(word(worker->choice, number), worker->weights), cumulative = 0;
    for (size_t s = 0; s < worker->role->step_count; s++) {
        cumulative += worker->role->steps[s].weight;
        if (cumulative > drawn) return s;
    }
    return 0;
}

/* What counts from `go` on. */
static inline void count_it(Task *task, const Execution *execution, const Memory *memory) {
    Counters *counters = task->counters;
    switch (execution->ending) {
    case COMMITTED: count(&counters->committed, 1); break;
    case EMPTY: count(&counters->empty, 1); break;
    case FAILED: count(&counters->failed, 1); break;
    }
    task->record.verified += execution->verified;
    task->record.mismatches += execution->mismatches;
    if (!memory->error_count) return;
    count(&counters->errors, memory->error_count);
    for (size_t i = 0; i < memory->error_count; i++) {
        if ((memory->errors[i] & 0xFF) == SQLITE_BUSY) count(&counters->busy, 1);
        record_error(&task->record, memory->errors[i], 1, execution->ending != FAILED);
    }
}

/* What counts after the warm-up. Two processors' counters may differ by a few nanoseconds, so nothing is subtracted
 * blindly. */
static inline void measure(Task *task, const Execution *execution, uint64_t start, uint64_t due) {
    if (execution->ending != COMMITTED) return;
    Record *record = &task->record;
    record->measured++;
    record->rows += execution->rows;
    histogram_record(record->service, since(start, execution->end));
    if (execution->had != NEVER) histogram_record(record->wait, since(start, execution->had));
    if (execution->query != NEVER) histogram_record(record->query, since(start, execution->query));
    if (execution->first_row != NEVER) histogram_record(record->first_row, since(start, execution->first_row));
    if (due != NEVER) {
        histogram_record(record->response, since(due, execution->end));
        histogram_record(record->lag, since(due, start));
    }
}

int worker_run(Worker *worker, const Clock *clock, Fault *fault) {
    const Role *role = worker->role;
    uint64_t limit = role->until.kind == UNTIL_COUNT ? role->until.transactions : UINT64_MAX;
    /* The worker's own transactions have the numbers place, place + workers, place + 2 * workers, … in its role. */
    uint64_t number = worker->place, taken = 0;
    size_t at = 0;
    int code = 0;
    while (number < limit) {
        uint64_t due = NEVER;
        if (worker->schedule && (due = schedule_take(worker->schedule, worker->end.time)) == NEVER) {
            /* Nothing more arrives, but the role lasts until its time. */
            end_sleep(&worker->end, clock, NEVER);
            break;
        }
        if (role->order == ORDER_WEIGHTED) at = by_weight(worker, number);
        Task *task = &worker->tasks[at];
        params_draw(&task->params, task->times * task->step->stride + task->step->offset + worker->place,
                    &worker->values);
        if (due != NEVER) end_sleep(&worker->end, clock, due);
        uint64_t start = clock_read(clock);
        if (end_is_past(&worker->end, start)) {
            if (due != NEVER) schedule_leave(worker->schedule, due);
            break;
        }
        task->times++;
        number += role->workers_in_role;

        bool writes = task->plan.spec->writes;
        Session *session = handle_take(&worker->handle, writes);
        Execution execution = {.had = task->shares ? clock_read(clock) : NEVER};
        code = transaction_run(&task->plan, session, &task->params, &worker->values, &worker->memory, worker->retry,
                               clock, &execution, fault);
        handle_give_back(&worker->handle, session, writes);
        if (code) break;

        count_it(task, &execution, &worker->memory);
        if (start >= worker->warm) measure(task, &execution, start, due);
        taken += since(start > worker->warm ? start : worker->warm, execution.end);
        at = execution.ending == EMPTY || at + 1 == role->step_count ? 0 : at + 1;
        if (role->load.kind == LOAD_CLOSED && role->load.think_us)
            end_sleep(&worker->end, clock, plus(clock_read(clock), times(role->load.think_us, 1000)));
    }
    worker->ended = clock_read(clock);
    worker->inside = taken;
    worker->outside = since(taken, since(worker->warm, worker->ended));
    return code;
}
