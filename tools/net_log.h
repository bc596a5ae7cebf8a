// A net's log as the tool shows it, on standard error.
#pragma once

#include "softneuro/net.h"

namespace softneuro::tool {

// Warnings and errors; with `verbose` all of it, with `quiet` nothing.
LogCallback net_log(bool verbose, bool quiet);

}  // namespace softneuro::tool
