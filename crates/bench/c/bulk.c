/* The yardstick for `generate` and `verify`: the loops of a careful C programmer, on one thread.
 *
 * It links the same build of SQLite as litelab, opens with the same flags and sets the same PRAGMAs. Each batch is
 * one INSERT of that many rows in autocommit mode, prepared once and bound with SQLITE_STATIC. It took the least CPU
 * time of all variants tried (one row per statement between BEGIN and COMMIT; 10, 50, 200 rows per statement),
 * because the cursors stay where the last row ended.
 *
 * Both sides call the same SHA-256 function, so that the difference between two hash libraries is not measured.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Defined in src/yardstick.rs. */
extern void bench_sha256_of_8(const uint8_t *message, uint8_t *digest);

#define RAND_TEXT 16
#define HASH_TEXT 64
#define ROW_TEXT (RAND_TEXT + HASH_TEXT)

static const uint64_t GAMMA = 0x9E3779B97F4A7C15u;

static uint64_t mix64(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t fnv1a64(const char *text) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 0x100000001B3u;
    return hash;
}

/* Tables, because a comparison of a random digit with '9' is mispredicted about every other time. */
static char hex_pair[256][2];
static int8_t hex_value[256];

static void fill_hex_tables(void) {
    static const char digits[] = "0123456789abcdef";
    for (int byte = 0; byte < 256; byte++) {
        hex_pair[byte][0] = digits[byte >> 4];
        hex_pair[byte][1] = digits[byte & 15];
        hex_value[byte] = -1;
    }
    for (int value = 0; value < 16; value++) hex_value[(uint8_t)digits[value]] = (int8_t)value;
}

static void to_hex(const uint8_t *bytes, int count, char *text) {
    for (int i = 0; i < count; i++) memcpy(text + 2 * i, hex_pair[bytes[i]], 2);
}

/* Returns 0 if `text` contains anything but lowercase hexadecimal digits. */
static int from_hex(const uint8_t *text, int count, uint8_t *bytes) {
    int bad = 0;
    for (int i = 0; i < count; i++) {
        int high = hex_value[text[2 * i]], low = hex_value[text[2 * i + 1]];
        bad |= high | low;
        bytes[i] = (uint8_t)((unsigned)high << 4 | (unsigned)low);
    }
    return bad >= 0;
}

static void draw_row(uint64_t key, uint64_t row, char *text) {
    uint64_t word = mix64(key + (row + 1) * GAMMA);
    uint8_t bytes[8], digest[32];
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(word >> (56 - 8 * i));
    bench_sha256_of_8(bytes, digest);
    to_hex(bytes, 8, text);
    to_hex(digest, 32, text + RAND_TEXT);
}

static sqlite3_stmt *prepare_insert(sqlite3 *db, int rows) {
    static const char head[] = "INSERT INTO bench(ID, rand, hash) VALUES (?,?,?)";
    static const char more[] = ",(?,?,?)";
    size_t length = strlen(head) + strlen(more) * (size_t)(rows - 1);
    char *sql = malloc(length + 1), *end = sql;
    if (!sql) return NULL;
    end = memcpy(end, head, strlen(head));
    end += strlen(head);
    for (int i = 1; i < rows; i++, end += strlen(more)) memcpy(end, more, strlen(more));
    sqlite3_stmt *insert = NULL;
    sqlite3_prepare_v3(db, sql, (int)length, SQLITE_PREPARE_PERSISTENT, &insert, NULL);
    free(sql);
    return insert;
}

static int insert_all(sqlite3 *db, int64_t rows, int batch, uint64_t seed) {
    int code = SQLITE_NOMEM, prepared = 0;
    sqlite3_stmt *insert = NULL;
    char *text = malloc((size_t)batch * ROW_TEXT);
    if (!text) return code;
    uint64_t key = mix64(seed + GAMMA * fnv1a64("generate.rand"));
    for (int64_t start = 0; start < rows; start += prepared) {
        int count = rows - start < batch ? (int)(rows - start) : batch;
        if (count != prepared) {
            sqlite3_finalize(insert);
            insert = prepare_insert(db, count);
            if (!insert) {
                code = sqlite3_extended_errcode(db);
                break;
            }
            prepared = count;
        }
        for (int i = 0; i < count; i++) {
            char *row = text + (size_t)i * ROW_TEXT;
            draw_row(key, (uint64_t)(start + i), row);
            sqlite3_bind_int64(insert, 3 * i + 1, start + i);
            sqlite3_bind_text(insert, 3 * i + 2, row, RAND_TEXT, SQLITE_STATIC);
            sqlite3_bind_text(insert, 3 * i + 3, row + RAND_TEXT, HASH_TEXT, SQLITE_STATIC);
        }
        sqlite3_step(insert);
        code = sqlite3_reset(insert);
        if (code != SQLITE_OK) break;
    }
    sqlite3_finalize(insert);
    free(text);
    return code;
}

/* Creates the database at `path` and returns SQLite's result code. `batch` is at most 10,922: 3 parameters per row. */
int bench_c_generate(const char *path, int64_t rows, int batch, uint64_t seed) {
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    fill_hex_tables();
    int code = sqlite3_open_v2(path, &db, flags, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(db,
                            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                            "CREATE TABLE bench(ID int PRIMARY KEY, rand TEXT, hash TEXT)",
                            NULL, NULL, NULL);
    if (code == SQLITE_OK) code = insert_all(db, rows, batch, seed);
    if (code != SQLITE_OK) fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    int closed = sqlite3_close(db);
    return code == SQLITE_OK ? closed : code;
}

static int is_right(sqlite3_stmt *select) {
    uint8_t bytes[8], digest[32];
    char expected[HASH_TEXT];
    if (sqlite3_column_type(select, 1) != SQLITE_TEXT || sqlite3_column_type(select, 2) != SQLITE_TEXT) return 0;
    const uint8_t *rand = sqlite3_column_text(select, 1);
    if (sqlite3_column_bytes(select, 1) != RAND_TEXT || !from_hex(rand, 8, bytes)) return 0;
    bench_sha256_of_8(bytes, digest);
    to_hex(digest, 32, expected);
    const uint8_t *hash = sqlite3_column_text(select, 2);
    return sqlite3_column_bytes(select, 2) == HASH_TEXT && memcmp(hash, expected, HASH_TEXT) == 0;
}

/* Reads every row and recomputes its hash. Returns SQLite's result code. */
int bench_c_verify(const char *path, int64_t *rows, int64_t *mismatches) {
    sqlite3 *db = NULL;
    sqlite3_stmt *select = NULL;
    *rows = *mismatches = 0;
    fill_hex_tables();
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(db, "SELECT ID, rand, hash FROM bench", -1, &select, NULL);
    if (code == SQLITE_OK) {
        while ((code = sqlite3_step(select)) == SQLITE_ROW) {
            if (!is_right(select)) {
                ++*mismatches;
                fprintf(stderr, "row %lld is wrong\n", (long long)sqlite3_column_int64(select, 0));
            }
            ++*rows;
        }
        if (code == SQLITE_DONE) code = SQLITE_OK;
    }
    if (code != SQLITE_OK) fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    sqlite3_finalize(select);
    sqlite3_close(db);
    return code;
}
