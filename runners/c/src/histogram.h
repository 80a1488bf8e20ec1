/* Counting as HdrHistogram does (hdrhistogram.org), for nanoseconds up to an hour to three digits: values below 2048
 * have a count each; beyond, each doubling has 1024 counts of equal width. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* 2048, and 1024 for each of the 31 doublings up to 2^42 = 4.4e12. */
#define HISTOGRAM_LENGTH ((size_t)33 * 1024)

typedef struct Histogram {
    uint64_t counts[HISTOGRAM_LENGTH];
} Histogram;

#define HISTOGRAM_HIGHEST UINT64_C(3600000000000)

/* What is beyond the last count counts as the hour itself. */
inline size_t histogram_index(uint64_t nanos) {
    if (nanos < 2048) return (size_t)nanos;
    if (nanos >> 42) nanos = HISTOGRAM_HIGHEST;
    int doubling = 53 - __builtin_clzll(nanos);
    return (size_t)doubling * 1024 + (size_t)(nanos >> doubling);
}

/* There may be none to record in. */
static inline void histogram_record(Histogram *histogram, uint64_t nanos) {
    if (histogram) histogram->counts[histogram_index(nanos)]++;
}

void histogram_merge(Histogram *whole, const Histogram *part);
size_t histogram_length(void);
