// A plugin with three routines: `unary` (relu only), `dense` with packed weights and a parameter
// space, and `dense` as a net of other layers. It shows the whole of softneuro/plugin.h and aims at
// being read, not at being fast.
#include <softneuro/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sn_plugin_spec input_of(const sn_plugin_problem* problem, uint32_t index) {
  sn_plugin_spec spec = {.struct_size = sizeof(spec)};
  problem->host->input(problem, index, &spec);  // an input that is not there stays undefined
  return spec;
}

// Writes the reason why a routine does not apply.
static int32_t refuse(char* reason, size_t reason_size, const char* text) {
  snprintf(reason, reason_size, "%s", text);
  return 0;
}

static int64_t elements(int32_t rank, const int64_t* dims) {
  int64_t product = 1;
  for (int32_t i = 0; i < rank; ++i) product *= dims[i];
  return product;
}

static float relu(float x) {
  return x < 0 ? 0 : x;  // NaN stays NaN
}

// --- unary, cpu/example_relu: y = max(x, 0) ------------------------------------------------------

enum { CHUNK = 16384 };  // elements of one task: depends on nothing but the problem

static int32_t relu_applicable(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                               char* reason, size_t reason_size) {
  (void)self;
  const char* op = "";
  problem->host->get_text(problem->params, "op", &op);
  if (strcmp(op, "relu") != 0) {
    snprintf(reason, reason_size, "the function is %s, this routine knows relu only", op);
    return 0;
  }
  if (input_of(problem, 0).type != SN_PLUGIN_FLOAT32)
    return refuse(reason, reason_size, "the input is not float32");
  return 1;
}

static sn_plugin_status relu_create(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                                    const sn_plugin_params* params, const void* packed,
                                    size_t packed_bytes, sn_plugin_kernel* kernel, char* message,
                                    size_t message_size) {
  (void)self, (void)problem, (void)params, (void)packed, (void)packed_bytes;
  (void)message, (void)message_size;
  kernel->in_place_input = 0;
  return SN_PLUGIN_OK;
}

typedef struct relu_work {
  const float* x;
  float* y;
  int64_t count;
} relu_work;

static void relu_chunk(void* data, size_t index) {
  const relu_work* work = data;
  const int64_t begin = (int64_t)index * CHUNK;
  const int64_t end = work->count - begin < CHUNK ? work->count : begin + CHUNK;
  for (int64_t i = begin; i < end; ++i) work->y[i] = relu(work->x[i]);
}

static sn_plugin_status relu_run(const sn_plugin_routine* self, const sn_plugin_kernel* kernel,
                                 const sn_plugin_context* context, char* message,
                                 size_t message_size) {
  (void)self, (void)kernel, (void)message, (void)message_size;
  const sn_plugin_tensor* x = context->inputs[0];
  relu_work work = {x->data, context->outputs[0]->data, elements(x->rank, x->dims)};
  const size_t chunks = (size_t)((work.count + CHUNK - 1) / CHUNK);
  context->host->parallel_for(context, chunks, relu_chunk, &work);
  return SN_PLUGIN_OK;
}

static const sn_plugin_routine relu_routine = {
    .struct_size = sizeof(sn_plugin_routine),
    .version = 1,
    .default_rank = 1000,
    .layer_type = "unary",
    .descriptor = "cpu/example_relu",
    .applicable = relu_applicable,
    .create = relu_create,
    .run = relu_run,
};

// --- dense, cpu/example_panels: y[r, n] = bias[n] + sum over k of x[r, k] * w[k, n] --------------
//
// The weights are packed into panels of `panel` columns, each [K][panel], the last one padded with
// zeros, so that the inner loop reads them in the order in which they are stored. Which panel is
// the fastest, a tuner finds out: a power of two up to 16.

enum { MAX_PANEL = 16 };

typedef struct dense_state {
  int64_t rows, depth, columns, panel;
  const float* panels;  // [ceil(columns / panel)][depth][panel]
  int has_bias;
  int has_relu;
} dense_state;

// What the problem says, without parameters and packed weights.
static sn_plugin_status dense_analyse(const sn_plugin_routine* self,
                                      const sn_plugin_problem* problem, void** analysis,
                                      char* message, size_t message_size) {
  (void)self;
  const sn_plugin_spec x = input_of(problem, 0);
  const sn_plugin_spec w = input_of(problem, 1);
  dense_state* state = calloc(1, sizeof(*state));
  if (state == NULL) {
    snprintf(message, message_size, "no memory to look at a layer");
    return SN_PLUGIN_OUT_OF_MEMORY;
  }
  int64_t transposed = 0;
  problem->host->get_integer(problem->params, "transpose_weights", &transposed);
  state->rows = elements(x.rank - 1, x.dims);
  state->depth = w.dims[transposed ? 1 : 0];
  state->columns = w.dims[transposed ? 0 : 1];
  state->has_bias =
      problem->own_input_count > 2 && input_of(problem, 2).type != SN_PLUGIN_UNDEFINED;
  state->has_relu = problem->post_op_count > 0;
  *analysis = state;
  return SN_PLUGIN_OK;
}

static void dense_release(const sn_plugin_routine* self, void* analysis) {
  (void)self;
  free(analysis);
}

static int64_t panel_of(const sn_plugin_problem* problem, const sn_plugin_params* params) {
  int64_t panel = 0;
  problem->host->get_integer(params, "panel", &panel);
  return panel;
}

static dense_state dense_with(const sn_plugin_problem* problem, const sn_plugin_params* params) {
  dense_state state = *(const dense_state*)problem->analysis;
  state.panel = panel_of(problem, params);
  return state;
}

static int64_t dense_panels(const dense_state* state) {
  return (state->columns + state->panel - 1) / state->panel;
}

static int32_t dense_applicable(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                                char* reason, size_t reason_size) {
  (void)self;
  // Weights and bias have the model's type: in a float16 model that is computed in float32 they are
  // float16 beside a float32 input.
  for (uint32_t i = 0; i < problem->own_input_count; ++i) {
    const int32_t type = input_of(problem, i).type;
    if (type != SN_PLUGIN_FLOAT32 && type != SN_PLUGIN_UNDEFINED) {
      snprintf(reason, reason_size, "input %u is not float32", (unsigned)i);
      return 0;
    }
  }
  if (!input_of(problem, 1).is_constant)
    return refuse(reason, reason_size, "the weights are not constant: they cannot be packed");
  return 1;
}

static int32_t dense_supports_post_ops(const sn_plugin_routine* self,
                                       const sn_plugin_problem* problem) {
  (void)self;
  sn_plugin_post_op op = {.struct_size = sizeof(op)};
  return problem->post_op_count == 1 && problem->host->post_op(problem, 0, &op) && !op.is_binary &&
         strcmp(op.op, "relu") == 0;
}

static void dense_default_params(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                                 sn_plugin_params* params) {
  (void)self;
  const dense_state* state = problem->analysis;
  problem->host->set_integer(params, "panel", state->columns > 8 ? 16 : 8);
}

static int is_panel(int64_t panel) {
  return panel >= 1 && panel <= MAX_PANEL && (panel & (panel - 1)) == 0;
}

static int32_t dense_accepts(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                             const sn_plugin_params* params, char* reason, size_t reason_size) {
  (void)self;
  const int64_t panel = panel_of(problem, params);
  if (is_panel(panel)) return 1;
  snprintf(reason, reason_size, "panel is %lld, not a power of two up to %d", (long long)panel,
           MAX_PANEL);
  return 0;
}

static int was_tried(const sn_plugin_problem* problem, const sn_plugin_trial* const* trials,
                     size_t trial_count, int64_t panel) {
  for (size_t t = 0; t < trial_count; ++t)
    if (panel_of(problem, trials[t]->params) == panel) return 1;
  return 0;
}

// Half and twice the fastest panel, until neither is faster.
static int32_t dense_propose(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                             const sn_plugin_trial* const* trials, size_t trial_count,
                             sn_plugin_params* params) {
  (void)self;
  const sn_plugin_trial* best = trials[0];
  for (size_t t = 1; t < trial_count; ++t)
    if (trials[t]->time_us < best->time_us) best = trials[t];
  const int64_t panel = panel_of(problem, best->params);
  const int64_t neighbours[] = {panel / 2, panel * 2};
  for (size_t i = 0; i < 2; ++i)
    if (is_panel(neighbours[i]) && !was_tried(problem, trials, trial_count, neighbours[i])) {
      problem->host->set_integer(params, "panel", neighbours[i]);
      return 1;
    }
  return 0;
}

static sn_plugin_status dense_pack_bytes(const sn_plugin_routine* self,
                                         const sn_plugin_problem* problem,
                                         const sn_plugin_params* params, size_t* bytes,
                                         char* message, size_t message_size) {
  (void)self, (void)message, (void)message_size;
  const dense_state state = dense_with(problem, params);
  *bytes = (size_t)(dense_panels(&state) * state.depth * state.panel) * sizeof(float);
  return SN_PLUGIN_OK;
}

static sn_plugin_status dense_pack(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                                   const sn_plugin_params* params, void* packed, size_t bytes,
                                   char* message, size_t message_size) {
  (void)self, (void)message, (void)message_size;
  const dense_state state = dense_with(problem, params);
  const float* w = input_of(problem, 1).data;
  int64_t transposed = 0;
  problem->host->get_integer(problem->params, "transpose_weights", &transposed);
  memset(packed, 0, bytes);
  for (int64_t n = 0; n < state.columns; ++n) {
    float* panel = (float*)packed + n / state.panel * state.depth * state.panel;
    for (int64_t k = 0; k < state.depth; ++k)
      panel[k * state.panel + n % state.panel] =
          transposed ? w[n * state.depth + k] : w[k * state.columns + n];
  }
  return SN_PLUGIN_OK;
}

static sn_plugin_status dense_create(const sn_plugin_routine* self,
                                     const sn_plugin_problem* problem,
                                     const sn_plugin_params* params, const void* packed,
                                     size_t packed_bytes, sn_plugin_kernel* kernel, char* message,
                                     size_t message_size) {
  (void)self, (void)packed_bytes;
  dense_state* state = malloc(sizeof(*state));
  if (state == NULL) {
    snprintf(message, message_size, "no memory for a kernel");
    return SN_PLUGIN_OUT_OF_MEMORY;
  }
  *state = dense_with(problem, params);
  state->panels = packed;
  kernel->state = state;
  return SN_PLUGIN_OK;
}

static void dense_destroy(const sn_plugin_routine* self, sn_plugin_kernel* kernel) {
  (void)self;
  free(kernel->state);
}

typedef struct dense_work {
  const dense_state* state;
  const float* x;
  const float* bias;  // may be NULL
  float* y;
} dense_work;

static void dense_panel(void* data, size_t index) {
  const dense_work* work = data;
  const dense_state* state = work->state;
  const int64_t panel = state->panel;
  const int64_t first = (int64_t)index * panel;
  const int64_t used = state->columns - first < panel ? state->columns - first : panel;
  const float* w = state->panels + (int64_t)index * state->depth * panel;
  for (int64_t r = 0; r < state->rows; ++r) {
    float sums[MAX_PANEL] = {0};
    for (int64_t n = 0; work->bias != NULL && n < used; ++n) sums[n] = work->bias[first + n];
    for (int64_t k = 0; k < state->depth; ++k)
      for (int64_t n = 0; n < panel; ++n)
        sums[n] += work->x[r * state->depth + k] * w[k * panel + n];
    for (int64_t n = 0; n < used; ++n)
      work->y[r * state->columns + first + n] = state->has_relu ? relu(sums[n]) : sums[n];
  }
}

static sn_plugin_status dense_run(const sn_plugin_routine* self, const sn_plugin_kernel* kernel,
                                  const sn_plugin_context* context, char* message,
                                  size_t message_size) {
  (void)self, (void)message, (void)message_size;
  const dense_state* state = kernel->state;
  dense_work work = {state, context->inputs[0]->data, NULL, context->outputs[0]->data};
  if (state->has_bias) work.bias = context->inputs[2]->data;
  context->host->parallel_for(context, (size_t)dense_panels(state), dense_panel, &work);
  return SN_PLUGIN_OK;
}

static const sn_plugin_routine dense_routine = {
    .struct_size = sizeof(sn_plugin_routine),
    .version = 1,
    .default_rank = 1000,
    .layer_type = "dense",
    .descriptor = "cpu/example_panels",
    .applicable = dense_applicable,
    .supports_post_ops = dense_supports_post_ops,
    .default_params = dense_default_params,
    .pack_bytes = dense_pack_bytes,
    .pack = dense_pack,
    .create = dense_create,
    .destroy = dense_destroy,
    .run = dense_run,
    .analyse = dense_analyse,
    .release = dense_release,
    .propose = dense_propose,
    .accepts = dense_accepts,
};

// --- dense, cpu/example_product: a net of matmul and, for the bias, binary -----------------------
//
// Each of the two has whatever routines SoftNeuro knows for it; a tuner chooses.

static int32_t product_applicable(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                                  char* reason, size_t reason_size) {
  (void)self;
  for (uint32_t i = 0; i < problem->own_input_count; ++i)
    if (input_of(problem, i).type != input_of(problem, 0).type &&
        input_of(problem, i).type != SN_PLUGIN_UNDEFINED)
      return refuse(reason, reason_size, "its inputs are of several data types");
  return 1;
}

static sn_plugin_status product_build(const sn_plugin_routine* self,
                                      const sn_plugin_problem* problem,
                                      const sn_plugin_params* params, sn_plugin_net* net,
                                      int32_t* outputs, char* message, size_t message_size) {
  (void)self, (void)params, (void)message, (void)message_size;
  const sn_plugin_host* host = problem->host;
  int64_t transposed = 0;
  host->get_integer(problem->params, "transpose_weights", &transposed);
  const int32_t operands[] = {host->net_input(net, 0), host->net_input(net, 1)};
  host->set_integer(host->net_params(net), "transpose_b", transposed);
  host->net_layer(net, "matmul", "product", 2, operands, 1, outputs);
  const int32_t bias = host->net_input(net, 2);
  if (bias < 0) return SN_PLUGIN_OK;
  const int32_t terms[] = {outputs[0], bias};
  host->set_text(host->net_params(net), "op", "add");
  host->net_layer(net, "binary", "sum", 2, terms, 1, outputs);
  return SN_PLUGIN_OK;
}

static const sn_plugin_routine product_routine = {
    .struct_size = sizeof(sn_plugin_routine),
    .version = 1,
    .default_rank = -1,  // only where it was measured
    .layer_type = "dense",
    .descriptor = "cpu/example_product",
    .applicable = product_applicable,
    .build = product_build,
};

// --- the table -----------------------------------------------------------------------------------

static const sn_plugin_routine* const routines[] = {&relu_routine, &dense_routine,
                                                    &product_routine};

static const sn_plugin plugin = {
    .struct_size = sizeof(sn_plugin),
    .abi_version = SN_PLUGIN_ABI_VERSION,
    .name = "example",
    .version = "1.0",
    .routine_count = sizeof(routines) / sizeof(routines[0]),
    .routines = routines,
};

const sn_plugin* sn_plugin_entry(const sn_plugin_host* host, char* message, size_t message_size) {
  (void)host, (void)message, (void)message_size;
  return &plugin;
}
