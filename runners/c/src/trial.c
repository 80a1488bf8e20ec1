/* The verb `run`: open everything, say `ready`, wait for `go`, report while the workers work, say `result`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "generator.h"
#include "message.h"
#include "probe.h"
#include "verbs.h"
#include "worker.h"

extern const char *const executors[];

/* What the workers of a trial have in common. One trial runs in a process. */
static struct Stage {
    const Trial *trial;
    const Driver *driver;
    Opened *opened;
    pthread_mutex_t write_lock;
    Retrying retry;
    /* By role. */
    Schedule *schedules;
    _Atomic uint64_t *working;
    /* Nanoseconds from `go`, NEVER until the role's last worker has ended. */
    _Atomic uint64_t *role_ended;
    Board board;
    size_t worker_count;
    Worker *workers;
    Clock clock;
    /* All workers wait here twice: until all are there, and until the clock runs. */
    pthread_barrier_t start;
    /* How many have ended, and why the first did that could not go on. */
    pthread_mutex_t lock;
    pthread_cond_t one_ended;
    size_t ended;
    Fault fault;
} stage;

/* --- Before ---------------------------------------------------------------------------------------------------- */

static const Role *role_named(const Trial *trial, const char *name) {
    for (size_t r = 0; r < trial->role_count; r++)
        if (!strcmp(trial->roles[r].name, name)) return &trial->roles[r];
    return NULL;
}

static int check_role(const Trial *trial, const Role *role, Fault *fault) {
    uint64_t weights = 0;
    for (size_t s = 0; s < role->step_count; s++) {
        weights += role->steps[s].weight;
        if (role->steps[s].transaction >= trial->transaction_count)
            return fault_other(fault, "role `%s` has a step without its transaction", role->name);
    }
    if (!role->step_count || (role->order == ORDER_WEIGHTED && !weights))
        return fault_other(fault, "role `%s` has no step to do", role->name);
    if ((uint64_t)role->first_in_role + role->workers > role->workers_in_role)
        return fault_other(fault, "role `%s` has more workers here than in all", role->name);
    /* A chain of roles that wait for each other has to come to one that ends by itself. */
    const Role *waits_for = role;
    for (size_t i = 0; i <= trial->role_count && waits_for->until.kind == UNTIL_ROLE; i++) {
        const char *other = waits_for->until.name;
        waits_for = role_named(trial, other);
        if (!waits_for) return fault_other(fault, "role `%s` waits for `%s`, and there is none", role->name, other);
    }
    if (waits_for->until.kind == UNTIL_ROLE) return fault_other(fault, "role `%s` never ends", role->name);
    return 0;
}

/* What this runner could not do, or would do wrong without a word. */
static int check(const Trial *trial, Fault *fault) {
    const char *const *executor = executors;
    if (trial->protocol != PROTOCOL_VERSION)
        return fault_other(fault, "protocol %u is not %d", trial->protocol, PROTOCOL_VERSION);
    while (*executor && strcmp(*executor, trial->executor)) executor++;
    if (!*executor) return fault_other(fault, "executor %s is not supported", trial->executor);
    if (trial->access.kind == ACCESS_GROUP_COMMIT)
        return fault_other(fault, "access group-commit(%u) is not supported", trial->access.connections);
    for (size_t d = 0; d < trial->database_count; d++)
        if (trial->databases[d].kind == DATABASE_SERVER)
            return fault_other(fault, "driver `%s` opens databases of SQLite, and this one is a server's", trial->driver);
    int code = 0;
    for (size_t r = 0; !code && r < trial->role_count; r++) code = check_role(trial, &trial->roles[r], fault);
    return code;
}

static End end_of(const Role *role) {
    End end = {.time = NEVER};
    if (role->until.kind == UNTIL_TIME) end.time = times(role->until.ms, 1000000);
    if (role->until.kind == UNTIL_ROLE)
        end.role = &stage.role_ended[role_named(stage.trial, role->until.name) - stage.trial->roles];
    return end;
}

static int new_worker(Worker *worker, size_t d, size_t r, uint32_t w, Session *own, Counters *counters, Fault *fault) {
    const Trial *trial = stage.trial;
    const Role *role = &trial->roles[r];
    *worker = (Worker){
        .database = d,
        .role = role,
        .role_index = r,
        .place = (uint64_t)role->first_in_role + w,
        .index = role->first_worker + w,
        .handle = {trial->access.kind, own, &stage.write_lock, &stage.opened[d]},
        .tasks = keep(role->step_count, sizeof *worker->tasks),
        .retry = &stage.retry,
        .schedule = role->load.kind == LOAD_OPEN ? &stage.schedules[r] : NULL,
        .end = end_of(role),
        .warm = times(trial->warmup_ms, 1000000),
        .choice = stream_key(trial->seed, role->name, "step"),
    };
    Names names = {0};
    size_t slots = 0;
    for (size_t s = 0; s < role->step_count; s++) {
        const Step *step = &role->steps[s];
        const Transaction *spec = &trial->transactions[step->transaction];
        Task *task = &worker->tasks[s];
        task->step = step;
        task->counters = &counters[s];
        task->shares = access_shares(&trial->access, spec->writes);
        plan_new(&task->plan, step->transaction, spec, &names);
        int code = params_new(&task->params, trial->seed, spec, worker->index, &names, fault);
        if (code) return code;
        record_new(&task->record, spec, task->shares, worker->schedule);
        if (task->params.slot_count > slots) slots = task->params.slot_count;
        worker->weights += step->weight;
    }
    worker->values.slots = keep(slots, sizeof *worker->values.slots);
    text_reserve(&worker->values.text, 1);
    memory_new(&worker->memory, names.count);
    return 0;
}

/* In the order of the board's counters. */
static int new_workers(Fault *fault) {
    const Trial *trial = stage.trial;
    bool own = trial->access.kind == ACCESS_PER_WORKER || trial->access.kind == ACCESS_WRITE_LOCK;
    size_t count = 0;
    for (size_t r = 0; r < trial->role_count; r++) count += trial->roles[r].workers;
    stage.workers = keep(count * trial->database_count, sizeof *stage.workers);
    Counters *counters = stage.board.counters;
    for (size_t d = 0; d < trial->database_count; d++) {
        Session *session = stage.opened[d].sessions;
        for (size_t r = 0; r < trial->role_count; r++)
            for (uint32_t w = 0; w < trial->roles[r].workers; w++) {
                Worker *worker = &stage.workers[stage.worker_count++];
                int code = new_worker(worker, d, r, w, own ? session++ : NULL, counters, fault);
                if (code) return code;
                counters += trial->roles[r].step_count;
            }
    }
    return 0;
}

static int set_up(Fault *fault) {
    const Trial *trial = stage.trial;
    int code = check(trial, fault);
    if (code) return code;
    stage.driver = driver_find(trial->driver, fault);
    if (!stage.driver) return FAULT_OTHER;
    code = retrying_new(&stage.retry, &trial->retry, fault);
    stage.schedules = keep(trial->role_count, sizeof *stage.schedules);
    stage.working = keep(trial->role_count, sizeof *stage.working);
    stage.role_ended = keep(trial->role_count, sizeof *stage.role_ended);
    for (size_t r = 0; !code && r < trial->role_count; r++) {
        const Role *role = &trial->roles[r];
        size_t workers = role->workers * trial->database_count;
        stage.working[r] = workers;
        stage.role_ended[r] = workers ? NEVER : 0;
        if (role->load.kind == LOAD_OPEN)
            code = schedule_new(&stage.schedules[r], trial->seed, role, workers, fault);
    }
    stage.opened = keep(trial->database_count, sizeof *stage.opened);
    for (size_t d = 0; !code && d < trial->database_count; d++)
        code = access_open(&stage.opened[d], stage.driver, trial, d, fault);
    if (code) return code;
    pthread_mutex_init(&stage.write_lock, NULL);
    pthread_mutex_init(&stage.lock, NULL);
    condition_new(&stage.one_ended);
    board_new(&stage.board, trial);
    return new_workers(fault);
}

/* --- While ----------------------------------------------------------------------------------------------------- */

static void *work(void *argument) {
    Worker *worker = argument;
    Fault fault;
    pthread_barrier_wait(&stage.start);
    pthread_barrier_wait(&stage.start);
    int code = worker_run(worker, &stage.clock, &fault);
    if (atomic_fetch_sub(&stage.working[worker->role_index], 1) == 1)
        atomic_store(&stage.role_ended[worker->role_index], clock_read(&stage.clock));
    pthread_mutex_lock(&stage.lock);
    stage.ended++;
    if (code && !stage.fault.code) stage.fault = fault;
    pthread_mutex_unlock(&stage.lock);
    pthread_cond_signal(&stage.one_ended);
    return NULL;
}

/* Workers may hang on what a faulty one still holds, and there is no result to wait for. */
static _Noreturn void give_up(const Fault *fault) {
    message_failed(fault);
    _exit(1);
}

/* Of a probe; NULL without one. */
static void tick(Probe *probe) {
    Message message = {0};
    Fault fault;
    const Sum *sums = board_tick(&stage.board);
    message_open(&message, NULL, '{');
    message_string(&message, "type", "tick");
    message_number(&message, "t_ms", clock_read(&stage.clock) / 1000000);
    if (probe) message_number(&message, "lag_ns", probe_take_longest(probe));
    message_open(&message, "counts", '[');
    for (size_t i = 0; i < stage.board.sum_count; i++) {
        const Sum *sum = &sums[i];
        if (!(sum->committed | sum->empty | sum->failed | sum->errors)) continue;
        message_open(&message, NULL, '{');
        message_string(&message, "role", sum->role);
        message_string(&message, "transaction", sum->transaction);
        message_number(&message, "committed", sum->committed);
        message_number(&message, "empty", sum->empty);
        message_number(&message, "failed", sum->failed);
        message_number(&message, "errors", sum->errors);
        message_number(&message, "busy", sum->busy);
        message_close(&message, '}');
    }
    message_close(&message, ']');
    message_close(&message, '}');
    if (message_say(&message, &fault)) give_up(&fault);
}

static pthread_t start_thread(Worker *worker) {
    pthread_t thread;
    Fault fault;
    int error = pthread_create(&thread, NULL, work, worker);
    if (!error) return thread;
    fault_other(&fault, "a thread for a worker: %s", strerror(error));
    give_up(&fault);
}

/* Starts all workers together, and ticks until the last has ended. */
static void play(uint64_t rate, Probe *probe) {
    const Trial *trial = stage.trial;
    pthread_t *threads = keep(stage.worker_count, sizeof *threads);
    pthread_barrier_init(&stage.start, NULL, (unsigned)stage.worker_count + 1);
    for (size_t i = 0; i < stage.worker_count; i++) threads[i] = start_thread(&stage.workers[i]);
    pthread_barrier_wait(&stage.start);
    stage.clock = clock_start(rate);
    pthread_barrier_wait(&stage.start);
    if (trial->probe_ms && probe_start(probe, &stage.clock, trial->probe_ms, times(trial->warmup_ms, 1000000))) {
        Fault fault;
        fault_other(&fault, "a thread for the probe");
        give_up(&fault);
    }
    uint64_t every = times(trial->tick_ms ? trial->tick_ms : 1, 1000000), due = every;
    pthread_mutex_lock(&stage.lock);
    while (stage.ended < stage.worker_count) {
        uint64_t now = clock_read(&stage.clock);
        if (now < due) {
            condition_wait(&stage.one_ended, &stage.lock, due - now);
            if (stage.fault.code) give_up(&stage.fault);
            continue;
        }
        pthread_mutex_unlock(&stage.lock);
        tick(trial->probe_ms ? probe : NULL);
        due = (clock_read(&stage.clock) / every + 1) * every;
        pthread_mutex_lock(&stage.lock);
    }
    pthread_mutex_unlock(&stage.lock);
    if (stage.fault.code) give_up(&stage.fault);
    for (size_t i = 0; i < stage.worker_count; i++) pthread_join(threads[i], NULL);
    /* The rest, so that all ticks add up to the result. */
    tick(trial->probe_ms ? probe : NULL);
    if (trial->probe_ms) probe_stop(probe);
}

/* --- After ----------------------------------------------------------------------------------------------------- */

static void operation(Message *message, const Sum *sum, const Record *record) {
    message_open(message, NULL, '{');
    message_string(message, "role", sum->role);
    message_string(message, "transaction", sum->transaction);
    message_number(message, "committed", sum->committed);
    message_number(message, "empty", sum->empty);
    message_number(message, "failed", sum->failed);
    message_number(message, "measured", record->measured);
    message_number(message, "rows", record->rows);
    message_number(message, "verified", record->verified);
    message_number(message, "mismatches", record->mismatches);
    message_open(message, "errors", '{');
    for (size_t i = 0; i < record->error_count; i++) {
        char name[64];
        code_name(record->errors[i].code, name);
        message_open(message, name, '{');
        message_number(message, "seen", record->errors[i].seen);
        message_number(message, "cured", record->errors[i].cured);
        message_close(message, '}');
    }
    message_close(message, '}');
    message_number(message, "unserved", record->unserved);
    message_histogram(message, "service", record->service);
    message_histogram(message, "wait", record->wait);
    message_histogram(message, "response", record->response);
    message_histogram(message, "lag", record->lag);
    message_histogram(message, "query", record->query);
    message_histogram(message, "first_row", record->first_row);
    message_close(message, '}');
}

/* Adds the records of all workers to those of the first that did the same in the same role. */
static Record **add_up(void) {
    const Trial *trial = stage.trial;
    Board *board = &stage.board;
    Record **wholes = keep(board->sum_count, sizeof *wholes);
    for (size_t i = 0, at = 0; i < stage.worker_count; i++)
        for (size_t s = 0; s < stage.workers[i].role->step_count; s++, at++) {
            Record *record = &stage.workers[i].tasks[s].record, **whole = &wholes[board->places[at]];
            if (*whole) record_merge(*whole, record);
            else *whole = record;
        }
    for (size_t r = 0; r < trial->role_count; r++) {
        const Role *role = &trial->roles[r];
        /* A role may have no worker in this process. */
        for (size_t s = 0; s < role->step_count; s++)
            for (size_t i = 0; i < board->sum_count; i++)
                if (!wholes[i] && !strcmp(board->names[i].role, role->name) &&
                    !strcmp(board->names[i].transaction, trial->transactions[role->steps[s].transaction].name)) {
                    wholes[i] = keep(1, sizeof **wholes);
                    record_new(wholes[i], &trial->transactions[role->steps[s].transaction], false, false);
                }
        if (role->load.kind != LOAD_OPEN) continue;
        /* Arrivals are the role's, not yet those of one of its steps: they count for its first. */
        End end = end_of(role);
        uint64_t ended = end.role ? atomic_load(end.role) : end.time;
        if (ended != NEVER) wholes[board->first_of_role[r]]->unserved += schedule_unserved(&stage.schedules[r], ended);
    }
    return wholes;
}

static Message result(const Probe *probe) {
    const Trial *trial = stage.trial;
    Message message = {0};
    uint64_t elapsed = 0;
    for (size_t i = 0; i < stage.worker_count; i++)
        if (stage.workers[i].ended > elapsed) elapsed = stage.workers[i].ended;
    message_open(&message, NULL, '{');
    message_string(&message, "type", "result");
    message_number(&message, "elapsed_ns", elapsed);
    message_number(&message, "measured_ns", since(times(trial->warmup_ms, 1000000), elapsed));

    message_open(&message, "operations", '[');
    Record **records = add_up();
    Sum *sums = keep(stage.board.sum_count, sizeof *sums);
    board_sums(&stage.board, sums);
    for (size_t i = 0; i < stage.board.sum_count; i++) operation(&message, &sums[i], records[i]);
    message_close(&message, ']');

    message_open(&message, "workers", '[');
    Counters *counters = stage.board.counters;
    for (size_t i = 0; i < stage.worker_count; i++) {
        const Worker *worker = &stage.workers[i];
        uint64_t committed = 0;
        for (size_t s = 0; s < worker->role->step_count; s++) committed += (counters++)->committed;
        message_open(&message, NULL, '{');
        message_string(&message, "role", worker->role->name);
        message_number(&message, "worker", worker->index);
        message_number(&message, "database", worker->database);
        message_number(&message, "committed", committed);
        message_number(&message, "inside_ns", worker->inside);
        message_number(&message, "outside_ns", worker->outside);
        message_close(&message, '}');
    }
    message_close(&message, ']');

    if (trial->probe_ms) {
        message_open(&message, "probe", '{');
        message_histogram(&message, "lateness", probe->lateness);
        message_null(&message, "pool_wait");
        message_null(&message, "utilization");
        message_close(&message, '}');
    } else {
        message_null(&message, "probe");
    }
    message_close(&message, '}');
    return message;
}

/* Runs `teardown` on the first connection of each database, and closes them all. */
static int clear(Fault *fault) {
    const Trial *trial = stage.trial;
    int code = 0;
    for (size_t d = 0; !code && d < trial->database_count; d++) {
        const Database *database = &trial->databases[d];
        Opened *opened = &stage.opened[d];
        if (database->kind == DATABASE_MEMORY && opened->session_count)
            code = stage.driver->script(opened->sessions, database->teardown_count, database->teardown, fault);
    }
    for (size_t d = 0; !code && d < trial->database_count; d++) code = access_close(&stage.opened[d], fault);
    for (size_t i = 0; i < stage.worker_count; i++) {
        memory_free(&stage.workers[i].memory);
        text_free(&stage.workers[i].values.text);
        text_free(&stage.workers[i].values.bytes);
    }
    return code;
}

static int say_ready(Fault *fault) {
    Message message = {0};
    message_open(&message, NULL, '{');
    message_string(&message, "type", "ready");
    message_open(&message, "connections", '[');
    for (size_t d = 0; d < stage.trial->database_count; d++) {
        const Opened *opened = &stage.opened[d];
        for (size_t i = 0; i < opened->session_count; i++)
            message_settings(&message, d, opened->labels[i], &stage.trial->connection, opened->settings[i]);
    }
    message_close(&message, ']');
    message_close(&message, '}');
    return message_say(&message, fault);
}

static int wait_for_go(bool *go, Fault *fault) {
    const Json *json, *type;
    size_t length = 0;
    int code = read_line(JSON_ANY, &json, fault);
    *go = false;
    if (code || !json) return code;
    type = json_member(json, "type");
    const char *text = type ? json_text(type, &length) : NULL;
    if (!text || length != 2 || memcmp(text, "go", 2)) return fault_other(fault, "the second line is not go");
    *go = true;
    return 0;
}

/* Input that ends before `go` is no error: nothing is run. */
int run(Fault *fault) {
    const Json *json;
    bool go = false;
    Probe probe;
    Clock tuning = clock_tune();
    int code = read_line(JSON_TRIAL, &json, fault);
    if (code || !json) return code;
    stage.trial = trial_read(json);
    if ((code = set_up(fault))) return code;
    uint64_t rate = clock_rate(&tuning);
    if ((code = say_ready(fault)) || (code = wait_for_go(&go, fault))) return code;
    if (!go) return clear(fault);
    play(rate, &probe);
    Message message = result(&probe);
    if ((code = clear(fault))) return code;
    return message_say(&message, fault);
}
