/* Drawing the values of one operation into buffers that are used again, before its clock starts. */
#pragma once

#include "fault.h"
#include "protocol.h"

/* One SQL parameter's value. */
typedef struct Slot {
    enum { SLOT_NULL, SLOT_INTEGER, SLOT_REAL, SLOT_TEXT, SLOT_YIELDED } kind;
    /* Of a text. */
    uint32_t length;
    union {
        int64_t integer;
        double real;
        /* Where in the values' text it begins: the buffer moves as it grows. */
        size_t from;
        /* Place among the worker's yielded values; looked at when the statement is executed. */
        size_t place;
    };
} Slot;

/* The values of one operation in the order in which its statements bind them. */
typedef struct Values {
    Slot *slots;
    Text text;
    /* What a hash is taken of. */
    Text bytes;
} Values;

typedef struct Draw Draw;

/* Draws the values of one transaction for one worker. */
typedef struct Params {
    size_t draw_count;
    Draw *draws;
    size_t statement_count;
    struct Layout {
        size_t bind_count;
        const size_t *bind;
        /* repeat * tuples. */
        uint64_t rows;
        /* Where its slots begin, and how many one execution has. */
        size_t from, slots;
    } *statements;
    /* Slots of all statements. */
    size_t slot_count;
    bool reads_clock;
} Params;

/* Names that a role's transactions yield, each with its place. */
typedef struct Names {
    size_t count;
    const char **names;
} Names;

size_t names_place(Names *names, const char *name);

int params_new(Params *params, uint64_t seed, const Transaction *transaction, uint32_t worker, Names *names,
               Fault *fault);
/* `into` has room for slot_count slots. */
void params_draw(const Params *params, uint64_t operation, Values *into);

/* Where a statement finds its own: those of its first execution, then those of the next. */
static inline const Slot *params_slots(const Params *params, const Values *values, size_t statement) {
    return values->slots + params->statements[statement].from;
}
