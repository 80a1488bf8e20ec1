/* The driver `noop`: everything but the database. Its figures are the cost of the harness itself. */
#include "driver.h"

static int open(Session *session, const Database *database, const Connection *connection, Fault *fault) {
    (void)session, (void)database;
    return driver_refuse_options(connection, fault);
}

static int script(Session *session, size_t count, char *const *statements, Fault *fault) {
    (void)session, (void)count, (void)statements, (void)fault;
    return 0;
}

static int settings(Session *session, size_t count, char *const *names, Value *values, Fault *fault) {
    (void)session, (void)names, (void)fault;
    for (size_t i = 0; i < count; i++) values[i] = (Value){0};
    return 0;
}

static int prepare(Session *session, const Trial *trial, const bool *used, Fault *fault) {
    (void)session, (void)trial, (void)used, (void)fault;
    return 0;
}

static int begin(Session *session, Begin kind, Fault *fault) {
    (void)session, (void)kind, (void)fault;
    return 0;
}

static int done(Session *session, Fault *fault) {
    (void)session, (void)fault;
    return 0;
}

/* Answers every statement with one row of no columns, so that no transaction ends empty. */
static int execute(Session *session, const Call *call, Effect *effect, Fault *fault) {
    (void)session, (void)fault;
    for (size_t i = 0; i < call->slot_count; i++) {
        const Slot *slot = &call->slots[i];
        const void *text = slot->kind == SLOT_TEXT ? call->values->text.data + slot->from : NULL;
        __asm__ volatile("" : : "r"(text), "r"(slot->integer) : "memory");
    }
    if (call->timed) {
        effect->query = clock_read(call->clock);
        effect->first_row = clock_read(call->clock);
    }
    effect->rows = 1;
    return 0;
}

const Driver noop_driver = {
    .name = "noop",
    .open = open,
    .script = script,
    .settings = settings,
    .prepare = prepare,
    .begin = begin,
    .commit = done,
    .rollback = done,
    .execute = execute,
    .close = done,
};
