/* What the runner says: JSON on standard output, a line for each message. Of one thread only. */
#pragma once

#include "fault.h"
#include "histogram.h"
#include "protocol.h"

/* A message under way. Commas are put where they belong. */
typedef struct Message {
    Text text;
    bool comma;
} Message;

/* `key` is NULL in an array. */
void message_open(Message *message, const char *key, char bracket);
void message_close(Message *message, char bracket);
void message_string(Message *message, const char *key, const char *value);
void message_number(Message *message, const char *key, uint64_t value);
void message_null(Message *message, const char *key);
void message_value(Message *message, const char *key, const Value *value);
/* NULL where there is none. */
void message_histogram(Message *message, const char *key, const Histogram *histogram);

/* One member of `connections` in a `ready` or an inspection. */
void message_settings(Message *message, size_t database, const char *label, const Connection *connection,
                      const Value *values);

/* Writes the line and flushes it: the core reads while the trial runs. Frees the message. */
int message_say(Message *message, Fault *fault);
/* The last line of a trial that cannot go on. */
void message_failed(const Fault *fault);
