/* The messages that the core sends, as C has them; crates/protocol/src/trial.rs and transaction.rs say what each field means.
 * Where a number says how many of something there are, it stands before it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "border.h"
#include "memory.h"

enum { PROTOCOL_VERSION = 1 };

/* A value to bind, yielded by a row, or returned by a PRAGMA. */
typedef struct Value {
    enum { VALUE_NULL, VALUE_INTEGER, VALUE_REAL, VALUE_TEXT } kind;
    int64_t integer;
    double real;
    Text text;
} Value;

void value_copy(Value *to, const Value *from);

typedef struct Source {
    enum {
        SOURCE_VALUE,
        SOURCE_CHOICE,
        SOURCE_UNIFORM,
        SOURCE_TABLE,
        SOURCE_SEQUENCE,
        SOURCE_HEX,
        SOURCE_TEXT,
        SOURCE_SHA256_OF,
        SOURCE_NOW,
        SOURCE_WORKER,
        SOURCE_FORMAT,
        SOURCE_YIELDED
    } kind;
    /* `value` as its only one, `choice`. */
    size_t value_count;
    Value *values;
    int64_t low, high;
    size_t cut_count;
    uint64_t *cut, *width;
    int64_t *lows;
    int64_t start, step;
    /* Of `hex` bytes, of `text` characters. */
    size_t size;
    /* Index of the parameter that `sha256-of` hashes. */
    size_t param;
    enum { NOW_S, NOW_MS, NOW_US, NOW_ISO } unit;
    /* `template` of `format`, `name` of `yielded`. */
    char *text;
} Source;

typedef struct Param {
    char *name;
    Source source;
} Param;

typedef enum Fetch { FETCH_NONE, FETCH_FIRST, FETCH_ALL, FETCH_BUFFER } Fetch;

typedef struct Work {
    enum { WORK_NONE, WORK_READ, WORK_SHA256_VERIFY } kind;
    char *value, *hash;
} Work;

typedef struct Statement {
    char *sql;
    size_t bind_count;
    size_t *bind;
    uint32_t tuples, repeat;
    Fetch fetch;
    Work work;
    size_t yield_count;
    char **yields;
    bool required;
    uint64_t hold_us;
} Statement;

typedef enum Begin { BEGIN_NONE, BEGIN_DEFERRED, BEGIN_IMMEDIATE, BEGIN_EXCLUSIVE } Begin;

typedef struct Transaction {
    char *name;
    Begin begin;
    bool writes;
    uint64_t hold_us;
    bool timed_rows;
    size_t param_count;
    Param *params;
    size_t statement_count;
    Statement *statements;
} Transaction;

typedef struct Access {
    enum { ACCESS_PER_WORKER, ACCESS_SHARED, ACCESS_POOL, ACCESS_WRITE_LOCK, ACCESS_SPLIT, ACCESS_GROUP_COMMIT } kind;
    /* Connections of a pool, readers of a split. */
    uint32_t connections;
} Access;

typedef struct Database {
    enum { DATABASE_FILE, DATABASE_MEMORY, DATABASE_SERVER } kind;
    char *path;
    bool shared;
    char *name;
    size_t setup_count;
    char **setup;
    size_t teardown_count;
    char **teardown;
} Database;

typedef struct Pragma {
    char *name, *value;
} Pragma;

typedef struct Connection {
    size_t pragma_count;
    Pragma *pragmas;
    size_t read_back_count;
    char **read_back;
    /* Name of the first of the driver's own options, NULL if none is given. */
    char *option;
} Connection;

typedef struct Retry {
    uint32_t attempts;
    uint64_t backoff_us;
    double multiplier;
    uint64_t max_backoff_us;
    size_t on_count;
    char **on;
} Retry;

typedef struct Step {
    size_t transaction;
    uint32_t weight, stride, offset;
} Step;

typedef struct Role {
    char *name;
    uint32_t workers, first_worker, first_in_role, workers_in_role;
    enum { ORDER_CYCLE, ORDER_WEIGHTED } order;
    size_t step_count;
    Step *steps;
    struct {
        enum { LOAD_CLOSED, LOAD_OPEN } kind;
        uint64_t think_us;
        double rate;
        enum { ARRIVALS_CONSTANT, ARRIVALS_POISSON } arrivals;
    } load;
    struct {
        enum { UNTIL_COUNT, UNTIL_TIME, UNTIL_ROLE } kind;
        uint64_t transactions, ms;
        char *name;
    } until;
} Role;

typedef struct Trial {
    uint32_t protocol;
    char *driver;
    /* By name. */
    char *executor;
    Access access;
    size_t database_count;
    Database *databases;
    Connection connection;
    bool prepare_once;
    Retry retry;
    uint64_t seed;
    size_t transaction_count;
    Transaction *transactions;
    size_t role_count;
    Role *roles;
    uint64_t warmup_ms, tick_ms, probe_ms;
} Trial;

typedef struct Inspect {
    uint32_t protocol;
    char *driver;
    Database database;
    uint32_t connections;
    Connection connection;
} Inspect;

/* From a message that json_read accepted. */
Trial *trial_read(const Json *json);
Inspect *inspect_read(const Json *json);
