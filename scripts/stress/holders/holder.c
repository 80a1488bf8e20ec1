/* Holds locks of a database for known times: see holder.py beside this file. */

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    printf("%lld.%09ld\n", (long long)t.tv_sec, t.tv_nsec);
    fflush(stdout);
}

static void run(sqlite3 *db, const char *sql) {
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (code != SQLITE_OK && code != SQLITE_BUSY) {
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
        exit(1);
    }
}

int main(int argc, char **argv) {
    sqlite3 *db;
    char what[32];
    double seconds;
    if (argc != 2 || sqlite3_open(argv[1], &db) != SQLITE_OK) {
        return 1;
    }
    run(db, "SELECT count(*) FROM t");
    puts("ready");
    fflush(stdout);
    while (scanf("%31s %lf", what, &seconds) == 2) {
        struct timespec t = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
        if (strcmp(what, "checkpoint") == 0) {
            int log, copied;
            sqlite3_busy_timeout(db, (int)(seconds * 1000));
            now();
            sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_FULL, &log, &copied);
            now();
            continue;
        }
        run(db, strcmp(what, "write") == 0 ? "BEGIN IMMEDIATE" : "BEGIN");
        run(db, strcmp(what, "write") == 0 ? "INSERT INTO t VALUES (1)" : "SELECT count(*) FROM t");
        now();
        nanosleep(&t, NULL);
        now();
        run(db, "COMMIT");
    }
    return sqlite3_close(db);
}
