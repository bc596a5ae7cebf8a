// The softneuro command as its users call it: exit status, JSON, files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>

#include "net/net_access.h"
#include "npy.h"
#include "softneuro/net.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "tuning/small_net.h"
#include "tuning/tool/run_tool.h"

using namespace softneuro;
using namespace softneuro::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

// [N,3,32,32] → probabilities of ten classes.
std::string shapes_net() {
  return source_dir() + "/models/shapes/shapes.dnn";
}

// Images of one value.
std::string make_sample(const TemporaryFolder& folder, const char* name, int batch, float value) {
  const std::string sample = (folder.path() / name).string();
  std::filesystem::create_directories(sample);
  Tensor images = Tensor::create(DataType::float32, Shape{batch, 3, 32, 32}).value();
  std::ranges::fill(images.mutable_values<float>(), value);
  REQUIRE(write_npy(sample + "/input_0.npy", images).ok());
  return sample;
}

}  // namespace

TEST_CASE("run --steps: each folder is a run of one session, of its own shape; outputs go to K") {
  const TemporaryFolder folder;
  const std::string a = make_sample(folder, "a", 1, 0.5f), b = make_sample(folder, "b", 2, 0.25f);
  const std::string out = (folder.path() / "out").string();
  const json report = run_tool(
      {"run", shapes_net(), "--steps", a, b, a, "--output-dir", out, "--json", "--threads", "1"},
      {}, folder.path().string());
  REQUIRE(report.at("steps").size() == 3);
  CHECK(report["steps"][1]["outputs"][0]["shape"] == json({2, 10}));
  const json first = report["steps"][0]["outputs"][0], third = report["steps"][2]["outputs"][0];
  CHECK(first.at("top") == third.at("top"));
  CHECK(first.at("top") != report["steps"][1]["outputs"][0].at("top"));
  const std::string name = std::filesystem::path(first.at("file").get<std::string>()).filename();
  CHECK(read_file(out + "/0/" + name) == read_file(out + "/2/" + name));
  CHECK(std::filesystem::exists(out + "/1/" + name));

  // The same as single runs.
  const std::string single = (folder.path() / "single").string();
  run_tool({"run", shapes_net(), "--input", "image=" + b + "/input_0.npy", "--output-dir", single,
            "--json", "--threads", "1"},
           {}, folder.path().string());
  CHECK(read_file(single + "/" + name) == read_file(out + "/1/" + name));
}

TEST_CASE("run --steps: with --input, or a folder without inputs, nothing runs") {
  const TemporaryFolder folder;
  ToolProcess both({"run", shapes_net(), "--steps", "x", "--input", "image=y.npy"}, {},
                   folder.path().string());
  CHECK(both.wait() == 2);
  CHECK_THAT(both.errors(), Contains("--input"));
  ToolProcess empty({"run", shapes_net(), "--steps", folder.path().string()}, {},
                    folder.path().string());
  CHECK(empty.wait() == 1);
  CHECK_THAT(empty.errors(), Contains("input_0.npy") && Contains("'image'"));
}

TEST_CASE("bench: an open batch is 1, in a line on standard error that -q leaves out") {
  const TemporaryFolder folder;
  for (const bool quiet : {false, true}) {
    std::vector<std::string> words{"bench", shapes_net(), "--seconds", "0", "--json"};
    if (quiet) words.emplace_back("-q");
    ToolProcess bench(words, {}, folder.path().string());
    CHECK(bench.wait() == 0);
    CHECK((bench.errors().find("dynamic batch size of 'image'") != std::string::npos) == !quiet);
    CHECK(json::parse(bench.output()).contains("median_ms"));
  }
}

TEST_CASE(
    "merge: the paths of several files of one net, the later of equal ones; others are refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const auto tune = [&](const char* threads, const char* schemas, const std::string& file) {
    run_tool({"tune", shapes_net(), "-o", file, "--threads", threads, "--schemas", schemas,
              "--time-limit", "0.1", "--cache", path + "/cache", "--json"},
             {}, path);
  };
  tune("1", "cpu:float32", path + "/one.dnn");
  tune("2", "cpu:float32", path + "/two.dnn");
  tune("1", "cpu:float32,cpu:float16", path + "/again.dnn");
  const json report = run_tool({"merge", path + "/one.dnn", path + "/two.dnn", path + "/again.dnn",
                                "-o", path + "/all.dnn", "--json"},
                               {}, path);
  REQUIRE(report.at("paths").size() == 2);
  CHECK(report["paths"][0].at("threads") == 1);  // replaced in its place
  for (const json& row : report["paths"])
    CHECK(row.at("schemas").size() == (row.at("threads") == 1 ? 2 : 1));
  const json inspected = run_tool({"inspect", path + "/all.dnn", "--json"}, {}, path);
  CHECK(inspected.dump().find("cpu:float16") != std::string::npos);

  ToolProcess refused({"merge", path + "/one.dnn", source_dir() + "/tests/data/golden_plain.dnn",
                       "-o", path + "/none.dnn"},
                      {}, path);
  CHECK(refused.wait() == 1);
  CHECK_THAT(refused.errors(), Contains("not files of one net"));
  CHECK(!std::filesystem::exists(path + "/none.dnn"));
}

TEST_CASE("cache: list counts rows, merge adds those that are missing, clear removes the files") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), a = path + "/a", b = path + "/b";
  CHECK(run_tool({"cache", "list", "--cache", a, "--json"}, {}, path).at("files").empty());
  run_tool({"tune", shapes_net(), "--threads", "1", "--time-limit", "0.2", "--cache", a, "--json"},
           {}, path);
  const json listed = run_tool({"cache", "list", "--cache", a, "--json"}, {}, path).at("files");
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].at("threads") == 1);
  CHECK(listed[0].at("rows") > 0);
  for (const bool first : {true, false}) {
    const json merged = run_tool({"cache", "merge", a, "--cache", b, "--json"}, {}, path);
    REQUIRE(merged.at("files").size() == 1);
    CHECK(merged["files"][0].at("added") == (first ? listed[0].at("rows") : json(0)));
  }
  CHECK(run_tool({"cache", "clear", "--cache", a, "--json"}, {}, path).at("removed") == 1);
  CHECK(run_tool({"cache", "list", "--cache", a, "--json"}, {}, path).at("files").empty());
  CHECK(run_tool({"cache", "list", "--cache", b, "--json"}, {}, path).at("files").size() == 1);

  write_file(a + "/profile-0000000000000000-1threads.tsv", "");  // without a valid entry
  const json empty = run_tool({"cache", "list", "--cache", a, "--json"}, {}, path).at("files");
  REQUIRE(empty.size() == 1);
  CHECK(empty[0].at("machine").is_null());
}

TEST_CASE("cache, profile --cached: without a folder there is one line that names --cache") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  for (const std::vector<std::string>& words : {std::vector<std::string>{"cache", "list"},
                                                {"cache", "clear"},
                                                {"cache", "merge", path},
                                                {"profile", "--cached"}}) {
    ToolProcess tool(words, {{"XDG_CACHE_HOME", ""}, {"HOME", ""}}, path);
    CHECK(tool.wait() == 1);
    CHECK_THAT(tool.errors(), Contains("there is no profile cache") && Contains("--cache"));
    CHECK(tool.output().empty());
  }
}

TEST_CASE("inspect, import --check, compare --reference: a malformed --shape is wrong usage") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  for (std::vector<std::string> words :
       {std::vector<std::string>{"inspect", shapes_net()},
        {"inspect", shapes_net(), "--dot", path + "/net.dot"},
        {"import", source_dir() + "/models/shapes/shapes.onnx", "--check"},
        {"compare", shapes_net(), "--reference", "probabilities=none.npy"}}) {
    words.insert(words.end(), {"--shape", "image=abc"});
    ToolProcess tool(words, {}, path);
    CHECK(tool.wait() == 2);
    CHECK_THAT(tool.errors(), Contains("'abc' is not a shape"));
  }
}

TEST_CASE("import --constant: the net does not have the input; bad names and numbers are errors") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), net = path + "/net.dnn";
  const std::string model = source_dir() + "/models/shapes/shapes.onnx";
  const std::string image = make_sample(folder, "a", 1, 0.5f) + "/input_0.npy";
  run_tool({"import", model, "-o", net, "--constant", "image=" + image, "--json"}, {}, path);
  CHECK(Net::load(net).value().inputs().empty());
  const auto refused = [&](const std::string& constant, int status, const std::string& why) {
    ToolProcess tool({"import", model, "-o", path + "/no.dnn", "--constant", constant}, {}, path);
    CHECK(tool.wait() == status);
    CHECK_THAT(tool.errors(), Contains(why));
    CHECK(!std::filesystem::exists(path + "/no.dnn"));
  };
  refused("image", 2, "'image' is not NAME=NUMBER or FILE.npy");
  refused("image=1", 1, "does not fit");
  refused("picture=1", 1, "no input 'picture'");
  refused("image=none.npy", 1, "none.npy");
}

TEST_CASE("inspect --json: every layer has its lists, also empty ones") {
  const TemporaryFolder folder;
  const json report = run_tool({"inspect", shapes_net(), "--json"}, {}, folder.path().string());
  REQUIRE(!report.at("layers").empty());
  for (const json& layer : report["layers"])
    for (const char* key : {"post_ops", "inputs", "outputs"}) CHECK(layer.at(key).is_array());
}

TEST_CASE("run --json: least, largest and mean are null where no element is finite") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), net = path + "/net.dnn", x = path + "/x.npy";
  SmallNetBuilder b;
  b.graph.outputs = {b.unary("neg", "neg", b.input("x", DynamicShape(Shape{2})))};
  REQUIRE(NetAccess::from_graph(std::move(b.graph), {}).value().save(net).ok());
  Tensor values = Tensor::create(DataType::float32, Shape{2}).value();
  std::ranges::fill(values.mutable_values<float>(), NAN);
  REQUIRE(write_npy(x, values).ok());
  const json row =
      run_tool({"run", net, "--input", "x=" + x, "--json"}, {}, path).at("outputs").at(0);
  for (const char* key : {"min", "max", "mean"}) CHECK(row.at(key).is_null());
  CHECK(row.at("not_finite") == 2);
}

TEST_CASE("run, inspect: a file that cannot be written is named with the system's reason") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const std::string sample = make_sample(folder, "sample", 1, 0.5f) + "/input_0.npy";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"inspect", shapes_net(), "--dot", sample + "/net.dot"},
        {"run", shapes_net(), "--input", "image=" + sample, "--output-dir", sample}}) {
    ToolProcess tool(words, {}, path);
    CHECK(tool.wait() == 1);
    CHECK_THAT(tool.errors(), Contains(sample) && Contains("Not a directory"));
  }
}

TEST_CASE("softneuro: what cannot be written to standard output is an error of every command") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const std::string image = "image=" + make_sample(folder, "sample", 1, 0.5f) + "/input_0.npy";
  const OutputKind kind =
      GENERATE(OutputKind::full_device, OutputKind::closed, OutputKind::pipe_without_reader);
  CAPTURE(static_cast<int>(kind));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"inspect", shapes_net()},
        {"inspect", shapes_net(), "--json"},
        {"run", shapes_net(), "--input", image, "--json"},
        {"explain", shapes_net(), "--json"},
        {"bench", shapes_net(), "--seconds", "0"},
        {"profile", shapes_net(), "--seconds", "0"},
        {"import", source_dir() + "/models/shapes/shapes.onnx", "--check"},
        {"tune", shapes_net(), "--time-limit", "0.1", "--no-cache", "-q"},
        {"cache", "list", "--cache", path},
        {"doctor"},
        {"--version"},
        {"tune", "--help"}}) {
    INFO(words[0] << " " << words.back());
    ToolProcess tool(words, {}, path, kind);
    CHECK(tool.wait() == 1);
    CHECK(tool.errors().find('\n') != std::string::npos);
  }
  ToolProcess inspect({"inspect", shapes_net()}, {}, path, kind);
  inspect.wait();
  CHECK_THAT(inspect.errors(), Contains("standard output cannot be written: "));
}

TEST_CASE("tune: what would lose its result is refused before the net is even read") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const auto refusal = [&](std::vector<std::string> words, int status) {
    words.insert(words.begin(), {"tune", path + "/absent.dnn"});
    ToolProcess tune(words, {}, path);
    CHECK(tune.wait() == status);
    return tune.errors();
  };
  CHECK_THAT(refusal({"-o", path + "/absent/tuned.dnn"}, 1),
             Contains("there is no folder '" + path + "/absent'"));
  CHECK_THAT(refusal({"-o", path}, 1), Contains("is a folder"));
  for (const char* metric : {"no-such-command", "./no-such-file --really"})
    CHECK_THAT(refusal({"--metric", metric, "--limit", "1"}, 2),
               Contains("neither rms, snr, cosine, top1 nor a command"));
}

TEST_CASE("tune: a folder without samples is told what may be in it") {
  const TemporaryFolder folder;
  ToolProcess tune({"tune", shapes_net(), "--calibration", folder.path().string()}, {},
                   folder.path().string());
  CHECK(tune.wait() == 1);
  CHECK_THAT(tune.errors(), Contains("input_0.npy") && Contains("nor pictures (JPEG, PNG, BMP)"));
}

TEST_CASE("tune: pictures without mean and scale for an input of reals are a warning") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), pictures = path + "/pictures";
  std::filesystem::create_directory(pictures);
  // A bitmap of one black pixel.
  std::string bytes = {'B', 'M', 58, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0,  40,
                       0,   0,   0,  1, 0, 0, 0, 1, 0, 0, 0,  1, 0, 24, 0};
  bytes.resize(58);
  write_file(pictures + "/black.bmp", bytes);
  const auto errors = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"tune", shapes_net(), "--calibration", pictures, "--max-error",
                                 "none", "--time-limit", "0.1", "--no-cache"});
    ToolProcess tune(words, {}, path);
    tune.wait();
    return tune.errors();
  };
  const std::string bare = errors({});
  if (bare.find("built without stb") != std::string::npos) SN_SKIP("no pictures in this build");
  CHECK_THAT(bare, Contains("gets the bytes of the pictures"));
  CHECK_THAT(errors({"--picture-scale", "1"}), !Contains("gets the bytes"));
}

TEST_CASE("tune: --packed before the net means the packed weights as well") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), file = path + "/tuned.dnn";
  for (const char* other : {"", "also", "only"}) {
    std::vector<std::string> words{"tune", "--packed", shapes_net()};
    if (*other != '\0') words.insert(words.begin() + 2, other);
    words.insert(words.end(), {"-o", file, "--time-limit", "0.1", "--no-cache", "--json"});
    CHECK(run_tool(words, {}, path).at("file") == file);
  }
}

TEST_CASE(
    "explain: lists what tune would consider in each format, with the times that it measured") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), cache = path + "/cache";
  const json tuned =
      run_tool({"tune", shapes_net(), "-o", path + "/tuned.dnn", "--threads", "1", "--schemas",
                "cpu:float32,cpu:float16", "--time-limit", "0.5", "--cache", cache, "--json"},
               {}, path);
  const json report = run_tool({"explain", path + "/tuned.dnn", "--threads", "1", "--cache", cache,
                                "--schemas", "cpu:float32,cpu:float16", "--json"},
                               {}, path);
  // Each tuned layer's choice is one of those that are considered.
  std::size_t timed = 0;
  for (const json& row : tuned.at("layers")) {
    if (row.at("type") == "adapt") continue;
    INFO(row.dump());
    const json* layer = nullptr;
    for (const json& known : report.at("layers"))
      if (known.at("layer") == row.at("layer")) layer = &known;
    REQUIRE(layer != nullptr);
    CHECK(layer->at("chosen") == row.at("routine"));
    for (const json& other : row.at("not_chosen"))
      CHECK((other.at("time_us").is_null() || other.at("time_us") > 0));
    bool found = false;
    for (const json& routine : layer->at("routines")) {
      timed += routine.contains("time_us");
      found = found || (routine.at("routine") == row.at("routine") && routine.at("applicable") &&
                        routine.at("formats") == layer->at("chosen_formats"));
      if (routine.at("routine").get<std::string>().rfind("cpu:qint8", 0) == 0)
        CHECK(routine.at("applicable") == false);
    }
    CHECK(found);
  }
  CHECK(timed > 0);
}

TEST_CASE("explain: a layer that is no step is told from a name that there is not") {
  const TemporaryFolder folder;
  const auto reason = [&](const std::string& layer) {
    ToolProcess explain({"explain", shapes_net(), layer}, {}, folder.path().string());
    CHECK(explain.wait() == 1);
    return explain.errors();
  };
  CHECK_THAT(reason("features"), Contains("'features' has no routine: it is a view"));
  CHECK_THAT(reason("feature"), Contains("no layer is named 'feature'"));
}

TEST_CASE("softneuro: a word that is no command is named, with the commands there are") {
  const TemporaryFolder folder;
  ToolProcess wrong({"tunes", shapes_net()}, {}, folder.path().string());
  CHECK(wrong.wait() == 2);
  CHECK_THAT(wrong.errors(), Contains("'tunes'"));
  CHECK_THAT(wrong.errors(), Contains("tune"));
  CHECK_THAT(wrong.errors(), Contains("inspect"));
}

TEST_CASE(
    "run, compare: --input for a name that is no input is wrong usage, and names the inputs") {
  const TemporaryFolder folder;
  const std::string sample = make_sample(folder, "sample", 1, 0.5f) + "/input_0.npy";
  for (std::vector<std::string> words :
       {std::vector<std::string>{"run", shapes_net()},
        {"compare", shapes_net(), "--reference", "scores=" + sample},
        {"compare", shapes_net(), "--model", shapes_net(), "--json"}}) {
    words.insert(words.end(), {"--input", "picture=" + sample});
    ToolProcess tool(words, {}, folder.path().string());
    CHECK(tool.wait() == 2);
    CHECK_THAT(tool.errors(), Contains("picture") && Contains("image"));
    CHECK(tool.output().empty());
  }
}

TEST_CASE("tune: --limit is --max-error in the unit of --metric; both together are wrong usage") {
  const TemporaryFolder folder;
  const auto status = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"tune", shapes_net(), "--no-cache", "--time-limit", "0.1"});
    ToolProcess tune(words, {}, folder.path().string());
    const int exit = tune.wait();
    return std::pair(exit, tune.errors());
  };
  CHECK(status({"--max-error", "0.1", "--limit", "0.1"}).first == 2);
  CHECK(status({"--max-error", "little"}).first == 2);
  CHECK(status({"--metric", "snr"}).first == 2);
  CHECK(status({"--cache", "none"}).first == 2);
  CHECK(status({"--metric", "top1", "--limit", "3"}).first == 2);
  const auto [exit, errors] = status({"--metric", "snr", "--limit", "40"});
  CHECK(exit == 1);
  CHECK_THAT(errors, Contains("max_error needs validation samples"));
  CHECK(status({"--max-error", "none"}).first == 0);
}

TEST_CASE(
    "tune: --shape of one input again tunes for another shape; the file has a path for each") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), file = path + "/tuned.dnn";
  const std::vector<std::string> two{"--shape", "image=1x3x32x32", "--shape", "image=4x3x32x32"};
  std::vector<std::string> words{"tune", shapes_net(), "-o",      file,           "--time-limit",
                                 "0.1",  "--json",     "--cache", path + "/cache"};
  words.insert(words.end(), two.begin(), two.end());
  const json reports = run_tool(words, {}, path);
  REQUIRE(reports.size() == 2);
  CHECK(reports[0]["shapes"]["image"] == json({1, 3, 32, 32}));
  CHECK(reports[1]["shapes"]["image"] == json({4, 3, 32, 32}));
  CHECK(Net::load(file).value().tuned_paths().size() == 2);

  std::vector<std::string> bench{"bench", shapes_net()};
  bench.insert(bench.end(), two.begin(), two.end());
  ToolProcess refused(bench, {}, path);
  CHECK(refused.wait() == 2);
  make_sample(folder, "samples", 1, 0.5f);
  words.insert(words.end(), {"--calibration", path + "/samples"});
  ToolProcess with_samples(words, {}, path);
  CHECK(with_samples.wait() == 2);
  CHECK_THAT(with_samples.errors(), Contains("samples have one shape"));
}

TEST_CASE("tune: a path keeps a library's routines on nets with other numbers of threads") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), file = path + "/tuned.dnn";
  const std::string library = GENERATE("onednn", "xnnpack"), tuned_for = GENERATE("1", "2");
  CAPTURE(library, tuned_for);
  ToolProcess tune({"tune", shapes_net(), "-o", file, "--threads", tuned_for, "--time-limit", "0.3",
                    "--no-cache", "--pin", "widen=*/" + library, "--pin", "stem=*/" + library},
                   {}, path);
  if (tune.wait() != 0) {
    CHECK_THAT(tune.errors(), Contains("no routine of its type has that name"));
    SN_SKIP("no routines of " + library + " here");
  }
  for (const char* threads : {"1", "2", "3"}) {
    CAPTURE(threads);
    ToolProcess profile({"profile", file, "--threads", threads, "--seconds", "0", "--json"}, {},
                        path);
    REQUIRE(profile.wait() == 0);
    CHECK_THAT(profile.errors(), !Contains("is replaced"));
    const json report = json::parse(profile.output());
    std::size_t kept = 0;
    for (const json& layer : report["layers"])
      kept += layer["routine"].get<std::string>().find('/' + library) != std::string::npos;
    CHECK(kept >= 2);
  }
}

TEST_CASE("tune: --packed only gives a smaller file, which computes what the whole one does") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const std::string sample = make_sample(folder, "a", 1, 0.5f) + "/input_0.npy";
  const auto tune = [&](std::vector<std::string> packed, const std::string& file) {
    std::vector<std::string> arguments = {
        "tune", shapes_net(), "-o", file, "--threads", "1", "--cache", path + "/cache", "--json"};
    arguments.insert(arguments.end() - 1, packed.begin(), packed.end());
    run_tool(arguments, {}, path);
    const std::string out = file + ".out";
    run_tool({"run", file, "--input", "image=" + sample, "--output-dir", out, "--json", "--threads",
              "1"},
             {}, path);
    return std::pair(std::filesystem::file_size(file),
                     read_file(std::filesystem::directory_iterator(out)->path().string()));
  };
  const auto [plain_size, plain] = tune({}, path + "/plain.dnn");
  const auto [also_size, also] = tune({"--packed"}, path + "/also.dnn");
  const auto [only_size, only] = tune({"--packed", "only"}, path + "/only.dnn");
  CHECK(plain_size < also_size);
  CHECK(only_size < also_size);
  CHECK(also == plain);
  CHECK(only == plain);
  ToolProcess wrong({"tune", shapes_net(), "--packed", "twice"}, {}, path);
  CHECK(wrong.wait() == 2);
}

TEST_CASE("tune: --device chooses schemas; one that is absent, or contradicts them, is an error") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const json report = run_tool({"tune", shapes_net(), "--device", "cpu", "--threads", "1",
                                "--time-limit", "0.1", "--no-cache", "--json"},
                               {}, path);
  CHECK(report.at("layers").size() > 0);
  const std::tuple<const char*, const char*, int, const char*> wrong[] = {
      {"nowhere", "", 1, "no device 'nowhere'"},
      {"cpu", "nowhere:float32", 2, "leaves out the schema nowhere:float32"},
      {"nowhere=0", "cpu:float16", 2, "none of the schemas"},
      {"cuda:1", "", 2, "cuda=1"}};
  for (const auto& [device, schemas, status, message] : wrong) {
    std::vector<std::string> arguments = {"tune", shapes_net(), "--device", device, "--no-cache"};
    if (*schemas != 0) arguments.insert(arguments.end(), {"--schemas", schemas});
    ToolProcess process(arguments, {}, path);
    CHECK(process.wait() == status);
    CHECK_THAT(process.errors(), Contains(message));
  }
}

TEST_CASE("tune: a metric that is a command gets the outputs of each sample and gives the score") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), samples = path + "/samples";
  make_sample(folder, "samples/0", 1, 0.25f);
  make_sample(folder, "samples/1", 1, 0.5f);
  const auto tune = [&](const std::string& metric) {
    ToolProcess process({"tune", shapes_net(), "--no-cache", "--time-limit", "0.1", "--validation",
                         samples, "--limit", "0.5", "--json", "--metric", metric},
                        {}, path);
    const int exit = process.wait();
    return std::tuple(exit, process.output(), process.errors());
  };
  const std::string seen = path + "/seen";
  const auto [exit, output, errors] =
      tune("sh -c 'ls $0/0/*.npy $0/1/*.npy >> " + seen + "; echo some; echo 0.75'");
  INFO(errors);
  REQUIRE(exit == 0);
  CHECK(json::parse(output)["error"] == 0);
  CHECK(json::parse(output)["validation_samples"] == 2);
  std::ifstream list(seen);
  CHECK(std::count(std::istreambuf_iterator<char>(list), {}, '\n') >= 4);
  const auto failed = tune("false");
  CHECK(std::get<0>(failed) == 1);
  CHECK_THAT(std::get<2>(failed), Contains("'false' failed"));
  const auto wordy = tune("echo no number in");
  CHECK(std::get<0>(wordy) == 1);
  CHECK_THAT(std::get<2>(wordy), Contains("print a number"));
}

TEST_CASE("tune: a net that fails on all synthetic inputs is an error, and no file is written") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), net = path + "/net.dnn";
  REQUIRE(NetAccess::from_graph(graph_without_synthetic_inputs(), {}).value().save(net).ok());
  ToolProcess tune({"tune", net, "-o", path + "/tuned.dnn", "--no-cache", "--json"}, {}, path);
  CHECK(tune.wait() == 1);
  CHECK_THAT(tune.errors(), Contains("is not tuned") && Contains(path + "/tuned.dnn") &&
                                Contains("--calibration"));
  CHECK(tune.output().empty());
  CHECK(!std::filesystem::exists(path + "/tuned.dnn"));
}

TEST_CASE("tune: in a new process, the path is for this machine and the default thread count") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), file = path + "/tuned.dnn";
  run_tool({"tune", source_dir() + "/models/shapes/shapes.onnx", "-o", file, "--time-limit", "0.1",
            "--no-cache", "--json"},
           {}, path);
  ToolProcess bench({"bench", file, "--seconds", "0", "-v", "--json"}, {}, path);
  CHECK(bench.wait() == 0);
  CHECK_THAT(bench.errors(), !Contains("the best-matching tuned path"));
}
