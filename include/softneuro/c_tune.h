/* Tuning from C: which routine computes each layer fastest on this machine. c_api.h says how
 * structs, strings and errors work; tune.h says more of what tuning does. Not in edge builds. */
#ifndef SOFTNEURO_C_TUNE_H
#define SOFTNEURO_C_TUNE_H

#include "softneuro/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called from the tuning thread, a few times per layer; the strings are valid during the call. A
 * result other than 0 ends tuning with SN_CANCELLED. TuneProgress (tune.h) lists the stages. */
typedef int32_t (*sn_tune_callback)(void* context, const char* stage, size_t done, size_t total,
                                    const char* layer, const char* candidate);

typedef struct sn_tune_options {
  size_t struct_size;
  const char* const* schemas; /* patterns of schemas that routines may have; none: cpu:float32 */
  size_t schema_count;
  const sn_shape* shapes; /* of inputs whose shape the model leaves open */
  size_t shape_count;
  const sn_tensor*
      samples; /* for calibration, one tensor per input of the net, sample by sample:
                  input j of sample i stands at [i * inputs + j], its name is not read */
  size_t sample_count;
  double max_error;  /* RMS(out - ref) / RMS(ref) against float32; 0: no limit */
  double time_limit; /* for measurements, in seconds, calibration not included; 0: no limit */
  int32_t threads;   /* to tune for; 0: as many as the net has */
  int32_t strict;    /* 1: a layer without a routine in the schemas is an error */
  const char* cache; /* folder of the profile cache; null: the usual one; "": none */
  sn_tune_callback progress;
  void* progress_context;
  int32_t passes;              /* over the whole net, at most; 0: 6 */
  int32_t finalists;           /* best paths that are timed end to end at last; 0: 4 */
  int32_t exhaustive;          /* 1: measure every candidate fully; slow */
  int32_t range;               /* SN_RANGE_…: how calibration chooses a tensor's range */
  const sn_tensor* validation; /* samples to measure the error on, as `samples`; none: every fifth
                                  one of these is held back for that */
  size_t validation_count;
  const char* const* avoid; /* patterns of routines that no layer may have (TuneOptions::avoid) */
  size_t avoid_count;
  const char* const* pin; /* layer, routine, layer, routine, ... (TuneOptions::pin) */
  size_t pin_count;       /* of layers: `pin` has twice as many strings */
} sn_tune_options;
#define SN_TUNE_OPTIONS_INIT \
  { sizeof(sn_tune_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

enum { SN_RANGE_MSE = 0, SN_RANGE_PERCENTILE = 1, SN_RANGE_MIN_MAX = 2 };

typedef struct sn_tune_report {
  size_t struct_size;
  double untuned_us;  /* one run with default choices */
  double tuned_us;    /* one run on the path found */
  double seconds;     /* of tuning, calibration included */
  double error;       /* on samples held back; 0: not measured */
  double qint8_share; /* of the multiply-accumulates */
  size_t measured;
  size_t from_cache;
  double difference;   /* RMS(out - ref) / RMS(ref) of the worst output against the model */
  size_t proof_inputs; /* sets of inputs that it was measured on; 0: nothing was tuned */
  size_t rejected;     /* candidates dropped for wrong results */
  double gap;          /* of the solver: (cost - lower bound) / cost; 0: proven optimal */
  double agreement;    /* share of the samples held back whose largest output is at its place */
  int32_t threads;     /* that the path is for */
  int32_t complete;    /* 0: stopped at the time limit, not everything was measured */
  int32_t proved_on_samples; /* 0: on made inputs */
} sn_tune_report;
#define SN_TUNE_REPORT_INIT \
  { sizeof(sn_tune_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Tunes the net in place; sn_net_save keeps the result. Not while another thread tunes `net`; runs
 * may go on, but disturb the measuring. The report may be null. */
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
  double time_us;    /* inside the tuned net */
  double unit_us;    /* the candidate alone */
  size_t candidates; /* that were considered */
  int32_t fallback;  /* 1: no routine in the allowed schemas */
} sn_tuned_layer;
#define SN_TUNED_LAYER_INIT \
  { sizeof(sn_tuned_layer), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* What a tuning did. */
typedef struct sn_tuning sn_tuning;
/* As sn_net_tune; also gives the layers and the warnings. */
SN_API sn_status sn_net_tune_in_detail(sn_net* net, const sn_tune_options* options,
                                       sn_tuning** tuning);
SN_API sn_status sn_tuning_report(const sn_tuning* tuning, sn_tune_report* report);
/* Processor, features, caches, and devices that the path uses; "" for null. */
SN_API const char* sn_tuning_machine(const sn_tuning* tuning);
/* 0 for null. */
SN_API size_t sn_tuning_layer_count(const sn_tuning* tuning);
SN_API sn_status sn_tuning_layer(const sn_tuning* tuning, size_t index, sn_tuned_layer* layer);
/* Lines for people, which the net's log had, too; null beyond the last one. */
SN_API const char* sn_tuning_warning(const sn_tuning* tuning, size_t index);
SN_API void sn_tuning_free(sn_tuning* tuning);

#ifdef __cplusplus
}
#endif

#endif
