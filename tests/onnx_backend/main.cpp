// softneuro_onnx_backend: runs the ONNX backend test data and says what passes.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "onnx_backend/isolated_runner.h"
#include "onnx_backend/suite.h"

namespace softneuro::test {
namespace {

constexpr int kSkipStatus = 77;
constexpr int kTimeoutSeconds = 60;

constexpr const char* kUsage =
    "softneuro_onnx_backend [FOLDER] [options]\n"
    "  FOLDER           the test data; else $SOFTNEURO_SHARED/suites/onnx_backend\n"
    "  --filter TEXT    only tests with TEXT in suite/name or in the operator's name\n"
    "  --list-failed    every test that did not pass, with its message\n"
    "  --json           everything, for programs\n"
    "  --operators FILE the operators that count for --min-named, one per line\n"
    "  --min-named P    fail if less than P % of these operators' plain tests pass\n"
    "  --min-all P      fail if less than P % of all tests pass\n"
    "  --in-process     without child processes, for a debugger\n";

struct Options {
  std::string folder;
  std::string filter;
  std::string operators;
  bool list_failed = false;
  bool json = false;
  bool in_process = false;
  double min_named = 0;
  double min_all = 0;
};

struct Counts {
  int passed = 0, failed = 0, unsupported = 0, broken = 0;  // broken: crashed or timed out
  int total() const { return passed + failed + unsupported + broken; }
  double percent() const { return total() == 0 ? 100 : 100.0 * passed / total(); }
  void add(Outcome outcome) {
    ++(outcome == Outcome::passed        ? passed
       : outcome == Outcome::failed      ? failed
       : outcome == Outcome::unsupported ? unsupported
                                         : broken);
  }
};

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      json += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      json += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      json += c;
  }
  return json + '"';
}

bool parse_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = argument == "--filter" || argument == "--operators" ||
                           argument == "--min-named" || argument == "--min-all";
    if (has_value && ++i >= argc) return false;
    if (argument == "--filter")
      options.filter = argv[i];
    else if (argument == "--operators")
      options.operators = argv[i];
    else if (argument == "--min-named")
      options.min_named = std::atof(argv[i]);
    else if (argument == "--min-all")
      options.min_all = std::atof(argv[i]);
    else if (argument == "--list-failed")
      options.list_failed = true;
    else if (argument == "--json")
      options.json = true;
    else if (argument == "--in-process")
      options.in_process = true;
    else if (argument.starts_with("-") || !options.folder.empty())
      return false;
    else
      options.folder = argument;
  }
  return true;
}

// The folder given, or that of the environment, or the one beside the checkout.
std::string default_folder() {
  const std::string below = "/suites/onnx_backend";
  for (const char* name : {"SOFTNEURO_SHARED", "SOFTNEURO_SHARED_DIR"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      return value + below;
  return "../shared" + below;
}

std::vector<BackendTest> select(const std::vector<BackendTest>& tests, const std::string& filter) {
  std::vector<BackendTest> selected;
  for (const BackendTest& test : tests)
    if ((test.suite + "/" + test.name).find(filter) != std::string::npos || test.op == filter)
      selected.push_back(test);
  return selected;
}

struct Report {
  std::vector<TestResult> results;
  std::map<std::string, Counts> by_operator;
  std::map<std::string, Counts> by_suite;
  Counts all, named;
};

Report run(const std::vector<BackendTest>& tests, const std::set<std::string>& named,
           const Options& options) {
  Report report;
  report.results.resize(tests.size());
  const auto note = [&](std::size_t i, TestResult result) {
    const Outcome outcome = result.outcome;
    report.all.add(outcome);
    report.by_operator[tests[i].op].add(outcome);
    report.by_suite[tests[i].suite].add(outcome);
    if (tests[i].is_node_test() && named.contains(tests[i].op)) report.named.add(outcome);
    report.results[i] = std::move(result);
  };
  const auto run_one = [&](std::size_t i) { return run_backend_test(tests[i]); };
  if (!options.in_process) {
    run_isolated(tests.size(), kTimeoutSeconds, run_one, note);
    return report;
  }
  for (std::size_t i = 0; i < tests.size(); ++i) {
    std::fprintf(stderr, "%s/%s\n", tests[i].suite.c_str(), tests[i].name.c_str());
    note(i, run_one(i));
  }
  return report;
}

void print_counts(const std::string& name, const Counts& counts) {
  fmt::print("{:<28} {:>6} {:>7} {:>11} {:>7} {:>6.1f}%\n", name, counts.passed, counts.failed,
             counts.unsupported, counts.broken, counts.percent());
}

void print_table(const std::vector<BackendTest>& tests, const Report& report,
                 const Options& options) {
  fmt::print("{:<28} {:>6} {:>7} {:>11} {:>7}\n", "operator", "passed", "failed", "unsupported",
             "crashed");
  for (const auto& [name, counts] : report.by_operator) print_counts(name, counts);
  fmt::print("\n");
  for (const auto& [name, counts] : report.by_suite) print_counts("suite " + name, counts);
  if (!options.operators.empty()) print_counts("plain tests of listed ops", report.named);
  print_counts("all", report.all);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const TestResult& result = report.results[i];
    const bool broken = result.outcome == Outcome::crashed || result.outcome == Outcome::timed_out;
    if (broken || (options.list_failed && result.outcome != Outcome::passed))
      fmt::print("{}: {}/{}: {}\n", to_string(result.outcome), tests[i].suite, tests[i].name,
                 result.message);
  }
}

void print_json(const std::vector<BackendTest>& tests, const Report& report) {
  fmt::print("{{\"passed\": {}, \"failed\": {}, \"unsupported\": {}, \"crashed\": {},\n",
             report.all.passed, report.all.failed, report.all.unsupported, report.all.broken);
  fmt::print(" \"named\": {{\"passed\": {}, \"total\": {}}},\n \"tests\": [", report.named.passed,
             report.named.total());
  for (std::size_t i = 0; i < tests.size(); ++i)
    fmt::print(
        "{}\n  {{\"suite\": {}, \"name\": {}, \"operator\": {}, \"outcome\": {}, "
        "\"message\": {}}}",
        i == 0 ? "" : ",", quoted(tests[i].suite), quoted(tests[i].name), quoted(tests[i].op),
        quoted(to_string(report.results[i].outcome)), quoted(report.results[i].message));
  fmt::print("\n]}}\n");
}

int main(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (options.folder.empty()) options.folder = default_folder();
  const std::vector<BackendTest> all = read_suite(options.folder);
  if (all.empty()) {
    fmt::print("SKIPPED: there is no ONNX backend test data in '{}'\n", options.folder);
    return kSkipStatus;
  }
  const std::vector<BackendTest> tests = select(all, options.filter);
  const Report report = run(tests, read_operators(options.operators), options);
  if (options.json)
    print_json(tests, report);
  else
    print_table(tests, report, options);

  bool good = report.all.broken == 0;
  if (options.min_named > 0 && report.named.percent() < options.min_named) {
    std::fprintf(stderr, "%.2f %% of the listed operators' plain tests pass; %.2f %% are asked\n",
                 report.named.percent(), options.min_named);
    good = false;
  }
  if (options.min_all > 0 && report.all.percent() < options.min_all) {
    std::fprintf(stderr, "%.2f %% of all tests pass; %.2f %% are asked\n", report.all.percent(),
                 options.min_all);
    good = false;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace softneuro::test

int main(int argc, char** argv) {
  return softneuro::test::main(argc, argv);
}
