// Text parameters that name one of a few choices.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/graph/params.h"

namespace softneuro {

// Index of parameter `name`'s text in `choices`; invalid_model, listing them, if it is not there.
// Layer types declare enumerations in the order of their choices and cast.
template <std::size_t n>
Result<int> choice_of(const Params& params, std::string_view name,
                      const std::string_view (&choices)[n]) {
  const std::string_view text = params.text(name);
  for (std::size_t i = 0; i < n; ++i)
    if (choices[i] == text) return static_cast<int>(i);
  std::string list;
  for (const std::string_view choice : choices)
    list.append(list.empty() ? "" : ", ").append(choice);
  return invalid_model("{} is '{}', must be one of: {}", name, text, list);
}

}  // namespace softneuro
