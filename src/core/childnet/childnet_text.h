// The text that names what is chosen inside a childnet; see childnet.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/routine/registry.h"

namespace softneuro {

// One layer's entry: "wgconv=cpu/gemm{block=8}".
struct InnerChoice {
  std::string layer;
  std::string routine;  // descriptor
  std::string params;   // what stands between the braces
};

// "" or "{a=…;b=…}". invalid_argument if it is malformed or nests too deep.
Result<std::vector<InnerChoice>> parse_inner(std::string_view text);
std::string print_inner(const std::vector<InnerChoice>& choices);

// Parameters as they stand between the braces: Params::str(), but `inner` without quotes, since
// its braces nest; left out if it is empty.
std::string print_params(RoutineParams params);

// The default parameters of `implementation` changed as the text says: "block=14,work=apart".
// invalid_argument where it does not take them.
Result<RoutineParams> parse_params(const Implementation& implementation, std::string_view text);

}  // namespace softneuro
