/* Opening a connection as an application would, setting it, and asking what took effect. */
#pragma once

#include "fault.h"
#include "protocol.h"

/* Read-write, created when absent, URI names, no mutex (no two threads use one connection at once), extended result
 * codes. SQLite's own busy timeout stays: none. */
int connect_open(sqlite3 **db, const Database *database, const Connection *connection, Fault *fault);
/* Runs one statement and drops its rows. */
int connect_run(sqlite3 *db, const char *sql, Fault *fault);
/* The value of each PRAGMA after one read transaction: some settings are only decided when the file is first read. */
int connect_read_back(sqlite3 *db, size_t count, char *const *names, Value *values, Fault *fault);
/* A column as the protocol's value; it has none for a BLOB. */
int connect_value(sqlite3_stmt *statement, int column, Value *to, Fault *fault);
