// What the solver needs for well-known nets: layers, width, table cells, milliseconds, and whether
// the path is proven.
//
//   softneuro_dprs_bench [--json] [--runs N] [--formats N] [--crossing P] [--mixed P] [--seed N]
//                        [--k N] [--seconds S] [NET...]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "dprs/topologies.h"

namespace softneuro::dprs {
namespace {

struct Options {
  Richness richness;
  std::uint64_t seed = 1;
  int runs = 11;
  int k = 1;
  double seconds = 2;
  bool json = false;
  std::vector<std::string> nets;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      options.json = true;
      continue;
    }
    if (argument.rfind("--", 0) != 0) {
      options.nets.push_back(argument);
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (argument == "--runs")
      options.runs = std::max(1, std::atoi(value));
    else if (argument == "--formats")
      options.richness.formats = std::atoi(value);
    else if (argument == "--crossing")
      options.richness.crossing = std::atof(value);
    else if (argument == "--mixed")
      options.richness.mixed = std::atof(value);
    else if (argument == "--seed")
      options.seed = std::strtoull(value, nullptr, 10);
    else if (argument == "--k")
      options.k = std::atoi(value);
    else if (argument == "--seconds")
      options.seconds = std::atof(value);
    else
      return false;
  }
  if (options.nets.empty()) options.nets = topology_names();
  return true;
}

void print_header() {
  std::printf("%-14s %6s %10s %5s %10s %9s %9s  %s\n", "net", "layers", "candidates", "width",
              "cells", "min ms", "median ms", "result");
}

bool measure(const std::string& name, const Options& options) {
  const Problem problem = make_topology(name, options.richness, options.seed);
  std::size_t candidates = 0;
  for (const Layer& layer : problem.layers) candidates += layer.candidates.size();
  Limits limits;
  limits.k = options.k;
  limits.time = std::chrono::nanoseconds(static_cast<std::int64_t>(options.seconds * 1e9));
  std::vector<double> times;
  Solution solution;
  for (int run = 0; run < options.runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    Result<Solution> result = solve(problem, limits);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    times.push_back(passed.count() * 1e3);
    if (!result.ok()) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), result.status().message().c_str());
      return false;
    }
    solution = std::move(*result);
    if (!solution.optimal) break;  // took all of its time; once is enough
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  if (options.json) {
    std::printf(
        "{\"net\":\"%s\",\"layers\":%zu,\"candidates\":%zu,\"width\":%d,\"cells\":%zu,"
        "\"min_ms\":%.3f,\"median_ms\":%.3f,\"optimal\":%s,\"gap\":%.6g,\"cost\":%.9g,"
        "\"paths\":%zu}\n",
        name.c_str(), problem.layers.size(), candidates, solution.width, solution.table_cells,
        times[0], median, solution.optimal ? "true" : "false", solution.gap, solution.paths[0].cost,
        solution.paths.size());
    return true;
  }
  std::printf("%-14s %6zu %10zu %5d %10zu %9.2f %9.2f  ", name.c_str(), problem.layers.size(),
              candidates, solution.width, solution.table_cells, times[0], median);
  if (solution.optimal)
    std::printf("optimal\n");
  else
    std::printf("gap %.3f %%\n", 100 * solution.gap);
  return true;
}

}  // namespace
}  // namespace softneuro::dprs

int main(int argc, char** argv) {
  softneuro::dprs::Options options;
  if (!softneuro::dprs::parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: %s [--json] [--runs N] [--formats N] [--crossing P] [--mixed P] "
                 "[--seed N] [--k N] [--seconds S] [NET...]\n",
                 argv[0]);
    return 2;
  }
  if (!options.json) softneuro::dprs::print_header();
  bool ok = true;
  for (const std::string& net : options.nets) ok = softneuro::dprs::measure(net, options) && ok;
  return ok ? 0 : 1;
}
