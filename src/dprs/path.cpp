#include "dprs/path.h"

#include <algorithm>

namespace softneuro::dprs {
namespace {

const Candidate& chosen(const Problem& problem, const std::vector<int>& choice, int layer) {
  return problem.layers[at(layer)].candidates[at(choice[at(layer)])];
}

// The format that `use`'s tensor is made or given in.
int made_format(const Problem& problem, const TensorUse& use, int tensor,
                const std::vector<int>& choice) {
  if (use.maker == -1) return problem.tensors[at(tensor)].fixed_format;
  return chosen(problem, choice, use.maker).outputs[at(use.maker_port)];
}

// The formats demanded of a tensor by its consumers and by the outside.
FormatSet demanded(const Problem& problem, const TensorUse& use, int tensor,
                   const std::vector<int>& choice) {
  FormatSet set = 0;
  for (const int format : problem.tensors[at(tensor)].wanted) set |= format_bit(format);
  for (const TensorUse::Consumer& consumer : use.consumers) {
    const int format = chosen(problem, choice, consumer.layer).inputs[at(consumer.port)];
    if (format != -1) set |= format_bit(format);
  }
  return set;
}

// Bytes alive per step, as differences: step s in [first, last] holds `bytes` more.
class LiveBytes {
 public:
  explicit LiveBytes(std::size_t steps) : change_(steps + 1, 0) {}
  void add(int first, int last, std::size_t bytes) {
    change_[at(first)] += static_cast<std::int64_t>(bytes);
    change_[at(last) + 1] -= static_cast<std::int64_t>(bytes);
  }
  std::vector<std::size_t> profile() const {
    std::vector<std::size_t> bytes;
    std::int64_t now = 0;
    for (std::size_t s = 0; s + 1 < change_.size(); ++s)
      bytes.push_back(static_cast<std::size_t>(now += change_[s]));
    return bytes;
  }

 private:
  std::vector<std::int64_t> change_;
};

}  // namespace

std::vector<TensorUse> find_uses(const Problem& problem) {
  std::vector<TensorUse> uses(problem.tensors.size());
  for (int l = 0; at(l) < problem.layers.size(); ++l) {
    const Layer& layer = problem.layers[at(l)];
    for (int port = 0; at(port) < layer.inputs.size(); ++port)
      if (layer.inputs[at(port)] != -1)
        uses[at(layer.inputs[at(port)])].consumers.push_back({l, port});
    for (int port = 0; at(port) < layer.outputs.size(); ++port) {
      if (layer.outputs[at(port)] == -1) continue;
      uses[at(layer.outputs[at(port)])].maker = l;
      uses[at(layer.outputs[at(port)])].maker_port = port;
    }
  }
  return uses;
}

std::vector<Adapt> adapts_of(const Problem& problem, const std::vector<TensorUse>& uses,
                             const std::vector<int>& choice) {
  std::vector<Adapt> adapts;
  for (int t = 0; at(t) < problem.tensors.size(); ++t) {
    const int made = made_format(problem, uses[at(t)], t, choice);
    if (made == -1) continue;
    FormatSet set = demanded(problem, uses[at(t)], t, choice) & ~format_bit(made);
    for (int to = 0; set != 0; ++to, set >>= 1)
      if ((set & 1) != 0) adapts.push_back({t, made, to});
  }
  return adapts;
}

Path price(const Problem& problem, const std::vector<TensorUse>& uses,
           const std::vector<int>& choice) {
  Path path;
  path.choice = choice;
  for (int l = 0; at(l) < problem.layers.size(); ++l) path.cost += chosen(problem, choice, l).time;
  path.adapts = adapts_of(problem, uses, choice);
  for (const auto& [tensor, from, to] : path.adapts)
    path.cost += adapt_cost(problem.tensors[at(tensor)].adapt, problem.formats, from, to);
  path.memory = peak_memory(problem, uses, choice);
  return path;
}

std::size_t peak_memory(const Problem& problem, const std::vector<TensorUse>& uses,
                        const std::vector<int>& choice) {
  const std::vector<std::size_t> bytes = memory_profile(problem, uses, choice);
  return *std::max_element(bytes.begin(), bytes.end());
}

std::vector<std::size_t> memory_profile(const Problem& problem, const std::vector<TensorUse>& uses,
                                        const std::vector<int>& choice) {
  const int steps = static_cast<int>(problem.layers.size());
  LiveBytes live(at(steps) + 1);  // one more, at the end, where what is wanted is live together
  for (int l = 0; l < steps; ++l) live.add(l, l, chosen(problem, choice, l).workspace);
  for (int t = 0; at(t) < problem.tensors.size(); ++t) {
    const Tensor& tensor = problem.tensors[at(t)];
    const TensorUse& use = uses[at(t)];
    const int made = made_format(problem, use, t, choice);
    if (tensor.bytes.empty() || made == -1) continue;
    struct Life {
      int first = -1, last = -1;
    };
    std::vector<Life> lives(at(problem.formats));
    auto use_at = [&](int format, int step) {
      if (lives[at(format)].first == -1) lives[at(format)].first = step;
      lives[at(format)].last = step;
    };
    for (const TensorUse::Consumer& consumer : use.consumers) {
      const int format = chosen(problem, choice, consumer.layer).inputs[at(consumer.port)];
      if (format != -1) use_at(format, consumer.layer);
    }
    for (const int format : tensor.wanted) use_at(format, steps);
    int made_last = use.maker == -1 ? 0 : use.maker;
    for (int format = 0; format < problem.formats; ++format) {
      const Life& life = lives[at(format)];
      if (life.first == -1) continue;
      made_last = std::max(made_last, format == made ? life.last : life.first);
      if (format != made) live.add(life.first, life.last, tensor.bytes[at(format)]);
    }
    if (use.maker != -1) live.add(use.maker, made_last, tensor.bytes[at(made)]);
  }
  std::vector<std::size_t> profile = live.profile();
  std::size_t resident = 0;
  for (int l = 0; l < steps; ++l) resident += chosen(problem, choice, l).resident;
  for (std::size_t& bytes : profile) bytes += resident;
  return profile;
}

Result<Path> make_path(const Problem& problem, const std::vector<int>& choice) {
  if (Status status = validate(problem); !status.ok()) return status;
  if (choice.size() != problem.layers.size())
    return Status(StatusCode::invalid_argument,
                  "dprs: " + std::to_string(choice.size()) + " choices for " +
                      std::to_string(problem.layers.size()) + " layers");
  for (std::size_t l = 0; l < choice.size(); ++l)
    if (choice[l] < 0 || at(choice[l]) >= problem.layers[l].candidates.size())
      return Status(StatusCode::invalid_argument, "dprs: layer " + std::to_string(l) +
                                                      ": candidate " + std::to_string(choice[l]) +
                                                      " does not exist");
  return price(problem, find_uses(problem), choice);
}

}  // namespace softneuro::dprs
