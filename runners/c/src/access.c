#include "access.h"

static void pool_new(Pool *pool, Session *sessions, size_t count) {
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->given_back, NULL);
    pool->free_count = count;
    pool->free = keep(count, sizeof *pool->free);
    /* Lent from the end, so that the first opened is the first lent. */
    for (size_t i = 0; i < count; i++) pool->free[count - 1 - i] = &sessions[i];
}

static Session *pool_take(Pool *pool) {
    pthread_mutex_lock(&pool->lock);
    while (!pool->free_count) pthread_cond_wait(&pool->given_back, &pool->lock);
    Session *session = pool->free[--pool->free_count];
    pthread_mutex_unlock(&pool->lock);
    return session;
}

static void pool_give_back(Pool *pool, Session *session) {
    pthread_mutex_lock(&pool->lock);
    pool->free[pool->free_count++] = session;
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_signal(&pool->given_back);
}

bool access_shares(const Access *access, bool writes) {
    switch (access->kind) {
    case ACCESS_PER_WORKER: return false;
    case ACCESS_WRITE_LOCK: return writes;
    default: return true;
    }
}

Session *handle_wait(const Handle *handle, bool writes) {
    Opened *opened = handle->opened;
    switch (handle->access) {
    case ACCESS_WRITE_LOCK:
        if (writes) pthread_mutex_lock(handle->write_lock);
        return handle->own;
    case ACCESS_SHARED: pthread_mutex_lock(&opened->lock); return opened->sessions;
    case ACCESS_SPLIT:
        if (!writes) return pool_take(&opened->pool);
        pthread_mutex_lock(&opened->lock);
        return opened->sessions;
    case ACCESS_POOL: return pool_take(&opened->pool);
    default: return handle->own;
    }
}

void handle_pass_on(const Handle *handle, Session *session, bool writes) {
    Opened *opened = handle->opened;
    switch (handle->access) {
    case ACCESS_WRITE_LOCK:
        if (writes) pthread_mutex_unlock(handle->write_lock);
        break;
    case ACCESS_SHARED: pthread_mutex_unlock(&opened->lock); break;
    case ACCESS_SPLIT:
        if (writes) pthread_mutex_unlock(&opened->lock);
        else pool_give_back(&opened->pool, session);
        break;
    case ACCESS_POOL: pool_give_back(&opened->pool, session); break;
    default: break;
    }
}

/* Marks the transactions of a role: all, or those that write, or that only read. */
enum { EITHER, WRITING, READING };

static void mark(bool *used, const Trial *trial, const Role *role, int which) {
    for (size_t s = 0; s < role->step_count; s++) {
        size_t t = role->steps[s].transaction;
        if (which == EITHER || trial->transactions[t].writes == (which == WRITING)) used[t] = true;
    }
}

static int open_one(Opened *opened, const Driver *driver, const Trial *trial, size_t at, const char *label,
                    const bool *used, Fault *fault) {
    size_t index = opened->session_count;
    const Database *database = &trial->databases[at];
    const Connection *connection = &trial->connection;
    Session *session = &opened->sessions[index];
    session->driver = driver;
    int code = driver->open(session, database, connection, fault);
    if (!code && database->kind == DATABASE_MEMORY && index == 0)
        code = driver->script(session, database->setup_count, database->setup, fault);
    else if (!code && database->kind == DATABASE_MEMORY && !database->shared)
        code = fault_other(fault, "memory database `%s` is private to one connection, and a second was asked for",
                           database->name);
    opened->labels[index] = label;
    opened->settings[index] = keep(connection->read_back_count, sizeof(Value));
    if (!code)
        code = driver->settings(session, connection->read_back_count, connection->read_back, opened->settings[index],
                                fault);
    if (!code) code = driver->prepare(session, trial, used, fault);
    opened->session_count++;
    return code;
}

int access_open(Opened *opened, const Driver *driver, const Trial *trial, size_t database, Fault *fault) {
    static const char *const firsts[] = {[ACCESS_SHARED] = "shared", [ACCESS_SPLIT] = "writer"};
    const Access *access = &trial->access;
    bool own = access->kind == ACCESS_PER_WORKER || access->kind == ACCESS_WRITE_LOCK;
    bool pools = access->kind == ACCESS_POOL || access->kind == ACCESS_SPLIT;
    size_t pooled = pools ? access->connections : 0, firsts_count = access->kind != ACCESS_POOL, count = pooled;
    if (pools && !pooled) return fault_other(fault, "the access needs at least one connection");
    if (!own) count += firsts_count;
    for (size_t r = 0; own && r < trial->role_count; r++) count += trial->roles[r].workers;
    opened->sessions = keep(count, sizeof *opened->sessions);
    opened->labels = keep(count, sizeof *opened->labels);
    opened->settings = keep(count, sizeof *opened->settings);

    int code = 0;
    if (own) {
        for (size_t r = 0; r < trial->role_count; r++) {
            const Role *role = &trial->roles[r];
            bool *used = keep(trial->transaction_count, sizeof *used);
            mark(used, trial, role, EITHER);
            for (uint32_t w = 0; !code && w < role->workers; w++)
                code = open_one(opened, driver, trial, database, role->name, used, fault);
        }
        return code;
    }
    bool split = access->kind == ACCESS_SPLIT;
    bool *first = keep(trial->transaction_count, sizeof *first), *rest = keep(trial->transaction_count, sizeof *rest);
    for (size_t r = 0; r < trial->role_count; r++) {
        mark(first, trial, &trial->roles[r], split ? WRITING : EITHER);
        mark(rest, trial, &trial->roles[r], split ? READING : EITHER);
    }
    pthread_mutex_init(&opened->lock, NULL);
    if (firsts_count) code = open_one(opened, driver, trial, database, firsts[access->kind], first, fault);
    for (size_t i = 0; !code && i < pooled; i++)
        code = open_one(opened, driver, trial, database, split ? "reader" : "pool", rest, fault);
    if (!code && pools) pool_new(&opened->pool, opened->sessions + firsts_count, pooled);
    return code;
}

int access_close(Opened *opened, Fault *fault) {
    int code = 0;
    for (size_t i = 0; i < opened->session_count; i++) {
        Session *session = &opened->sessions[i];
        int closed = session->driver->close(session, fault);
        if (closed) code = closed;
    }
    return code;
}
