/* The C API's statuses, tensors, and application-provided allocator, thread pool and log. c_api.h
 * says how structs, strings and errors work. */
#ifndef SOFTNEURO_C_TYPES_H_
#define SOFTNEURO_C_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#include "softneuro/export.h"

/* What SN_..._INIT stands for: struct_size is set, and all else zero. */
#ifdef __cplusplus
template <class T>
inline T sn_init() {
  T value = T();
  value.struct_size = sizeof(T);
  return value;
}
#define SN_INIT(type) sn_init<type>()
#else
#define SN_INIT(type) \
  { .struct_size = sizeof(type) }
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SN_MAX_RANK 8

/* --- status ------------------------------------------------------------------------------------
 */

typedef int32_t sn_status;
enum {
  SN_OK = 0,
  SN_INVALID_ARGUMENT = 1, /* the caller's input is wrong: name, shape, data type, option */
  SN_INVALID_MODEL = 2,    /* a model or .dnn file is malformed or inconsistent */
  SN_UNSUPPORTED = 3,      /* valid, but not supported by this build or on this machine */
  SN_NOT_FOUND = 4,        /* no file, input, output or other tensor of that name */
  SN_OUT_OF_MEMORY = 5,    /* no memory is left, or no thread can be started */
  SN_IO_ERROR = 6,         /* the operating system refused a file operation */
  SN_CORRUPT_FILE = 7,  /* a file is truncated, of another kind, or its checksum does not match */
  SN_CANCELLED = 8,     /* the caller asked to stop */
  SN_INCOMPATIBLE = 9,  /* a file or plugin of another version */
  SN_INTERNAL = 10,     /* a bug in SoftNeuro: please report it with the message */
  SN_DEVICE_FAILED = 11 /* a device (a GPU, say) reports an error, or is lost */
};

/* One human-readable line: what failed, where, what to do. Empty if no call of this thread has
 * failed. Cut off after 1023 bytes. */
SN_API const char* sn_last_error(void);
/* "invalid_argument", ...; "unknown" for other numbers. Static. */
SN_API const char* sn_status_name(sn_status status);
/* "0.1.0". Static. */
SN_API const char* sn_version(void);

/* --- tensors -----------------------------------------------------------------------------------
 */

typedef int32_t sn_data_type;
enum {
  SN_UNDEFINED = 0,
  SN_FLOAT32 = 1,
  SN_FLOAT16 = 2,  /* IEEE 754 binary16 */
  SN_BFLOAT16 = 3, /* upper half of a float32 */
  SN_FLOAT64 = 4,
  SN_INT8 = 5,
  SN_UINT8 = 6,
  SN_INT16 = 7,
  SN_UINT16 = 8,
  SN_INT32 = 9,
  SN_UINT32 = 10,
  SN_INT64 = 11,
  SN_UINT64 = 12,
  SN_BOOLEAN = 13, /* one byte, 0 or 1 */
  SN_QINT8 = 14    /* 8 bits, signed or unsigned, that mean scale * (q - zero_point): inside of
                      plans; inputs and outputs of imported models never have it */
};

/* Bytes of one element; 0 for undefined and unknown ones. */
SN_API size_t sn_data_type_size(sn_data_type type);
/* "float32", ...; "undefined". Static. */
SN_API const char* sn_data_type_name(sn_data_type type);

/* A view of the caller's or the library's memory: row-major in the order of dims, without gaps,
 * aligned to the element size at least. Owns nothing. */
typedef struct sn_tensor {
  size_t struct_size;
  const char* name; /* given to the library: null, or must be that of the input or output;
                       sn_session_set_input and sn_session_set_output need it */
  sn_data_type data_type;
  int32_t rank; /* 0: a scalar */
  int64_t dims[SN_MAX_RANK];
  void* data;   /* the library never writes through those of inputs */
  size_t bytes; /* of all elements */
  /* Where `data` is: "" or "cpu": memory of this process; "cuda": an address of the GPU, aligned to
   * 16, of an input or output that sn_session_options.devices has there. */
  char device[16];
} sn_tensor;

/* What is known of an input or output. Pointers are valid as long as the net or session that gave
 * them; those of a session only until sn_session_set_shapes. */
typedef struct sn_tensor_info {
  size_t struct_size;
  const char* name;
  sn_data_type data_type;
  int32_t rank;                     /* -1: not known before a run */
  int64_t dims[SN_MAX_RANK];        /* -1: not known before a run, or chosen by the caller */
  const char* symbols[SN_MAX_RANK]; /* "batch", ...; equal symbols are equal sizes; null: none */
} sn_tensor_info;

/* The shape to plan for one input: all of its dimensions. */
typedef struct sn_shape {
  size_t struct_size;
  const char* name;          /* of the input; null: SN_INVALID_ARGUMENT */
  int32_t rank;              /* 0 to SN_MAX_RANK */
  int64_t dims[SN_MAX_RANK]; /* the first `rank` are read; each >= 0 */
} sn_shape;

#define SN_TENSOR_INIT SN_INIT(sn_tensor)
#define SN_TENSOR_INFO_INIT SN_INIT(sn_tensor_info)
#define SN_SHAPE_INIT SN_INIT(sn_shape)

/* --- application-provided allocator, thread pool, log --------------------------------------------
 */

/* Memory for tensors that the library makes, weights that are not mapped from a file, packed
 * weights and arenas (NetOptions::allocator in net.h). Copied when it is passed: the functions and
 * the context must stay valid until every handle made with it is freed. Called from any thread. */
typedef struct sn_allocator {
  size_t struct_size;
  void* context;
  /* At least `bytes` (> 0) bytes aligned to `alignment` (a power of two, at most 64), or null. A
   * pointer that is not so aligned is given back to `deallocate` and counts as null. Some requests
   * are freed before the call returns (NetOptions::allocator). Must not call the library. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  /* `pointer` came from `allocate`, with the same `bytes`; never null. */
  void (*deallocate)(void* context, void* pointer, size_t bytes);
} sn_allocator;
#define SN_ALLOCATOR_INIT SN_INIT(sn_allocator)

/* The application's threads. Copied, and valid for as long, as an allocator. C has neither bursts
 * nor the library's own pool as an object (ThreadPool and create_thread_pool in thread_pool.h). */
typedef struct sn_thread_pool {
  size_t struct_size;
  void* context;
  /* Maximum number of threads that work for one caller, the calling thread included; less than 1
   * counts as 1. The same for the life of the pool: plans are made for it. */
  int32_t (*concurrency)(void* context);
  /* Calls task(task_context, i) exactly once for each i in [0, count), in any order and on any
   * thread, and returns when all are done: `task` is not called afterwards. count may be 0. Is
   * called by several threads at once, and from within a task (then it may run the tasks in place).
   * Must not allocate, so that runs do not. A task of the built-in routines takes up to about 100
   * KiB of stack: give threads 256 KiB at least, and what libraries need. */
  void (*run)(void* context, size_t count, void (*task)(void* task_context, size_t index),
              void* task_context);
} sn_thread_pool;
#define SN_THREAD_POOL_INIT SN_INIT(sn_thread_pool)

typedef int32_t sn_log_level;
enum {
  SN_LOG_DEBUG = 0,
  SN_LOG_INFO = 1,
  SN_LOG_WARNING = 2, /* the work goes on, but slower, less exact or otherwise than asked */
  SN_LOG_ERROR = 3    /* something is broken (a library, a routine); the work goes on without it */
};
/* Called with one printable line by any thread that uses the net, also by several at once, and
 * already while the net is loaded or imported. No lock is held: once there is a handle, it may use
 * the net, but neither tune nor free it. It and its context must outlive the net and its sessions.
 */
typedef void (*sn_log_callback)(void* context, sn_log_level level, const char* message);

enum {
  SN_VERIFY_FULL = 0,     /* all checksums of a .dnn file are compared */
  SN_VERIFY_STRUCTURE = 1 /* those of header and graph; weights are not read before they serve */
};

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SOFTNEURO_C_TYPES_H_ */
