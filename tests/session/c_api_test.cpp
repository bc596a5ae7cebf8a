// The C API, as a host uses and misuses it.
#include "softneuro/c_api.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/dnn/file.h"
#include "core/layers/builtin_layers.h"
#include "support/temporary_folder.h"

using namespace softneuro;

namespace {

TensorId constant(Graph& graph, const char* name, const Shape& shape,
                  const std::vector<float>& values) {
  Tensor tensor = Tensor::create(DataType::float32, shape).value();
  std::memcpy(tensor.mutable_data(), values.data(), tensor.bytes());
  return graph.add_constant(name, tensor);
}

Layer& add(Graph& graph, const char* type, const char* name, std::vector<TensorId> inputs,
           TensorId output) {
  const LayerType* const known = builtin_layer_types().find(type);
  REQUIRE(known != nullptr);
  return graph.add_layer(*known, name, std::move(inputs), {output});
}

// x [batch, 2] → hidden = x · w → y = relu(hidden), z = hidden + hidden
Tensor small_net() {
  Graph graph;
  graph.name = "small";
  const TensorId x =
      graph.add_tensor({.name = "x", .type = DataType::float32, .shape = {Dim("batch"), Dim(2)}});
  const TensorId w = constant(graph, "w", Shape{2, 3}, {1, 2, 3, -10, -20, -30});
  const TensorId hidden = graph.add_tensor({.name = "hidden"});
  const TensorId y = graph.add_tensor({.name = "y"});
  const TensorId z = graph.add_tensor({.name = "z"});
  graph.inputs = {x};
  graph.outputs = {y, z};
  add(graph, "dense", "product", {x, w}, hidden);
  add(graph, "unary", "relu", {hidden}, y).params.set("op", "relu");
  add(graph, "binary", "twice", {hidden, hidden}, z).params.set("op", "add");
  return serialize_dnn(graph).value();
}

std::string last_error() {
  return sn_last_error();
}

struct NetPtr {
  sn_net* net = nullptr;
  ~NetPtr() { sn_net_free(net); }
};
struct SessionPtr {
  sn_session* session = nullptr;
  ~SessionPtr() { sn_session_free(session); }
};
struct ResultPtr {
  sn_result* result = nullptr;
  ~ResultPtr() { sn_result_free(result); }
};

sn_tensor matrix(float* values, std::int64_t rows, std::int64_t columns,
                 const char* name = nullptr) {
  sn_tensor tensor = SN_TENSOR_INIT;
  tensor.name = name;
  tensor.data_type = SN_FLOAT32;
  tensor.rank = 2;
  tensor.dims[0] = rows;
  tensor.dims[1] = columns;
  tensor.data = values;
  tensor.bytes = static_cast<std::size_t>(rows * columns) * sizeof(float);
  return tensor;
}

sn_shape shape_of_x(std::int64_t batch) {
  sn_shape shape = SN_SHAPE_INIT;
  shape.name = "x";
  shape.rank = 2;
  shape.dims[0] = batch;
  shape.dims[1] = 2;
  return shape;
}

// A host's allocator that keeps account, and may refuse.
struct Memory {
  std::map<void*, std::size_t> live;
  std::mutex mutex;
  int calls = 0;
  int limit = -1;  // refuses after so many; −1: never
  std::size_t shift = 0;

  static void* allocate(void* context, std::size_t bytes, std::size_t alignment) {
    auto& self = *static_cast<Memory*>(context);
    const std::lock_guard<std::mutex> lock(self.mutex);
    if (self.calls++ == self.limit) {
      --self.calls;
      return nullptr;
    }
    char* const pointer =
        static_cast<char*>(default_allocator().allocate(bytes + self.shift, alignment));
    self.live[pointer + self.shift] = bytes;
    return pointer + self.shift;
  }
  static void deallocate(void* context, void* pointer, std::size_t bytes) {
    auto& self = *static_cast<Memory*>(context);
    const std::lock_guard<std::mutex> lock(self.mutex);
    const auto found = self.live.find(pointer);
    if (found == self.live.end() || found->second != bytes) std::abort();
    self.live.erase(found);
    default_allocator().deallocate(static_cast<char*>(pointer) - self.shift, bytes + self.shift);
  }
  sn_allocator allocator() { return {sizeof(sn_allocator), this, allocate, deallocate}; }
};

// Loads, plans, runs; the first error.
sn_status use(const Tensor& file, const sn_net_options* options) {
  NetPtr net;
  SessionPtr session;
  ResultPtr result;
  const sn_shape shape = shape_of_x(1);
  float values[2] = {1, 2};
  const sn_tensor x = matrix(values, 1, 2);
  sn_tensor outputs[2] = {SN_TENSOR_INIT, SN_TENSOR_INIT};
  sn_status status = sn_net_load_memory(file.data(), file.bytes(), options, &net.net);
  if (status == SN_OK) status = sn_net_run(net.net, &x, 1, &result.result);
  if (status == SN_OK) status = sn_session_create(net.net, &shape, 1, nullptr, &session.session);
  if (status == SN_OK) status = sn_session_run(session.session, &x, 1, outputs, 2, nullptr);
  return status;
}

}  // namespace

TEST_CASE("c api: names of things") {
  REQUIRE(std::string(sn_version()).find('.') != std::string::npos);
  REQUIRE(std::string(sn_status_name(SN_OK)) == "ok");
  REQUIRE(std::string(sn_status_name(SN_INTERNAL)) == "internal");
  REQUIRE(std::string(sn_status_name(-1)) == "unknown");
  REQUIRE(std::string(sn_status_name(99)) == "unknown");
  REQUIRE(std::string(sn_data_type_name(SN_QINT8)) == "qint8");
  REQUIRE(std::string(sn_data_type_name(99)) == "undefined");
  REQUIRE(sn_data_type_size(SN_FLOAT16) == 2);
  REQUIRE(sn_data_type_size(-1) == 0);
}

TEST_CASE("c api: a net tells its inputs and outputs") {
  const Tensor file = small_net();
  NetPtr net;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  REQUIRE(sn_net_input_count(net.net) == 1);
  REQUIRE(sn_net_output_count(net.net) == 2);
  sn_tensor_info info = SN_TENSOR_INFO_INIT;
  REQUIRE(sn_net_input_info(net.net, 0, &info) == SN_OK);
  REQUIRE(std::string(info.name) == "x");
  REQUIRE(info.data_type == SN_FLOAT32);
  REQUIRE(info.rank == 2);
  REQUIRE(info.dims[0] == -1);
  REQUIRE(std::string(info.symbols[0]) == "batch");
  REQUIRE(info.dims[1] == 2);
  REQUIRE(info.symbols[1] == nullptr);
  REQUIRE(sn_net_output_info(net.net, 1, &info) == SN_OK);
  REQUIRE(std::string(info.name) == "z");
  REQUIRE(info.dims[1] == 3);
  REQUIRE(sn_net_output_info(net.net, 2, &info) == SN_INVALID_ARGUMENT);
  REQUIRE(last_error() == "there is no output 2; the net has 2");
  sn_memory_report report = SN_MEMORY_REPORT_INIT;
  REQUIRE(sn_net_memory_report(net.net, &report) == SN_OK);
  REQUIRE(report.weights == 24);
}

TEST_CASE("c api: run, by place and by name") {
  const Tensor file = small_net();
  NetPtr net;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  float values[4] = {1, 0, 0, -1};
  for (const char* const name : {static_cast<const char*>(nullptr), "x"}) {
    ResultPtr result;
    const sn_tensor x = matrix(values, 2, 2, name);
    REQUIRE(sn_net_run(net.net, &x, 1, &result.result) == SN_OK);
    REQUIRE(sn_result_count(result.result) == 2);
    sn_tensor y = SN_TENSOR_INIT;
    REQUIRE(sn_result_get(result.result, 0, &y) == SN_OK);
    REQUIRE(std::string(y.name) == "y");
    REQUIRE(y.rank == 2);
    REQUIRE(y.dims[0] == 2);
    REQUIRE(y.bytes == 24);
    const float expected[] = {1, 2, 3, 10, 20, 30};
    REQUIRE(std::memcmp(y.data, expected, sizeof(expected)) == 0);
    REQUIRE(sn_result_get(result.result, 2, &y) == SN_INVALID_ARGUMENT);
  }
  ResultPtr result;
  const auto refused = [&](const sn_tensor* inputs, std::size_t count, const char* words) {
    INFO(words);
    REQUIRE(sn_net_run(net.net, inputs, count, &result.result) != SN_OK);
    REQUIRE(result.result == nullptr);
    REQUIRE_THAT(last_error(), Catch::Contains(words));
  };
  const sn_tensor unknown = matrix(values, 2, 2, "u"), wide = matrix(values, 1, 4);
  refused(&unknown, 1, "input 'x'");
  refused(nullptr, 0, "'x'");
  refused(nullptr, 1, "null");
  refused(&wide, 1, "'x' has the shape 1x4");
  const sn_tensor two[] = {matrix(values, 2, 2), matrix(values, 2, 2)};
  refused(two, 2, "2 inputs are given");
  const sn_tensor same[] = {matrix(values, 2, 2, "x"), matrix(values, 2, 2, "x")};
  refused(same, 2, "given twice");
  sn_tensor bad = matrix(values, 2, 2);
  bad.bytes = 15;
  refused(&bad, 1, "takes 16 bytes, but 15");
  bad = matrix(nullptr, 2, 2);
  refused(&bad, 1, "null");
  bad = matrix(values, 2, 2);
  bad.rank = 9;
  refused(&bad, 1, "rank 9");
  bad.rank = 2;
  bad.dims[0] = -2;
  refused(&bad, 1, "negative");
  bad = matrix(values, 2, 2);
  bad.data_type = 77;
  refused(&bad, 1, "data type 77");
  bad.data_type = SN_INT32;
  refused(&bad, 1, "int32");
}

TEST_CASE("c api: a session reads and writes in place") {
  const Tensor file = small_net();
  NetPtr net;
  SessionPtr session;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  REQUIRE(sn_session_create(net.net, nullptr, 0, nullptr, &session.session) == SN_INVALID_ARGUMENT);
  REQUIRE_THAT(last_error(), Catch::Contains("'x'"));
  const sn_shape shape = shape_of_x(1);
  REQUIRE(sn_session_create(net.net, &shape, 1, nullptr, &session.session) == SN_OK);
  // Sessions keep what they need of the net.
  sn_net_free(net.net);
  net.net = nullptr;

  sn_tensor_info info = SN_TENSOR_INFO_INIT;
  REQUIRE(sn_session_input_count(session.session) == 1);
  REQUIRE(sn_session_output_count(session.session) == 2);
  REQUIRE(sn_session_input_info(session.session, 0, &info) == SN_OK);
  REQUIRE(info.dims[0] == 1);
  REQUIRE(sn_session_output_info(session.session, 0, &info) == SN_OK);
  REQUIRE(info.dims[1] == 3);
  REQUIRE(sn_session_output_info(session.session, 5, &info) == SN_INVALID_ARGUMENT);

  float in[2] = {3, 0}, out[3] = {};
  const sn_tensor x = matrix(in, 1, 2, "x");
  sn_tensor outputs[2] = {matrix(out, 1, 3, "y"), SN_TENSOR_INIT};
  for (int round = 0; round < 3; ++round) {
    in[0] = static_cast<float>(round);
    outputs[1].data = nullptr;
    REQUIRE(sn_session_run(session.session, &x, 1, outputs, 2, nullptr) == SN_OK);
    REQUIRE(outputs[0].data == out);
    REQUIRE(out[2] == 3.0f * static_cast<float>(round));
    REQUIRE(std::string(outputs[1].name) == "z");
    REQUIRE(outputs[1].bytes == 12);
    REQUIRE(static_cast<const float*>(outputs[1].data)[1] == 4.0f * static_cast<float>(round));
  }

  const auto refused = [&](const sn_tensor& input, sn_tensor first, sn_tensor second,
                           std::size_t count, const char* words) {
    INFO(words);
    sn_tensor wrong[2] = {first, second};
    REQUIRE(sn_session_run(session.session, &input, 1, wrong, count, nullptr) ==
            SN_INVALID_ARGUMENT);
    REQUIRE_THAT(last_error(), Catch::Contains(words));
  };
  const sn_tensor none = SN_TENSOR_INIT;
  refused(matrix(in, 1, 2, "y"), none, none, 2,
          "tensor 'y' is given where the session expects 'x'");
  refused(matrix(in, 2, 1), none, none, 2, "input 'x'");
  refused(x, matrix(out, 1, 3, "z"), none, 2, "tensor 'z' is given where the session expects 'y'");
  refused(x, matrix(out, 3, 1), none, 2, "output 'y'");
  refused(x, none, none, 1, "room for 1 outputs");
  REQUIRE(sn_session_run(session.session, nullptr, 1, outputs, 2, nullptr) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_session_run(session.session, &x, 1, nullptr, 2, nullptr) == SN_INVALID_ARGUMENT);

  sn_memory_report report = SN_MEMORY_REPORT_INIT;
  REQUIRE(sn_session_memory_report(session.session, &report) == SN_OK);
  REQUIRE(report.arena > 0);
  REQUIRE(sn_session_run(session.session, &x, 1, outputs, 2, nullptr) == SN_OK);
}

TEST_CASE("c api: results by name, and chosen ones") {
  const Tensor file = small_net();
  NetPtr net;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  float values[2] = {1, 0};
  const sn_tensor x = matrix(values, 1, 2);
  sn_tensor found = SN_TENSOR_INIT;
  ResultPtr all, chosen, none;
  REQUIRE(sn_net_run(net.net, &x, 1, &all.result) == SN_OK);
  REQUIRE(sn_result_find(all.result, "z", &found) == SN_OK);
  REQUIRE(static_cast<const float*>(found.data)[2] == 6);
  REQUIRE(sn_result_find(all.result, "hidden", &found) == SN_NOT_FOUND);
  REQUIRE(last_error() == "the result has no output 'hidden'");
  REQUIRE(sn_result_find(all.result, nullptr, &found) == SN_INVALID_ARGUMENT);

  const char* const names[] = {"hidden", "y"};
  REQUIRE(sn_net_run_for(net.net, &x, 1, names, 2, nullptr, &chosen.result) == SN_OK);
  REQUIRE(sn_result_count(chosen.result) == 2);
  REQUIRE(sn_result_get(chosen.result, 0, &found) == SN_OK);
  REQUIRE(std::string(found.name) == "hidden");
  REQUIRE(static_cast<const float*>(found.data)[1] == 2);
  REQUIRE(sn_result_find(chosen.result, "z", &found) == SN_NOT_FOUND);
  const char* const unknown[] = {"nothing"};
  REQUIRE(sn_net_run_for(net.net, &x, 1, unknown, 1, nullptr, &none.result) == SN_NOT_FOUND);
  REQUIRE(none.result == nullptr);

  sn_cancel* cancel = nullptr;
  REQUIRE(sn_cancel_create(&cancel) == SN_OK);
  sn_cancel_request(cancel);
  sn_run_options options = SN_RUN_OPTIONS_INIT;
  options.cancel = cancel;
  REQUIRE(sn_net_run_for(net.net, &x, 1, nullptr, 0, &options, &none.result) == SN_CANCELLED);
  sn_cancel_reset(cancel);
  REQUIRE(sn_net_run_for(net.net, &x, 1, nullptr, 0, &options, &none.result) == SN_OK);
  REQUIRE(sn_result_count(none.result) == 2);
  sn_cancel_free(cancel);
}

TEST_CASE("c api: a session by name") {
  const Tensor file = small_net();
  NetPtr net;
  SessionPtr session;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  const sn_shape shape = shape_of_x(1);
  REQUIRE(sn_session_create(net.net, &shape, 1, nullptr, &session.session) == SN_OK);
  float in[2] = {1, 0}, out[3] = {};
  const sn_tensor x = matrix(in, 1, 2, "x");
  sn_tensor y = matrix(out, 1, 3, "y"), z = SN_TENSOR_INIT;
  REQUIRE(sn_session_run_bound(session.session, nullptr) == SN_INVALID_ARGUMENT);
  REQUIRE(last_error().starts_with("input 'x' is not set: "));
  REQUIRE(sn_session_output(session.session, "y", &z) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_session_set_input(session.session, &x) == SN_OK);
  REQUIRE(sn_session_set_output(session.session, &y) == SN_OK);
  REQUIRE(sn_session_run_bound(session.session, nullptr) == SN_OK);
  REQUIRE(out[2] == 3);
  in[0] = 2;  // read anew
  REQUIRE(sn_session_run_bound(session.session, nullptr) == SN_OK);
  REQUIRE(out[2] == 6);
  REQUIRE(sn_session_output(session.session, "z", &z) == SN_OK);
  REQUIRE(std::string(z.name) == "z");
  REQUIRE(static_cast<const float*>(z.data)[2] == 12);
  y.data = nullptr;  // back to the session's memory
  REQUIRE(sn_session_set_output(session.session, &y) == SN_OK);
  in[0] = 3;
  REQUIRE(sn_session_run_bound(session.session, nullptr) == SN_OK);
  REQUIRE(out[2] == 6);
  REQUIRE(sn_session_output(session.session, "y", &y) == SN_OK);
  REQUIRE(static_cast<const float*>(y.data)[2] == 9);

  const sn_tensor unnamed = matrix(in, 1, 2), unknown = matrix(in, 1, 2, "u"),
                  wide = matrix(in, 2, 1, "x");
  REQUIRE(sn_session_set_input(session.session, &unnamed) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_session_set_input(session.session, &unknown) == SN_NOT_FOUND);
  REQUIRE(sn_session_set_input(session.session, &wide) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_session_set_output(session.session, &x) == SN_NOT_FOUND);
  REQUIRE(sn_session_output(session.session, "x", &z) == SN_NOT_FOUND);
}

TEST_CASE("c api: an asynchronous run by name") {
  const Tensor file = small_net();
  NetPtr net;
  SessionPtr session;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  sn_shape shape = shape_of_x(1);
  REQUIRE(sn_session_create(net.net, &shape, 1, nullptr, &session.session) == SN_OK);
  float in[2] = {1, 0}, out[3] = {};
  const sn_tensor x = matrix(in, 1, 2, "x");
  const sn_tensor y = matrix(out, 1, 3, "y");
  sn_tensor z = SN_TENSOR_INIT;
  const auto refused = [&](sn_status status, const char* words) {
    REQUIRE(status == SN_INVALID_ARGUMENT);
    REQUIRE_THAT(last_error(), Catch::Contains(words));
  };
  refused(sn_session_run_async(nullptr, nullptr), "the session is null");
  refused(sn_session_wait(nullptr), "the session is null");
  refused(sn_session_wait(session.session), "no run");
  refused(sn_session_run_async(session.session, nullptr), "input 'x' is not set");
  refused(sn_session_wait(session.session), "no run");
  REQUIRE(sn_session_set_input(session.session, &x) == SN_OK);
  REQUIRE(sn_session_set_output(session.session, &y) == SN_OK);

  REQUIRE(sn_session_run_async(session.session, nullptr) == SN_OK);
  refused(sn_session_run_async(session.session, nullptr), "wait()");
  refused(sn_session_run_bound(session.session, nullptr), "wait()");
  refused(sn_session_run(session.session, &x, 1, std::vector<sn_tensor>(2, z).data(), 2, nullptr),
          "wait()");
  refused(sn_session_set_input(session.session, &x), "wait()");
  refused(sn_session_set_output(session.session, &y), "wait()");
  refused(sn_session_output(session.session, "z", &z), "wait()");
  shape = shape_of_x(2);
  refused(sn_session_set_shapes(session.session, &shape, 1, nullptr), "wait()");
  REQUIRE(sn_session_wait(session.session) == SN_OK);
  REQUIRE(out[2] == 3);
  REQUIRE(sn_session_output(session.session, "z", &z) == SN_OK);
  REQUIRE(static_cast<const float*>(z.data)[2] == 6);

  sn_cancel* cancel = nullptr;
  REQUIRE(sn_cancel_create(&cancel) == SN_OK);
  sn_run_options options = SN_RUN_OPTIONS_INIT;
  options.cancel = cancel;
  int steps = 0;
  options.trace = [](void* context, const sn_step_trace*) { ++*static_cast<int*>(context); };
  options.trace_context = &steps;
  sn_cancel_request(cancel);
  REQUIRE(sn_session_run_async(session.session, &options) == SN_CANCELLED);
  REQUIRE(steps == 0);
  refused(sn_session_wait(session.session), "no run");
  sn_cancel_reset(cancel);
  in[0] = 2;
  REQUIRE(sn_session_run_async(session.session, &options) == SN_OK);
  sn_cancel_free(cancel);  // used by that call alone
  REQUIRE(sn_session_wait(session.session) == SN_OK);
  REQUIRE(steps > 0);
  REQUIRE(out[2] == 6);
  REQUIRE(sn_session_run_async(session.session, nullptr) == SN_OK);  // freed in flight
}

TEST_CASE("c api: a session goes on with other shapes") {
  const Tensor file = small_net();
  NetPtr net;
  SessionPtr session;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  const char* const extra[] = {"hidden"};
  sn_session_options options = SN_SESSION_OPTIONS_INIT;
  options.extra_outputs = extra;
  options.extra_output_count = 1;
  sn_shape shape = shape_of_x(1);
  REQUIRE(sn_session_create(net.net, &shape, 1, &options, &session.session) == SN_OK);
  sn_net_free(net.net);  // the session keeps what it needs
  net.net = nullptr;
  shape = shape_of_x(2);
  REQUIRE(sn_session_set_shapes(session.session, &shape, 1, nullptr) == SN_OK);
  sn_tensor_info info = SN_TENSOR_INFO_INIT;
  REQUIRE(sn_session_input_info(session.session, 0, &info) == SN_OK);
  REQUIRE(info.dims[0] == 2);
  float in[4] = {1, 0, 2, 0};
  const sn_tensor x = matrix(in, 2, 2, "x");
  sn_tensor outputs[3] = {SN_TENSOR_INIT, SN_TENSOR_INIT, SN_TENSOR_INIT};
  REQUIRE(sn_session_run(session.session, &x, 1, outputs, 3, nullptr) == SN_OK);
  REQUIRE(static_cast<const float*>(outputs[0].data)[5] == 6);
  REQUIRE(std::string(outputs[2].name) == "hidden");

  shape.dims[1] = 3;  // the model says 2
  REQUIRE(sn_session_set_shapes(session.session, &shape, 1, nullptr) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_session_run(session.session, &x, 1, outputs, 3, nullptr) == SN_OK);
  sn_cancel* cancel = nullptr;
  REQUIRE(sn_cancel_create(&cancel) == SN_OK);
  sn_cancel_request(cancel);
  shape = shape_of_x(7);
  REQUIRE(sn_session_set_shapes(session.session, &shape, 1, cancel) == SN_CANCELLED);
  REQUIRE(sn_session_run(session.session, &x, 1, outputs, 3, nullptr) == SN_OK);
  sn_cancel_free(cancel);
}

TEST_CASE("c api: an untuned net carries no tuned path") {
  const Tensor file = small_net();
  NetPtr net;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  sn_tuned_paths* paths = nullptr;
  REQUIRE(sn_net_tuned_paths(net.net, &paths) == SN_OK);
  REQUIRE(sn_tuned_paths_count(paths) == 0);
  sn_tuned_path path = SN_TUNED_PATH_INIT;
  REQUIRE(sn_tuned_paths_get(paths, 0, &path) == SN_INVALID_ARGUMENT);
  sn_tuned_paths_free(paths);
}

TEST_CASE("c api: options of imports are refused where a file is loaded") {
  const Tensor file = small_net();
  NetPtr net;
  sn_net_options options = SN_NET_OPTIONS_INIT;
  const sn_shape shape = shape_of_x(1);
  options.shapes = &shape;
  options.shape_count = 1;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &options, &net.net) == SN_INVALID_ARGUMENT);
  REQUIRE_THAT(last_error(), Catch::Contains("for imports"));
  options.shape_count = 0;
  const char* const passes[] = {"all"};
  options.disabled_passes = passes;
  options.disabled_pass_count = 1;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &options, &net.net) == SN_INVALID_ARGUMENT);
  options.disabled_pass_count = 0;
  options.constant_count = 1;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &options, &net.net) == SN_INVALID_ARGUMENT);
}

TEST_CASE("c api: inner tensors as outputs of a session") {
  const Tensor file = small_net();
  NetPtr net;
  SessionPtr session;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  const char* const names[] = {"hidden", nullptr};
  sn_session_options options = SN_SESSION_OPTIONS_INIT;
  options.extra_outputs = names;
  options.extra_output_count = 2;
  const sn_shape shape = shape_of_x(1);
  REQUIRE(sn_session_create(net.net, &shape, 1, &options, &session.session) == SN_INVALID_ARGUMENT);
  options.extra_output_count = 1;
  REQUIRE(sn_session_create(net.net, &shape, 1, &options, &session.session) == SN_OK);
  sn_tensor_info info = SN_TENSOR_INFO_INIT;
  REQUIRE(sn_session_output_info(session.session, 2, &info) == SN_OK);
  REQUIRE(std::string(info.name) == "hidden");
  float in[2] = {0, 1};
  const sn_tensor x = matrix(in, 1, 2);
  sn_tensor outputs[3] = {SN_TENSOR_INIT, SN_TENSOR_INIT, SN_TENSOR_INIT};
  REQUIRE(sn_session_run(session.session, &x, 1, outputs, 3, nullptr) == SN_OK);
  REQUIRE(static_cast<const float*>(outputs[2].data)[2] == -30);
}

TEST_CASE("c api: a place on an absent device, and a tensor that is there, are errors") {
  const Tensor file = small_net();
  NetPtr net;
  SessionPtr session;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  sn_tensor_place place = SN_TENSOR_PLACE_INIT;
  sn_session_options options = SN_SESSION_OPTIONS_INIT;
  options.places = &place;
  options.place_count = 1;
  const sn_shape shape = shape_of_x(1);
  const auto created = [&](const char* name, const char* device) {
    place.name = name;
    place.device = device;
    return sn_session_create(net.net, &shape, 1, &options, &session.session);
  };
  CHECK(created("x", "nowhere") == SN_NOT_FOUND);
  CHECK(created("none", "cpu") == SN_NOT_FOUND);
  CHECK(created("x", nullptr) == SN_INVALID_ARGUMENT);
  CHECK(created("x", "Not a device") == SN_INVALID_ARGUMENT);
  REQUIRE(created("x", "cpu") == SN_OK);
  float in[2] = {0, 1};
  sn_tensor x = matrix(in, 1, 2, "x");
  CHECK(sn_session_set_input(session.session, &x) == SN_OK);
  std::strcpy(x.device, "cpu");
  CHECK(sn_session_set_input(session.session, &x) == SN_OK);
  std::strcpy(x.device, "nowhere");
  CHECK(sn_session_set_input(session.session, &x) == SN_INVALID_ARGUMENT);
  CHECK(std::string(sn_last_error()).find("on the device nowhere") != std::string::npos);
  std::memset(x.device, 'a', sizeof x.device);
  CHECK(sn_session_set_input(session.session, &x) == SN_INVALID_ARGUMENT);
}

TEST_CASE("c api: a tensor that is named twice is one output") {
  const Tensor file = small_net();
  NetPtr net;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  sn_tensor_info output = SN_TENSOR_INFO_INIT;
  REQUIRE(sn_net_output_info(net.net, 0, &output) == SN_OK);
  const std::string first = output.name;
  const char* const names[] = {"hidden", first.c_str(), "hidden"};
  float in[2] = {0, 1};
  const sn_tensor x = matrix(in, 1, 2, "x");
  ResultPtr result;
  REQUIRE(sn_net_run_for(net.net, &x, 1, names, 3, nullptr, &result.result) == SN_OK);
  REQUIRE(sn_result_count(result.result) == 3);
  sn_tensor hidden = SN_TENSOR_INIT, again = SN_TENSOR_INIT;
  REQUIRE(sn_result_get(result.result, 0, &hidden) == SN_OK);
  REQUIRE(sn_result_get(result.result, 2, &again) == SN_OK);
  REQUIRE(std::string(again.name) == "hidden");
  REQUIRE(static_cast<const float*>(hidden.data)[2] == static_cast<const float*>(again.data)[2]);

  sn_session_options options = SN_SESSION_OPTIONS_INIT;
  options.extra_outputs = names;
  options.extra_output_count = 3;
  const sn_shape shape = shape_of_x(1);
  SessionPtr session;
  REQUIRE(sn_session_create(net.net, &shape, 1, &options, &session.session) == SN_OK);
  REQUIRE(sn_session_output_count(session.session) == sn_net_output_count(net.net) + 1);
}

TEST_CASE("c api: structs of older and newer callers") {
  const Tensor file = small_net();
  NetPtr net;
  SECTION("older: members that it lacks are at their defaults, and never written") {
    struct {
      sn_net_options options;
    } older = {SN_NET_OPTIONS_INIT};
    older.options.struct_size = offsetof(sn_net_options, verify);
    older.options.threads = 1;
    older.options.verify = 12345;  // is behind the caller's struct
    REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &older.options, &net.net) == SN_OK);
    sn_tensor_info info = SN_TENSOR_INFO_INIT;
    info.struct_size = offsetof(sn_tensor_info, rank);
    info.rank = 77;
    REQUIRE(sn_net_input_info(net.net, 0, &info) == SN_OK);
    REQUIRE(info.data_type == SN_FLOAT32);
    REQUIRE(info.rank == 77);
    REQUIRE(info.struct_size == offsetof(sn_tensor_info, rank));
  }
  SECTION("newer: taken while it asks nothing new, and the new members read as zero") {
    struct {
      sn_net_options options;
      std::size_t more;
    } newer = {SN_NET_OPTIONS_INIT, 0};
    newer.options.struct_size = sizeof(newer);
    REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &newer.options, &net.net) == SN_OK);
    sn_net_free(net.net);
    newer.more = 1;
    REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &newer.options, &net.net) ==
            SN_INVALID_ARGUMENT);
    REQUIRE(net.net == nullptr);
    REQUIRE_THAT(last_error(), Catch::Contains("sn_net_options"));
    REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);

    // Arrays are walked by the caller's size.
    struct Tensor2 {
      sn_tensor tensor;
      std::size_t more;
    };
    SessionPtr session;
    const sn_shape shape = shape_of_x(1);
    REQUIRE(sn_session_create(net.net, &shape, 1, nullptr, &session.session) == SN_OK);
    float in[2] = {1, 0}, y[3] = {}, z[3] = {};
    Tensor2 x = {matrix(in, 1, 2), 0};
    Tensor2 outputs[2] = {{matrix(y, 1, 3), 0}, {matrix(z, 1, 3), 0}};
    for (Tensor2* const t : {&x, &outputs[0], &outputs[1]}) t->tensor.struct_size = sizeof(Tensor2);
    REQUIRE(sn_session_run(session.session, &x.tensor, 1, &outputs[0].tensor, 2, nullptr) == SN_OK);
    REQUIRE(y[2] == 3);
    REQUIRE(z[2] == 6);
  }
  SECTION("not set") {
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{1} << 40}) {
      sn_net_options options = SN_NET_OPTIONS_INIT;
      options.struct_size = size;
      REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &options, &net.net) ==
              SN_INVALID_ARGUMENT);
      REQUIRE_THAT(last_error(), Catch::Contains("sizeof(sn_net_options)"));
    }
  }
}

TEST_CASE("c api: each thread has its own last error") {
  sn_net* net = nullptr;
  REQUIRE(sn_net_load("none.dnn", nullptr, &net) == SN_NOT_FOUND);
  const std::string message = last_error();
  REQUIRE_THAT(message, Catch::Contains("none.dnn"));
  std::string before, after;
  std::thread([&] {
    before = last_error();
    sn_net* other = nullptr;
    sn_net_load(std::string(3000, 'x').c_str(), nullptr, &other);
    after = last_error();
  }).join();
  REQUIRE(before.empty());
  REQUIRE(after.size() == 1023);
  REQUIRE(last_error() == message);
}

TEST_CASE("c api: an allocator that refuses at any time") {
  const Tensor file = small_net();
  Memory memory;
  const sn_allocator allocator = memory.allocator();
  sn_net_options options = SN_NET_OPTIONS_INIT;
  options.threads = 1;
  options.allocator = &allocator;
  REQUIRE(use(file, &options) == SN_OK);
  REQUIRE(memory.calls > 3);
  REQUIRE(memory.live.empty());
  const int calls = memory.calls;
  for (int limit = 0; limit < calls; ++limit) {
    INFO("refuses call " << limit);
    memory.calls = 0;
    memory.limit = limit;
    REQUIRE(use(file, &options) == SN_OUT_OF_MEMORY);
    REQUIRE_FALSE(last_error().empty());
    REQUIRE(memory.live.empty());
  }
  memory.limit = -1;
  memory.shift = 8;
  REQUIRE(use(file, &options) == SN_OUT_OF_MEMORY);
  REQUIRE(memory.live.empty());
  sn_allocator half = SN_ALLOCATOR_INIT;
  options.allocator = &half;
  REQUIRE(use(file, &options) == SN_INVALID_ARGUMENT);
  REQUIRE(last_error() == "sn_allocator.allocate is null");
  half.allocate = allocator.allocate;
  REQUIRE(use(file, &options) == SN_INVALID_ARGUMENT);
  REQUIRE(last_error() == "sn_allocator.deallocate is null");
}

TEST_CASE("c api: a session's own allocator, used no more once it runs") {
  const Tensor file = small_net();
  Memory of_net, of_session;
  const sn_allocator net_allocator = of_net.allocator(), allocator = of_session.allocator();
  {
    NetPtr net;
    SessionPtr session;
    sn_net_options options = SN_NET_OPTIONS_INIT;
    options.allocator = &net_allocator;
    REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &options, &net.net) == SN_OK);
    sn_session_options session_options = SN_SESSION_OPTIONS_INIT;
    session_options.allocator = &allocator;
    const sn_shape shape = shape_of_x(4);
    REQUIRE(sn_session_create(net.net, &shape, 1, &session_options, &session.session) == SN_OK);
    REQUIRE(of_session.calls > 0);
    const int calls = of_session.calls + of_net.calls;
    float in[8] = {};
    const sn_tensor x = matrix(in, 4, 2);
    sn_tensor outputs[2] = {SN_TENSOR_INIT, SN_TENSOR_INIT};
    for (int round = 0; round < 5; ++round) {
      outputs[0].data = outputs[1].data = nullptr;
      REQUIRE(sn_session_run(session.session, &x, 1, outputs, 2, nullptr) == SN_OK);
    }
    REQUIRE(of_session.calls + of_net.calls == calls);
  }
  REQUIRE(of_net.live.empty());
  REQUIRE(of_session.live.empty());
}

TEST_CASE("c api: results and sessions outlive their net; the host's memory comes back") {
  Tensor file = small_net();
  Memory memory;
  const sn_allocator allocator = memory.allocator();
  {
    NetPtr net;
    ResultPtr result;
    sn_net_options options = SN_NET_OPTIONS_INIT;
    options.allocator = &allocator;
    REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &options, &net.net) == SN_OK);
    float in[2] = {1, 0};
    const sn_tensor x = matrix(in, 1, 2);
    REQUIRE(sn_net_run(net.net, &x, 1, &result.result) == SN_OK);
    sn_net_free(net.net);
    net.net = nullptr;
    sn_tensor y = SN_TENSOR_INIT;
    REQUIRE(sn_result_get(result.result, 0, &y) == SN_OK);
    REQUIRE(static_cast<const float*>(y.data)[1] == 2);
    REQUIRE_FALSE(memory.live.empty());
  }
  REQUIRE(memory.live.empty());
}

TEST_CASE("c api: cancelling, tracing, logging, the host's threads") {
  const Tensor file = small_net();
  struct Pool {
    int runs = 0;
    static std::int32_t concurrency(void*) { return 2; }
    static void run(void* self, std::size_t count, void (*task)(void*, std::size_t),
                    void* context) {
      ++static_cast<Pool*>(self)->runs;
      for (std::size_t i = count; i > 0; --i) task(context, i - 1);
    }
  } pool;
  const sn_thread_pool threads = {sizeof(sn_thread_pool), &pool, Pool::concurrency, Pool::run};
  sn_net_options options = SN_NET_OPTIONS_INIT;
  options.thread_pool = &threads;
  std::string log;
  options.log_context = &log;
  options.log = [](void* context, sn_log_level, const char* message) {
    *static_cast<std::string*>(context) += message;
  };
  NetPtr net;
  SessionPtr session;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &options, &net.net) == SN_OK);
  constexpr std::int64_t kRows = 1 << 16;  // enough to be worth several threads
  const sn_shape shape = shape_of_x(kRows);
  REQUIRE(sn_session_create(net.net, &shape, 1, nullptr, &session.session) == SN_OK);

  std::vector<float> in(2 * kRows);
  const sn_tensor x = matrix(in.data(), kRows, 2);
  sn_tensor outputs[2] = {SN_TENSOR_INIT, SN_TENSOR_INIT};
  std::string steps;
  sn_run_options run = SN_RUN_OPTIONS_INIT;
  run.trace_context = &steps;
  run.trace = [](void* context, const sn_step_trace* step) {
    auto& text = *static_cast<std::string*>(context);
    if (step->struct_size == sizeof(*step) && step->index < step->count &&
        step->begin_ns <= step->end_ns)
      text += std::string(step->layer) + ":" + step->layer_type + ";";
  };
  REQUIRE(sn_cancel_create(&const_cast<sn_cancel*&>(run.cancel)) == SN_OK);
  sn_cancel* const cancel = const_cast<sn_cancel*>(run.cancel);
  REQUIRE(sn_session_run(session.session, &x, 1, outputs, 2, &run) == SN_OK);
  REQUIRE_THAT(steps, Catch::Contains("product:dense;"));
  REQUIRE(pool.runs > 0);

  sn_cancel_request(cancel);
  outputs[0].data = outputs[1].data = nullptr;
  REQUIRE(sn_session_run(session.session, &x, 1, outputs, 2, &run) == SN_CANCELLED);
  REQUIRE_FALSE(last_error().empty());
  sn_session_options planning = SN_SESSION_OPTIONS_INIT;
  planning.cancel = cancel;
  sn_session* none = nullptr;
  const sn_shape other = shape_of_x(3);
  REQUIRE(sn_session_create(net.net, &other, 1, &planning, &none) == SN_CANCELLED);
  sn_cancel_reset(cancel);
  REQUIRE(sn_session_run(session.session, &x, 1, outputs, 2, &run) == SN_OK);
  sn_cancel_free(cancel);

  sn_thread_pool half = SN_THREAD_POOL_INIT;
  half.concurrency = threads.concurrency;
  options.thread_pool = &half;
  sn_net* refused = nullptr;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), &options, &refused) == SN_INVALID_ARGUMENT);
}

TEST_CASE("c api: files, and what is prepared ahead") {
  const test::TemporaryFolder folder;
  const Tensor file = small_net();
  const std::string path = folder.file("small.dnn");
  NetPtr net, again;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &net.net) == SN_OK);
  REQUIRE(sn_net_save(net.net, path.c_str()) == SN_OK);
  sn_net_options options = SN_NET_OPTIONS_INIT;
  options.verify = SN_VERIFY_STRUCTURE;
  REQUIRE(sn_net_load(path.c_str(), &options, &again.net) == SN_OK);
  const sn_shape shapes[] = {shape_of_x(3), shape_of_x(4)};
  REQUIRE(sn_net_prepare(again.net, shapes, 1) == SN_OK);
  sn_memory_report report = SN_MEMORY_REPORT_INIT;
  REQUIRE(sn_net_memory_report(again.net, &report) == SN_OK);
  REQUIRE(report.plans == 1);
  REQUIRE(report.sessions == 1);
  REQUIRE(report.device_arenas + report.device_packed_weights + report.device_kept == 0);
  REQUIRE(sn_net_trim(again.net) == SN_OK);
  REQUIRE(sn_net_memory_report(again.net, &report) == SN_OK);
  REQUIRE(report.plans == 1);
  REQUIRE(report.sessions == 0);
  REQUIRE(sn_net_prepare(again.net, shapes, 2) == SN_INVALID_ARGUMENT);
  REQUIRE_THAT(last_error(), Catch::Contains("two shapes"));
  REQUIRE(sn_net_prepare(again.net, nullptr, 1) == SN_INVALID_ARGUMENT);

  sn_net* none = nullptr;
  options.verify = 9;
  REQUIRE(sn_net_load(path.c_str(), &options, &none) == SN_INVALID_ARGUMENT);
  options.verify = 0;
  options.threads = -1;
  REQUIRE(sn_net_load(path.c_str(), &options, &none) == SN_INVALID_ARGUMENT);
  options.threads = 0;
  options.schema_count = 1;
  REQUIRE(sn_net_load(path.c_str(), &options, &none) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_net_load_memory(file.data(), file.bytes() - 1, nullptr, &none) == SN_CORRUPT_FILE);
  REQUIRE(sn_net_save(net.net, folder.file("none/small.dnn").c_str()) == SN_IO_ERROR);
}

TEST_CASE("c api: null is refused, or ignored, everywhere") {
  sn_tensor_info info = SN_TENSOR_INFO_INIT;
  sn_memory_report report = SN_MEMORY_REPORT_INIT;
  sn_tensor tensor = SN_TENSOR_INIT;
  sn_net* net = nullptr;
  sn_session* session = nullptr;
  sn_result* result = nullptr;
  sn_tuned_paths* paths = nullptr;
  sn_tuned_path path = SN_TUNED_PATH_INIT;
  const sn_status refused[] = {
      sn_net_load(nullptr, nullptr, &net),
      sn_net_load("a", nullptr, nullptr),
      sn_net_load_memory(nullptr, 5, nullptr, &net),
      sn_net_load_memory(&tensor, 5, nullptr, nullptr),
      sn_net_save(nullptr, "a"),
      sn_net_save_with(nullptr, "a", nullptr),
      sn_net_tuned_paths(nullptr, &paths),
      sn_net_tuned_paths(nullptr, nullptr),
      sn_tuned_paths_get(nullptr, 0, &path),
      sn_net_run_for(nullptr, nullptr, 0, nullptr, 0, nullptr, &result),
      sn_net_run_for(nullptr, nullptr, 0, nullptr, 0, nullptr, nullptr),
      sn_result_find(nullptr, "a", &tensor),
      sn_session_set_input(nullptr, &tensor),
      sn_session_set_output(nullptr, &tensor),
      sn_session_run_bound(nullptr, nullptr),
      sn_session_output(nullptr, "a", &tensor),
      sn_session_set_shapes(nullptr, nullptr, 0, nullptr),
      sn_net_input_info(nullptr, 0, &info),
      sn_net_output_info(nullptr, 0, &info),
      sn_net_prepare(nullptr, nullptr, 0),
      sn_net_memory_report(nullptr, &report),
      sn_net_trim(nullptr),
      sn_net_run(nullptr, nullptr, 0, &result),
      sn_net_run(nullptr, nullptr, 0, nullptr),
      sn_result_get(nullptr, 0, &tensor),
      sn_session_create(nullptr, nullptr, 0, nullptr, &session),
      sn_session_create(nullptr, nullptr, 0, nullptr, nullptr),
      sn_session_input_info(nullptr, 0, &info),
      sn_session_output_info(nullptr, 0, &info),
      sn_session_memory_report(nullptr, &report),
      sn_session_run(nullptr, nullptr, 0, nullptr, 0, nullptr),
      sn_cancel_create(nullptr),
  };
  for (const sn_status status : refused) REQUIRE(status == SN_INVALID_ARGUMENT);
  REQUIRE(sn_net_input_count(nullptr) + sn_net_output_count(nullptr) == 0);
  REQUIRE(sn_result_count(nullptr) == 0);
  REQUIRE(sn_session_input_count(nullptr) + sn_session_output_count(nullptr) == 0);
  REQUIRE(sn_tuned_paths_count(nullptr) == 0);
  sn_net_free(nullptr);
  sn_tuned_paths_free(nullptr);
  sn_result_free(nullptr);
  sn_session_free(nullptr);
  sn_cancel_request(nullptr);
  sn_cancel_reset(nullptr);
  sn_cancel_free(nullptr);

  const Tensor file = small_net();
  NetPtr real;
  REQUIRE(sn_net_load_memory(file.data(), file.bytes(), nullptr, &real.net) == SN_OK);
  REQUIRE(sn_net_save(real.net, nullptr) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_net_input_info(real.net, 0, nullptr) == SN_INVALID_ARGUMENT);
  REQUIRE(sn_net_memory_report(real.net, nullptr) == SN_INVALID_ARGUMENT);
}
