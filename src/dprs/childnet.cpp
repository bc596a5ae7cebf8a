// Childnets: an inner net solved once per combination of formats on its border.
#include <algorithm>

#include "dprs/dprs.h"

namespace softneuro::dprs {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

constexpr std::size_t kMostCombinations = 4096;

Status invalid(std::string message) {
  return Status(StatusCode::invalid_argument, "dprs: childnet: " + std::move(message));
}

Status check_border(const Problem& problem, const char* what, const std::vector<int>& border,
                    const std::vector<std::vector<int>>& formats, std::size_t& combinations) {
  if (border.size() != formats.size())
    return invalid("formats for " + std::to_string(formats.size()) + " " + what + "s of " +
                   std::to_string(border.size()));
  for (std::size_t p = 0; p < border.size(); ++p) {
    if (border[p] == -1) continue;
    const std::string place = std::string(what) + " " + std::to_string(p);
    if (border[p] < 0 || at(border[p]) >= problem.tensors.size())
      return invalid(place + ": tensor " + std::to_string(border[p]) + " does not exist");
    if (formats[p].empty()) return invalid(place + ": no format to try");
    for (const int format : formats[p])
      if (format < 0 || format >= problem.formats)
        return invalid(place + ": format " + std::to_string(format) + " does not exist");
    combinations *= formats[p].size();
    if (combinations > kMostCombinations)
      return invalid("more than " + std::to_string(kMostCombinations) +
                     " combinations of formats on the border");
  }
  return {};
}

// The number `combination` as one format per port, the last port running fastest; -1 where the port
// is left out.
std::vector<int> formats_of(std::size_t& combination, const std::vector<int>& border,
                            const std::vector<std::vector<int>>& formats) {
  std::vector<int> result(border.size(), -1);
  for (std::size_t p = border.size(); p-- > 0;) {
    if (border[p] == -1) continue;
    result[p] = formats[p][combination % formats[p].size()];
    combination /= formats[p].size();
  }
  return result;
}

}  // namespace

Result<std::vector<ChildnetRow>> solve_childnet(const Childnet& childnet,
                                                const std::vector<std::vector<int>>& input_formats,
                                                const std::vector<std::vector<int>>& output_formats,
                                                const Limits& limits) {
  std::size_t combinations = 1;
  if (Status status =
          check_border(childnet.problem, "input", childnet.inputs, input_formats, combinations);
      !status.ok())
    return status;
  if (Status status =
          check_border(childnet.problem, "output", childnet.outputs, output_formats, combinations);
      !status.ok())
    return status;

  std::vector<ChildnetRow> rows;
  Status refusal;
  Problem inner = childnet.problem;
  for (const int tensor : childnet.outputs)
    if (tensor != -1) inner.tensors[at(tensor)].wanted.clear();
  for (std::size_t number = 0; number < combinations; ++number) {
    std::size_t rest = number;
    const std::vector<int> outputs = formats_of(rest, childnet.outputs, output_formats);
    const std::vector<int> inputs = formats_of(rest, childnet.inputs, input_formats);
    for (std::size_t p = 0; p < inputs.size(); ++p)
      if (inputs[p] != -1) inner.tensors[at(childnet.inputs[p])].fixed_format = inputs[p];
    for (std::size_t p = 0; p < outputs.size(); ++p)
      if (outputs[p] != -1) inner.tensors[at(childnet.outputs[p])].wanted = {outputs[p]};
    Result<Solution> solution = solve(inner, limits);
    if (!solution.ok() && solution.status().code() == StatusCode::unsupported) {
      refusal = solution.status();
      continue;
    }
    if (!solution.ok()) return Status(solution.status()).with_context("childnet");
    for (Path& path : solution->paths) {
      Candidate candidate{inputs, outputs, path.cost, path.memory};
      rows.push_back({std::move(candidate), std::move(path)});
    }
  }
  if (rows.empty()) return std::move(refusal).with_context("childnet: on no border");
  return rows;
}

}  // namespace softneuro::dprs
