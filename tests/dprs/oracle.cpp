#include "dprs/oracle.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace softneuro::dprs::oracle {
namespace {

// What exists: per tensor the format that it was made in, and those it was adapted to.
class World {
 public:
  explicit World(const Problem& problem)
      : problem_(problem),
        made_(problem.tensors.size(), -1),
        there_(problem.tensors.size(), std::vector<char>(problem.formats, 0)) {
    for (std::size_t t = 0; t < made_.size(); ++t)
      if (problem.tensors[t].fixed_format >= 0) make(t, problem.tensors[t].fixed_format);
  }
  void make(std::size_t tensor, int format) {
    made_[tensor] = format;
    there_[tensor].assign(problem_.formats, 0);
    there_[tensor][format] = 1;
  }
  double price(std::size_t tensor, int format) const {
    if (there_[tensor][format] != 0) return 0;
    const std::vector<Cost>& adapt = problem_.tensors[tensor].adapt;
    return adapt.empty() ? kInfinity : adapt[made_[tensor] * problem_.formats + format];
  }
  // False: it was there.
  bool keep(std::size_t tensor, int format) {
    return std::exchange(there_[tensor][format], 1) == 0;
  }
  void forget(std::size_t tensor, int format) { there_[tensor][format] = 0; }

 private:
  const Problem& problem_;
  std::vector<int> made_;
  std::vector<std::vector<char>> there_;
};

class Walk {
 public:
  Walk(const Problem& problem, bool shared, const Visit& visit)
      : problem_(problem),
        shared_(shared),
        visit_(visit),
        world_(problem),
        choice_(problem.layers.size(), 0) {}

  void from(std::size_t l, double cost) {
    if (l == choice_.size()) {
      for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
        const std::vector<int>& wanted = problem_.tensors[t].wanted;
        for (const int format : std::set<int>(wanted.begin(), wanted.end()))
          cost += world_.price(t, format);
      }
      visit_(choice_, cost);
      return;
    }
    const Layer& layer = problem_.layers[l];
    for (std::size_t c = 0; c < layer.candidates.size(); ++c) {
      choice_[l] = static_cast<int>(c);
      const Candidate& candidate = layer.candidates[c];
      double sum = cost + candidate.time;
      std::vector<std::pair<int, int>> added;
      for (std::size_t p = 0; p < layer.inputs.size(); ++p) {
        if (layer.inputs[p] < 0 || candidate.inputs[p] < 0) continue;
        sum += world_.price(layer.inputs[p], candidate.inputs[p]);
        if (shared_ && world_.keep(layer.inputs[p], candidate.inputs[p]))
          added.emplace_back(layer.inputs[p], candidate.inputs[p]);
      }
      for (std::size_t p = 0; p < layer.outputs.size(); ++p)
        if (layer.outputs[p] >= 0) world_.make(layer.outputs[p], candidate.outputs[p]);
      from(l + 1, sum);
      for (const auto& [tensor, format] : added) world_.forget(tensor, format);
    }
  }

 private:
  const Problem& problem_;
  bool shared_;
  const Visit& visit_;
  World world_;
  std::vector<int> choice_;
};

// A problem with the chosen candidates alone.
Problem only(const Problem& problem, const std::vector<int>& choice) {
  Problem single = problem;
  for (std::size_t l = 0; l < choice.size(); ++l)
    single.layers[l].candidates = {problem.layers[l].candidates[choice[l]]};
  return single;
}

}  // namespace

void for_all_choices(const Problem& problem, bool shared, const Visit& visit) {
  Walk(problem, shared, visit).from(0, 0);
}

double cost_by_hand(const Problem& problem, const std::vector<int>& choice) {
  double result = kInfinity;
  for_all_choices(only(problem, choice), true,
                  [&](const std::vector<int>&, double cost) { result = cost; });
  return result;
}

// The first and the last step at which each existing (tensor, format) is touched, then step by step
// what is alive.
std::size_t memory_by_hand(const Problem& problem, const std::vector<int>& choice) {
  const int steps = static_cast<int>(problem.layers.size());
  std::map<int, int> made;
  std::map<std::pair<int, int>, std::pair<int, int>> lives;
  std::set<int> given;
  auto touch = [&](int tensor, int format, int step) {
    const bool born = lives.try_emplace({tensor, format}, step, step).second;
    lives.at({tensor, format}).second = step;
    if (!born || format == made.at(tensor)) return;
    lives.try_emplace({tensor, made.at(tensor)}, step, step);  // an adapt reads what was made
    lives.at({tensor, made.at(tensor)}).second = step;
  };
  for (int t = 0; t < static_cast<int>(problem.tensors.size()); ++t) {
    if (problem.tensors[t].fixed_format < 0) continue;
    made[t] = problem.tensors[t].fixed_format;
    given.insert(t);
  }
  for (int l = 0; l < steps; ++l) {
    const Layer& layer = problem.layers[l];
    const Candidate& candidate = layer.candidates[choice[l]];
    for (std::size_t p = 0; p < layer.inputs.size(); ++p)
      if (layer.inputs[p] >= 0 && candidate.inputs[p] >= 0)
        touch(layer.inputs[p], candidate.inputs[p], l);
    for (std::size_t p = 0; p < layer.outputs.size(); ++p) {
      if (layer.outputs[p] < 0) continue;
      made[layer.outputs[p]] = candidate.outputs[p];
      touch(layer.outputs[p], candidate.outputs[p], l);
    }
  }
  for (int t = 0; t < static_cast<int>(problem.tensors.size()); ++t)
    for (const int format : problem.tensors[t].wanted) touch(t, format, steps);
  std::size_t resident = 0;
  for (int l = 0; l < steps; ++l) resident += problem.layers[l].candidates[choice[l]].resident;
  std::size_t peak = 0;
  for (int step = 0; step <= steps; ++step) {
    std::size_t bytes = resident;
    if (step < steps) bytes += problem.layers[step].candidates[choice[step]].workspace;
    for (const auto& [what, life] : lives) {
      const auto [tensor, format] = what;
      if (problem.tensors[tensor].bytes.empty() || life.first > step || life.second < step)
        continue;
      if (given.count(tensor) != 0 && format == made.at(tensor)) continue;  // the caller's
      bytes += problem.tensors[tensor].bytes[format];
    }
    peak = std::max(peak, bytes);
  }
  return peak;
}

double choices(const Problem& problem) {
  double count = 1;
  for (const Layer& layer : problem.layers) count *= static_cast<double>(layer.candidates.size());
  return count;
}

std::vector<double> ranking(const Problem& problem, std::size_t most) {
  std::vector<double> costs;
  for_all_choices(problem, true, [&](const std::vector<int>&, double cost) {
    if (cost < kInfinity) costs.push_back(cost);
  });
  std::sort(costs.begin(), costs.end());
  costs.resize(std::min(costs.size(), most));
  return costs;
}

std::vector<int> greedy(const Problem& problem) {
  World world(problem);
  std::vector<int> choice;
  for (const Layer& layer : problem.layers) {
    std::size_t best = 0;
    double least = kInfinity;
    for (std::size_t c = 0; c < layer.candidates.size(); ++c) {
      double cost = layer.candidates[c].time;
      std::set<std::pair<int, int>> needed;
      for (std::size_t p = 0; p < layer.inputs.size(); ++p)
        if (layer.inputs[p] >= 0 && layer.candidates[c].inputs[p] >= 0)
          needed.insert({layer.inputs[p], layer.candidates[c].inputs[p]});
      for (const auto& [tensor, format] : needed) cost += world.price(tensor, format);
      if (cost >= least) continue;
      least = cost;
      best = c;
    }
    for (std::size_t p = 0; p < layer.inputs.size(); ++p)
      if (layer.inputs[p] >= 0 && layer.candidates[best].inputs[p] >= 0)
        world.keep(layer.inputs[p], layer.candidates[best].inputs[p]);
    for (std::size_t p = 0; p < layer.outputs.size(); ++p)
      if (layer.outputs[p] >= 0) world.make(layer.outputs[p], layer.candidates[best].outputs[p]);
    choice.push_back(static_cast<int>(best));
  }
  return choice;
}

std::vector<int> best_per_edge(const Problem& problem) {
  std::vector<int> best;
  double least = kInfinity;
  for_all_choices(problem, false, [&](const std::vector<int>& choice, double cost) {
    if (cost >= least) return;
    least = cost;
    best = choice;
  });
  return best;
}

}  // namespace softneuro::dprs::oracle
