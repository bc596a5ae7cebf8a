// ONNX model → Graph.
//
// Reads models of IR version 3 to 14 and operator sets 6 to 28 of the default domain. Nothing of
// the file is trusted: sizes, counts, references and paths are verified before anything is made of
// them, and what cannot be imported is refused with a message that names node and operator.
// A branch is imported where its condition follows from constants and shapes; other control flow,
// sequences, optionals and strings are refused.
#pragma once

#include "import/build/format.h"

namespace softneuro::onnx {

// Weights are taken from the source's allocator, except those that stay mapped in external files.
build::Format format();

}  // namespace softneuro::onnx
