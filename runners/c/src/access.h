/* How workers share connections: with pthreads' locks, as an application would. */
#pragma once

#include <pthread.h>

#include "driver.h"

/* Connections that are lent for the length of a transaction, the one given back last first. */
typedef struct Pool {
    pthread_mutex_t lock;
    pthread_cond_t given_back;
    size_t free_count;
    Session **free;
} Pool;

/* All connections to one database, and the locks around them. */
typedef struct Opened {
    size_t session_count;
    /* In the order in which they were opened: with connections of their own, that of the workers; else the only one or
     * the writer, then the readers; or the pool. */
    Session *sessions;
    /* What each is for, for `ready`, and its settings. */
    const char **labels;
    Value **settings;
    /* Around the only connection or the writer. */
    pthread_mutex_t lock;
    /* Of all sessions, or of the readers. */
    Pool pool;
} Opened;

/* A worker's way to a connection. */
typedef struct Handle {
    int access;
    Session *own;
    pthread_mutex_t *write_lock;
    Opened *opened;
} Handle;

/* Opens, sets, fills and prepares all connections to one database. */
int access_open(Opened *opened, const Driver *driver, const Trial *trial, size_t database, Fault *fault);
int access_close(Opened *opened, Fault *fault);
/* Whether a transaction has to wait for others. */
bool access_shares(const Access *access, bool writes);

/* Of the two below, what is more than a comparison. */
Session *handle_wait(const Handle *handle, bool writes);
void handle_pass_on(const Handle *handle, Session *session, bool writes);

/* A connection for one transaction, and back. */
static inline Session *handle_take(const Handle *handle, bool writes) {
    return handle->access == ACCESS_PER_WORKER ? handle->own : handle_wait(handle, writes);
}

static inline void handle_give_back(const Handle *handle, Session *session, bool writes) {
    if (handle->access != ACCESS_PER_WORKER) handle_pass_on(handle, session, writes);
}
