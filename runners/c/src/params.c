#include "params.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "generator.h"

/* A source with everything resolved that does not depend on the row. */
struct Draw {
    uint64_t key;
    int kind;
    /* `low` and number of integers of `uniform`, `start` and `step` of `sequence`. */
    uint64_t start, width;
    const Source *source;
    /* Of `value`, `choice` and `worker`. */
    size_t value_count;
    const Value *values;
    /* Of `format`, with {worker} replaced. */
    const char *template;
    /* Of `yielded`. */
    size_t place;
};

/* One reading of the wall clock for a whole operation, so that two columns with the same time agree. */
typedef struct timespec Wall;

/* Tables: a division and a comparison for each digit would cost more than the random number. */
static const char digits[] = "0123456789abcdef";
static char hex_pair[256][2];

size_t names_place(Names *names, const char *name) {
    size_t at = 0;
    while (at < names->count && strcmp(names->names[at], name)) at++;
    if (at == names->count) {
        const char **more = keep(at + 1, sizeof *more);
        if (at) memcpy(more, names->names, at * sizeof *more);
        more[at] = name;
        *names = (Names){at + 1, more};
    }
    return at;
}

/* A copy of the text with each `{worker}` replaced by its digits. */
static const char *with_worker(const char *text, uint32_t worker) {
    static const char mark[] = "{worker}";
    Text out = {0};
    for (const char *next; (next = strstr(text, mark)); text = next + strlen(mark)) {
        text_append(&out, text, (size_t)(next - text));
        text_format(&out, "%" PRIu32, worker);
    }
    text_append(&out, text, strlen(text));
    const char *kept = keep_text(out.data, out.length);
    text_free(&out);
    return kept;
}

static Draw resolve(const Source *source, uint32_t worker, Names *names) {
    Draw draw = {
        .kind = source->kind, .source = source, .value_count = source->value_count, .values = source->values};
    switch (source->kind) {
    case SOURCE_UNIFORM:
        draw.start = (uint64_t)source->low;
        draw.width = (uint64_t)source->high - (uint64_t)source->low + 1;
        break;
    case SOURCE_SEQUENCE:
        draw.start = (uint64_t)source->start;
        draw.width = (uint64_t)source->step;
        break;
    case SOURCE_FORMAT: draw.template = with_worker(source->text, worker); break;
    case SOURCE_YIELDED: draw.place = names_place(names, source->text); break;
    case SOURCE_WORKER: {
        Value *value = keep(1, sizeof *value);
        *value = (Value){.kind = VALUE_INTEGER, .integer = worker};
        draw.values = value;
        draw.value_count = 1;
        break;
    }
    default: break;
    }
    return draw;
}

int params_new(Params *params, uint64_t seed, const Transaction *transaction, uint32_t worker, Names *names,
               Fault *fault) {
    for (int byte = 0; byte < 256; byte++) {
        hex_pair[byte][0] = digits[byte >> 4];
        hex_pair[byte][1] = digits[byte & 15];
    }
    *params = (Params){.draw_count = transaction->param_count, .statement_count = transaction->statement_count};
    params->draws = keep(transaction->param_count, sizeof *params->draws);
    for (size_t i = 0; i < transaction->param_count; i++) {
        const Param *param = &transaction->params[i];
        params->draws[i] = resolve(&param->source, worker, names);
        params->draws[i].key = stream_key(seed, transaction->name, param->name);
        if (param->source.kind == SOURCE_NOW) params->reads_clock = true;
    }
    params->statements = keep(transaction->statement_count, sizeof *params->statements);
    for (size_t s = 0; s < transaction->statement_count; s++) {
        const Statement *statement = &transaction->statements[s];
        for (size_t i = 0; i < statement->bind_count; i++)
            if (statement->bind[i] >= transaction->param_count)
                return fault_other(fault, "transaction `%s` binds a parameter that it does not have",
                                   transaction->name);
        params->statements[s] = (struct Layout){
            .bind_count = statement->bind_count,
            .bind = statement->bind,
            .rows = (uint64_t)statement->repeat * statement->tuples,
            .from = params->slot_count,
            .slots = statement->bind_count * statement->tuples,
        };
        params->slot_count += statement->repeat * params->statements[s].slots;
    }
    return 0;
}

static inline Slot integer_slot(int64_t value) {
    return (Slot){.kind = SLOT_INTEGER, .integer = value};
}

/* What has been appended since `from`. */
static inline Slot text_slot(const Values *values, size_t from) {
    return (Slot){.kind = SLOT_TEXT, .length = (uint32_t)(values->text.length - from), .from = from};
}

static inline Slot uniform(const Draw *draw, uint64_t row) {
    return integer_slot((int64_t)(draw->start + below(word(draw->key, row), draw->width)));
}

static inline Slot sequence(const Draw *draw, uint64_t row) {
    return integer_slot((int64_t)(draw->start + draw->width * row));
}

static Slot from_table(const Draw *draw, uint64_t row) {
    const Source *table = draw->source;
    uint64_t first = word(draw->key, row), u = first >> 11;
    size_t low = 0, high = table->cut_count;
    /* The first cut that is greater. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->cut[middle] <= u) low = middle + 1;
        else high = middle;
    }
    if (low == table->cut_count) return integer_slot(0);
    return integer_slot((int64_t)((uint64_t)table->lows[low] + below(word_after(first, 1), table->width[low])));
}

/* The `count` bytes of the row's words, each big-endian. */
static void random_bytes(const Draw *draw, uint64_t row, size_t count, Text *to) {
    unsigned char *out = (unsigned char *)text_extend(to, count);
    uint64_t first = word(draw->key, row);
    for (size_t i = 0; i < count; i += 8) {
        uint64_t w = word_after(first, i / 8);
        for (size_t b = i; b < count && b < i + 8; b++, w <<= 8) out[b] = (unsigned char)(w >> 56);
    }
}

static void append_hex(Text *to, const unsigned char *bytes, size_t count) {
    char *out = text_extend(to, 2 * count);
    for (size_t i = 0; i < count; i++) memcpy(out + 2 * i, hex_pair[bytes[i]], 2);
}

static void append_hex_of_row(const Draw *draw, uint64_t row, size_t count, Text *to) {
    char *out = text_extend(to, 2 * count);
    uint64_t first = word(draw->key, row);
    for (size_t i = 0; i < count; i += 8) {
        uint64_t w = word_after(first, i / 8);
        for (size_t b = i; b < count && b < i + 8; b++, w <<= 8) memcpy(out + 2 * b, hex_pair[w >> 56], 2);
    }
}

static void append_characters(const Draw *draw, uint64_t row, size_t count, Text *to) {
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ";
    char *out = text_extend(to, count);
    uint64_t first = word(draw->key, row);
    for (size_t i = 0; i < count; i += 10) {
        uint64_t w = word_after(first, i / 10);
        for (size_t c = i; c < count && c < i + 10; c++, w >>= 6) out[c] = alphabet[w & 63];
    }
}

static void append_template(const char *text, uint64_t row, Text *to) {
    static const char mark[] = "{row}";
    char number[24];
    size_t length = (size_t)snprintf(number, sizeof number, "%" PRIu64, row);
    for (const char *next; (next = strstr(text, mark)); text = next + strlen(mark)) {
        text_append(to, text, (size_t)(next - text));
        text_append(to, number, length);
    }
    text_append(to, text, strlen(text));
}

static Slot constant(const Value *value, Values *into) {
    size_t from = into->text.length;
    switch (value->kind) {
    case VALUE_INTEGER: return integer_slot(value->integer);
    case VALUE_REAL: return (Slot){.kind = SLOT_REAL, .real = value->real};
    case VALUE_TEXT: text_append(&into->text, value->text.data, value->text.length); return text_slot(into, from);
    default: return (Slot){.kind = SLOT_NULL};
    }
}

static Slot now(int unit, const Wall *wall, Values *into) {
    int64_t seconds = wall->tv_sec;
    size_t from = into->text.length;
    struct tm date;
    char text[64];
    switch (unit) {
    case NOW_S: return integer_slot(seconds);
    case NOW_MS: return integer_slot(seconds * 1000 + wall->tv_nsec / 1000000);
    case NOW_US: return integer_slot(seconds * 1000000 + wall->tv_nsec / 1000);
    default:
        gmtime_r(&wall->tv_sec, &date);
        size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &date);
        text_append(&into->text, text, length);
        text_format(&into->text, ".%03ldZ", wall->tv_nsec / 1000000);
        return text_slot(into, from);
    }
}

static Slot hash(const Params *params, size_t index, uint64_t row, const Wall *wall, Values *into);

static Slot value_of(const Params *params, size_t index, uint64_t row, const Wall *wall, Values *into) {
    const Draw *draw = &params->draws[index];
    const Source *source = draw->source;
    size_t from = into->text.length;
    switch (source->kind) {
    case SOURCE_UNIFORM: return uniform(draw, row);
    case SOURCE_SEQUENCE: return sequence(draw, row);
    case SOURCE_TABLE: return from_table(draw, row);
    case SOURCE_YIELDED: return (Slot){.kind = SLOT_YIELDED, .place = draw->place};
    case SOURCE_VALUE:
    case SOURCE_WORKER: return constant(draw->values, into);
    case SOURCE_CHOICE:
        if (!draw->value_count) return (Slot){.kind = SLOT_NULL};
        return constant(&draw->values[below(word(draw->key, row), draw->value_count)], into);
    case SOURCE_NOW: return now(source->unit, wall, into);
    case SOURCE_HEX: append_hex_of_row(draw, row, source->size, &into->text); return text_slot(into, from);
    case SOURCE_TEXT: append_characters(draw, row, source->size, &into->text); return text_slot(into, from);
    case SOURCE_FORMAT: append_template(draw->template, row, &into->text); return text_slot(into, from);
    case SOURCE_SHA256_OF: return hash(params, index, row, wall, into);
    }
    return (Slot){.kind = SLOT_NULL};
}

/* Of the bytes before hex of a `hex` source, of the text of any other. One that refers to itself or to a later one
 * hashes nothing. */
static Slot hash(const Params *params, size_t index, uint64_t row, const Wall *wall, Values *into) {
    size_t other = params->draws[index].source->param, from = into->text.length;
    Text *bytes = &into->bytes;
    bytes->length = 0;
    if (other < params->draw_count && params->draws[other].source->kind == SOURCE_HEX) {
        random_bytes(&params->draws[other], row, params->draws[other].source->size, bytes);
    } else if (other < index) {
        /* What it hashes may itself be a hash, and use the same bytes. */
        Slot slot = value_of(params, other, row, wall, into);
        bytes->length = 0;
        switch (slot.kind) {
        case SLOT_INTEGER: text_format(bytes, "%" PRId64, slot.integer); break;
        case SLOT_REAL: {
            char *text = real_text(slot.real);
            text_append(bytes, text, strlen(text));
            free(text);
            break;
        }
        case SLOT_TEXT: text_append(bytes, into->text.data + slot.from, slot.length); break;
        default: break;
        }
        into->text.length = from;
    }
    unsigned char digest[32];
    sha256(bytes->data, bytes->length, digest);
    append_hex(&into->text, digest, sizeof digest);
    return text_slot(into, from);
}

void params_draw(const Params *params, uint64_t operation, Values *into) {
    Slot *slot = into->slots;
    Wall wall = {0};
    into->text.length = 0;
    if (params->reads_clock) clock_gettime(CLOCK_REALTIME, &wall);
    for (size_t s = 0; s < params->statement_count; s++) {
        const struct Layout *layout = &params->statements[s];
        uint64_t first = operation * layout->rows;
        for (uint64_t row = first; row != first + layout->rows; row++)
            for (size_t i = 0; i < layout->bind_count; i++) {
                const Draw *draw = &params->draws[layout->bind[i]];
                /* The two commonest are written where they belong; the others come by way of a call. */
                if (draw->kind == SOURCE_UNIFORM) *slot++ = uniform(draw, row);
                else if (draw->kind == SOURCE_SEQUENCE) *slot++ = sequence(draw, row);
                else *slot++ = value_of(params, layout->bind[i], row, &wall, into);
            }
    }
}
