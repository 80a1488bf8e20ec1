/* One trial on SQLite's C API, driven by JSON on standard input. docs/PROTOCOL.md is the contract. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "message.h"
#include "verbs.h"

int read_line(int message, const Json **json, Fault *fault) {
    char *line = NULL, *error = NULL;
    size_t room = 0;
    ssize_t length = getline(&line, &room, stdin);
    int code = 0;
    *json = NULL;
    if (length > 0) {
        *json = json_read(line, (size_t)length, message, &error);
        if (!*json) code = fault_other(fault, "%s", error ? error : "out of memory");
    } else if (ferror(stdin)) {
        code = fault_other(fault, "standard input cannot be read");
    }
    free(line);
    free(error);
    return code;
}

/* Called by main.rs with what the system gave. */
int litelab_c_main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "";
    Fault fault;
    if (!strcmp(verb, "run")) {
        if (!run(&fault)) return 0;
        message_failed(&fault);
        return 1;
    }
    if (strcmp(verb, "describe") && strcmp(verb, "inspect")) {
        fputs("usage: litelab-runner-c describe|run|inspect\n", stderr);
        return 2;
    }
    if (!(strcmp(verb, "describe") ? inspect(&fault) : describe(&fault))) return 0;
    fprintf(stderr, "%s\n", fault.reason);
    return 1;
}
