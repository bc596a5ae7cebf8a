// Plugins whose table is in this program: what the loader refuses, and what the host's functions
// answer. tests/plugin/ has those that come as files.
#include <catch2/catch.hpp>
#include <cstring>

#include "core/graph/graph.h"
#include "core/layers/builtin_layers.h"
#include "core/plugin/loader.h"
#include "core/routine/evaluate.h"
#include "routines/builtin.h"

using namespace softneuro;
using Catch::Contains;

namespace {

// --- a plugin whose parts the tests change -------------------------------------------------------

int32_t applies(const sn_plugin_routine*, const sn_plugin_problem*, char*, std::size_t) {
  return 1;
}
sn_plugin_status create_nothing(const sn_plugin_routine*, const sn_plugin_problem*,
                                const sn_plugin_params*, const void*, std::size_t,
                                sn_plugin_kernel*, char*, std::size_t) {
  return SN_PLUGIN_OK;
}
sn_plugin_status run_nothing(const sn_plugin_routine*, const sn_plugin_kernel*,
                             const sn_plugin_context*, char*, std::size_t) {
  return SN_PLUGIN_OK;
}
sn_plugin_status pack_nothing(const sn_plugin_routine*, const sn_plugin_problem*,
                              const sn_plugin_params*, void*, std::size_t, char*, std::size_t) {
  return SN_PLUGIN_OK;
}

sn_plugin_routine make_routine(const char* layer_type, const char* descriptor) {
  sn_plugin_routine routine{};
  routine.struct_size = sizeof(routine);
  routine.version = 3;
  routine.default_rank = 1000;
  routine.layer_type = layer_type;
  routine.descriptor = descriptor;
  routine.applicable = applies;
  routine.create = create_nothing;
  routine.run = run_nothing;
  return routine;
}

struct Table {
  sn_plugin_routine first = make_routine("unary", "cpu/test_first");
  sn_plugin_routine second = make_routine("softmax", "cpu/test_second");
  const sn_plugin_routine* routines[2] = {&first, &second};
  sn_plugin plugin{sizeof(sn_plugin), SN_PLUGIN_ABI_VERSION, "test", "1", 2, routines};
};

const sn_plugin* current = nullptr;  // what entry() gives
const sn_plugin* entry(const sn_plugin_host* host, char* message, std::size_t size) {
  REQUIRE(host->struct_size == sizeof(sn_plugin_host));
  REQUIRE(host->abi_version == SN_PLUGIN_ABI_VERSION);
  if (current == nullptr) std::memset(message, '!', size);  // without an end
  return current;
}

Status add(const Table& table, Registry& registry) {
  current = &table.plugin;
  return add_plugin(entry, "test.so", nullptr, registry);
}

// The message of a plugin that must be refused, leaving no trace.
std::string refusal(const Table& table) {
  Registry registry = *make_builtin_registry();
  const std::size_t before = registry.all().size();
  const Status status = add(table, registry);
  CHECK(status.code() == StatusCode::invalid_argument);
  CHECK(registry.all().size() == before);
  return status.message();
}

Layer make_layer(const char* type, std::uint32_t inputs, Params params = {}) {
  Layer layer;
  layer.type = builtin_layer_types().find(type);
  layer.name = "the layer";
  layer.layer_inputs = inputs;
  for (std::uint32_t i = 0; i < inputs; ++i) layer.inputs.push_back(i);
  layer.outputs = {inputs};
  layer.params = std::move(params);
  return layer;
}

TensorSpec spec_of(DataType type, const Shape& shape) {
  TensorSpec spec;
  spec.type = type;
  spec.shape = shape;
  return spec;
}

}  // namespace

TEST_CASE("plugin_loader: a table in order adds its routines") {
  Registry registry = *make_builtin_registry();
  Table table;
  REQUIRE(add(table, registry).ok());
  const Routine* routine = registry.find("unary", "cpu/test_first");
  REQUIRE(routine != nullptr);
  CHECK(routine->facts().version == 3);
  CHECK(routine->facts().default_rank == 1000);
  CHECK(registry.find("softmax", "cpu/test_second") != nullptr);
}

TEST_CASE("plugin_loader: a newer plugin's longer structs are read as far as they are known") {
  struct Longer {
    sn_plugin_routine known = make_routine("unary", "cpu/test_longer");
    void* unknown = nullptr;
  } longer;
  longer.known.struct_size = sizeof(longer);
  Table table;
  table.routines[0] = &longer.known;
  table.plugin.struct_size += 8;
  Registry registry = *make_builtin_registry();
  REQUIRE(add(table, registry).ok());
  CHECK(registry.find("unary", "cpu/test_longer") != nullptr);
}

TEST_CASE("plugin_loader: malformed tables are refused, and the registry stays as it was") {
  Table table;
  SECTION("struct sizes") {
    SECTION("of the plugin") {
      table.plugin.struct_size = 16;
      CHECK_THAT(refusal(table), Contains("struct_size is 16"));
    }
    SECTION("of a routine") {
      table.second.struct_size = 8;
      CHECK_THAT(refusal(table), Contains("routine 1") && Contains("struct_size is 8"));
    }
  }
  SECTION("the plugin") {
    SECTION("name") {
      table.plugin.name = nullptr;
    }
    SECTION("empty name") {
      table.plugin.name = "";
    }
    SECTION("version") {
      table.plugin.version = nullptr;
    }
    SECTION("no routines") {
      table.plugin.routine_count = 0;
    }
    SECTION("null routines") {
      table.plugin.routines = nullptr;
    }
    SECTION("too many routines") {
      table.plugin.routine_count = 0xffffffffu;
    }
    CHECK_THAT(refusal(table), Contains("plugin 'test.so'"));
  }
  SECTION("a routine") {
    SECTION("null") {
      table.routines[1] = nullptr;
    }
    SECTION("layer type") {
      table.second.layer_type = nullptr;
    }
    SECTION("descriptor") {
      table.second.descriptor = nullptr;
    }
    SECTION("applicable") {
      table.second.applicable = nullptr;
    }
    SECTION("create") {
      table.second.create = nullptr;
    }
    SECTION("run") {
      table.second.run = nullptr;
    }
    SECTION("pack without pack_bytes") {
      table.second.pack = pack_nothing;
    }
    CHECK_THAT(refusal(table), Contains("plugin 'test.so', routine 1") && Contains("null"));
  }
  SECTION("descriptors") {
    for (const char* text :
         {"", "cpu", "cpu/", "cpu/Naive", "gpu/x", "cpu:float31/x", "cpu:float32:nchw1c/x",
          "cpu:float32:nchw08c/x", "cpu:float32:nchw1025c/x", "cpu:nchw4c/x", "nhwc/x", "float32/x",
          "cpu:/x", "cpu:float32:/x", "cpu:cpu:float32/x", "cpu:float32:plain:x/x"}) {
      table.second.descriptor = text;
      CHECK_THAT(refusal(table), Contains("routine 1"));
    }
    table.second.descriptor = "cuda:float16/x";
    CHECK_THAT(refusal(table), Contains("of the device cpu only"));
  }
  SECTION("layer types") {
    table.second.layer_type = "sofmax";
    CHECK_THAT(refusal(table), Contains("layer type 'sofmax', which does not exist"));
  }
  SECTION("a routine that is built in") {
    table.second.descriptor = "cpu:float32:plain/naive";  // another spelling of cpu/naive
    CHECK_THAT(refusal(table), Contains("'cpu/naive' of 'softmax' exists already"));
  }
  SECTION("a routine twice in one plugin") {
    table.routines[1] = &table.first;
    CHECK_THAT(refusal(table), Contains("'cpu/test_first' of 'unary' exists already"));
  }
}

TEST_CASE("plugin_loader: another ABI and a plugin that is not usable") {
  Registry registry = *make_builtin_registry();
  Table table;
  table.plugin.abi_version = 2;
  table.plugin.struct_size = 8;  // of this version nothing but the first two fields is known
  table.plugin.routines = nullptr;
  CHECK(add(table, registry).code() == StatusCode::incompatible);
  current = nullptr;
  const Status status = add_plugin(entry, "test.so", nullptr, registry);
  CHECK(status.code() == StatusCode::unsupported);
  CHECK_THAT(status.message(), Contains("plugin 'test.so' is not usable here: !!!"));
  CHECK(status.message().size() < 600);
}

// --- what a plugin's functions see ---------------------------------------------------------------

TEST_CASE("plugin_host: specs, parameters and post-ops of a problem") {
  static bool was_asked;
  was_asked = false;
  Table table;
  table.first = make_routine("softmax", "cpu/test_first");
  table.second = make_routine("dense", "cpu/test_second");
  table.second.supports_post_ops = [](const sn_plugin_routine*, const sn_plugin_problem*) {
    return int32_t{1};
  };
  table.second.applicable = [](const sn_plugin_routine* self, const sn_plugin_problem* problem,
                               char* reason, std::size_t) -> int32_t {
    was_asked = true;
    CHECK(std::strcmp(self->descriptor, "cpu/test_second") == 0);
    CHECK(std::strcmp(problem->layer_type, "dense") == 0);
    CHECK(std::strcmp(problem->layer_name, "the layer") == 0);
    CHECK(problem->input_count == 4);
    CHECK(problem->own_input_count == 3);
    CHECK(problem->output_count == 1);
    const sn_plugin_host& host = *problem->host;

    sn_plugin_spec x{};
    x.struct_size = sizeof(x);
    REQUIRE(host.input(problem, 0, &x) == 1);
    CHECK((x.type == SN_PLUGIN_FLOAT32 && x.layout == SN_PLUGIN_PLAIN && x.rank == 3));
    CHECK((x.dims[0] == 2 && x.dims[1] == 3 && x.dims[2] == 4));
    CHECK((x.is_constant == 0 && x.data == nullptr && x.scale_count == 0));
    sn_plugin_spec w{};
    w.struct_size = sizeof(w);
    REQUIRE(host.input(problem, 1, &w) == 1);
    CHECK((w.is_constant == 1 && w.data != nullptr && w.bytes == 4 * 5 * 4));
    sn_plugin_spec bias{};
    bias.struct_size = sizeof(bias);
    REQUIRE(host.input(problem, 2, &bias) == 1);
    CHECK(bias.type == SN_PLUGIN_UNDEFINED);
    sn_plugin_spec y{};
    y.struct_size = sizeof(y);
    REQUIRE(host.output(problem, 0, &y) == 1);
    CHECK(y.dims[2] == 5);
    CHECK(host.input(problem, 4, &x) == 0);
    CHECK(host.output(problem, 1, &y) == 0);

    sn_plugin_spec older{};  // a plugin that knows no more than type and layout
    older.struct_size = 12;
    older.rank = 77;
    REQUIRE(host.input(problem, 0, &older) == 1);
    CHECK((older.struct_size == 12 && older.type == SN_PLUGIN_FLOAT32 && older.rank == 77));

    sn_plugin_post_op op{};
    op.struct_size = sizeof(op);
    REQUIRE(problem->post_op_count == 2);
    REQUIRE(host.post_op(problem, 0, &op) == 1);
    CHECK((op.is_binary == 0 && std::strcmp(op.op, "clip") == 0 && op.beta == 6));
    REQUIRE(host.post_op(problem, 1, &op) == 1);
    CHECK((op.is_binary == 1 && std::strcmp(op.op, "sub") == 0 && op.input == 3));
    CHECK(op.is_swapped == 1);
    CHECK(host.post_op(problem, 2, &op) == 0);

    int64_t integer = 5;
    double real = 5;
    CHECK((host.get_integer(problem->params, "transpose_weights", &integer) == 1 && integer == 0));
    integer = 5;
    CHECK((host.get_integer(problem->params, "none", &integer) == 0 && integer == 5));
    CHECK((host.get_real(problem->params, "transpose_weights", &real) == 0 && real == 5));
    CHECK(host.get_integer(problem->params, nullptr, &integer) == 0);
    std::strcpy(reason, "two\nlines");
    return 0;
  };
  Registry registry = *make_builtin_registry();
  REQUIRE(add(table, registry).ok());

  Layer layer = make_layer("dense", 3);
  PostOp clip;
  clip.unary = UnaryOp::clip;
  clip.beta = 6;
  PostOp subtract;
  subtract.kind = PostOp::Kind::binary;
  subtract.binary = BinaryOp::sub;
  subtract.input = 3;
  subtract.swapped = true;
  layer.post_ops = {clip, subtract};
  layer.inputs.push_back(3);
  TensorSpec w = spec_of(DataType::float32, Shape{4, 5});
  w.constant = true;
  w.value = *Tensor::create(DataType::float32, w.shape);
  const auto problem = make_problem(
      layer,
      std::vector<TensorSpec>{
          spec_of(DataType::float32, Shape{2, 3, 4}), w, {}, spec_of(DataType::float32, Shape{5})});
  INFO(problem.status().message());
  REQUIRE(problem.ok());
  bool is_explained = false;
  for (const RoutineAnswer& answer :
       RoutineContext(registry).explain(std::make_shared<const Problem>(*problem)))
    is_explained |= answer.reason == "two lines";
  CHECK(is_explained);
  CHECK(was_asked);
}

TEST_CASE("plugin_host: lists and texts among the parameters") {
  static bool was_asked;
  was_asked = false;
  Table table;
  table.first = make_routine("conv2", "cpu/test_first");
  table.first.applicable = [](const sn_plugin_routine*, const sn_plugin_problem* problem, char*,
                              std::size_t) -> int32_t {
    was_asked = true;
    const sn_plugin_host& host = *problem->host;
    std::size_t count = 0;
    const int64_t* strides = nullptr;
    REQUIRE(host.get_integers(problem->params, "strides", &count, &strides) == 1);
    CHECK((count == 2 && strides[0] == 2 && strides[1] == 1));
    const char* text = nullptr;
    REQUIRE(host.get_text(problem->params, "auto_pad", &text) == 1);
    CHECK(std::strcmp(text, "explicit") == 0);
    const double* reals = nullptr;
    CHECK(host.get_reals(problem->params, "strides", &count, &reals) == 0);
    CHECK(host.get_text_at(problem->params, "auto_pad", 0, &text) == 0);
    return 1;
  };
  Registry registry = *make_builtin_registry();
  REQUIRE(add(table, registry).ok());
  Params params;
  params.set("strides", std::vector<std::int64_t>{2, 1});
  const auto problem =
      make_problem(make_layer("conv2", 2, std::move(params)),
                   std::vector<TensorSpec>{spec_of(DataType::float32, Shape{1, 1, 4, 4}),
                                           spec_of(DataType::float32, Shape{1, 1, 3, 3})});
  REQUIRE(problem.ok());
  const auto chosen = RoutineContext(registry).default_choice(*problem);
  REQUIRE(chosen.ok());
  CHECK((*chosen)->routine().descriptor().str() == "cpu/test_first");
  CHECK(was_asked);
}

TEST_CASE("plugin_host: the layout of a routine in blocks") {
  static_assert(SN_PLUGIN_LAYOUT(SN_PLUGIN_PLAIN, 1) == SN_PLUGIN_PLAIN &&
                SN_PLUGIN_LAYOUT(SN_PLUGIN_CHANNELS_LAST, 1) == SN_PLUGIN_CHANNELS_LAST);
  static int kernels;
  kernels = 0;
  Table table;
  table.second = make_routine("softmax", "cpu:float32:nchw4c/test_blocks");
  table.second.applicable = [](const sn_plugin_routine*, const sn_plugin_problem* problem, char*,
                               std::size_t) -> int32_t {
    sn_plugin_spec x{};
    x.struct_size = sizeof(x);
    REQUIRE(problem->host->input(problem, 0, &x) == 1);
    CHECK(x.layout == SN_PLUGIN_LAYOUT(SN_PLUGIN_PLAIN, 4));
    CHECK(SN_PLUGIN_BLOCK_OF(x.layout) == 4);
    CHECK(x.dims[1] == 6);
    return 1;
  };
  table.second.run = [](const sn_plugin_routine*, const sn_plugin_kernel*,
                        const sn_plugin_context* context, char*, std::size_t) {
    ++kernels;
    CHECK(context->outputs[0]->layout == SN_PLUGIN_LAYOUT(SN_PLUGIN_PLAIN, 4));
    return sn_plugin_status{SN_PLUGIN_OK};
  };
  Registry registry = *make_builtin_registry();
  REQUIRE(add(table, registry).ok());
  const Routine* const routine = registry.find("softmax", "cpu:float32:nchw4c/test_blocks");
  REQUIRE(routine != nullptr);
  const Problem model =
      *make_problem(make_layer("softmax", 1),
                    std::vector<TensorSpec>{spec_of(DataType::float32, Shape{1, 6, 2, 2})});
  const auto made = RoutineContext(registry).implement(
      *routine, with_formats(model, routine->formats(model).at(0)));
  INFO(made.status().message());
  REQUIRE(made.ok());
  const auto kernel = *(*made)->create({});
  const Tensor x = *Tensor::create(DataType::float32, model.inputs[0].shape, default_allocator(),
                                   Layout::blocked(4));
  Tensor y = *x.clone();
  const TensorView input{x.data_type(), x.layout(), x.shape(), const_cast<void*>(x.data())};
  TensorView output{y.data_type(), y.layout(), y.shape(), y.mutable_data()};
  const auto pool = *create_thread_pool(1);
  std::vector<std::byte> workspace(kernel->workspace_bytes() + 1);
  Context context({&input, 1}, {&output, 1}, workspace.data(), *pool);
  CHECK(kernel->run(context).ok());
  CHECK(kernels == 1);
  // Another layout is refused before the plugin is asked.
  const Problem other =
      with_formats(model, uniform_formats(model, DataType::float32, Layout::blocked(8)).at(0));
  CHECK_THAT(RoutineContext(registry).check(*routine, other).reason(),
             Contains("input 0 is nchw8c, the routine's layout is nchw4c"));
}

// --- kernels -------------------------------------------------------------------------------------

namespace {

int living_kernels = 0;

// softmax that gives 2·x, through packed bytes, workspace, parameters and parallel_for.
struct Doubling : Table {
  Doubling() {
    second.default_params = [](const sn_plugin_routine*, const sn_plugin_problem* problem,
                               sn_plugin_params* params) {
      CHECK(problem->host->set_integer(params, "factor", 2) == SN_PLUGIN_OK);
      CHECK(problem->host->set_text(params, "impl", "simple") == SN_PLUGIN_OK);
      CHECK(problem->host->set_text(params, "", "x") == SN_PLUGIN_INVALID_ARGUMENT);
    };
    second.pack_bytes = [](const sn_plugin_routine*, const sn_plugin_problem*,
                           const sn_plugin_params*, std::size_t* bytes, char*, std::size_t) {
      CHECK(*bytes == 0);
      *bytes = sizeof(float);
      return sn_plugin_status{SN_PLUGIN_OK};
    };
    second.pack = [](const sn_plugin_routine*, const sn_plugin_problem* problem,
                     const sn_plugin_params* params, void* packed, std::size_t bytes, char*,
                     std::size_t) {
      CHECK(bytes == sizeof(float));
      CHECK(reinterpret_cast<std::uintptr_t>(packed) % SN_PLUGIN_ALIGNMENT == 0);
      int64_t factor = 0;
      CHECK(problem->host->get_integer(params, "factor", &factor) == 1);
      *static_cast<float*>(packed) = static_cast<float>(factor);
      return sn_plugin_status{SN_PLUGIN_OK};
    };
    second.create = [](const sn_plugin_routine*, const sn_plugin_problem*, const sn_plugin_params*,
                       const void* packed, std::size_t bytes, sn_plugin_kernel* kernel, char*,
                       std::size_t) {
      CHECK((kernel->struct_size == sizeof(*kernel) && kernel->in_place_input == -1));
      CHECK((kernel->workspace_bytes == 0 && kernel->state == nullptr));
      CHECK(bytes == sizeof(float));
      kernel->workspace_bytes = 70;
      kernel->state = const_cast<void*>(packed);
      ++living_kernels;
      return sn_plugin_status{SN_PLUGIN_OK};
    };
    second.destroy = [](const sn_plugin_routine*, sn_plugin_kernel*) { --living_kernels; };
    second.run = [](const sn_plugin_routine*, const sn_plugin_kernel* kernel,
                    const sn_plugin_context* context, char*, std::size_t) {
      std::memset(context->workspace, 0xff, 70);
      const auto work = [](void* data, std::size_t i) {
        const auto& [k, c] =
            *static_cast<std::pair<const sn_plugin_kernel*, const sn_plugin_context*>*>(data);
        static_cast<float*>(c->outputs[0]->data)[i] =
            static_cast<const float*>(c->inputs[0]->data)[i] * *static_cast<float*>(k->state);
      };
      std::pair<const sn_plugin_kernel*, const sn_plugin_context*> data(kernel, context);
      context->host->parallel_for(context, static_cast<std::size_t>(context->inputs[0]->dims[0]),
                                  work, &data);
      return sn_plugin_status{SN_PLUGIN_OK};
    };
  }
};

Result<std::vector<Tensor>> run_softmax(const Registry& registry) {
  Tensor x = *Tensor::create(DataType::float32, Shape{3});
  for (float& value : x.mutable_values<float>()) value = 1.5f;
  return evaluate(registry, make_layer("softmax", 1), {&x, 1});
}

}  // namespace

TEST_CASE("plugin_routine: parameters, packed bytes, workspace and threads reach the kernel") {
  Doubling table;
  Registry registry = *make_builtin_registry();
  REQUIRE(add(table, registry).ok());
  const auto outputs = run_softmax(registry);
  INFO(outputs.status().message());
  REQUIRE(outputs.ok());
  for (const float y : (*outputs)[0].values<float>()) CHECK(y == 3.0f);
  CHECK(living_kernels == 0);
}

TEST_CASE("plugin_routine: what a plugin gets wrong becomes an error") {
  Doubling table;
  StatusCode code = StatusCode::internal;
  std::string part;
  SECTION("in-place input out of range") {
    table.second.create = [](const sn_plugin_routine*, const sn_plugin_problem*,
                             const sn_plugin_params*, const void*, std::size_t,
                             sn_plugin_kernel* kernel, char*, std::size_t) {
      ++living_kernels;
      kernel->in_place_input = 1;
      return sn_plugin_status{SN_PLUGIN_OK};
    };
    part = "in_place_input is 1, but the layer has 1 inputs";
  }
  SECTION("absurd workspace") {
    table.second.create = [](const sn_plugin_routine*, const sn_plugin_problem*,
                             const sn_plugin_params*, const void*, std::size_t,
                             sn_plugin_kernel* kernel, char*, std::size_t) {
      ++living_kernels;
      kernel->workspace_bytes = SIZE_MAX - 8;
      return sn_plugin_status{SN_PLUGIN_OK};
    };
    part = "workspace";
  }
  SECTION("absurd packed size") {
    table.second.pack_bytes = [](const sn_plugin_routine*, const sn_plugin_problem*,
                                 const sn_plugin_params*, std::size_t* bytes, char*, std::size_t) {
      *bytes = SIZE_MAX;
      return sn_plugin_status{SN_PLUGIN_OK};
    };
    part = "pack weights";
  }
  SECTION("create fails: nothing is destroyed") {
    table.second.create = [](const sn_plugin_routine*, const sn_plugin_problem*,
                             const sn_plugin_params*, const void*, std::size_t, sn_plugin_kernel*,
                             char* message, std::size_t) {
      std::strcpy(message, "no such device");
      return sn_plugin_status{SN_PLUGIN_UNSUPPORTED};
    };
    code = StatusCode::unsupported;
    part = "plugin 'test': no such device";
  }
  SECTION("a status that does not exist, without a message") {
    table.second.run = [](const sn_plugin_routine*, const sn_plugin_kernel*,
                          const sn_plugin_context*, char*,
                          std::size_t) { return sn_plugin_status{-7}; };
    part = "failed with the status -7 and no message";
  }
  SECTION("memory for an output that has it already") {
    table.second.run = [](const sn_plugin_routine*, const sn_plugin_kernel*,
                          const sn_plugin_context* context, char*, std::size_t) {
      const int64_t dims[9] = {};
      CHECK(context->host->allocate_output(context, 0, 9, dims) == SN_PLUGIN_INVALID_ARGUMENT);
      CHECK(context->host->allocate_output(context, 1, 1, dims) == SN_PLUGIN_INVALID_ARGUMENT);
      return context->host->allocate_output(context, 0, -1, dims);
    };
    code = StatusCode::invalid_argument;
    part = "routine cpu/test_second of plugin 'test'";
  }
  Registry registry = *make_builtin_registry();
  REQUIRE(add(table, registry).ok());
  const Status status = run_softmax(registry).status();
  CHECK(status.code() == code);
  CHECK_THAT(status.message(), Contains(part));
  CHECK(living_kernels == 0);
}

TEST_CASE("plugin_routine: a routine gives data-dependent outputs their size") {
  LayerType type;
  type.name = "positives";
  type.doc = "for this test";
  type.data_dependent_output = true;
  type.infer = [](InferContext& context) -> Status {
    context.set_output(0, DataType::int64, DynamicShape({Dim(1), Dim()}));
    return {};
  };
  LayerTypes types;
  REQUIRE(types.add(std::move(type)).ok());
  Table table;
  table.first = make_routine("positives", "cpu/test_first");
  table.first.run = [](const sn_plugin_routine*, const sn_plugin_kernel*,
                       const sn_plugin_context* context, char*, std::size_t) {
    const int64_t dims[2] = {1, 2};
    const sn_plugin_status status = context->host->allocate_output(context, 0, 2, dims);
    if (status != SN_PLUGIN_OK) return status;
    const sn_plugin_tensor* y = context->outputs[0];
    CHECK((y->rank == 2 && y->dims[0] == 1 && y->dims[1] == 2));
    static_cast<int64_t*>(y->data)[0] = 4;
    static_cast<int64_t*>(y->data)[1] = 5;
    return sn_plugin_status{SN_PLUGIN_OK};
  };
  table.plugin.routine_count = 1;
  Registry registry(types);
  REQUIRE(add(table, registry).ok());
  Layer layer = make_layer("softmax", 1);
  layer.type = types.find("positives");
  const Tensor x = *Tensor::create(DataType::float32, Shape{3});
  const auto outputs = evaluate(registry, layer, {&x, 1});
  INFO(outputs.status().message());
  REQUIRE(outputs.ok());
  CHECK((*outputs)[0].shape() == Shape{1, 2});
  CHECK((*outputs)[0].values<std::int64_t>()[1] == 5);
}
