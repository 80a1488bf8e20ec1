#include "work.h"

#include <string.h>

static int find(sqlite3_stmt *statement, const char *name, int *column, Fault *fault) {
    int count = sqlite3_column_count(statement);
    for (*column = 0; *column < count; ++*column)
        if (!strcmp(sqlite3_column_name(statement, *column), name)) return 0;
    return fault_other(fault, "no column `%s` to verify among its %d", name, count);
}

int job_new(Job *job, const Work *work, sqlite3_stmt *statement, Fault *fault) {
    *job = (Job){.kind = work->kind};
    if (work->kind != WORK_SHA256_VERIFY) return 0;
    int code = find(statement, work->value, &job->value, fault);
    return code ? code : find(statement, work->hash, &job->hash, fault);
}

static int nibble(unsigned char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* False where the digits are odd in number or none. */
static bool decode(const unsigned char *digits, size_t length, unsigned char *bytes) {
    if (length % 2) return false;
    int bad = 0;
    for (size_t i = 0; i < length / 2; i++) {
        int high = nibble(digits[2 * i]), low = nibble(digits[2 * i + 1]);
        bad |= high | low;
        bytes[i] = (unsigned char)((unsigned)high << 4 | (unsigned)low);
    }
    return bad >= 0;
}

/* What is no text or no hex agrees with nothing. */
static bool agree(const Cell *value, const Cell *hash, Text *bytes) {
    unsigned char expected[32], digest[32];
    if (value->type != SQLITE_TEXT || hash->type != SQLITE_TEXT || hash->length != 64) return false;
    if (!decode(hash->bytes, 64, expected)) return false;
    bytes->length = 0;
    size_t length = (size_t)value->length / 2;
    unsigned char *decoded = (unsigned char *)text_extend(bytes, length);
    if (!decode(value->bytes, (size_t)value->length, decoded)) return false;
    sha256(decoded, length, digest);
    return memcmp(digest, expected, sizeof digest) == 0;
}

void job_verify(const Cell *value, const Cell *hash, Effect *effect) {
    effect->verified++;
    effect->mismatches += !agree(value, hash, &effect->bytes);
}
