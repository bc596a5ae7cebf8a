/* Tuning from C: which routine computes each layer fastest on this machine. c_api.h says how
 * structs, strings and errors work; tune.h says more of what tuning does. Not in edge builds. */
#ifndef SOFTNEURO_C_TUNE_H
#define SOFTNEURO_C_TUNE_H

#include "softneuro/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called from the tuning thread, a few times per layer; the strings are valid during the call. A
 * result other than 0 ends tuning with the status `cancelled`. */
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
  double time_limit; /* seconds of measuring, after calibration; 0: none */
  int32_t threads;   /* to tune for; 0: as many as the net has */
  int32_t strict;    /* 1: a layer without a routine in the schemas is an error */
  const char* cache; /* folder of the profile cache; null: the usual one; "": none */
  sn_tune_callback progress;
  void* progress_context;
} sn_tune_options;

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
} sn_tune_report;

/* Tunes the net in place; sn_net_save keeps the result. Not while another thread uses `net`. The
 * report may be null. */
SN_API sn_status sn_net_tune(sn_net* net, const sn_tune_options* options, sn_tune_report* report);

#ifdef __cplusplus
}
#endif

#endif
