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

/* Reads a column as the type that it has. */
static inline Cell cell_read(sqlite3_stmt *statement, int column) {
    Cell cell = {.type = sqlite3_column_type(statement, column)};
    switch (cell.type) {
    case SQLITE_INTEGER: cell.integer = sqlite3_column_int64(statement, column); break;
    case SQLITE_FLOAT: cell.real = sqlite3_column_double(statement, column); break;
    case SQLITE_TEXT:
        cell.bytes = sqlite3_column_text(statement, column);
        cell.length = sqlite3_column_bytes(statement, column);
        break;
    case SQLITE_BLOB:
        cell.bytes = sqlite3_column_blob(statement, column);
        cell.length = sqlite3_column_bytes(statement, column);
        break;
    default: break;
    }
    return cell;
}

/* Makes the compiler believe that the cell is looked at, so that reading it is not left out. */
static inline void cell_use(const Cell *cell) {
    __asm__ volatile("" : : "r"(cell->integer), "r"(cell->length) : "memory");
}
