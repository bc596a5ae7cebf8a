// Allocations that fail, each in turn: an error or the right output, nothing lost, no half file.
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "core/base/error.h"
#include "core/dnn/file.h"
#include "core/graph/params.h"
#include "import/onnx_model.h"
#include "memory/failing_memory.h"
#include "net/net_access.h"
#include "softneuro/c_api.h"
#include "softneuro/net.h"
#include "softneuro/session.h"
#include "softneuro/tune.h"
#include "support/temporary_folder.h"
#include "tuning/small_net.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// --- what is swept -------------------------------------------------------------------------------

struct Work {
  std::function<Status()> run;
  // After each run: "" or what is wrong.
  std::function<std::string()> check = [] { return std::string(); };
  // What `run` may have taken from an object that it works on is made again by a run.
  bool works_on_an_object = false;
};

// What one failing run leaves wrong; "": nothing.
std::string run_without_memory(const Work& work, long n, bool from_then_on) {
  const long before = live_blocks();
  StatusCode code = StatusCode::ok;
  std::string message;
  {
    Status status;
    {
      const FailingMemory failing(n, from_then_on);
      status = work.run();
    }
    code = status.code();
    if (code != StatusCode::ok && code != StatusCode::out_of_memory)
      return fmt::format("the status is {}: {}", to_string(code), status.message());
  }
  if (std::string wrong = work.check(); !wrong.empty()) return wrong;
  if (work.works_on_an_object)
    if (const Status again = work.run(); !again.ok())
      return fmt::format("does not work afterwards: {}", again.message());
  const long lost = live_blocks() - before;
  return lost == 0 ? "" : fmt::format("{} blocks of memory are not freed", lost);
}

// About `runs` of them, spread evenly; 0: every allocation that a run makes.
void sweep(const Work& work, long runs) {
  REQUIRE(work.run().ok());  // what is made once per process
  REQUIRE(work.run().ok());
  long total = 0;
  {
    const FailingMemory none(FailingMemory::kNone, false);
    const Status status = work.run();
    total = FailingMemory::allocations();
    if (!status.ok()) total = 0;
  }
  REQUIRE(total > 0);
  const long stride = runs == 0 ? 1 : std::max(1L, 2 * total / runs);
  std::vector<std::string> wrong;
  long failing_runs = 0;
  for (const bool from_then_on : {false, true})
    for (long n = 1; n <= total && wrong.size() < 20; n += stride) {
      ++failing_runs;
      const std::string complaint = run_without_memory(work, n, from_then_on);
      if (!complaint.empty())
        wrong.push_back(fmt::format("allocation {} of {}{}: {}", n, total,
                                    from_then_on ? " and all that follow" : "", complaint));
    }
  INFO(failing_runs << " runs of " << total << " allocations");
  CHECK(wrong == std::vector<std::string>());
}

// --- nets ----------------------------------------------------------------------------------------

// Beside what tuning likes, shapes that depend on data.
Graph graph_of_all_kinds() {
  Graph graph = small_graph();
  const auto add = [&](const char* type, const char* name, std::vector<TensorId> inputs) {
    TensorDef def;
    def.name = std::string(name) + " of a name that is longer than strings hold in themselves";
    const TensorId out = graph.add_tensor(std::move(def));
    graph.add_layer(*builtin_layer_types().find(type), name, std::move(inputs), {out});
    return out;
  };
  graph.outputs.push_back(add("nonzero", "places", {graph.outputs[0]}));
  return graph;
}

// Made before memory fails.
const NetOptions& net_options() {
  static const NetOptions options = [] {
    NetOptions made;
    made.threads = 2;
    made.plugins = {"none"};
    return made;
  }();
  return options;
}

Tensor file_of_all_kinds() {
  return serialize_dnn(graph_of_all_kinds()).value();
}

Result<Net> load(const Tensor& file) {
  return Net::load_memory(file.data(), file.bytes(), net_options());
}

bool same_bits(const NamedTensors& a, const NamedTensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.bytes() == y.second.bytes() &&
           std::memcmp(x.second.data(), y.second.data(), x.second.bytes()) == 0;
  });
}

// Runs `net` and compares what comes out.
Status run_right(const Net& net, const NamedTensors& inputs, const NamedTensors& right) {
  const Result<NamedTensors> outputs = net.run(inputs);
  if (!outputs.ok()) return outputs.status();
  return same_bits(*outputs, right) ? Status() : internal_error("the outputs are wrong");
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// --- the work ------------------------------------------------------------------------------------

void sweep_loading(long runs) {
  const Tensor file = file_of_all_kinds();
  sweep({.run = [&] { return load(file).status(); }}, runs);
}

void sweep_importing(long runs) {
  OnnxModel model;
  model.input("an image of a name that is longer than strings hold", {1, 4, 6, 6});
  model.floats("w", {4, 4, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2});
  model.floats("b", {4}, {1, -2, 3, -4});
  model.floats("scale", {4}, {1, 2, 1, 2});
  model.floats("shift", {4}, {4, 3, 2, 1});
  model.floats("mean", {4}, {0, 1, 0, 1});
  model.floats("variance", {4}, {1, 1, 4, 4});
  model.int64s("shape", {2}, {1, -1});
  model
      .node("Conv", {"an image of a name that is longer than strings hold", "w", "b"},
            {"convolved"})
      .integers("kernel_shape", {1, 1})
      .text("auto_pad", "SAME_UPPER");
  model.node("BatchNormalization", {"convolved", "scale", "shift", "mean", "variance"}, {"normed"});
  model.node("Relu", {"normed"}, {"positive"});
  model.node("Reshape", {"positive", "shape"}, {"flat"});
  model.node("Softmax", {"flat"}, {"y"}).integer("axis", -1);
  model.output("y");
  const std::string bytes = model.bytes();
  sweep(
      {.run =
           [&] { return Net::import_memory(bytes.data(), bytes.size(), net_options()).status(); }},
      runs);
}

void sweep_running(long runs) {
  const Tensor file = file_of_all_kinds();
  const Net net = load(file).value();
  const NamedTensors inputs = {{"image", random_image(1)}};
  const NamedTensors right = net.run(inputs).value();
  SECTION("a net that has a plan") {
    sweep({.run = [&] { return run_right(net, inputs, right); }, .works_on_an_object = true}, 0);
  }
  SECTION("a net that has none yet") {
    sweep({.run = [&]() -> Status {
            SN_ASSIGN_OR_RETURN(const Net fresh, load(file));
            return run_right(fresh, inputs, right);
          }},
          runs);
  }
  SECTION("a session") {
    const auto plan = net.plan().value();
    sweep({.run = [&]() -> Status {
            SN_ASSIGN_OR_RETURN(Session session, Session::create(plan));
            SN_RETURN_IF_ERROR(session.set_input("image", inputs.at("image")));
            SN_RETURN_IF_ERROR(session.run());
            for (const auto& [name, tensor] : right) {
              SN_ASSIGN_OR_RETURN(const Tensor output, session.output(name));
              if (output.bytes() != tensor.bytes() ||
                  std::memcmp(output.data(), tensor.data(), tensor.bytes()) != 0)
                return internal_error("the output {} is wrong", name);
            }
            return {};
          }},
          0);
  }
}

void sweep_saving(long runs) {
  const TemporaryFolder folder;
  const Tensor file = file_of_all_kinds();
  const Net net = load(file).value();
  const std::string path = folder.file("a net of a name that is longer than strings hold.dnn");
  REQUIRE(net.save(path, {.packed_weights = true}).ok());
  const std::string whole = contents_of(path);
  const std::string old = "what was there before";
  const auto put_old = [&] { std::ofstream(path, std::ios::binary | std::ios::trunc) << old; };
  sweep({.run = [&] { return net.save(path, {.packed_weights = true}); },
         .check = [&]() -> std::string {
           const std::string now = contents_of(path);
           if (folder.entries() != 1) return "something is left in the folder";
           if (now != old && now != whole) return "the file is neither the old one nor the new one";
           put_old();
           return {};
         },
         .works_on_an_object = true},
        runs);
}

void sweep_tuning(long runs) {
  const TemporaryFolder folder;
  const Tensor file = file_of_all_kinds();
  TuneOptions options;
  options.cache.folder = folder.path().string();
  options.effort.rounds = 1;
  options.time_limit = std::chrono::milliseconds(50);
  const NamedTensors inputs = {{"image", random_image(1)}};
  const auto close = [](const NamedTensors& outputs) { return outputs.size() == 3; };
  sweep({.run = [&]() -> Status {
           SN_ASSIGN_OR_RETURN(Net net, load(file));
           const Status tuned = net.tune(options).status();
           SN_ASSIGN_OR_RETURN(const NamedTensors outputs, net.run(inputs));
           return close(outputs) ? tuned : internal_error("outputs are missing");
         },
         .check = [&]() -> std::string {
           for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
             if (entry.path().extension() != ".tsv") return "half a file is left in the cache";
           return {};
         }},
        runs);
}

// The C API's own handles, on top of all that.
Status in_c(const Tensor& file, const Tensor& image) {
  struct Handles {
    sn_net* net = nullptr;
    sn_session* session = nullptr;
    sn_result* result = nullptr;
    ~Handles() {
      sn_result_free(result);
      sn_session_free(session);
      sn_net_free(net);
    }
  } handles;
  const auto status_of = [](sn_status status) {
    return status == SN_OK ? Status() : Status(static_cast<StatusCode>(status), sn_last_error());
  };
  sn_net_options options = SN_NET_OPTIONS_INIT;
  const char* const no_plugins = "none";
  options.threads = 2;
  options.plugins = &no_plugins;
  options.plugin_count = 1;
  SN_RETURN_IF_ERROR(
      status_of(sn_net_load_memory(file.data(), file.bytes(), &options, &handles.net)));
  sn_tensor input = SN_TENSOR_INIT;
  input.name = "image";
  input.data_type = SN_FLOAT32;
  input.rank = 4;
  std::copy_n(image.shape().dims().begin(), 4, input.dims);
  input.data = const_cast<void*>(image.data());
  input.bytes = image.bytes();
  SN_RETURN_IF_ERROR(status_of(sn_net_run(handles.net, &input, 1, &handles.result)));
  SN_RETURN_IF_ERROR(
      status_of(sn_session_create(handles.net, nullptr, 0, nullptr, &handles.session)));
  SN_RETURN_IF_ERROR(status_of(sn_session_set_input(handles.session, &input)));
  return status_of(sn_session_run_bound(handles.session, nullptr));
}

void sweep_c(long runs) {
  const Tensor file = file_of_all_kinds(), image = random_image(1);
  sweep({.run = [&] { return in_c(file, image); }}, runs);
}

constexpr long kFew = 60;

}  // namespace

TEST_CASE("out of memory: a copy of parameters fails as a whole", "[out of memory]") {
  Params params;
  params.set("integers", std::vector<std::int64_t>{1, 2, 3});
  params.set("a name that is longer than strings hold", "a text that is longer than strings hold");
  params.set("texts", std::vector<std::string>{"short", "one that is longer than strings hold"});
  Params other;
  for (const Params::Entry& entry : params.entries()) other.set(entry.name, 1.0);
  sweep({.run =
             [&] {
               return guarded([&]() -> Status {
                 const Params copy = params;
                 Params assigned = other;
                 for (const Params::Entry& entry : params.entries())
                   assigned.set(entry.name, entry.value);
                 return copy == params && assigned == params ? Status()
                                                             : internal_error("not equal");
               });
             }},
        0);
}

TEST_CASE("out of memory: an error is made without memory", "[out of memory]") {
  const std::string name(100, 'x');
  const auto fail = [&] {
    return guarded([&]() -> Status {
             const std::string text = "the tensor " + name;
             return make_error(StatusCode::out_of_memory, "no memory for {}", text);
           })
        .with_context(name);
  };
  long total = 0;
  {
    const FailingMemory none(FailingMemory::kNone, false);
    const Status status = fail();
    total = FailingMemory::allocations();
  }
  for (const bool from_then_on : {false, true})
    for (long n = 1; n <= total; ++n) {
      Status status, copy;
      {
        const FailingMemory failing(n, from_then_on);
        status = fail();
        copy = status;
      }
      CHECK(copy.code() == StatusCode::out_of_memory);
      CHECK_THAT(copy.message(), Catch::Matchers::Contains("memory"));
    }
}

TEST_CASE("out of memory: loading", "[out of memory]") {
  sweep_loading(kFew);
}
TEST_CASE("out of memory: importing", "[out of memory]") {
  sweep_importing(kFew);
}
TEST_CASE("out of memory: planning and running", "[out of memory]") {
  sweep_running(kFew);
}
TEST_CASE("out of memory: saving", "[out of memory]") {
  sweep_saving(kFew);
}
TEST_CASE("out of memory: tuning", "[out of memory]") {
  sweep_tuning(4);
}
TEST_CASE("out of memory: in C", "[out of memory]") {
  sweep_c(kFew);
}

TEST_CASE("out of memory: each allocation of loading", "[out of memory][slow]") {
  sweep_loading(0);
}
TEST_CASE("out of memory: each allocation of importing", "[out of memory][slow]") {
  sweep_importing(0);
}
TEST_CASE("out of memory: each allocation of planning and running", "[out of memory][slow]") {
  sweep_running(0);
}
TEST_CASE("out of memory: each allocation of saving", "[out of memory][slow]") {
  sweep_saving(0);
}
TEST_CASE("out of memory: many allocations of tuning", "[out of memory][slow]") {
  sweep_tuning(400);
}
TEST_CASE("out of memory: each allocation in C", "[out of memory][slow]") {
  sweep_c(0);
}
