#include "driver.h"

#include <string.h>

const Driver *driver_find(const char *name, Fault *fault) {
    if (!strcmp(name, c_driver.name)) return &c_driver;
    if (!strcmp(name, noop_driver.name)) return &noop_driver;
    fault_other(fault, "driver `%s` is none of %s, %s", name, c_driver.name, noop_driver.name);
    return NULL;
}

int driver_refuse_options(const Connection *connection, Fault *fault) {
    if (!connection->option) return 0;
    return fault_other(fault, "option `%s`: this driver has none of that name", connection->option);
}
