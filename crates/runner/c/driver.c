/* The driver `c`: calls SQLite's API as a C program does. Its only caller is src/c, whose driver.rs has the same
 * declarations.
 *
 * A function that returns an int returns a result code of SQLite, extended where SQLite defines an extended one. */
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* BEGIN DEFERRED, BEGIN IMMEDIATE, BEGIN EXCLUSIVE, COMMIT: the first three are the kinds that litelab_c_begin
 * takes. */
enum { COMMIT = 3, BRACKETS = 4 };
static const char *const bracket_sql[BRACKETS] = {"BEGIN DEFERRED", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE", "COMMIT"};

typedef struct Connection {
    /* NULL if SQLite could not allocate it. */
    sqlite3 *db;
    /* Prepared statements; NULL if the driver sends them as text. */
    sqlite3_stmt *brackets[BRACKETS];
} Connection;

/* A value to bind, or the value of a column. */
typedef struct Value {
    /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB or SQLITE_NULL. A BLOB is read, never bound. */
    int type;
    /* True for a text to bind whose bytes may change before the statement is reset: SQLite copies them. */
    int is_volatile;
    /* Length of a text or BLOB in bytes. */
    size_t length;
    union {
        sqlite3_int64 integer;
        double real;
        /* NULL only if `length` is 0. */
        const void *bytes;
    };
} Value;

/* Copied rows, one after the other. */
typedef struct Rows {
    Value *values;
    size_t count;
    int columns;
} Rows;

/* Opens a file or URI for reading and writing, and creates it if it is absent. One thread at a time may use the
 * connection. The caller closes `*connection` after an error, too; it is NULL if it could not be allocated. */
int litelab_c_open(const char *name, Connection **connection) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    *connection = calloc(1, sizeof **connection);
    if (!*connection) return SQLITE_NOMEM;
    return sqlite3_open_v2(name, &(*connection)->db, flags | SQLITE_OPEN_EXRESCODE, NULL);
}

/* Closes the connection. The caller must have finalized all its statements. */
void litelab_c_close(Connection *connection) {
    if (!connection) return;
    for (int i = 0; i < BRACKETS; i++) sqlite3_finalize(connection->brackets[i]);
    sqlite3_close(connection->db);
    free(connection);
}

/* Message of the last call that failed; valid until the next call. */
const char *litelab_c_message(const Connection *connection) {
    return sqlite3_errmsg(connection ? connection->db : NULL);
}

/* Compiles one statement. `often` is true if it will be executed more than once. `*statement` is NULL for an empty
 * text. */
int litelab_c_prepare(Connection *connection, const char *sql, int often, sqlite3_stmt **statement) {
    return sqlite3_prepare_v3(connection->db, sql, -1, often ? SQLITE_PREPARE_PERSISTENT : 0, statement, NULL);
}

/* Runs all statements of a text and drops their rows. */
int litelab_c_exec(Connection *connection, const char *sql) {
    return sqlite3_exec(connection->db, sql, NULL, NULL, NULL);
}

/* Compiles the statements that begin and commit transactions. */
int litelab_c_prepare_brackets(Connection *connection) {
    int code = SQLITE_OK;
    for (int i = 0; !code && i < BRACKETS; i++)
        code = litelab_c_prepare(connection, bracket_sql[i], 1, &connection->brackets[i]);
    return code;
}

static int send(Connection *connection, int bracket) {
    sqlite3_stmt *statement = connection->brackets[bracket];
    if (!statement) return litelab_c_exec(connection, bracket_sql[bracket]);
    sqlite3_step(statement);
    return sqlite3_reset(statement);
}

int litelab_c_begin(Connection *connection, int kind) {
    return send(connection, kind);
}

int litelab_c_commit(Connection *connection) {
    return send(connection, COMMIT);
}

/* Rolls back if a transaction is open: SQLite itself rolls back after some errors (SQLITE_FULL, SQLITE_IOERR, ...), see
 * https://sqlite.org/lang_transaction.html */
int litelab_c_rollback(Connection *connection) {
    return sqlite3_get_autocommit(connection->db) ? SQLITE_OK : litelab_c_exec(connection, "ROLLBACK");
}

static int bind(sqlite3_stmt *statement, int at, const Value *value) {
    switch (value->type) {
    case SQLITE_INTEGER: return sqlite3_bind_int64(statement, at, value->integer);
    case SQLITE_FLOAT: return sqlite3_bind_double(statement, at, value->real);
    case SQLITE_TEXT: {
        const char *text = value->length ? value->bytes : "";
        sqlite3_destructor_type lifetime = value->is_volatile ? SQLITE_TRANSIENT : SQLITE_STATIC;
        return sqlite3_bind_text64(statement, at, text, value->length, lifetime, SQLITE_UTF8);
    }
    default: return sqlite3_bind_null(statement, at);
    }
}

/* Binds all parameters and takes the first step. Returns SQLITE_ROW, SQLITE_DONE or an error. Texts that are not
 * volatile must remain valid until the statement is reset. */
int litelab_c_execute(sqlite3_stmt *statement, const Value *values, int count) {
    for (int i = 0; i < count; i++) {
        int code = bind(statement, i + 1, &values[i]);
        if (code) return code;
    }
    return sqlite3_step(statement);
}

/* Takes the next step. Returns SQLITE_ROW, SQLITE_DONE or an error. */
int litelab_c_step(sqlite3_stmt *statement) {
    return sqlite3_step(statement);
}

/* Resets the statement. Under autocommit this commits the changes of a statement that is reset after a row, which
 * can fail. */
int litelab_c_reset(sqlite3_stmt *statement) {
    return sqlite3_reset(statement);
}

/* Executes and resets a statement that returns no rows. `*changed` is the number of rows that it has changed. */
int litelab_c_run(Connection *connection, sqlite3_stmt *statement, const Value *values, int count, int64_t *changed) {
    sqlite3_int64 before = sqlite3_total_changes64(connection->db);
    int code = litelab_c_execute(statement, values, count), end = sqlite3_reset(statement);
    /* sqlite3_changes64 keeps its value over a statement that counts no changes, such as DDL, so the total must
     * differ. */
    *changed = sqlite3_total_changes64(connection->db) == before ? 0 : sqlite3_changes64(connection->db);
    return code == SQLITE_DONE ? end : code;
}

/* Reads the columns of the current row. Bytes are valid until the next step or reset of the statement. */
int litelab_c_read(sqlite3_stmt *statement, Value *row, int columns) {
    for (int i = 0; i < columns; i++) {
        Value *value = &row[i];
        value->type = sqlite3_column_type(statement, i);
        switch (value->type) {
        case SQLITE_INTEGER: value->integer = sqlite3_column_int64(statement, i); break;
        case SQLITE_FLOAT: value->real = sqlite3_column_double(statement, i); break;
        case SQLITE_TEXT:
            value->bytes = sqlite3_column_text(statement, i);
            value->length = (size_t)sqlite3_column_bytes(statement, i);
            if (!value->bytes) return SQLITE_NOMEM;
            break;
        case SQLITE_BLOB:
            value->bytes = sqlite3_column_blob(statement, i);
            value->length = (size_t)sqlite3_column_bytes(statement, i);
            if (!value->bytes && value->length) return SQLITE_NOMEM;
            break;
        default: break;
        }
    }
    return SQLITE_OK;
}

/* Copies each text and BLOB of a row to newly allocated memory. */
static int keep(Value *row, int columns) {
    int code = SQLITE_OK;
    for (int i = 0; i < columns; i++) {
        if (row[i].type != SQLITE_TEXT && row[i].type != SQLITE_BLOB) continue;
        void *copy = row[i].length ? malloc(row[i].length) : NULL;
        if (copy) memcpy(copy, row[i].bytes, row[i].length);
        else if (row[i].length) code = SQLITE_NOMEM;
        row[i].bytes = copy;
    }
    return code;
}

/* Fetches the current row and all later rows. `rows` must be empty with `columns` set. The caller frees it after an
 * error, too. */
int litelab_c_fetch_all(sqlite3_stmt *statement, Rows *rows) {
    size_t columns = (size_t)rows->columns, capacity = 0;
    int code;
    do {
        if (rows->count == capacity) {
            if (capacity > SIZE_MAX / sizeof(Value) / columns / 2) return SQLITE_NOMEM;
            capacity = capacity ? 2 * capacity : 16;
            Value *grown = realloc(rows->values, capacity * columns * sizeof *grown);
            if (!grown) return SQLITE_NOMEM;
            rows->values = grown;
        }
        Value *row = rows->values + rows->count * columns;
        code = litelab_c_read(statement, row, rows->columns);
        if (code) return code;
        rows->count++;
        code = keep(row, rows->columns);
        if (code) return code;
    } while ((code = sqlite3_step(statement)) == SQLITE_ROW);
    return code;
}

void litelab_c_free_rows(Rows *rows) {
    for (size_t i = 0; i < rows->count * (size_t)rows->columns; i++) {
        int type = rows->values[i].type;
        if (type == SQLITE_TEXT || type == SQLITE_BLOB) free((void *)rows->values[i].bytes);
    }
    free(rows->values);
}
