#include "fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "border.h"

int fault_other(Fault *fault, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->reason, sizeof fault->reason, format, arguments);
    va_end(arguments);
    return fault->code = FAULT_OTHER;
}

int fault_sqlite(Fault *fault, sqlite3 *db, int code) {
    char name[64];
    code_name(code, name);
    snprintf(fault->reason, sizeof fault->reason, "%s: %s", name, db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
    return fault->code = code;
}

int fault_during(Fault *fault, const char *what) {
    char reason[sizeof fault->reason];
    memcpy(reason, fault->reason, sizeof reason);
    /* The text of an INSERT with a thousand tuples would leave no room for the reason. */
    snprintf(fault->reason, sizeof fault->reason, "%.200s: %.780s", what, reason);
    return fault->code;
}
