/* The loops of examples/handwritten.rs on the driver `c`, with the fastest calls of SQLite that we know. */
#define _POSIX_C_SOURCE 199309L

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint64_t GAMMA = 0x9E3779B97F4A7C15u;
enum { BATCH = 1000 };

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t key(uint64_t seed, const char *name) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001B3u;
    return mix(seed + GAMMA * hash);
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

static void insert(sqlite3 *db, uint64_t n, uint64_t seed) {
    uint64_t stream = key(seed, "insert.k");
    sqlite3_stmt *insert = prepare(db, "INSERT INTO kv(k, v) VALUES (?1, 'value of this row, of some length')");
    for (uint64_t row = 0; row < n; row++) {
        sqlite3_bind_int64(insert, 1, uniform(stream, row, 1, 1000000));
        sqlite3_step(insert);
        must(db, sqlite3_reset(insert));
    }
    sqlite3_finalize(insert);
}

static void batch(sqlite3 *db, uint64_t n, uint64_t seed) {
    sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE"), *commit = prepare(db, "COMMIT");
    sqlite3_stmt *insert = prepare(db, "INSERT INTO kv(k, v) VALUES (?1, 'value of this row, of some length')");
    uint64_t stream = key(seed, "batch.k");
    for (uint64_t row = 0; row < n * BATCH;) {
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

static void read_rows(sqlite3 *db, uint64_t n, uint64_t seed, uint64_t rows) {
    uint64_t stream = key(seed, "read.id");
    sqlite3_stmt *select = prepare(db, "SELECT id, k, v FROM kv WHERE id = ?1");
    for (uint64_t row = 0; row < n; row++) {
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

/* Prints operations per second. Only the loop is timed, without opening and closing: at close the last connection
 * checkpoints the WAL and waits for the disk, which takes longer than 50 batches. */
void bench_handwritten(const char *verb, const char *path, uint64_t n, uint64_t seed) {
    sqlite3 *db;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    must(NULL, sqlite3_open_v2(path, &db, flags, NULL));
    must(db, sqlite3_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", NULL, NULL, NULL));
    uint64_t keys = rows(db);
    double start = now();
    if (!strcmp(verb, "insert")) insert(db, n, seed);
    else if (!strcmp(verb, "batch")) batch(db, n, seed);
    else read_rows(db, n, seed, keys);
    printf("%.3f\n", (double)n / (now() - start));
    sqlite3_close(db);
}
