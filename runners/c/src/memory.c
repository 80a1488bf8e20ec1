#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that is kept, so that a leak detector sees it is meant to be. */
static struct Block {
    struct Block *next;
    _Alignas(max_align_t) char data[];
} *kept;

static _Noreturn void out_of_memory(void) {
    fputs("out of memory\n", stderr);
    exit(1);
}

void *keep(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > (size_t)-1 / 2) out_of_memory();
    /* calloc leaves the pages of a large block to the kernel until they are touched: most of a histogram never is. */
    struct Block *block = calloc(1, sizeof *block + bytes);
    if (!block) out_of_memory();
    block->next = kept;
    kept = block;
    return block->data;
}

char *keep_text(const char *text, size_t length) {
    char *copy = keep(length + 1, 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

void text_reserve(Text *text, size_t more) {
    if (text->data && text->room - text->length >= more) return;
    size_t room = text->room ? text->room : 64;
    while (room - text->length < more)
        if (__builtin_mul_overflow(room, 2, &room)) out_of_memory();
    char *data = realloc(text->data, room);
    if (!data) out_of_memory();
    text->data = data;
    text->room = room;
}

void text_append(Text *text, const void *data, size_t length) {
    char *at = text_extend(text, length);
    if (length) memcpy(at, data, length);
}

void text_format(Text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length > 0) {
        /* With room for the NUL, which is not part of the text. */
        text_reserve(text, (size_t)length + 1);
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void text_free(Text *text) {
    free(text->data);
    *text = (Text){0};
}
