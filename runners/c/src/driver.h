/* What a driver has to offer; everything else of a trial is the same for all. */
#pragma once

#include "clock.h"
#include "fault.h"
#include "params.h"
#include "protocol.h"

typedef struct Driver Driver;

/* One open connection with its prepared statements. One thread at a time uses it. */
typedef struct Session {
    const Driver *driver;
    sqlite3 *db;
    /* By transaction and statement of the trial. */
    struct Prepared **statements;
    /* By Begin; the first is COMMIT. NULL where statements are prepared each time. */
    sqlite3_stmt *brackets[4];
    sqlite3_int64 total_changes;
} Session;

/* Which statement to execute, and with what. */
typedef struct Call {
    /* Indices in the trial and in the transaction. */
    size_t transaction, statement;
    const Statement *spec;
    size_t slot_count;
    const Slot *slots;
    const Values *values;
    /* Places in Effect.yielded that the columns of the first row go to, in order. */
    const size_t *yields;
    /* Whether to note when the call returned and when the first row was read. */
    bool timed;
    const Clock *clock;
} Call;

/* What executing leaves behind. */
typedef struct Effect {
    Value *yielded;
    /* Rows of the last call: fetched, or changed where the statement yields none. */
    uint64_t rows;
    /* Rows checked, and rows of those that were wrong. */
    uint64_t verified, mismatches;
    /* When the call that executes returned, and when the columns of the first row were read; NEVER if not. */
    uint64_t query, first_row;
    /* For decoding what is checked. */
    Text bytes;
} Effect;

struct Driver {
    const char *name;
    /* Opens, and runs the pragmas in order. */
    int (*open)(Session *session, const Database *database, const Connection *connection, Fault *fault);
    /* Runs each statement to its end. */
    int (*script)(Session *session, size_t count, char *const *statements, Fault *fault);
    /* Runs one read transaction, then asks for each PRAGMA by name. */
    int (*settings)(Session *session, size_t count, char *const *names, Value *values, Fault *fault);
    /* Compiles the statements of the transactions that are marked as used. */
    int (*prepare)(Session *session, const Trial *trial, const bool *used, Fault *fault);
    /* Sends the begin; nothing for autocommit. */
    int (*begin)(Session *session, Begin begin, Fault *fault);
    int (*commit)(Session *session, Fault *fault);
    /* Sends ROLLBACK where a transaction is open. */
    int (*rollback)(Session *session, Fault *fault);
    /* Binds, runs and fetches once. */
    int (*execute)(Session *session, const Call *call, Effect *effect, Fault *fault);
    int (*close)(Session *session, Fault *fault);
};

extern const Driver c_driver, noop_driver;

/* NULL, and the fault, where the name is no driver's. */
const Driver *driver_find(const char *name, Fault *fault);
/* Drivers here have no options of their own; one that is given was meant to have an effect. */
int driver_refuse_options(const Connection *connection, Fault *fault);
