/* From JSON to structs. Types and presence were checked when the line was read. */
#include "protocol.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const Json *at(const Json *json, const char *key) {
    return json_member(json, key);
}

static uint64_t number(const Json *json, const char *key) {
    return (uint64_t)json_integer(at(json, key));
}

static int64_t integer(const Json *json, const char *key) {
    return json_integer(at(json, key));
}

static char *string_of(const Json *json) {
    size_t length;
    const char *text = json_text(json, &length);
    return keep_text(text, length);
}

static char *string(const Json *json, const char *key) {
    return string_of(at(json, key));
}

/* Index of a string among names. */
static int one_of(const Json *json, const char *key, const char *const *names, int count) {
    const char *seen = string(json, key);
    int i = 0;
    while (i < count - 1 && strcmp(seen, names[i])) i++;
    return i;
}

static char **strings(const Json *json, const char *key, size_t *count) {
    const Json *array = at(json, key);
    *count = json_length(array);
    char **all = keep(*count, sizeof *all);
    for (size_t i = 0; i < *count; i++) all[i] = string_of(json_element(array, i));
    return all;
}

/* Calls `read` on each element of an array. */
#define EACH(json, key, count, elements, read)                                       \
    do {                                                                             \
        const Json *array_ = at(json, key);                                          \
        (count) = json_length(array_);                                               \
        (elements) = keep((count), sizeof *(elements));                              \
        for (size_t i_ = 0; i_ < (count); i_++)                                      \
            read(json_element(array_, i_), &(elements)[i_]);                         \
    } while (0)

static void read_unsigned(const Json *json, uint64_t *to) {
    *to = (uint64_t)json_integer(json);
}

static void read_signed(const Json *json, int64_t *to) {
    *to = json_integer(json);
}

static void read_index(const Json *json, size_t *to) {
    *to = (size_t)json_integer(json);
}

static void read_value(const Json *json, Value *to) {
    size_t length;
    const char *text;
    switch (json_kind(json)) {
    case JSON_INTEGER: *to = (Value){.kind = VALUE_INTEGER, .integer = json_integer(json)}; break;
    case JSON_REAL: *to = (Value){.kind = VALUE_REAL, .real = json_real(json)}; break;
    case JSON_TEXT:
        text = json_text(json, &length);
        *to = (Value){.kind = VALUE_TEXT, .text = {keep_text(text, length), length, length}};
        break;
    default: *to = (Value){0};
    }
}

void value_copy(Value *to, const Value *from) {
    to->kind = from->kind;
    to->integer = from->integer;
    to->real = from->real;
    if (from->kind == VALUE_TEXT) {
        to->text.length = 0;
        text_append(&to->text, from->text.data, from->text.length);
    }
}

static void read_param(const Json *json, Param *to) {
    static const char *const kinds[] = {"value", "choice",    "uniform", "table",  "sequence", "hex",
                                        "text",  "sha256-of", "now",     "worker", "format",   "yielded"};
    static const char *const units[] = {"s", "ms", "us", "iso"};
    const Json *source = at(json, "source");
    Source *s = &to->source;
    to->name = string(json, "name");
    s->kind = one_of(source, "kind", kinds, COUNT(kinds));
    switch (s->kind) {
    case SOURCE_VALUE:
        s->value_count = 1;
        s->values = keep(1, sizeof *s->values);
        read_value(at(source, "value"), s->values);
        break;
    case SOURCE_CHOICE: EACH(source, "values", s->value_count, s->values, read_value); break;
    case SOURCE_UNIFORM:
        s->low = integer(source, "low");
        s->high = integer(source, "high");
        break;
    case SOURCE_TABLE: {
        size_t lows, widths;
        EACH(source, "cut", s->cut_count, s->cut, read_unsigned);
        EACH(source, "low", lows, s->lows, read_signed);
        EACH(source, "width", widths, s->width, read_unsigned);
        /* Three lists of one length; what is beyond the shortest is not looked at. */
        if (lows < s->cut_count) s->cut_count = lows;
        if (widths < s->cut_count) s->cut_count = widths;
        break;
    }
    case SOURCE_SEQUENCE:
        s->start = integer(source, "start");
        s->step = integer(source, "step");
        break;
    case SOURCE_HEX: s->size = number(source, "bytes"); break;
    case SOURCE_TEXT: s->size = number(source, "chars"); break;
    case SOURCE_SHA256_OF: s->param = number(source, "param"); break;
    case SOURCE_NOW: s->unit = one_of(source, "unit", units, COUNT(units)); break;
    case SOURCE_WORKER: break;
    case SOURCE_FORMAT: s->text = string(source, "template"); break;
    case SOURCE_YIELDED: s->text = string(source, "name"); break;
    }
}

static void read_statement(const Json *json, Statement *to) {
    static const char *const fetches[] = {"none", "first", "all", "buffer"};
    static const char *const works[] = {"none", "read", "sha256-verify"};
    to->sql = string(json, "sql");
    EACH(json, "bind", to->bind_count, to->bind, read_index);
    to->tuples = number(json, "tuples");
    to->repeat = number(json, "repeat");
    to->fetch = one_of(json, "fetch", fetches, COUNT(fetches));
    const Json *work = at(json, "work");
    to->work.kind = one_of(work, "kind", works, COUNT(works));
    if (to->work.kind == WORK_SHA256_VERIFY) {
        to->work.value = string(work, "value");
        to->work.hash = string(work, "hash");
    }
    to->yields = strings(json, "yields", &to->yield_count);
    to->required = integer(json, "required");
    to->hold_us = number(json, "hold_us");
}

static void read_transaction(const Json *json, Transaction *to) {
    static const char *const begins[] = {"none", "deferred", "immediate", "exclusive"};
    to->name = string(json, "name");
    to->begin = one_of(json, "begin", begins, COUNT(begins));
    to->writes = integer(json, "writes");
    to->hold_us = number(json, "hold_us");
    to->timed_rows = integer(json, "timed_rows");
    EACH(json, "params", to->param_count, to->params, read_param);
    EACH(json, "statements", to->statement_count, to->statements, read_statement);
}

static void read_database(const Json *json, Database *to) {
    static const char *const kinds[] = {"file", "memory", "server"};
    to->kind = one_of(json, "kind", kinds, COUNT(kinds));
    if (to->kind == DATABASE_FILE) {
        to->path = string(json, "path");
        return;
    }
    if (to->kind == DATABASE_SERVER) return;
    to->shared = integer(json, "shared");
    to->name = string(json, "name");
    to->setup = strings(json, "setup", &to->setup_count);
    to->teardown = strings(json, "teardown", &to->teardown_count);
}

static void read_pragma(const Json *json, Pragma *to) {
    to->name = string(json, "name");
    to->value = string(json, "value");
}

static void read_connection(const Json *json, Connection *to) {
    EACH(json, "pragmas", to->pragma_count, to->pragmas, read_pragma);
    to->read_back = strings(json, "read_back", &to->read_back_count);
    size_t length;
    const char *option = json_key(at(json, "options"), 0, &length);
    to->option = option ? keep_text(option, length) : NULL;
}

static void read_step(const Json *json, Step *to) {
    to->transaction = number(json, "transaction");
    to->weight = number(json, "weight");
    to->stride = number(json, "stride");
    to->offset = number(json, "offset");
}

static void read_role(const Json *json, Role *to) {
    static const char *const orders[] = {"cycle", "weighted"};
    static const char *const loads[] = {"closed", "open"};
    static const char *const arrivals[] = {"constant", "poisson"};
    static const char *const untils[] = {"count", "time", "role"};
    to->name = string(json, "name");
    to->workers = number(json, "workers");
    to->first_worker = number(json, "first_worker");
    to->first_in_role = number(json, "first_in_role");
    to->workers_in_role = number(json, "workers_in_role");
    to->order = one_of(json, "order", orders, COUNT(orders));
    EACH(json, "steps", to->step_count, to->steps, read_step);
    const Json *load = at(json, "load"), *until = at(json, "until");
    to->load.kind = one_of(load, "kind", loads, COUNT(loads));
    if (to->load.kind == LOAD_CLOSED) {
        to->load.think_us = number(load, "think_us");
    } else {
        to->load.rate = json_real(at(load, "rate"));
        to->load.arrivals = one_of(load, "arrivals", arrivals, COUNT(arrivals));
    }
    to->until.kind = one_of(until, "kind", untils, COUNT(untils));
    switch (to->until.kind) {
    case UNTIL_COUNT: to->until.transactions = number(until, "transactions"); break;
    case UNTIL_TIME: to->until.ms = number(until, "ms"); break;
    case UNTIL_ROLE: to->until.name = string(until, "name"); break;
    }
}

Trial *trial_read(const Json *json) {
    static const char *const accesses[] = {"per-worker", "shared", "pool", "write-lock", "split", "group-commit"};
    static const char *const prepares[] = {"once", "each"};
    Trial *to = keep(1, sizeof *to);
    to->protocol = number(json, "protocol");
    to->driver = string(json, "driver");
    to->executor = string(json, "executor");
    const Json *access = at(json, "access"), *retry = at(json, "retry");
    to->access.kind = one_of(access, "kind", accesses, COUNT(accesses));
    if (at(access, "connections")) to->access.connections = number(access, "connections");
    if (at(access, "readers")) to->access.connections = number(access, "readers");
    EACH(json, "databases", to->database_count, to->databases, read_database);
    read_connection(at(json, "connection"), &to->connection);
    to->prepare_once = one_of(json, "prepare", prepares, COUNT(prepares)) == 0;
    to->retry.attempts = number(retry, "attempts");
    to->retry.backoff_us = number(retry, "backoff_us");
    to->retry.multiplier = json_real(at(retry, "multiplier"));
    to->retry.max_backoff_us = number(retry, "max_backoff_us");
    to->retry.on = strings(retry, "on", &to->retry.on_count);
    to->seed = number(json, "seed");
    EACH(json, "transactions", to->transaction_count, to->transactions, read_transaction);
    EACH(json, "roles", to->role_count, to->roles, read_role);
    to->warmup_ms = number(json, "warmup_ms");
    to->tick_ms = number(json, "tick_ms");
    to->probe_ms = number(json, "probe_ms");
    return to;
}

Inspect *inspect_read(const Json *json) {
    Inspect *to = keep(1, sizeof *to);
    to->protocol = number(json, "protocol");
    to->driver = string(json, "driver");
    to->database = (Database){.kind = DATABASE_FILE, .path = string(json, "database")};
    to->connections = number(json, "connections");
    /* The fields of a connection stand in the request itself. */
    read_connection(json, &to->connection);
    return to;
}
