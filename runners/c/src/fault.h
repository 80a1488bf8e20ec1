/* Why something did not work. Functions that can fail return 0, SQLite's extended result code, or FAULT_OTHER, and fill
 * in the Fault only then. */
#pragma once

#include <sqlite3.h>

/* Not SQLite's: it ends the trial. */
enum { FAULT_OTHER = -1 };

typedef struct Fault {
    int code;
    char reason[1000];
} Fault;

/* These return the code. */
int fault_other(Fault *fault, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));
int fault_sqlite(Fault *fault, sqlite3 *db, int code) __attribute__((cold));
/* Says what was being done. */
int fault_during(Fault *fault, const char *what) __attribute__((cold));
