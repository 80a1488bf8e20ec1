/* One execution of a transaction: begin, statements, commit, and again where a retry may cure it. */
#pragma once

#include "driver.h"

/* A transaction as one role runs it. */
typedef struct Plan {
    /* Index in the trial. */
    size_t index;
    const Transaction *spec;
    /* For each statement the places of its yields among the worker's yielded values. */
    size_t **yields;
    bool yields_any;
    /* See first_fetch. */
    size_t timed;
} Plan;

/* Retry with its names looked up. */
typedef struct Retrying {
    uint32_t attempts;
    uint64_t backoff, longest;
    double multiplier;
    size_t on_count;
    int *on;
} Retrying;

/* What a worker keeps from one transaction to the next. */
typedef struct Memory {
    /* By place; and the same as of the last commit, for a transaction rolled back has yielded nothing. */
    size_t yielded_count;
    Value *yielded, *committed;
    /* Codes of the errors of this execution, one for each try. */
    size_t error_count, error_room;
    int *errors;
    /* For decoding what is checked. */
    Text bytes;
} Memory;

typedef enum Ending { COMMITTED, EMPTY, FAILED } Ending;

/* Times in nanoseconds from `go`, or NEVER. */
typedef struct Execution {
    Ending ending;
    /* When the connection was had; when the commit, or the last failure, was over. */
    uint64_t had, end;
    /* Of the last try. */
    uint64_t rows, query, first_row;
    /* Over all tries. */
    uint64_t verified, mismatches;
} Execution;

void plan_new(Plan *plan, size_t index, const Transaction *spec, Names *names);
/* Fails on a name that is no result code. */
int retrying_new(Retrying *retrying, const Retry *retry, Fault *fault);
void memory_new(Memory *memory, size_t names);
void memory_free(Memory *memory);

/* Runs it to its end on a connection that is held. Fails only with what is no SQLite error. */
int transaction_run(const Plan *plan, Session *session, const Params *params, const Values *values, Memory *memory,
                    const Retrying *retry, const Clock *clock, Execution *execution, Fault *fault);
