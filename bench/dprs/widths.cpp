// What the solver needs for well-known nets: layers, width, tables, milliseconds, and whether the
// path is proven.
//
//   softneuro_dprs_bench [--json] [--runs N] [--formats N] [--costs machine|random] [--crossing P]
//                        [--mixed P] [--seed N] [--k N] [--work W]
//                        [--memory M] [--method solve|local]
//                        [NET...]
//
// --memory limits the peak: to so many MiB, or up to 1, to that share of the way from the smallest
// that is found to that of the fastest path.
// --method local skips elimination of the whole net, also where it would do.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "dprs/engine.h"
#include "dprs/topologies.h"

namespace softneuro::dprs {
namespace {

struct Options {
  Richness richness;
  std::uint64_t seed = 1;
  int runs = 11;
  int k = 1;
  double work = Limits().work;
  double memory = -1;  // negative: no limit
  std::string method = "solve";
  bool json = false;
  std::vector<std::string> nets;
};

bool set(Options& options, const std::string& name, const char* value) {
  using Costs = Richness::Costs;
  if (name == "--runs")
    options.runs = std::max(1, std::atoi(value));
  else if (name == "--formats")
    options.richness.formats = std::atoi(value);
  else if (name == "--costs")
    options.richness.costs = std::strcmp(value, "random") == 0 ? Costs::random : Costs::machine;
  else if (name == "--crossing")
    options.richness.crossing = std::atof(value);
  else if (name == "--mixed")
    options.richness.mixed = std::atof(value);
  else if (name == "--seed")
    options.seed = std::strtoull(value, nullptr, 10);
  else if (name == "--k")
    options.k = std::atoi(value);
  else if (name == "--work")
    options.work = std::atof(value);
  else if (name == "--memory")
    options.memory = std::atof(value);
  else if (name == "--method")
    options.method = value;
  else
    return false;
  return true;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      options.json = true;
    } else if (argument.rfind("--", 0) != 0) {
      options.nets.push_back(argument);
    } else {
      if (i + 1 == argc || !set(options, argument, argv[i + 1])) return false;
      ++i;
    }
  }
  if (options.nets.empty()) options.nets = topology_names();
  return true;
}

// The limits that the options mean for the problem.
Limits limits_of(const Problem& problem, const Options& options) {
  Limits limits;
  limits.work = options.work;
  if (options.memory > 1) {
    limits.max_memory = static_cast<std::size_t>(options.memory * (1 << 20));
  } else if (options.memory >= 0) {
    const Result<Solution> fastest = solve(problem, limits);
    limits.least_memory = true;
    const Result<Solution> smallest = solve(problem, limits);
    limits.least_memory = false;
    if (fastest.ok() && smallest.ok()) {
      const std::size_t least = smallest->paths[0].memory;
      const double more = static_cast<double>(fastest->paths[0].memory - least);
      limits.max_memory = least + static_cast<std::size_t>(options.memory * more);
    }
  }
  limits.k = options.k;
  return limits;
}

Result<Solution> find(const Problem& problem, const Limits& limits, const Options& options) {
  if (options.method == "solve") return solve(problem, limits);
  double work = limits.work;
  const Net net(problem);
  const Outcome outcome = search_locally(net, weights_of(problem), work);
  if (outcome.best.empty()) return Status(StatusCode::unsupported, "no path was found");
  Solution solution;
  solution.paths.push_back(price(problem, net.uses, outcome.best));
  solution.optimal = outcome.optimal;
  solution.gap = 1 - outcome.lower_bound / outcome.cost;
  return solution;
}

void print_header() {
  std::printf("%-14s %6s %10s %5s %10s %7s %9s %9s %12s  %s\n", "net", "layers", "candidates",
              "width", "cells", "MiB", "min ms", "median ms", "cost", "result");
}

double mebibytes(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

bool measure(const std::string& name, const Options& options) {
  const Problem problem = make_topology(name, options.richness, options.seed);
  std::size_t candidates = 0;
  for (const Layer& layer : problem.layers) candidates += layer.candidates.size();
  const Limits limits = limits_of(problem, options);
  std::vector<double> times;
  Solution solution;
  for (int run = 0; run < options.runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    Result<Solution> result = find(problem, limits, options);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    times.push_back(passed.count() * 1e3);
    if (!result.ok()) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), result.status().message().c_str());
      return false;
    }
    solution = std::move(*result);
    if (!solution.optimal) break;  // takes long; once is enough
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  if (options.json) {
    std::printf(
        "{\"net\":\"%s\",\"formats\":%d,\"layers\":%zu,\"candidates\":%zu,\"width\":%d,"
        "\"cells\":%zu,\"min_ms\":%.3f,\"median_ms\":%.3f,\"optimal\":%s,\"gap\":%.6g,"
        "\"cost\":%.9g,\"memory\":%zu,\"max_memory\":%zu,\"paths\":%zu}\n",
        name.c_str(), problem.formats, problem.layers.size(), candidates, solution.width,
        solution.table_cells, times[0], median, solution.optimal ? "true" : "false", solution.gap,
        solution.paths[0].cost, solution.paths[0].memory, limits.max_memory, solution.paths.size());
    return true;
  }
  std::printf("%-14s %6zu %10zu %5d %10zu %7.1f %9.2f %9.2f %12.4f  ", name.c_str(),
              problem.layers.size(), candidates, solution.width, solution.table_cells,
              mebibytes(solution.table_cells * sizeof(Cost)), times[0], median,
              solution.paths[0].cost);
  if (solution.optimal)
    std::printf("optimal");
  else
    std::printf("gap %.3f %%", 100 * solution.gap);
  if (limits.max_memory != 0)
    std::printf(", %.2f of at most %.2f MiB", mebibytes(solution.paths[0].memory),
                mebibytes(limits.max_memory));
  if (limits.k > 1)
    std::printf(", %zu paths to %.4f", solution.paths.size(), solution.paths.back().cost);
  std::printf("\n");
  std::fflush(stdout);
  return true;
}

}  // namespace
}  // namespace softneuro::dprs

int main(int argc, char** argv) {
  softneuro::dprs::Options options;
  if (!softneuro::dprs::parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: %s [--json] [--runs N] [--formats N] [--costs machine|random] "
                 "[--crossing P] [--mixed P] [--seed N] [--k N] [--work W] "
                 "[--memory M] [--method solve|local] [NET...]\n",
                 argv[0]);
    return 2;
  }
  if (!options.json) softneuro::dprs::print_header();
  bool ok = true;
  for (const std::string& net : options.nets) ok = softneuro::dprs::measure(net, options) && ok;
  return ok ? 0 : 1;
}
