/* What the client does with each row it fetches. */
#pragma once

#include "driver.h"

/* Work with its columns found. */
typedef struct Job {
    int kind;
    int value, hash;
} Job;

/* A column as it was read: from a row that SQLite holds, or out of a buffer. */
typedef struct Cell {
    int type;
    int length;
    union {
        sqlite3_int64 integer;
        double real;
        const unsigned char *bytes;
    };
} Cell;

/* Finds the columns by name. */
int job_new(Job *job, const Work *work, sqlite3_stmt *statement, Fault *fault);

/* Counts a row as verified, and as a mismatch where `hash` is not that of `value`. */
void job_verify(const Cell *value, const Cell *hash, Effect *effect);

/* Reads a column as the type that it has. By way of its sqlite3_value, which is looked up once, where each
 * sqlite3_column_… would look for it again; that is allowed as long as one thread uses the connection. */
static inline Cell cell_read(sqlite3_stmt *statement, int column) {
    sqlite3_value *value = sqlite3_column_value(statement, column);
    Cell cell = {.type = sqlite3_value_type(value)};
    switch (cell.type) {
    case SQLITE_INTEGER: cell.integer = sqlite3_value_int64(value); break;
    case SQLITE_FLOAT: cell.real = sqlite3_value_double(value); break;
    case SQLITE_TEXT:
        cell.bytes = sqlite3_value_text(value);
        cell.length = sqlite3_value_bytes(value);
        break;
    case SQLITE_BLOB:
        cell.bytes = sqlite3_value_blob(value);
        cell.length = sqlite3_value_bytes(value);
        break;
    default: break;
    }
    return cell;
}

/* Makes the compiler believe that the cell is looked at, so that reading it is not left out. */
static inline void cell_use(const Cell *cell) {
    __asm__ volatile("" : : "r"(cell->integer), "r"(cell->length) : "memory");
}
