/* Tuning from C: which routine computes each layer fastest on this machine. c_api.h says how
 * structs, strings and errors work; tune.h says more of what tuning does. Not in edge builds. */
#ifndef SOFTNEURO_C_TUNE_H
#define SOFTNEURO_C_TUNE_H

#include "softneuro/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called on the thread that called sn_net_tune, a few times per layer; the strings are valid during
 * the call. TuneProgress (tune.h) lists the stages and what `done` and `total` count in each; its
 * best_us and seconds_left are not given in C. A result other than 0 ends tuning with SN_CANCELLED.
 * It may use the net, but neither tune nor free it. */
typedef int32_t (*sn_tune_callback)(void* context, const char* stage, size_t done, size_t total,
                                    const char* layer, const char* candidate);

/* Writes a score of the net's outputs for the validation samples (TuneCriteria::score) to `score`:
 * output j of sample i is at [i * output_count + j], valid during the call. A status other than
 * SN_OK ends tuning with it. It may use the net, but neither tune nor free it. */
typedef sn_status (*sn_score_callback)(void* context, const sn_tensor* outputs, size_t output_count,
                                       size_t sample_count, double* score);

/* Makes sample `index`, from 0 to the count - 1: sets data_type, rank, dims, data and bytes of
 * inputs[j], for input j of the net; struct_size is set, the name is not read. The data stays the
 * caller's, and valid until the next call or the end of tuning; it is copied, not into memory of
 * sn_net_options.allocator. A status other than SN_OK ends tuning with it. */
typedef sn_status (*sn_sample_callback)(void* context, size_t index, sn_tensor* inputs,
                                        size_t input_count);

/* What the options mean is said in tune.h, and listed in docs/tuning-options.md: here are the same
 * groups and names, and what differs in C. Zero and null pointers are the defaults. Samples are one
 * tensor per input of the net, sample by sample: input j of sample i stands at [i * inputs + j],
 * its name is not read; a count is one of samples. Bytes are read in place until the call returns.
 */
typedef struct sn_sample_source {
  size_t struct_size;
  size_t count;
  sn_sample_callback make;
  void* context;
} sn_sample_source;
#define SN_SAMPLE_SOURCE_INIT SN_INIT(sn_sample_source)

typedef struct sn_tune_selection {
  size_t struct_size;
  int32_t strict;
  const char* const* avoid;
  size_t avoid_count;
  const char* const* pin; /* layer, routine, layer, routine, ... */
  size_t pin_count;       /* of layers: `pin` has twice as many strings */
} sn_tune_selection;
#define SN_TUNE_SELECTION_INIT SN_INIT(sn_tune_selection)

enum { SN_RANGE_MSE = 0, SN_RANGE_PERCENTILE = 1, SN_RANGE_MIN_MAX = 2 };

typedef struct sn_tune_data {
  size_t struct_size;
  const sn_sample_source* calibration_source;
  int32_t range; /* SN_RANGE_... */
  const sn_tensor* validation;
  size_t validation_count;
  const sn_sample_source* validation_source;
} sn_tune_data;
#define SN_TUNE_DATA_INIT SN_INIT(sn_tune_data)

enum { SN_METRIC_RELATIVE_RMS = 0, SN_METRIC_COSINE = 1, SN_METRIC_TOP1 = 2 };

typedef struct sn_tune_criteria {
  size_t struct_size;
  int32_t metric; /* SN_METRIC_... */
  sn_score_callback score;
  void* score_context;
  size_t max_memory;
  int32_t measure_sensitivity;
} sn_tune_criteria;
#define SN_TUNE_CRITERIA_INIT SN_INIT(sn_tune_criteria)

typedef struct sn_tune_effort {
  size_t struct_size;
  int32_t rounds;    /* 0: 6; negative: SN_INVALID_ARGUMENT */
  int32_t finalists; /* 0: 1; negative: SN_INVALID_ARGUMENT */
  int32_t exhaustive;
  int32_t pin_threads;
} sn_tune_effort;
#define SN_TUNE_EFFORT_INIT SN_INIT(sn_tune_effort)

typedef struct sn_tune_cache {
  size_t struct_size;
  const char* folder;
  int32_t disabled;
} sn_tune_cache;
#define SN_TUNE_CACHE_INIT SN_INIT(sn_tune_cache)

typedef struct sn_tune_options {
  size_t struct_size;
  const char* const* schemas; /* none: cpu:float32 */
  size_t schema_count;
  const sn_shape* shapes;
  size_t shape_count;
  int32_t threads;
  const sn_tensor* calibration;
  size_t calibration_count;
  double max_error;  /* 0: nullopt of tune.h; for a limit of 0 give a tiny number */
  double time_limit; /* in seconds, at most 1e9; 0: none; negative: SN_INVALID_ARGUMENT */
  sn_tune_callback progress;
  void* progress_context;
  sn_cancel* cancel; /* requested by a `progress` that returns other than 0 */
  const sn_tune_selection* selection;
  const sn_tune_data* data;
  const sn_tune_criteria* criteria;
  const sn_tune_effort* effort;
  const sn_tune_cache* cache;
} sn_tune_options;
#define SN_TUNE_OPTIONS_INIT SN_INIT(sn_tune_options)

/* What a tuning found: members of TuneReport (tune.h), which says what they mean. Its
 * time_by_schema_us is not given in C. */
typedef struct sn_tune_report {
  size_t struct_size;
  double untuned_us;
  double tuned_us;
  double seconds;
  double error;
  double qint8_share;
  size_t measured;
  size_t from_cache;
  double difference;
  size_t verification_inputs;
  size_t rejected;
  double gap;
  double agreement;
  int32_t threads;
  int32_t complete;
  int32_t verified_on_samples;
  int32_t within_limit;
  size_t validation_samples;
  double error_low;
  double error_high;
  size_t memory;
} sn_tune_report;
#define SN_TUNE_REPORT_INIT SN_INIT(sn_tune_report)

/* What a tuning did. */
typedef struct sn_tuning sn_tuning;
/* Tunes the net in place; sn_net_save keeps the result. Not while another thread tunes `net`; runs
 * may go on, but disturb the measuring. `tuning`, which may be null, gets what was done.
 * Errors, as of Net::tune (net.h): SN_INVALID_ARGUMENT (options, samples), SN_UNSUPPORTED (strict,
 * a limit that nothing meets), SN_NOT_FOUND (a shape for a name that is not an input),
 * SN_CANCELLED, SN_INTERNAL (the tuned net differs from the model), SN_OUT_OF_MEMORY,
 * SN_DEVICE_FAILED, what a callback returned. The net is then as before. */
SN_API sn_status sn_net_tune(sn_net* net, const sn_tune_options* options, sn_tuning** tuning);
/* Fills in *report. Errors: none but null pointers and versions (c_api.h). */
SN_API sn_status sn_tuning_report(const sn_tuning* tuning, sn_tune_report* report);

/* One layer or adapt of the tuned net, in order of execution (TunedLayer). Pointers are valid until
 * the tuning is freed. */
typedef struct sn_tuned_layer {
  size_t struct_size;
  const char* layer;          /* name */
  const char* type;           /* layer type; "adapt" for adapts */
  const char* routine;        /* descriptor: "cpu:float32:nhwc/wg" */
  const char* params;         /* "tile_size=6" */
  const char* formats;        /* "float32:nhwc -> float32:nhwc" */
  const char* const* sources; /* nodes of the imported model */
  size_t source_count;
  double time_us;      /* inside the tuned net */
  double unit_us;      /* unit time: of the candidate in isolation; 0: not measured */
  size_t candidates;   /* that were considered */
  int32_t fallback;    /* 1: no routine in the allowed schemas */
  int32_t is_measured; /* 0: the default routine, since the time limit was reached */
} sn_tuned_layer;
#define SN_TUNED_LAYER_INIT SN_INIT(sn_tuned_layer)

/* Processor, features, caches, and devices that the path uses; "" for null. Valid until the tuning
 * is freed. */
SN_API const char* sn_tuning_machine(const sn_tuning* tuning);
/* 0 for null. */
SN_API size_t sn_tuning_layer_count(const sn_tuning* tuning);
/* Fills in *layer. SN_INVALID_ARGUMENT if `index` is not below the count; so for the next ones. */
SN_API sn_status sn_tuning_layer(const sn_tuning* tuning, size_t index, sn_tuned_layer* layer);

/* Why a layer does not use a (device, data type) pair for which some layer of the net has
 * candidates (NotChosen). Pointers are valid until the tuning is freed. */
typedef struct sn_not_chosen {
  size_t struct_size;
  const char* kind;    /* device and data type: "cpu:qint8" */
  const char* reason;  /* static: "no routine", "wrong results", "not measured", "error limit",
                          "slower" or "net slower or over the memory limit" */
  const char* routine; /* the fastest of this kind, with its parameters; "": none */
  double time_us;      /* its time; 0: not known */
} sn_not_chosen;
#define SN_NOT_CHOSEN_INIT SN_INIT(sn_not_chosen)
/* Of a layer by its index; 0 for null, and where there is no such layer. */
SN_API size_t sn_tuning_not_chosen_count(const sn_tuning* tuning, size_t layer);
SN_API sn_status sn_tuning_not_chosen(const sn_tuning* tuning, size_t layer, size_t index,
                                      sn_not_chosen* not_chosen);

/* A layer's quantisation sensitivity: the effect of this layer in reduced precision, alone in a
 * float32 net (LayerSensitivity). Pointers are valid until the tuning is freed. */
typedef struct sn_layer_sensitivity {
  size_t struct_size;
  const char* layer;
  const char* routine; /* in reduced precision */
  double own_error;    /* RMS of the layer's error over its output's, on random inputs */
  double net_error;    /* the same at the net's worst output, on the samples */
  double saved_us;     /* against the layer's float32 routine; conversions not counted */
  int32_t is_kept;     /* 1: the layer still has this data type in the tuned net */
} sn_layer_sensitivity;
#define SN_LAYER_SENSITIVITY_INIT SN_INIT(sn_layer_sensitivity)
/* 0 for null, and where sensitivity was not measured. The greatest comes first. */
SN_API size_t sn_tuning_sensitivity_count(const sn_tuning* tuning);
SN_API sn_status sn_tuning_sensitivity(const sn_tuning* tuning, size_t index,
                                       sn_layer_sensitivity* sensitivity);
/* Human-readable lines, which the net's log had, too; null beyond the last one. Valid until the
 * tuning is freed. */
SN_API const char* sn_tuning_warning(const sn_tuning* tuning, size_t index);
SN_API void sn_tuning_free(sn_tuning* tuning);

#ifdef __cplusplus
}
#endif

#endif
