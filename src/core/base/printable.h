// Text of models for people.
#pragma once

#include <string>

#include "softneuro/export.h"

namespace softneuro {

// `text` for a log or a terminal: bytes that belong to no printable character of UTF-8 (control
// characters, line ends, marks that turn the direction of writing, broken sequences) are written
// \xNN. Names of layers and tensors are whatever a model says.
SN_INTREE std::string printable_text(std::string text);

}  // namespace softneuro
