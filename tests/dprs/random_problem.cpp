#include "dprs/random_problem.h"

#include <algorithm>
#include <sstream>

namespace softneuro::dprs::oracle {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, const Kind& kind) : random_(seed), kind_(kind) {}

  Problem run() {
    problem_.formats = random_.between(2, kind_.most_formats);
    const int givens = random_.chance(0.3) ? 2 : 1;
    for (int i = 0; i < givens; ++i) {
      live_.push_back(add_tensor());
      problem_.tensors.back().fixed_format = random_.below(problem_.formats);
    }
    const int layers = random_.between(2, kind_.most_layers);
    switch (kind_.shape) {
      case Shape::any:
        grow_any(layers);
        break;
      case Shape::branches:
        grow_branches(layers);
        break;
      case Shape::skips:
        grow_skips(layers);
        break;
      case Shape::dense:
        grow_dense(layers);
        break;
      case Shape::shared:
        grow_shared(layers);
        break;
    }
    want_outputs();
    thin_out();
    return std::move(problem_);
  }

 private:
  double time(double most) {
    return kind_.whole_times ? random_.between(0, static_cast<int>(most)) : most * random_.unit();
  }

  int add_tensor() {
    Tensor tensor;
    const double scale = random_.chance(0.5) ? 4 : 8;
    for (int from = 0; from < problem_.formats; ++from)
      for (int to = 0; to < problem_.formats; ++to) {
        const bool impossible = random_.chance(0.04);
        tensor.adapt.push_back(from == to ? 0 : impossible ? kInfinity : time(scale));
      }
    for (int f = 0; f < problem_.formats; ++f) tensor.bytes.push_back(random_.between(1, 8));
    if (random_.chance(0.02)) tensor.adapt.clear();
    problem_.tensors.push_back(std::move(tensor));
    return static_cast<int>(problem_.tensors.size()) - 1;
  }

  int add_layer(const std::vector<int>& inputs, int outputs = 1) {
    Layer layer;
    layer.inputs = inputs;
    for (int o = 0; o < outputs; ++o) layer.outputs.push_back(add_tensor());
    if (random_.chance(0.05)) layer.inputs.push_back(-1);
    const bool uniform = inputs.size() > 3 || random_.chance(0.6);
    const int count = random_.between(2, problem_.formats + 1);
    for (int c = 0; c < count; ++c) layer.candidates.push_back(candidate(layer, uniform));
    const int first = layer.outputs[0];
    problem_.layers.push_back(std::move(layer));
    return first;
  }

  Candidate candidate(const Layer& layer, bool uniform) {
    Candidate result;
    const int main = random_.below(problem_.formats);
    auto pick = [&] {
      return uniform || random_.chance(0.5) ? main : random_.below(problem_.formats);
    };
    for (const int tensor : layer.inputs) {
      const bool free = tensor == -1 || random_.chance(0.04);
      result.inputs.push_back(free ? -1 : pick());
    }
    const int made = random_.chance(0.75) ? main : random_.below(problem_.formats);
    for (std::size_t o = 0; o < layer.outputs.size(); ++o)
      result.outputs.push_back(uniform || o == 0 ? made : pick());
    result.time = time(10);
    result.workspace = static_cast<std::size_t>(random_.between(0, 10));
    result.resident = static_cast<std::size_t>(random_.between(0, 5));
    return result;
  }

  // --- shapes ---------------------------------------------------------------------------------

  int any_tensor() { return live_[random_.below(static_cast<int>(live_.size()))]; }
  int recent_tensor() {
    const int count = static_cast<int>(live_.size());
    return live_[std::max(0, count - 1 - random_.below(3))];
  }
  void emit(int first_output) {
    for (int t = first_output; t < static_cast<int>(problem_.tensors.size()); ++t)
      live_.push_back(t);
  }

  void grow_any(int layers) {
    for (int l = 0; l < layers; ++l) {
      std::vector<int> inputs;
      const int count = random_.between(1, 3);
      for (int i = 0; i < count; ++i)
        inputs.push_back(random_.chance(0.7) ? recent_tensor() : any_tensor());
      emit(add_layer(inputs, random_.chance(0.2) ? 2 : 1));
    }
  }

  void grow_skips(int layers) {
    for (int l = 0; l < layers; ++l) {
      std::vector<int> inputs = {live_.back()};
      if (l > 1 && random_.chance(0.5)) inputs.push_back(any_tensor());
      emit(add_layer(inputs));
    }
  }

  void grow_dense(int layers) {
    std::vector<int> block = {live_.back()};
    for (int l = 0; l < layers; ++l) {
      const int made = add_layer(block);
      emit(made);
      if (block.size() > 4 && random_.chance(0.5)) block.clear();
      block.push_back(made);
    }
  }

  void grow_shared(int layers) {
    const int hub = add_layer({live_.back()});
    std::vector<int> ends;
    for (int l = 1; l < layers; ++l) {
      const bool more = random_.chance(0.3) && !ends.empty();
      std::vector<int> inputs = {random_.chance(0.8) ? hub : live_[0]};
      if (more) inputs.push_back(ends[random_.below(static_cast<int>(ends.size()))]);
      ends.push_back(add_layer(inputs));
    }
    live_ = ends.empty() ? std::vector<int>{hub} : ends;
  }

  // Forks whose arms fork again, until the layers are used up; every fork joins.
  int branch(int from, int& left, int depth) {
    const int stem = left > 0 ? (--left, add_layer({from})) : from;
    if (left < 3 || depth > 2) return stem;
    std::vector<int> arms;
    const int count = random_.between(2, 3);
    for (int a = 0; a < count; ++a) arms.push_back(branch(stem, left, depth + 1));
    if (random_.chance(0.3)) arms.push_back(stem);
    if (left <= 0) {
      live_.insert(live_.end(), arms.begin(), arms.end());
      return arms.back();
    }
    --left;
    return add_layer(arms);
  }
  void grow_branches(int layers) {
    int left = layers;
    int from = live_.back();
    if (live_.size() > 1) {
      from = add_layer({live_[0], live_[1]});
      --left;
    }
    while (left > 0) from = branch(from, left, 0);
    live_.push_back(from);
  }

  // --- the end --------------------------------------------------------------------------------

  void want_outputs() {
    std::vector<char> consumed(problem_.tensors.size(), 0);
    std::vector<char> made(problem_.tensors.size(), 0);
    for (const Layer& layer : problem_.layers) {
      for (const int t : layer.inputs)
        if (t >= 0) consumed[t] = 1;
      for (const int t : layer.outputs) made[t] = 1;
    }
    for (std::size_t t = 0; t < made.size(); ++t) {
      if (made[t] == 0 || (consumed[t] != 0 && !random_.chance(0.1))) continue;
      const int count = random_.chance(0.2) ? 2 : random_.chance(0.1) ? 0 : 1;
      for (int i = 0; i < count; ++i)
        problem_.tensors[t].wanted.push_back(random_.below(problem_.formats));
    }
  }

  void thin_out() {
    while (true) {
      double count = 1;
      for (const Layer& layer : problem_.layers)
        count *= static_cast<double>(layer.candidates.size());
      if (count <= kind_.most_choices) return;
      auto largest = std::max_element(
          problem_.layers.begin(), problem_.layers.end(),
          [](const Layer& a, const Layer& b) { return a.candidates.size() < b.candidates.size(); });
      const int out = random_.below(static_cast<int>(largest->candidates.size()));
      largest->candidates.erase(largest->candidates.begin() + out);
    }
  }

  Random random_;
  Kind kind_;
  Problem problem_;
  std::vector<int> live_;  // tensors that a new layer may read
};

void print(std::ostream& out, const char* name, const std::vector<int>& list) {
  out << name;
  for (const int value : list) out << ' ' << value;
}

}  // namespace

const char* name_of(Shape shape) {
  switch (shape) {
    case Shape::any:
      return "any";
    case Shape::branches:
      return "branches";
    case Shape::skips:
      return "skips";
    case Shape::dense:
      return "dense";
    case Shape::shared:
      return "shared";
  }
  return "?";
}

Problem random_problem(std::uint64_t seed, const Kind& kind) {
  return Generator(seed, kind).run();
}

std::string describe(const Problem& problem) {
  std::ostringstream out;
  out << problem.formats << " formats\n";
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    out << "tensor " << t << ": fixed " << problem.tensors[t].fixed_format;
    print(out, " wanted", problem.tensors[t].wanted);
    out << " adapt";
    for (const Cost cost : problem.tensors[t].adapt) out << ' ' << cost;
    out << '\n';
  }
  for (std::size_t l = 0; l < problem.layers.size(); ++l) {
    out << "layer " << l;
    print(out, ": in", problem.layers[l].inputs);
    print(out, " out", problem.layers[l].outputs);
    out << '\n';
    for (const Candidate& candidate : problem.layers[l].candidates) {
      out << "  time " << candidate.time;
      print(out, " in", candidate.inputs);
      print(out, " out", candidate.outputs);
      out << '\n';
    }
  }
  return out.str();
}

}  // namespace softneuro::dprs::oracle
