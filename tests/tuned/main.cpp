// softneuro_tuned: models with reference outputs, tuned in several sets of schemas, with 1 and 2
// threads, saved, loaded and run. error_rule.h says what their outputs are held to.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "core/base/error.h"
#include "support/temporary_folder.h"
#include "tuned/error_rule.h"

namespace softneuro::test {
namespace {

namespace fs = std::filesystem;

struct SchemaSet {
  const char* name;
  std::vector<std::string> schemas;
  bool float16;
  bool bfloat16;
  bool qint8;
  bool names_qint8;  // which needs ranges: the model's own or those of samples
};
const SchemaSet kSchemaSets[] = {
    {"cpu:float32", {"cpu:float32"}, false, false, false, false},
    {"cpu:float32,cpu:float16", {"cpu:float32", "cpu:float16"}, true, false, false, false},
    {"cpu:float32,cpu:bfloat16", {"cpu:float32", "cpu:bfloat16"}, false, true, false, false},
    {"cpu:float32,cpu:qint8", {"cpu:float32", "cpu:qint8"}, false, false, true, true},
    {"cpu", {"cpu"}, true, true, true, false},
};

struct Arguments {
  fs::path folder;
  std::string filter;
  // Of measuring, for each tuning: what was reached by then is chosen by its times, and it is
  // the variety of choices that is tested, not their speed.
  std::chrono::milliseconds time_limit{1000};
};

struct Tally {
  std::size_t tunings = 0;
  std::size_t failed = 0;
  double closest = 0;  // greatest share of an allowed error
  // Layers of all tuned nets by data type: what was not chosen was not tested.
  std::size_t float32 = 0, float16 = 0, bfloat16 = 0, qint8 = 0;
};

// The samples of a model that have its first data set's shapes.
std::vector<NamedTensors> samples_of(const ModelCase& model) {
  std::vector<NamedTensors> samples;
  for (const DataSet& data : model.data) {
    bool alike = true;
    for (const auto& [name, tensor] : data.inputs)
      alike = alike && tensor.shape() == model.data[0].inputs.at(name).shape();
    if (alike) samples.push_back(data.inputs);
  }
  return samples;
}

// What is wrong with the outputs on all data sets, those of other shapes included.
Status check_outputs(ModelCase model, const std::string& file, int threads,
                     const Allowance& allowance, Tally& tally) {
  NetOptions options;
  options.threads = threads;
  SN_ASSIGN_OR_RETURN(const Net net, Net::load(file, options));
  std::vector<DataSet> data;
  std::vector<NamedTensors> results;
  for (const DataSet& set : model.data) {
    Result<NamedTensors> result = net.run(set.inputs);
    if (!result.ok()) {
      // Imported for the sizes of the first data set alone.
      if (result.status().code() == StatusCode::invalid_argument && !data.empty()) continue;
      return result.status();
    }
    data.push_back(set);
    results.push_back(*std::move(result));
  }
  model.data = std::move(data);
  const Verdict verdict = judge(model, results, allowance);
  if (!verdict.wrong.empty()) return invalid_argument("{}", verdict.wrong);
  tally.closest = std::max(tally.closest, verdict.share);
  return {};
}

Status tune_and_check(const ModelCase& model, const SchemaSet& set, bool calibrated, int threads,
                      const TemporaryFolder& folder, const Arguments& arguments, Tally& tally) {
  SN_ASSIGN_OR_RETURN(Net net, import_for(model, model.data[0], {.threads = threads}));
  TuneOptions options;
  options.schemas = set.schemas;
  options.time_limit = arguments.time_limit;
  options.cache.folder = folder.file("cache");
  Allowance allowance{set.float16, set.bfloat16, set.qint8, calibrated};
  if (calibrated) {
    // The default error limit is measured on all that is compared below.
    options.calibration = options.data.validation = samples_of(model);
    allowance.limited = !model.quantised() && options.data.validation.size() == model.data.size();
  }
  for (const auto& [name, tensor] : model.data[0].inputs) options.shapes[name] = tensor.shape();
  SN_ASSIGN_OR_RETURN(const TuneReport report, net.tune(options));
  for (const TunedLayer& layer : report.layers) {
    const bool half = layer.routine.find(":float16") != std::string::npos;
    const bool bfloat = layer.routine.find(":bfloat16") != std::string::npos;
    const bool byte = layer.routine.find(":qint8") != std::string::npos;
    ++(half ? tally.float16 : bfloat ? tally.bfloat16 : byte ? tally.qint8 : tally.float32);
  }
  const std::string file = folder.file("tuned.dnn");
  SN_RETURN_IF_ERROR(net.save(file));
  return check_outputs(model, file, threads, allowance, tally);
}

Tally run_model(const ModelCase& model, const Arguments& arguments) {
  const TemporaryFolder folder;
  Tally tally;
  for (const int threads : {1, 2})
    for (const SchemaSet& set : kSchemaSets)
      for (const bool calibrated : {false, true}) {
        if (calibrated && !set.qint8) continue;
        if (!calibrated && set.names_qint8 && !model.quantised()) continue;
        ++tally.tunings;
        const Status status =
            tune_and_check(model, set, calibrated, threads, folder, arguments, tally);
        if (status.ok()) continue;
        ++tally.failed;
        fmt::print("  {}, {}{}, {} threads: {}\n", model.name, set.name,
                   calibrated ? ", calibrated" : "", threads, status.message());
        std::fflush(stdout);
      }
  return tally;
}

bool parse(const std::vector<std::string>& words, Arguments& arguments) {
  std::size_t at = 0;
  if (words.size() > 1 && words[0] == "--seconds") {
    arguments.time_limit =
        std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * std::atof(words[1].c_str())));
    at = 2;
  }
  if (words.size() <= at || words.size() > at + 2 || words[at].starts_with("-")) return false;
  arguments.folder = words[at];
  if (words.size() == at + 2) arguments.filter = words[at + 1];
  return true;
}

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse({argv + 1, argv + argc}, arguments)) {
    std::fputs(
        "softneuro_tuned [--seconds S] FOLDER [NAME]   tunes the models in FOLDER, or those with\n"
        "NAME in their names, for S seconds each time (default 1), and compares their outputs\n",
        stderr);
    return 2;
  }
  std::size_t others = 0, unprepared = 0, wrong = 0;
  Tally all;
  const std::vector<fs::path> folders = case_folders(arguments.folder, arguments.filter, others);
  for (const fs::path& folder : folders) {
    const auto begin = std::chrono::steady_clock::now();
    const Result<ModelCase> model = read_case(folder);
    if (!model.ok()) {
      fmt::print("{}: {}\n", folder.string(), model.status().message());
      ++wrong;
      continue;
    }
    if (model->quantised() && model->data[0].outputs[0].unrounded.empty()) {
      fmt::print("{}: quantised; make_cases.py prepares it\n", model->name);
      ++unprepared;
      continue;
    }
    const Tally tally = run_model(*model, arguments);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    fmt::print(
        "{:<36} {} of {} tunings right, at most {:.2f} of the allowed error; layers: {} float32, "
        "{} float16, {} bfloat16, {} qint8 ({:.1f} s)\n",
        model->name, tally.tunings - tally.failed, tally.tunings, tally.closest, tally.float32,
        tally.float16, tally.bfloat16, tally.qint8, seconds);
    std::fflush(stdout);
    all.tunings += tally.tunings;
    all.failed += tally.failed;
  }
  if (others > 0) fmt::print("{} models have formats that cannot be imported\n", others);
  if (all.tunings == 0 && wrong == 0) {
    fmt::print("SKIPPED: there is nothing to tune in '{}'\n", arguments.folder.string());
    return kSkipStatus;
  }
  fmt::print("{} of {} tunings right, {} models\n", all.tunings - all.failed, all.tunings,
             folders.size() - unprepared);
  return all.failed + wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace softneuro::test

int main(int argc, char** argv) {
  return softneuro::test::main(argc, argv);
}
