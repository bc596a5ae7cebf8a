/* The C API: nets from C, and from every language that can call C. C99; also valid C++. All of it
 * but tuning (c_tune.h), which edge builds lack.
 *
 * Compatibility. Functions, constants and members of structs are only ever appended. Every struct
 * begins with struct_size, which the caller sets to sizeof of the struct that it was compiled with
 * (the SN_..._INIT macros do); the library reads and writes no byte beyond. Members that a caller
 * does not know are taken as zero, and zero is always the default. A caller newer than the library
 * gets SN_INVALID_ARGUMENT if it sets a member that the library does not know. Elements of arrays
 * of structs are struct_size of the first element apart, and all carry the same struct_size.
 *
 * Errors. Functions that can fail return a status; sn_last_error() then gives the message. It
 * belongs to the calling thread and stays until the next failing call of that thread: read it
 * before a green thread or coroutine may move to another one. A failing call leaves its results as
 * if it had not been made, but for handles, which are null then, and the memory that a run was to
 * write outputs to, which is undefined. A null pointer where an object is needed is
 * SN_INVALID_ARGUMENT, never a crash; the *_free functions ignore null.
 *
 * Strings end with a 0. Those that a caller gives are read during the call and copied where they
 * are needed longer. Those that the library gives belong to it: they are valid as the function or
 * the struct says, and never freed by the caller. The library neither checks nor converts an
 * encoding: names are the model's bytes (UTF-8 in ONNX), paths go to the operating system as they
 * are. Messages and log lines are printable UTF-8; other bytes in them are written \xNN.
 *
 * Threads. A net may be used by any number of threads at once. A session, and a result, by one at a
 * time. Different handles are independent, and may be freed in any order.
 *
 * Callbacks must return normally: no longjmp, no exception. What they are given is valid during
 * the call only, unless stated otherwise.
 */
#ifndef SOFTNEURO_C_API_H_
#define SOFTNEURO_C_API_H_

#include "softneuro/c_net.h"
#include "softneuro/c_session.h"
#include "softneuro/c_types.h"

#endif /* SOFTNEURO_C_API_H_ */
