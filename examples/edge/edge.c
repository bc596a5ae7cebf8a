/* A net on a small device: the model and a picture are part of the program, all memory of tensors
 * comes from one static block, and there are no files and no threads.
 *
 * For another model put other files into embedded.c. */
#include <softneuro/c_api.h>
#include <stdio.h>

/* embedded.c */
extern const unsigned char model[], model_end[];     /* a .dnn file, aligned to 64 */
extern const unsigned char picture[], picture_end[]; /* red, green and blue plane, 32 x 32 each */

static const char* const classes[] = {"circle", "square",  "triangle",     "star",     "cross",
                                      "ring",   "stripes", "checkerboard", "crescent", "arrow"};
enum { SIDE = 32, VALUES = 3 * SIDE * SIDE, CLASSES = 10 };

/* --- memory: a stack of blocks; freed from the top, which suffices for one net and one session --
 */

enum { ARENA_BYTES = 2 << 20, ALIGNMENT = 64 };
typedef struct {
  unsigned char bytes[ARENA_BYTES + ALIGNMENT];
  size_t used, peak, live;
} arena_t;
static arena_t arena;

static unsigned char* arena_base(arena_t* a) {
  return a->bytes + (ALIGNMENT - (uintptr_t)a->bytes % ALIGNMENT) % ALIGNMENT;
}

static size_t rounded(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void* take(void* context, size_t bytes, size_t alignment) {
  arena_t* const a = context;
  unsigned char* const block = arena_base(a) + a->used;
  if (alignment > ALIGNMENT || bytes > ARENA_BYTES || rounded(bytes) > ARENA_BYTES - a->used)
    return NULL;
  a->used += rounded(bytes);
  a->live += 1;
  if (a->used > a->peak) a->peak = a->used;
  return block;
}

static void give_back(void* context, void* block, size_t bytes) {
  arena_t* const a = context;
  if ((unsigned char*)block + rounded(bytes) == arena_base(a) + a->used) a->used -= rounded(bytes);
  a->live -= 1;
  if (a->live == 0) a->used = 0;
}

/* --- the net -------------------------------------------------------------------------------------
 */

static int fail(const char* what) {
  fprintf(stderr, "edge: %s: %s\n", what, sn_last_error());
  return 1;
}

int main(void) {
  static float values[VALUES], scores[CLASSES];
  const sn_allocator allocator = {sizeof(sn_allocator), &arena, take, give_back};
  sn_net_options options = SN_NET_OPTIONS_INIT;
  sn_net* net = NULL;
  sn_session* session = NULL;
  sn_tensor_info info = SN_TENSOR_INFO_INIT;
  sn_shape shape = SN_SHAPE_INIT;
  sn_tensor input = SN_TENSOR_INIT, output = SN_TENSOR_INIT;
  int i, best = 0;

  options.allocator = &allocator;
  options.threads = 1;
  if (sn_net_load_memory(model, (size_t)(model_end - model), &options, &net) != SN_OK)
    return fail("load");
  if (sn_net_input_info(net, 0, &info) != SN_OK) return fail("inputs");

  shape.name = info.name;
  shape.rank = 4;
  shape.dims[0] = 1;
  shape.dims[1] = 3;
  shape.dims[2] = shape.dims[3] = SIDE;
  if (sn_session_create(net, &shape, 1, NULL, &session) != SN_OK) return fail("session");

  if (picture_end - picture != VALUES) return fail("the picture has another size");
  for (i = 0; i < VALUES; ++i) values[i] = (float)picture[i] / 255.0f;
  input.data_type = output.data_type = SN_FLOAT32;
  input.rank = 4;
  for (i = 0; i < 4; ++i) input.dims[i] = shape.dims[i];
  input.data = values;
  input.bytes = sizeof(values);
  output.rank = 2;
  output.dims[0] = 1;
  output.dims[1] = CLASSES;
  output.data = scores;
  output.bytes = sizeof(scores);
  if (sn_session_run(session, &input, 1, &output, 1, NULL) != SN_OK) return fail("run");

  for (i = 1; i < CLASSES; ++i)
    if (scores[i] > scores[best]) best = i;
  printf("%s: %.3f\n", classes[best], (double)scores[best]);
  printf("%lu of %lu bytes of memory for tensors were used\n", (unsigned long)arena.peak,
         (unsigned long)ARENA_BYTES);

  sn_session_free(session);
  sn_net_free(net);
  return arena.live == 0 ? 0 : 1;
}
