// A small text format, imported by what src/import/build has: a second importer needs nothing else.
//
//   toy 1
//   input x float32 N,3          a dimension that is no number is a symbol
//   constant w float32 3,2 1 2 3 4 5 6
//   relu r x                     operator, output, inputs
//   matmul y r w
//   output y
#pragma once

#include "import/build/format.h"

namespace softneuro::test {

build::Format toy_format();

}  // namespace softneuro::test
