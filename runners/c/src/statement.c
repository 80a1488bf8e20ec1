/* The driver `c`: SQLite's C API as a careful C programmer calls it. Statements are prepared once and for long, drawn
 * texts are bound where they lie, and a result code is looked at where SQLite gives it last: when the statement is
 * reset. */
#include <stdlib.h>
#include <string.h>

#include "connect.h"
#include "driver.h"
#include "work.h"

/* One statement of a transaction. */
struct Prepared {
    /* NULL where it is prepared each time. */
    sqlite3_stmt *statement;
    int columns;
    Job job;
};

static int compile(sqlite3 *db, const char *sql, bool for_long, sqlite3_stmt **statement, Fault *fault) {
    int code = sqlite3_prepare_v3(db, sql, -1, for_long ? SQLITE_PREPARE_PERSISTENT : 0, statement, NULL);
    return code ? fault_sqlite(fault, db, code) : 0;
}

static int open(Session *session, const Database *database, const Connection *connection, Fault *fault) {
    return connect_open(&session->db, database, connection, fault);
}

static int script(Session *session, size_t count, char *const *statements, Fault *fault) {
    for (size_t i = 0; i < count; i++) {
        int code = connect_run(session->db, statements[i], fault);
        if (code) return fault_during(fault, statements[i]);
    }
    return 0;
}

static int settings(Session *session, size_t count, char *const *names, Value *values, Fault *fault) {
    return connect_read_back(session->db, count, names, values, fault);
}

/* Compiles one statement and holds it against what the trial says of it. */
static int check(Session *session, const Statement *spec, bool once, struct Prepared *prepared, Fault *fault) {
    int code = compile(session->db, spec->sql, once, &prepared->statement, fault);
    if (code) return code;
    sqlite3_stmt *statement = prepared->statement;
    size_t wanted = (size_t)sqlite3_bind_parameter_count(statement), given = spec->bind_count * spec->tuples;
    prepared->columns = sqlite3_column_count(statement);
    if (wanted != given) {
        code = fault_other(fault, "it has %zu parameters, and %zu are bound", wanted, given);
    } else if ((size_t)prepared->columns < spec->yield_count) {
        code = fault_other(fault, "it has %d columns, and yields %zu", prepared->columns, spec->yield_count);
    } else {
        code = job_new(&prepared->job, &spec->work, statement, fault);
    }
    if (!once) {
        sqlite3_finalize(statement);
        prepared->statement = NULL;
    }
    return code;
}

static int prepare(Session *session, const Trial *trial, const bool *used, Fault *fault) {
    static const char *const brackets[] = {"COMMIT", "BEGIN DEFERRED", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"};
    int code = 0;
    session->statements = keep(trial->transaction_count, sizeof *session->statements);
    for (size_t t = 0; t < trial->transaction_count; t++) {
        const Transaction *transaction = &trial->transactions[t];
        session->statements[t] = keep(transaction->statement_count, sizeof **session->statements);
        for (size_t s = 0; used[t] && s < transaction->statement_count; s++) {
            const Statement *spec = &transaction->statements[s];
            code = check(session, spec, trial->prepare_once, &session->statements[t][s], fault);
            if (code) return fault_during(fault, spec->sql);
        }
    }
    for (int i = 0; !code && trial->prepare_once && i < 4; i++)
        code = compile(session->db, brackets[i], true, &session->brackets[i], fault);
    session->total_changes = sqlite3_total_changes64(session->db);
    return code;
}

/* Sends a BEGIN or COMMIT: prepared, or as text. */
static int send(Session *session, sqlite3_stmt *prepared, const char *sql, Fault *fault) {
    int code;
    if (prepared) {
        sqlite3_step(prepared);
        code = sqlite3_reset(prepared);
    } else {
        code = sqlite3_exec(session->db, sql, NULL, NULL, NULL);
    }
    return code ? fault_sqlite(fault, session->db, code) : 0;
}

static int begin(Session *session, Begin kind, Fault *fault) {
    static const char *const sql[] = {"", "BEGIN DEFERRED", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"};
    return kind == BEGIN_NONE ? 0 : send(session, session->brackets[kind], sql[kind], fault);
}

static int commit(Session *session, Fault *fault) {
    return send(session, session->brackets[BEGIN_NONE], "COMMIT", fault);
}

static int rollback(Session *session, Fault *fault) {
    /* Some errors (SQLITE_FULL, SQLITE_IOERR, …) roll back by themselves: sqlite.org/lang_transaction.html */
    return sqlite3_get_autocommit(session->db) ? 0 : send(session, NULL, "ROLLBACK", fault);
}

/* What was drawn stays where it is until the statement is reset. What was yielded does not, if the statement yields
 * under the same name, so SQLite makes a copy of that. */
static inline int bind(sqlite3_stmt *statement, int at, const Slot *slot, const Call *call, const Effect *effect) {
    switch (slot->kind) {
    case SLOT_INTEGER: return sqlite3_bind_int64(statement, at, slot->integer);
    case SLOT_TEXT:
        return sqlite3_bind_text(statement, at, call->values->text.data + slot->from, (int)slot->length, SQLITE_STATIC);
    case SLOT_REAL: return sqlite3_bind_double(statement, at, slot->real);
    case SLOT_YIELDED: {
        const Value *value = &effect->yielded[slot->place];
        switch (value->kind) {
        case VALUE_INTEGER: return sqlite3_bind_int64(statement, at, value->integer);
        case VALUE_REAL: return sqlite3_bind_double(statement, at, value->real);
        case VALUE_TEXT:
            return sqlite3_bind_text(statement, at, value->text.data, (int)value->text.length, SQLITE_TRANSIENT);
        default: return sqlite3_bind_null(statement, at);
        }
    }
    default: return sqlite3_bind_null(statement, at);
    }
}

/* The row under the statement. */
static inline void work(sqlite3_stmt *statement, const struct Prepared *prepared, Effect *effect) {
    const Job *job = &prepared->job;
    if (job->kind == WORK_NONE) return;
    for (int i = 0; i < prepared->columns; i++) {
        Cell cell = cell_read(statement, i);
        cell_use(&cell);
    }
    if (job->kind == WORK_SHA256_VERIFY) {
        Cell value = cell_read(statement, job->value), hash = cell_read(statement, job->hash);
        job_verify(&value, &hash, effect);
    }
}

static int remember(sqlite3_stmt *statement, const Call *call, Effect *effect, Fault *fault) {
    int code = 0;
    for (size_t i = 0; !code && i < call->spec->yield_count; i++)
        code = connect_value(statement, (int)i, &effect->yielded[call->yields[i]], fault);
    return code;
}

/* Every row in memory of its own, which is what a `fetchall` returns, and only then the work. */
static int fetch_buffer(sqlite3_stmt *statement, const struct Prepared *prepared, const Call *call, Effect *effect,
                        Fault *fault) {
    Text cells = {0}, bytes = {0};
    size_t rows = 0, columns = (size_t)prepared->columns;
    int code = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        Cell *row = (Cell *)text_extend(&cells, columns * sizeof *row);
        for (size_t i = 0; i < columns; i++) {
            row[i] = cell_read(statement, (int)i);
            if (row[i].type == SQLITE_TEXT || row[i].type == SQLITE_BLOB) {
                /* An offset until all rows are there: the buffer moves as it grows. */
                size_t from = bytes.length;
                text_append(&bytes, row[i].bytes, (size_t)row[i].length);
                row[i].integer = (sqlite3_int64)from;
            }
        }
        if (rows++ == 0 && (code = remember(statement, call, effect, fault))) break;
    }
    if (call->timed) effect->query = clock_read(call->clock);
    for (size_t r = 0; r < rows; r++) {
        Cell *row = (Cell *)cells.data + r * columns;
        for (size_t i = 0; i < columns; i++)
            if (row[i].type == SQLITE_TEXT || row[i].type == SQLITE_BLOB)
                row[i].bytes = (const unsigned char *)bytes.data + row[i].integer;
        for (size_t i = 0; prepared->job.kind != WORK_NONE && i < columns; i++) cell_use(&row[i]);
        if (prepared->job.kind == WORK_SHA256_VERIFY)
            job_verify(&row[prepared->job.value], &row[prepared->job.hash], effect);
        if (r == 0 && call->timed) effect->first_row = clock_read(call->clock);
    }
    effect->rows = rows;
    text_free(&cells);
    text_free(&bytes);
    return code;
}

/* Steps and fetches. Returns only what is no SQLite error; that comes when the statement is reset. */
static int fetch(sqlite3_stmt *statement, const struct Prepared *prepared, const Call *call, Effect *effect,
                 Fault *fault) {
    uint64_t rows = 0;
    int code = 0;
    switch (call->spec->fetch) {
    case FETCH_NONE:
        while (!code && sqlite3_step(statement) == SQLITE_ROW)
            if (rows++ == 0) code = remember(statement, call, effect, fault);
        break;
    case FETCH_FIRST:
        if (sqlite3_step(statement) == SQLITE_ROW) {
            rows = 1;
            work(statement, prepared, effect);
            code = remember(statement, call, effect, fault);
        }
        break;
    case FETCH_ALL: {
        /* In this API the call that executes is the first step. */
        int step = sqlite3_step(statement);
        if (call->timed) effect->query = clock_read(call->clock);
        for (; !code && step == SQLITE_ROW; step = sqlite3_step(statement)) {
            work(statement, prepared, effect);
            if (rows++ == 0) {
                if (call->timed) effect->first_row = clock_read(call->clock);
                code = remember(statement, call, effect, fault);
            }
        }
        break;
    }
    case FETCH_BUFFER: return fetch_buffer(statement, prepared, call, effect, fault);
    }
    effect->rows = rows;
    return code;
}

static int execute(Session *session, const Call *call, Effect *effect, Fault *fault) {
    const struct Prepared *prepared = &session->statements[call->transaction][call->statement];
    sqlite3_stmt *statement = prepared->statement;
    int code = 0, last;
    if (!statement && (code = compile(session->db, call->spec->sql, false, &statement, fault))) return code;
    for (size_t i = 0; !code && i < call->slot_count; i++)
        code = bind(statement, (int)i + 1, &call->slots[i], call, effect);
    if (code) {
        fault_sqlite(fault, session->db, code);
    } else if (prepared->columns) {
        code = fetch(statement, prepared, call, effect, fault);
    } else {
        sqlite3_step(statement);
    }
    last = sqlite3_reset(statement);
    if (last && !code) code = fault_sqlite(fault, session->db, last);
    if (!prepared->statement) sqlite3_finalize(statement);
    if (code || prepared->columns) return code;
    /* sqlite3_changes keeps its value over a statement that counts none (DDL, say), so the total has to have moved. */
    sqlite3_int64 total = sqlite3_total_changes64(session->db);
    effect->rows = total == session->total_changes ? 0 : (uint64_t)sqlite3_changes64(session->db);
    session->total_changes = total;
    return 0;
}

static int close(Session *session, Fault *fault) {
    sqlite3_stmt *statement;
    while ((statement = sqlite3_next_stmt(session->db, NULL))) sqlite3_finalize(statement);
    int code = sqlite3_close(session->db);
    if (code) return fault_sqlite(fault, session->db, code);
    session->db = NULL;
    return 0;
}

const Driver c_driver = {
    .name = "c",
    .open = open,
    .script = script,
    .settings = settings,
    .prepare = prepare,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .execute = execute,
    .close = close,
};
