// A softmax that applies to everything and then fails.
#include <softneuro/plugin.h>
#include <stdio.h>

static int32_t applicable(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                          char* reason, size_t reason_size) {
  (void)self, (void)problem, (void)reason, (void)reason_size;
  return 1;
}

static sn_plugin_status create(const sn_plugin_routine* self, const sn_plugin_problem* problem,
                               const sn_plugin_params* params, const void* packed,
                               size_t packed_bytes, sn_plugin_kernel* kernel, char* message,
                               size_t message_size) {
  (void)self, (void)problem, (void)params, (void)packed, (void)packed_bytes, (void)kernel;
  (void)message, (void)message_size;
  return SN_PLUGIN_OK;
}

static sn_plugin_status run(const sn_plugin_routine* self, const sn_plugin_kernel* kernel,
                            const sn_plugin_context* context, char* message, size_t message_size) {
  (void)self, (void)kernel, (void)context;
  snprintf(message, message_size, "the sensor is unplugged");
  return SN_PLUGIN_IO_ERROR;
}

static const sn_plugin_routine routine = {
    .struct_size = sizeof(sn_plugin_routine),
    .version = 1,
    .default_rank = 1000,
    .layer_type = "softmax",
    .descriptor = "cpu/failing",
    .applicable = applicable,
    .create = create,
    .run = run,
};
static const sn_plugin_routine* const routines[] = {&routine};
static const sn_plugin plugin = {
    .struct_size = sizeof(sn_plugin),
    .abi_version = SN_PLUGIN_ABI_VERSION,
    .name = "failing",
    .version = "1.0",
    .routine_count = 1,
    .routines = routines,
};

const sn_plugin* sn_plugin_entry(const sn_plugin_host* host, char* message, size_t message_size) {
  (void)host, (void)message, (void)message_size;
  return &plugin;
}
