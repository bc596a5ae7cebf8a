/* Classifies a picture, in plain C99:
 *
 *   classify models/shapes/shapes.onnx models/shapes/example.png models/shapes/classes.txt
 *
 * The net takes one float32 input [N, 3, height, width] of RGB values in 0..1 and gives one number
 * per class. Where libsoftneuro_import is linked, the model may be a .onnx file, else a .dnn file.
 */
#include <png.h>
#include <softneuro/c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char* what) {
  fprintf(stderr, "classify: %s: %s\n", what, sn_last_error());
  return 1;
}

static int ends_with(const char* text, const char* end) {
  const size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

static sn_status open_net(const char* path, sn_net** net) {
#ifdef SOFTNEURO_HAS_IMPORT
  if (!ends_with(path, ".dnn")) return sn_net_import(path, NULL, net);
#else
  (void)ends_with;
#endif
  return sn_net_load(path, NULL, net);
}

/* The picture as planes of red, green and blue in 0..1; null if it cannot be read. */
static float* read_picture(const char* path, int64_t* height, int64_t* width) {
  png_image image;
  unsigned char* bytes = NULL;
  float* planes = NULL;
  size_t i, pixels;
  memset(&image, 0, sizeof(image));
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path)) return NULL;
  image.format = PNG_FORMAT_RGB;
  pixels = (size_t)image.width * image.height;
  bytes = malloc(PNG_IMAGE_SIZE(image));
  planes = malloc(3 * pixels * sizeof(float));
  if (bytes == NULL || planes == NULL || !png_image_finish_read(&image, NULL, bytes, 0, NULL)) {
    free(planes);
    planes = NULL;
  } else {
    for (i = 0; i < 3 * pixels; ++i) planes[i % 3 * pixels + i / 3] = (float)bytes[i] / 255.0f;
    *height = image.height;
    *width = image.width;
  }
  free(bytes);
  png_image_free(&image);
  return planes;
}

/* Line `index` of the file, without its end. */
static void print_class(const char* path, size_t index) {
  char line[256] = "";
  size_t i;
  FILE* const file = path != NULL ? fopen(path, "r") : NULL;
  for (i = 0; file != NULL && i <= index; ++i)
    if (fgets(line, sizeof(line), file) == NULL) line[0] = 0;
  if (file != NULL) fclose(file);
  line[strcspn(line, "\r\n")] = 0;
  printf("class %lu %s", (unsigned long)index, line);
}

int main(int argc, char** argv) {
  sn_net* net = NULL;
  sn_result* result = NULL;
  sn_tensor input = SN_TENSOR_INIT, output = SN_TENSOR_INIT;
  const float* scores;
  size_t best = 0, i;

  if (argc < 3) {
    fprintf(stderr, "usage: classify MODEL PICTURE.png [CLASSES.txt]\n");
    return 2;
  }
  if (open_net(argv[1], &net) != SN_OK) return fail(argv[1]);

  input.data_type = SN_FLOAT32;
  input.rank = 4;
  input.dims[0] = 1;
  input.dims[1] = 3;
  input.data = read_picture(argv[2], &input.dims[2], &input.dims[3]);
  if (input.data == NULL) {
    fprintf(stderr, "classify: %s is not a PNG file\n", argv[2]);
    sn_net_free(net);
    return 1;
  }
  input.bytes = (size_t)(3 * input.dims[2] * input.dims[3]) * sizeof(float);

  if (sn_net_run(net, &input, 1, &result) != SN_OK || sn_result_get(result, 0, &output) != SN_OK) {
    free(input.data);
    sn_net_free(net);
    return fail("run");
  }
  scores = output.data;
  for (i = 1; i < output.bytes / sizeof(float); ++i)
    if (scores[i] > scores[best]) best = i;
  print_class(argc > 3 ? argv[3] : NULL, best);
  printf(": %.3f\n", (double)scores[best]);

  sn_result_free(result);
  sn_net_free(net);
  free(input.data);
  return 0;
}
