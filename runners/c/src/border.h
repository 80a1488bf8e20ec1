/* The border between the C of this runner and its Rust shim (main.rs and border.rs).
 *
 * The runner is a C program. Whatever is opened, bound, stepped, drawn, timed and counted is C. Cargo builds it for one
 * reason: the crate libsqlite3-sys brings SQLite's amalgamation, and so the yardstick runs the very SQLite, with the
 * very flags, that the Rust runner does. Since there is a Rust toolchain then, the shim lends C the three things that
 * the C library lacks, each the same code that the Rust runner uses, so that no difference between two libraries is
 * measured:
 *
 * - reading JSON (serde, which holds each message against the protocol's own types first),
 * - SHA-256 (the crate sha2),
 * - the wire form of an HdrHistogram (C counts, in histogram.h; the shim compresses).
 *
 * Nothing but scalars, bytes and opaque pointers passes, so no struct has to be laid out twice. Of all this only
 * sha256 is called while a trial runs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A JSON value. Lives until the process ends. */
typedef struct Json Json;

/* What a line should be. */
enum { JSON_ANY, JSON_TRIAL, JSON_INSPECT };

/* NULL where it is not, and *error then says why; free() that. Of a message that was accepted every field is there and
 * has its type. */
const Json *json_read(const char *line, size_t length, int message, char **error);

/* NULL where an object has no such member. */
const Json *json_member(const Json *object, const char *key);
/* Elements of an array or members of an object; 0 of anything else. */
size_t json_length(const Json *json);
const Json *json_element(const Json *array, size_t index);
/* Name of an object's member, not ended by a NUL; NULL beyond the last. */
const char *json_key(const Json *object, size_t index, size_t *length);

enum { JSON_NULL, JSON_INTEGER, JSON_REAL, JSON_TEXT, JSON_OTHER };
/* As litelab_protocol::draw::Value takes it: a boolean is an integer, an integer beyond 64 bits is real. */
int json_kind(const Json *json);
/* Of a JSON_INTEGER; an unsigned one comes as its bits. */
int64_t json_integer(const Json *json);
/* Of any number. */
double json_real(const Json *json);
/* Of a JSON_TEXT: UTF-8, not ended by a NUL. */
const char *json_text(const Json *json, size_t *length);

/* The digits that `sha256-of` hashes of a real number: Rust's, the shortest that read back the same. free() them. */
char *real_text(double value);

/* Name of an extended result code from protocol/result-codes.json, with its NUL. At most 63 characters. */
void code_name(int code, char name[64]);
/* Code of a name, or -1. */
int code_of(const char *name);

void sha256(const void *bytes, size_t length, uint8_t digest[32]);

/* The wire form of HISTOGRAM_LENGTH counts by index. free() it. */
char *histogram_encode(const uint64_t *counts);
