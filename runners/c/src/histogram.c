#include "histogram.h"

extern inline size_t histogram_index(uint64_t nanos);

size_t histogram_length(void) {
    return HISTOGRAM_LENGTH;
}

void histogram_merge(Histogram *whole, const Histogram *part) {
    if (!whole || !part) return;
    for (size_t i = 0; i < HISTOGRAM_LENGTH; i++) whole->counts[i] += part->counts[i];
}
