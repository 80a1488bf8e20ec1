/* Memory: of the trial, which lasts until the process ends, and of texts that grow. Where there is none left, the
 * process ends. */
#pragma once

#include <stddef.h>

/* Zeroed; never given back. Setting up only: not for two threads at once. */
void *keep(size_t count, size_t size);
/* A copy that is ended by a NUL. */
char *keep_text(const char *text, size_t length);

/* Bytes in a buffer that is used again. */
typedef struct Text {
    char *data;
    size_t length, room;
} Text;

/* Makes room for `more` bytes beyond the length. */
void text_reserve(Text *text, size_t more);
void text_append(Text *text, const void *data, size_t length);
void text_format(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(Text *text);

/* Longer by `count` bytes; returns where they begin. */
static inline char *text_extend(Text *text, size_t count) {
    if (!text->data || text->room - text->length < count) text_reserve(text, count);
    char *at = text->data + text->length;
    text->length += count;
    return at;
}
