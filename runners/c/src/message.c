#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at `at`, 0 where there is none (RFC 3629). */
static size_t utf8(const unsigned char *at, size_t left) {
    size_t length = *at < 0x80 ? 1 : *at >= 0xC2 && *at < 0xE0 ? 2 : *at >= 0xE0 && *at < 0xF0 ? 3 : *at >= 0xF0 && *at < 0xF5 ? 4 : 0;
    if (!length || length > left) return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    bool overlong = (*at == 0xE0 && at[1] < 0xA0) || (*at == 0xF0 && at[1] < 0x90);
    bool beyond = (*at == 0xED && at[1] >= 0xA0) || (*at == 0xF4 && at[1] >= 0x90);
    return overlong || beyond ? 0 : length;
}

/* A reason may have been cut inside a character, and SQLite returns any bytes as text: those are replaced. */
static void quote(Text *text, const char *value, size_t length) {
    text_append(text, "\"", 1);
    for (size_t i = 0, bytes; i < length; i += bytes) {
        unsigned char c = (unsigned char)value[i];
        bytes = utf8((const unsigned char *)value + i, length - i);
        if (!bytes) {
            text_append(text, "\xEF\xBF\xBD", 3);
            bytes = 1;
        } else if (c == '"' || c == '\\' || c < 0x20) {
            text_format(text, "\\u%04x", c);
        } else {
            text_append(text, value + i, bytes);
        }
    }
    text_append(text, "\"", 1);
}

static Text *next(Message *message, const char *key) {
    Text *text = &message->text;
    if (message->comma) text_append(text, ",", 1);
    message->comma = true;
    if (key) {
        quote(text, key, strlen(key));
        text_append(text, ":", 1);
    }
    return text;
}

void message_open(Message *message, const char *key, char bracket) {
    text_append(next(message, key), &bracket, 1);
    message->comma = false;
}

void message_close(Message *message, char bracket) {
    text_append(&message->text, &bracket, 1);
    message->comma = true;
}

void message_string(Message *message, const char *key, const char *value) {
    quote(next(message, key), value, strlen(value));
}

void message_number(Message *message, const char *key, uint64_t value) {
    text_format(next(message, key), "%" PRIu64, value);
}

void message_null(Message *message, const char *key) {
    text_append(next(message, key), "null", 4);
}

static void real(Text *text, double value) {
    char digits[40];
    snprintf(digits, sizeof digits, "%.17g", value);
    text_format(text, strpbrk(digits, ".e") ? "%s" : "%s.0", digits);
}

void message_value(Message *message, const char *key, const Value *value) {
    switch (value->kind) {
    case VALUE_INTEGER: text_format(next(message, key), "%" PRId64, value->integer); break;
    case VALUE_REAL:
        /* JSON has no infinity. */
        if (isfinite(value->real)) real(next(message, key), value->real);
        else message_null(message, key);
        break;
    case VALUE_TEXT: quote(next(message, key), value->text.data, value->text.length); break;
    default: message_null(message, key);
    }
}

void message_histogram(Message *message, const char *key, const Histogram *histogram) {
    if (!histogram) {
        message_null(message, key);
        return;
    }
    char *wire = histogram_encode(histogram->counts);
    message_string(message, key, wire ? wire : "");
    free(wire);
}

void message_settings(Message *message, size_t database, const char *label, const Connection *connection,
                      const Value *values) {
    message_open(message, NULL, '{');
    message_number(message, "database", database);
    message_string(message, "label", label);
    message_open(message, "settings", '{');
    for (size_t i = 0; i < connection->read_back_count; i++)
        message_value(message, connection->read_back[i], &values[i]);
    message_close(message, '}');
    message_close(message, '}');
}

int message_say(Message *message, Fault *fault) {
    text_append(&message->text, "\n", 1);
    size_t written = fwrite(message->text.data, 1, message->text.length, stdout);
    bool failed = written != message->text.length || fflush(stdout);
    text_free(&message->text);
    return failed ? fault_other(fault, "standard output: %s", strerror(errno)) : 0;
}

void message_failed(const Fault *fault) {
    Message message = {0};
    Fault ignored;
    char name[64];
    message_open(&message, NULL, '{');
    message_string(&message, "type", "failed");
    message_string(&message, "reason", fault->reason);
    if (fault->code > 0) {
        code_name(fault->code, name);
        message_string(&message, "code", name);
    } else {
        message_null(&message, "code");
    }
    message_close(&message, '}');
    /* Nobody is left to tell where even this cannot be written. */
    (void)message_say(&message, &ignored);
}
