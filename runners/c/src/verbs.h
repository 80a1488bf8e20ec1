/* The three verbs, and how they read. Each returns 0 or leaves a fault. */
#pragma once

#include "fault.h"
#include "protocol.h"

int describe(Fault *fault);
int inspect(Fault *fault);
int run(Fault *fault);

/* A line of standard input as a message, NULL in *json where the input ends before it. */
int read_line(int message, const Json **json, Fault *fault);
