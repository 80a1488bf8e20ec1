#include "transaction.h"

#include <math.h>
#include <stdlib.h>

#include "record.h"

void plan_new(Plan *plan, size_t index, const Transaction *spec, Names *names) {
    *plan = (Plan){.index = index, .spec = spec, .timed = first_fetch(spec)};
    plan->yields = keep(spec->statement_count, sizeof *plan->yields);
    for (size_t s = 0; s < spec->statement_count; s++) {
        const Statement *statement = &spec->statements[s];
        plan->yields[s] = keep(statement->yield_count, sizeof **plan->yields);
        for (size_t y = 0; y < statement->yield_count; y++) {
            plan->yields[s][y] = names_place(names, statement->yields[y]);
            plan->yields_any = true;
        }
    }
}

int retrying_new(Retrying *retrying, const Retry *retry, Fault *fault) {
    *retrying = (Retrying){
        .attempts = retry->attempts,
        .backoff = times(retry->backoff_us, 1000),
        .longest = times(retry->max_backoff_us, 1000),
        .multiplier = retry->multiplier,
        .on_count = retry->on_count,
        .on = keep(retry->on_count, sizeof *retrying->on),
    };
    for (size_t i = 0; i < retry->on_count; i++) {
        retrying->on[i] = code_of(retry->on[i]);
        if (retrying->on[i] < 0) return fault_other(fault, "`%s` is no result code", retry->on[i]);
    }
    return 0;
}

/* A primary code stands for its extended ones. */
static bool covers(const Retrying *retry, int seen) {
    for (size_t i = 0; i < retry->on_count; i++)
        if (retry->on[i] == seen || retry->on[i] == (seen & 0xFF)) return true;
    return false;
}

/* Nanoseconds between try `done` (from 1) and the next. */
static uint64_t backoff(const Retrying *retry, uint32_t done) {
    double grown = (double)retry->backoff * pow(retry->multiplier, done - 1);
    /* Also where it is no number. */
    return grown < (double)retry->longest ? (uint64_t)grown : retry->longest;
}

void memory_new(Memory *memory, size_t names) {
    *memory = (Memory){
        .yielded_count = names,
        .yielded = keep(names, sizeof *memory->yielded),
        .committed = keep(names, sizeof *memory->committed),
    };
}

void memory_free(Memory *memory) {
    for (size_t i = 0; i < memory->yielded_count; i++) {
        text_free(&memory->yielded[i].text);
        text_free(&memory->committed[i].text);
    }
    free(memory->errors);
    text_free(&memory->bytes);
}

static void copy_all(const Memory *memory, Value *to, const Value *from) {
    for (size_t i = 0; i < memory->yielded_count; i++) value_copy(&to[i], &from[i]);
}

/* Rolls back, takes back what was yielded, and notes the code. What is no SQLite error goes on up. */
__attribute__((cold)) static int after_error(const Plan *plan, Session *session, Memory *memory, int code,
                                             Fault *fault) {
    if (code == FAULT_OTHER) return fault_during(fault, plan->spec->name);
    if (session->driver->rollback(session, fault)) {
        fault_during(fault, "ROLLBACK");
        return FAULT_OTHER;
    }
    if (memory->error_count == memory->error_room) {
        memory->error_room = memory->error_room ? 2 * memory->error_room : 16;
        memory->errors = realloc(memory->errors, memory->error_room * sizeof *memory->errors);
        if (!memory->errors) abort();
    }
    memory->errors[memory->error_count++] = code;
    if (plan->yields_any) copy_all(memory, memory->yielded, memory->committed);
    return 0;
}

/* One try. */
static int attempt(const Plan *plan, Session *session, const Params *params, const Values *values, Effect *effect,
                   const Clock *clock, Execution *execution, Fault *fault) {
    const Transaction *spec = plan->spec;
    const Driver *driver = session->driver;
    int code;
    if (spec->begin != BEGIN_NONE && (code = driver->begin(session, spec->begin, fault))) return code;
    pause_us(spec->hold_us);
    execution->ending = COMMITTED;
    size_t count = spec->statement_count;
    for (size_t s = 0; s < count; s++) {
        const Statement *statement = &spec->statements[s];
        size_t repeat = statement->repeat;
        /* Only what differs is set anew for each of a thousand rows. */
        Call call = {
            .transaction = plan->index,
            .statement = s,
            .spec = statement,
            .slot_count = params->statements[s].slots,
            .slots = params_slots(params, values, s),
            .values = values,
            .yields = plan->yields[s],
            .timed = plan->timed == s,
            .clock = clock,
        };
        for (size_t left = repeat; left > 0; left--, call.slots += call.slot_count, call.timed = false) {
            code = driver->execute(session, &call, effect, fault);
            if (code) return code;
            execution->rows += effect->rows;
            if (statement->required && !effect->rows) {
                execution->ending = EMPTY;
                goto end;
            }
        }
        pause_us(statement->hold_us);
    }
end:
    return spec->begin == BEGIN_NONE ? 0 : driver->commit(session, fault);
}

int transaction_run(const Plan *plan, Session *session, const Params *params, const Values *values, Memory *memory,
                    const Retrying *retry, const Clock *clock, Execution *execution, Fault *fault) {
    Effect effect = {.yielded = memory->yielded, .bytes = memory->bytes};
    int code;
    memory->error_count = 0;
    for (uint32_t done = 1;; done++) {
        execution->rows = 0;
        effect.query = effect.first_row = NEVER;
        code = attempt(plan, session, params, values, &effect, clock, execution, fault);
        if (!code) {
            execution->end = clock_read(clock);
            if (plan->yields_any) copy_all(memory, memory->committed, memory->yielded);
            break;
        }
        int seen = code;
        code = after_error(plan, session, memory, code, fault);
        if (!code && done < retry->attempts && covers(retry, seen)) {
            pause_for(backoff(retry, done));
            continue;
        }
        execution->ending = FAILED;
        execution->rows = 0;
        execution->end = clock_read(clock);
        break;
    }
    memory->bytes = effect.bytes;
    execution->query = effect.query;
    execution->first_row = effect.first_row;
    execution->verified = effect.verified;
    execution->mismatches = effect.mismatches;
    return code;
}
