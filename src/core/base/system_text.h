// Small text files of the operating system: /proc, /sys.
#pragma once

#include <functional>
#include <string>

#include "softneuro/export.h"

namespace softneuro {

// Reads a small text file; empty if it cannot be read. Tests put other machines' files here.
using TextReader = std::function<std::string(const char* path)>;

// The file's first 64 KiB.
SN_INTREE std::string read_system_text(const char* path);

}  // namespace softneuro
