// What a problem must be before anything indexes by it.
#include <cmath>
#include <string>

#include "dprs/dprs.h"

namespace softneuro::dprs {
namespace {

Status invalid(std::string message) {
  return Status(StatusCode::invalid_argument, "dprs: " + std::move(message));
}

std::string numbered(const char* what, std::size_t number) {
  return std::string(what) + " " + std::to_string(number);
}

class Validation {
 public:
  explicit Validation(const Problem& problem)
      : problem_(problem), made_by_(problem.tensors.size(), -1) {}

  Status run() {
    // A net without layers needs no format: its only path is the empty one.
    const int least = problem_.layers.empty() ? 0 : 1;
    if (problem_.formats < least || problem_.formats > kMaxFormats)
      return invalid(std::to_string(problem_.formats) + " formats; 1 to " +
                     std::to_string(kMaxFormats) + " are possible");
    for (std::size_t l = 0; l < problem_.layers.size(); ++l)
      if (Status status = check_outputs(l); !status.ok()) return status;
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t)
      if (Status status = check_tensor(t); !status.ok()) return status;
    for (std::size_t l = 0; l < problem_.layers.size(); ++l)
      if (Status status = check_layer(l); !status.ok()) return status;
    return {};
  }

 private:
  bool is_format(int format) const { return format >= 0 && format < problem_.formats; }
  bool is_tensor(int tensor) const {
    return tensor >= 0 && static_cast<std::size_t>(tensor) < problem_.tensors.size();
  }

  Status check_outputs(std::size_t l) {
    for (const int tensor : problem_.layers[l].outputs) {
      if (tensor == -1) continue;
      const std::string place = numbered("layer", l) + ": output tensor " + std::to_string(tensor);
      if (!is_tensor(tensor)) return invalid(place + " does not exist");
      int& maker = made_by_[static_cast<std::size_t>(tensor)];
      if (maker != -1)
        return invalid(place + " is made by layer " + std::to_string(maker) + " too");
      maker = static_cast<int>(l);
    }
    return {};
  }

  Status check_tensor(std::size_t t) const {
    const Tensor& tensor = problem_.tensors[t];
    const auto formats = static_cast<std::size_t>(problem_.formats);
    const std::string place = numbered("tensor", t) + ": ";
    if (tensor.fixed_format != -1 && !is_format(tensor.fixed_format))
      return invalid(place + "fixed format " + std::to_string(tensor.fixed_format) +
                     " does not exist");
    if (tensor.fixed_format != -1 && made_by_[t] != -1)
      return invalid(place + "has a fixed format, but layer " + std::to_string(made_by_[t]) +
                     " makes it");
    for (const int format : tensor.wanted)
      if (!is_format(format))
        return invalid(place + "wanted format " + std::to_string(format) + " does not exist");
    if (!tensor.wanted.empty() && made_by_[t] == -1 && tensor.fixed_format == -1)
      return invalid(place + "is wanted, but no layer makes it and it has no fixed format");
    if (!tensor.adapt.empty() && tensor.adapt.size() != formats * formats)
      return invalid(place + std::to_string(tensor.adapt.size()) + " adapt times where " +
                     std::to_string(formats * formats) + " are needed");
    for (const Cost cost : tensor.adapt)
      if (!(cost >= 0)) return invalid(place + "an adapt time is negative or not a number");
    if (!tensor.bytes.empty() && tensor.bytes.size() != formats)
      return invalid(place + std::to_string(tensor.bytes.size()) + " sizes for " +
                     std::to_string(formats) + " formats");
    return {};
  }

  Status check_layer(std::size_t l) const {
    const Layer& layer = problem_.layers[l];
    for (const int tensor : layer.inputs) {
      if (tensor == -1) continue;
      const std::string place = numbered("layer", l) + ": input tensor " + std::to_string(tensor);
      if (!is_tensor(tensor)) return invalid(place + " does not exist");
      const int maker = made_by_[static_cast<std::size_t>(tensor)];
      if (maker == -1 && problem_.tensors[static_cast<std::size_t>(tensor)].fixed_format == -1)
        return invalid(place + " is made by no layer and has no fixed format");
      if (maker >= static_cast<int>(l))
        return invalid(place + " is made by layer " + std::to_string(maker) +
                       ", which does not come before: the layers are not in topological order");
    }
    if (layer.candidates.empty()) return invalid(numbered("layer", l) + ": no candidates");
    for (std::size_t c = 0; c < layer.candidates.size(); ++c)
      if (Status status = check_candidate(l, c); !status.ok()) return status;
    return {};
  }

  Status check_candidate(std::size_t l, std::size_t c) const {
    const Layer& layer = problem_.layers[l];
    const Candidate& candidate = layer.candidates[c];
    const std::string place = numbered("layer", l) + ": " + numbered("candidate", c) + ": ";
    if (candidate.inputs.size() != layer.inputs.size() ||
        candidate.outputs.size() != layer.outputs.size())
      return invalid(place + std::to_string(candidate.inputs.size()) + " input and " +
                     std::to_string(candidate.outputs.size()) + " output formats for " +
                     std::to_string(layer.inputs.size()) + " inputs and " +
                     std::to_string(layer.outputs.size()) + " outputs");
    for (const int format : candidate.inputs)
      if (format != -1 && !is_format(format))
        return invalid(place + "input format " + std::to_string(format) + " does not exist");
    for (std::size_t o = 0; o < candidate.outputs.size(); ++o)
      if (!is_format(candidate.outputs[o]) &&
          !(candidate.outputs[o] == -1 && layer.outputs[o] == -1))
        return invalid(place + "output format " + std::to_string(candidate.outputs[o]) +
                       " does not exist");
    if (!(candidate.time >= 0)) return invalid(place + "its time is negative or not a number");
    return {};
  }

  const Problem& problem_;
  std::vector<int> made_by_;  // layer per tensor
};

}  // namespace

Status validate(const Problem& problem) {
  return Validation(problem).run();
}

}  // namespace softneuro::dprs
