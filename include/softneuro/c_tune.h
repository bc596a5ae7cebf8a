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

/* A score of the caller's: the net's outputs for the validation samples, sample by sample, output j
 * of sample i at [i * output_count + j], valid during the call. Writes a number that grows with
 * their quality to `score`; SN_INVALID_ARGUMENT if it is not finite. The error is what the tuned
 * net loses of float32's score; 0 if it loses nothing. A status other than SN_OK ends tuning with
 * it. It may use the net, but neither tune nor free it. */
typedef sn_status (*sn_score_callback)(void* context, const sn_tensor* outputs, size_t output_count,
                                       size_t sample_count, double* score);

/* Makes sample `index`, from 0 to the count - 1, where samples do not fit into memory all at once:
 * sets data_type, rank, dims, data and bytes of inputs[j], for input j of the net; struct_size is
 * set, the name is not read. The data stays the caller's, and valid until the next call or the end
 * of tuning; it is copied, not into memory of sn_net_options.allocator. Called on the thread that
 * called sn_net_tune, several times for one index, which gives the same sample each time. A status
 * other than SN_OK ends tuning with it. */
typedef sn_status (*sn_sample_callback)(void* context, size_t index, sn_tensor* inputs,
                                        size_t input_count);

/* Error of the outputs against float32's (ErrorMetric). */
enum { SN_METRIC_RELATIVE_RMS = 0, SN_METRIC_COSINE = 1, SN_METRIC_TOP1 = 2 };

typedef struct sn_tune_options {
  size_t struct_size;
  const char* const* schemas; /* patterns of schemas that routines may have: "cpu",
                                 "cpu:float32:nhwc"; none: cpu:float32; SN_INVALID_ARGUMENT for one
                                 that no routine here matches */
  size_t schema_count;
  const sn_shape* shapes; /* of inputs with dynamic dimensions */
  size_t shape_count;
  const sn_tensor* samples; /* for calibration, one tensor per input of the net, sample by sample:
                               input j of sample i stands at [i * inputs + j], its name is not read;
                               data types as the inputs', shapes the same in all samples; bytes are
                               read in place until the call returns */
  size_t sample_count;
  /* By `metric` or `score`; a finite one needs validation samples, or two samples for calibration.
   * 0: 0.1 where a path meets it (SN_METRIC_RELATIVE_RMS without `score`, else
   * SN_INVALID_ARGUMENT; for a limit of 0 give a tiny number); INFINITY: no limit; negative:
   * SN_INVALID_ARGUMENT. */
  double max_error;
  double time_limit; /* in seconds, at most 1e9, from the beginning of the tuning; where there are
                        samples, from where calibration and float32's runs over the validation
                        samples are done (TuneOptions); 0: no limit; negative:
                        SN_INVALID_ARGUMENT */
  int32_t threads;   /* to tune for, at most 1024; 0: as many as the net has (TuneOptions) */
  int32_t strict;    /* 1: a layer without a routine in the schemas is an error */
  const char* cache; /* null: the default folder (TuneOptions::cache); "": no cache. If it cannot be
                        made or written, a warning says so */
  sn_tune_callback progress; /* may be null */
  void* progress_context;
  /* Profiling rounds over the whole net, at most, and the solver's best paths that are timed end to
   * end in the last stage (TuneOptions says more); 0: the defaults, 6 rounds and 1 path; negative:
   * SN_INVALID_ARGUMENT. With `exhaustive` four times as many. */
  int32_t rounds;
  int32_t finalists;
  int32_t exhaustive;          /* 1: measure every candidate fully; slow */
  int32_t range;               /* SN_RANGE_…: how calibration chooses a tensor's range */
  const sn_tensor* validation; /* samples to measure the error on, as `samples`; none: every fifth
                                  one of these (of two to four, the last) is held back for that */
  size_t validation_count;
  const char* const* avoid; /* patterns of routines that no layer may have (TuneOptions::avoid) */
  size_t avoid_count;
  const char* const* pin;      /* layer, routine, layer, routine, ... (TuneOptions::pin) */
  size_t pin_count;            /* of layers: `pin` has twice as many strings */
  int32_t metric;              /* SN_METRIC_... */
  int32_t measure_sensitivity; /* 1: sensitivity analysis (sn_tuning_sensitivity) even where the
                           fastest path meets the limit */
  sn_score_callback score;     /* instead of `metric`; may be null */
  void* score_context;
  int32_t pin_threads;              /* 1: each to a processor of its own while tuning lasts */
  size_t max_memory;                /* bytes of arenas (on all devices) and packed weights at most
                                       (TuneOptions says what is not counted); 0: no limit */
  sn_sample_callback sample_source; /* makes more, appended to `samples`; may be null */
  void* sample_source_context;
  size_t sample_source_count;
  sn_sample_callback validation_source; /* the same, appended to `validation` */
  void* validation_source_context;
  size_t validation_source_count;
  sn_cancel* cancel; /* stops tuning, which then gives SN_CANCELLED; requested by a `progress` that
                        returns other than 0; may be null */
} sn_tune_options;
#define SN_TUNE_OPTIONS_INIT                                                                      \
  {                                                                                               \
    sizeof(sn_tune_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                     \
  }

enum { SN_RANGE_MSE = 0, SN_RANGE_PERCENTILE = 1, SN_RANGE_MIN_MAX = 2 };

/* What a tuning found (TuneReport, whose time_by_schema_us is not given in C). */
typedef struct sn_tune_report {
  size_t struct_size;
  double untuned_us;          /* one run of the default plan: TuneReport says how it is measured */
  double tuned_us;            /* one run on the path found; likewise */
  double seconds;             /* of tuning, calibration included */
  double error;               /* on the validation samples; 0: not measured */
  double qint8_share;         /* of the multiply-accumulates */
  size_t measured;            /* measurements made */
  size_t from_cache;          /* measurements taken from the cache instead */
  double difference;          /* RMS(out - ref) / RMS(ref) of the worst output against the model */
  size_t verification_inputs; /* sets of inputs of the verification; 0: nothing was tuned */
  size_t rejected;            /* candidates dropped: wrong results, or an error of the kernel */
  double gap;       /* of the solver's best path, by the sum of measured times (TuneReport):
                       (cost - lower bound) / cost; 0: proven optimal by that sum; 1: not
                       everything was measured, no bound is known */
  double agreement; /* top-1 agreement: share of the validation samples whose argmax of the first
                       output is float32's; 1 without validation samples; NaN where that output
                       holds no scores of classes */
  int32_t threads;  /* that the path is for */
  int32_t complete; /* 0: the time limit was reached before everything was measured, or nothing
                       was tuned */
  int32_t verified_on_samples; /* 1: they were samples; 0: synthetic inputs */
  int32_t within_limit;        /* 0: no path meets the default limit */
  size_t validation_samples;
  double
      error_low; /* 95 % confidence interval of `error`; both are `error` where it is not known */
  double error_high;
  size_t memory; /* bytes of the tuned plan's arenas and packed weights */
} sn_tune_report;
#define SN_TUNE_REPORT_INIT \
  { sizeof(sn_tune_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Tunes the net in place; sn_net_save keeps the result. Not while another thread tunes `net`; runs
 * may go on, but disturb the measuring. The report may be null.
 * Errors, as of Net::tune (net.h): SN_INVALID_ARGUMENT (options, samples), SN_UNSUPPORTED (strict,
 * a limit that nothing meets), SN_NOT_FOUND (a shape for a name that is not an input),
 * SN_CANCELLED, SN_INTERNAL (the tuned net differs from the model), SN_OUT_OF_MEMORY,
 * SN_DEVICE_FAILED, what a callback returned. The net is then as before. */
SN_API sn_status sn_net_tune(sn_net* net, const sn_tune_options* options, sn_tune_report* report);

/* --- layer by layer ------------------------------------------------------------------------------
 */

/* One layer or adapt of the tuned net, in order of execution. Pointers are valid until the tuning
 * is freed. */
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
#define SN_TUNED_LAYER_INIT \
  { sizeof(sn_tuned_layer), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* What a tuning did. */
typedef struct sn_tuning sn_tuning;
/* As sn_net_tune; also gives the layers and the warnings. */
SN_API sn_status sn_net_tune_in_detail(sn_net* net, const sn_tune_options* options,
                                       sn_tuning** tuning);
/* Fills in *report. Errors: none but null pointers and versions (c_api.h). */
SN_API sn_status sn_tuning_report(const sn_tuning* tuning, sn_tune_report* report);
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
#define SN_NOT_CHOSEN_INIT \
  { sizeof(sn_not_chosen), 0, 0, 0, 0 }
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
#define SN_LAYER_SENSITIVITY_INIT \
  { sizeof(sn_layer_sensitivity), 0, 0, 0, 0, 0, 0 }
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
