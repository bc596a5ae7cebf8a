// Net: signatures, that is, what of a candidate the rest of the net can see.
#include <algorithm>
#include <map>

#include "dprs/model.h"

namespace softneuro::dprs {
namespace {

std::vector<Net::Port> ports_that_matter(const Layer& layer, const Problem& problem,
                                         const std::vector<TensorUse>& uses) {
  std::vector<Net::Port> ports;
  for (std::size_t p = 0; p < layer.inputs.size(); ++p)
    if (layer.inputs[p] != -1) ports.push_back({true, static_cast<int>(p), layer.inputs[p]});
  for (std::size_t p = 0; p < layer.outputs.size(); ++p) {
    if (layer.outputs[p] == -1) continue;
    const auto tensor = static_cast<std::size_t>(layer.outputs[p]);
    if (!uses[tensor].consumers.empty() || !problem.tensors[tensor].wanted.empty())
      ports.push_back({false, static_cast<int>(p), layer.outputs[p]});
  }
  return ports;
}

}  // namespace

Weights weights_of(const Problem& problem) {
  Weights weights;
  weights.time.reserve(problem.layers.size());
  for (const Layer& layer : problem.layers) {
    std::vector<Cost>& times = weights.time.emplace_back();
    times.reserve(layer.candidates.size());
    for (const Candidate& candidate : layer.candidates) times.push_back(candidate.time);
  }
  weights.adapt.reserve(problem.tensors.size());
  for (const Tensor& tensor : problem.tensors) weights.adapt.push_back(tensor.adapt);
  return weights;
}

Net::Net(const Problem& of) : problem(of), uses(find_uses(of)) {
  layers.resize(problem.layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = problem.layers[l];
    Signatures& signatures = layers[l];
    signatures.ports = ports_that_matter(layer, problem, uses);
    std::map<std::vector<int>, int> numbers;
    for (const Candidate& candidate : layer.candidates) {
      std::vector<int> formats;
      formats.reserve(signatures.ports.size());
      for (const Port& port : signatures.ports)
        formats.push_back((port.is_input ? candidate.inputs
                                         : candidate.outputs)[static_cast<std::size_t>(port.port)]);
      const auto [entry, added] =
          numbers.emplace(std::move(formats), static_cast<int>(signatures.formats.size()));
      if (added) signatures.formats.push_back(entry->first);
      signatures.of_candidate.push_back(entry->second);
    }
  }
}

}  // namespace softneuro::dprs
