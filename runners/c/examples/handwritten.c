/* The loop that someone would write by hand for one question, to see what the runner adds to it: the same random values,
 * no clock, no histogram, no choice of anything, SQLite called as well as we know how.
 *
 * `handwritten c insert|batch|read DB N SEED` inserts N rows one by one under autocommit, inserts N batches of 1000 in
 * transactions, or reads N random rows of those there by their rowid. Prints operations per second.
 *
 * The loop runs in a thread of its own, as a worker does. That alone costs a point read some 5 %: while a process has one
 * thread only, glibc's locks and the kernel's look-up of file descriptors take a shorter way. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint64_t GAMMA = 0x9E3779B97F4A7C15u;
enum { BATCH = 1000 };

static struct {
    const char *verb, *path;
    uint64_t n, seed, rows;
    double seconds;
} job;

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t key(const char *name) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001B3u;
    return mix(job.seed + GAMMA * hash);
}

/* An integer from `low` to `low + width - 1`. */
static int64_t uniform(uint64_t stream, uint64_t row, int64_t low, uint64_t width) {
    return low + (int64_t)((double)(mix(stream + (row + 1) * GAMMA) >> 11) * 0x1p-53 * (double)width);
}

static void must(sqlite3 *db, int code) {
    if (code == SQLITE_OK) return;
    fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    exit(1);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement;
    must(db, sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL));
    return statement;
}

static void insert(sqlite3 *db) {
    uint64_t stream = key("insert.k");
    sqlite3_stmt *insert = prepare(db, "INSERT INTO kv(k, v) VALUES (?1, 'value of this row, of some length')");
    for (uint64_t row = 0; row < job.n; row++) {
        sqlite3_bind_int64(insert, 1, uniform(stream, row, 1, 1000000));
        sqlite3_step(insert);
        must(db, sqlite3_reset(insert));
    }
    sqlite3_finalize(insert);
}

static void batch(sqlite3 *db) {
    sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE"), *commit = prepare(db, "COMMIT");
    sqlite3_stmt *insert = prepare(db, "INSERT INTO kv(k, v) VALUES (?1, 'value of this row, of some length')");
    uint64_t stream = key("batch.k");
    for (uint64_t row = 0; row < job.n * BATCH;) {
        sqlite3_step(begin);
        must(db, sqlite3_reset(begin));
        for (int i = 0; i < BATCH; i++, row++) {
            sqlite3_bind_int64(insert, 1, uniform(stream, row, 1, 1000000));
            sqlite3_step(insert);
            must(db, sqlite3_reset(insert));
        }
        sqlite3_step(commit);
        must(db, sqlite3_reset(commit));
    }
    sqlite3_finalize(insert);
    sqlite3_finalize(begin);
    sqlite3_finalize(commit);
}

static void read_rows(sqlite3 *db) {
    uint64_t stream = key("read.id"), rows = job.rows;
    sqlite3_stmt *select = prepare(db, "SELECT id, k, v FROM kv WHERE id = ?1");
    for (uint64_t row = 0; row < job.n; row++) {
        sqlite3_bind_int64(select, 1, uniform(stream, row, 1, rows));
        while (sqlite3_step(select) == SQLITE_ROW) {
            sqlite3_int64 id = sqlite3_column_int64(select, 0), k = sqlite3_column_int64(select, 1);
            const unsigned char *v = sqlite3_column_text(select, 2);
            int length = sqlite3_column_bytes(select, 2);
            __asm__ volatile("" : : "r"(id), "r"(k), "r"(v), "r"(length) : "memory");
        }
        must(db, sqlite3_reset(select));
    }
    sqlite3_finalize(select);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t rows(sqlite3 *db) {
    sqlite3_stmt *count = prepare(db, "SELECT count(*) FROM kv");
    sqlite3_step(count);
    uint64_t rows = (uint64_t)sqlite3_column_int64(count, 0);
    sqlite3_finalize(count);
    return rows;
}

/* Only the loop is timed. Opening is a matter of its own, and so is closing: the last connection's checkpoints the log
 * and waits for the disk, which at 50 batches takes longer than they do. */
static void *run(void *ignored) {
    sqlite3 *db;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    must(NULL, sqlite3_open_v2(job.path, &db, flags, NULL));
    must(db, sqlite3_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", NULL, NULL, NULL));
    job.rows = rows(db);
    double start = now();
    if (!strcmp(job.verb, "insert")) insert(db);
    else if (!strcmp(job.verb, "batch")) batch(db);
    else read_rows(db);
    job.seconds = now() - start;
    sqlite3_close(db);
    return ignored;
}

int handwritten_main(int argc, char **argv) {
    if (argc != 6) {
        fputs("usage: handwritten c insert|batch|read DB N SEED\n", stderr);
        return 2;
    }
    job.verb = argv[2];
    job.path = argv[3];
    job.n = strtoull(argv[4], NULL, 10);
    job.seed = strtoull(argv[5], NULL, 10);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL)) return 1;
    pthread_join(thread, NULL);
    printf("%.3f\n", (double)job.n / job.seconds);
    return 0;
}
