/* The counter-based generator; docs/PROTOCOL.md, "Values". All arithmetic is modulo 2^64. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GAMMA UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t mix64(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* FNV-1a, going on from `hash`. */
static inline uint64_t fnv1a64(uint64_t hash, const char *text) {
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    return hash;
}

/* Key of the stream `first.second`. */
static inline uint64_t stream_key(uint64_t seed, const char *first, const char *second) {
    uint64_t name = fnv1a64(fnv1a64(fnv1a64(UINT64_C(0xCBF29CE484222325), first), "."), second);
    return mix64(seed + GAMMA * name);
}

static inline uint64_t word(uint64_t key, uint64_t row) {
    return mix64(key + (row + 1) * GAMMA);
}

/* Word `index` of the row whose word 0 is `first`. */
static inline uint64_t word_after(uint64_t first, uint64_t index) {
    return index ? mix64(first + index * GAMMA) : first;
}

static inline double unit(uint64_t w) {
    return (double)(w >> 11) * 0x1p-53;
}

static inline uint64_t below(uint64_t w, uint64_t n) {
    return (uint64_t)(unit(w) * (double)n);
}
