#include "plugins/cuda/generate/folds.h"

#include <fmt/format.h>

namespace softneuro::cuda {

Fold sum_fold(const char* type, const std::string& of) {
  return {
      .members = {{type, "v"}}, .clear = "v = 0;", .add = "v += " + of + ";", .merge = "v += b.v;"};
}

Fold exponential_fold() {
  return {.members = {{"float", "max"}, {"float", "sum"}},
          .clear = fmt::format("max = -{}; sum = 0;", kInfinity),
          .add =
              "if (x > max) {\n"
              "      sum = sum * expf(max - x) + 1;\n"
              "      max = x;\n"
              "    } else {\n"
              "      sum += x == max ? 1 : expf(x - max);\n"
              "    }",
          .merge =
              "const float larger = b.max > max ? b.max : max;\n"
              "    sum = sum * (max == larger ? 1 : expf(max - larger)) +\n"
              "          b.sum * (b.max == larger ? 1 : expf(b.max - larger));\n"
              "    max = larger;"};
}

}  // namespace softneuro::cuda
