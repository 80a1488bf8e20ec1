/* The verb `inspect`: open as an application would, and say what took effect. */
#include "driver.h"
#include "message.h"
#include "verbs.h"

/* All connections are open at once, as they would be in the application. */
int inspect(Fault *fault) {
    const Json *json;
    int code = read_line(JSON_INSPECT, &json, fault);
    if (code) return code;
    if (!json) return fault_other(fault, "not an inspect request: the input is empty");
    const Inspect *request = inspect_read(json);
    if (request->protocol != PROTOCOL_VERSION)
        return fault_other(fault, "protocol %u is not %d", request->protocol, PROTOCOL_VERSION);
    const Driver *driver = driver_find(request->driver, fault);
    if (!driver) return FAULT_OTHER;

    const Connection *connection = &request->connection;
    Session *sessions = keep(request->connections, sizeof *sessions);
    Value *values = keep(connection->read_back_count, sizeof *values);
    Message message = {0};
    message_open(&message, NULL, '{');
    message_open(&message, "connections", '[');
    for (uint32_t i = 0; i < request->connections; i++) {
        code = driver->open(&sessions[i], &request->database, connection, fault);
        if (!code)
            code = driver->settings(&sessions[i], connection->read_back_count, connection->read_back, values, fault);
        if (code) return code;
        message_settings(&message, 0, "connection", connection, values);
    }
    message_close(&message, ']');
    message_close(&message, '}');
    for (uint32_t i = 0; i < request->connections; i++)
        if ((code = driver->close(&sessions[i], fault))) return code;
    return message_say(&message, fault);
}
