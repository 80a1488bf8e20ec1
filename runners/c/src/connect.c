#include "connect.h"

#include <string.h>

#include "driver.h"

static int set(sqlite3 *db, const Pragma *pragma, Fault *fault) {
    Text sql = {0};
    text_format(&sql, "PRAGMA %s = %s", pragma->name, pragma->value);
    text_append(&sql, "", 1);
    int code = connect_run(db, sql.data, fault);
    if (code) fault_during(fault, sql.data);
    text_free(&sql);
    return code;
}

int connect_open(sqlite3 **db, const Database *database, const Connection *connection, Fault *fault) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = driver_refuse_options(connection, fault);
    if (code) return code;
    Text name = {0};
    if (database->kind == DATABASE_FILE) text_append(&name, database->path, strlen(database->path));
    else if (database->shared) text_format(&name, "file:%s?mode=memory&cache=shared", database->name);
    else text_format(&name, ":memory:");
    text_append(&name, "", 1);
    code = sqlite3_open_v2(name.data, db, flags, NULL);
    if (code) {
        fault_sqlite(fault, *db, code);
        fault_during(fault, name.data);
    }
    text_free(&name);
    for (size_t i = 0; !code && i < connection->pragma_count; i++) code = set(*db, &connection->pragmas[i], fault);
    return code;
}

int connect_run(sqlite3 *db, const char *sql, Fault *fault) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code) return fault_sqlite(fault, db, code);
    while (sqlite3_step(statement) == SQLITE_ROW) continue;
    code = sqlite3_reset(statement);
    if (code) fault_sqlite(fault, db, code);
    sqlite3_finalize(statement);
    return code;
}

static int read_one(sqlite3 *db, const char *name, Value *value, Fault *fault) {
    sqlite3_stmt *statement;
    Text sql = {0};
    text_format(&sql, "PRAGMA %s", name);
    int code = sqlite3_prepare_v2(db, sql.data, (int)sql.length, &statement, NULL);
    text_free(&sql);
    if (code) return fault_sqlite(fault, db, code);
    *value = (Value){0};
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) code = connect_value(statement, 0, value, fault);
    else if (code == SQLITE_DONE) code = 0;
    else fault_sqlite(fault, db, code);
    sqlite3_finalize(statement);
    return code;
}

int connect_read_back(sqlite3 *db, size_t count, char *const *names, Value *values, Fault *fault) {
    int code = connect_run(db, "SELECT count(*) FROM sqlite_schema", fault);
    for (size_t i = 0; !code && i < count; i++) code = read_one(db, names[i], &values[i], fault);
    return code;
}

int connect_value(sqlite3_stmt *statement, int column, Value *to, Fault *fault) {
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL: to->kind = VALUE_NULL; return 0;
    case SQLITE_INTEGER:
        to->kind = VALUE_INTEGER;
        to->integer = sqlite3_column_int64(statement, column);
        return 0;
    case SQLITE_FLOAT:
        to->kind = VALUE_REAL;
        to->real = sqlite3_column_double(statement, column);
        return 0;
    case SQLITE_TEXT: {
        const void *text = sqlite3_column_text(statement, column);
        to->kind = VALUE_TEXT;
        to->text.length = 0;
        text_append(&to->text, text, text ? (size_t)sqlite3_column_bytes(statement, column) : 0);
        return 0;
    }
    default: return fault_other(fault, "a BLOB cannot be yielded or reported");
    }
}
