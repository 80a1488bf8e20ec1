/* The verb `describe`: what this runner is and can do. */
#include <stddef.h>

#include "driver.h"
#include "message.h"
#include "verbs.h"

/* Kinds of access that access.c opens. */
static const char *const accesses[] = {"per-worker", "shared", "pool", "write-lock", "split", NULL};

/* Threads, and processes of one such thread each. */
const char *const executors[] = {"threads", "processes", NULL};

static void list(Message *message, const char *key, const char *const *names) {
    message_open(message, key, '[');
    for (; *names; names++) message_string(message, NULL, *names);
    message_close(message, ']');
}

static void driver(Message *message, const char *name, bool has_sqlite) {
    message_open(message, NULL, '{');
    message_string(message, "name", name);
    /* The library of the driver `c` is SQLite itself. */
    message_string(message, "version", has_sqlite ? sqlite3_libversion() : "1");
    if (has_sqlite) {
        message_open(message, "sqlite", '{');
        message_string(message, "version", sqlite3_libversion());
        message_string(message, "source_id", sqlite3_sourceid());
        message_open(message, "compile_options", '[');
        const char *option;
        for (int i = 0; (option = sqlite3_compileoption_get(i)); i++) message_string(message, NULL, option);
        message_close(message, ']');
        message_close(message, '}');
    } else {
        message_null(message, "sqlite");
    }
    list(message, "accesses", accesses);
    list(message, "executors", executors);
    message_close(message, '}');
}

int describe(Fault *fault) {
    Message message = {0};
    message_open(&message, NULL, '{');
    message_number(&message, "protocol", PROTOCOL_VERSION);
    message_string(&message, "runner", "c");
    message_string(&message, "language", "c");
#if defined(__clang__)
    message_string(&message, "runtime", __VERSION__);
#else
    message_string(&message, "runtime", "GCC " __VERSION__);
#endif
    message_open(&message, "drivers", '[');
    driver(&message, c_driver.name, true);
    driver(&message, noop_driver.name, false);
    message_close(&message, ']');
    message_close(&message, '}');
    return message_say(&message, fault);
}
