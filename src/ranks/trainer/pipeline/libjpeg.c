// Calls libjpeg-turbo, which is opened at run time. In C, because libjpeg reports an error by a longjmp, which may not cross Rust.
//
// No header of it is needed, nor the library to build: the few structures below are those of the interface's version 6.2, which
// has not changed since 1998. The library compares the version and the sizes itself before it touches them, and refuses others.

#include <dlfcn.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 62, MESSAGE = 200 };
enum { RGB = 2, CMYK = 4, YCCK = 5 };
// More scans than an encoder makes: each one takes as long as a whole image.
enum { MOST_SCANS = 500 };

struct errors;
struct decompress;

struct progress {
  void (*monitor)(struct decompress*);
  long counter, limit;
  int completed, total;
};

struct decompress {
  struct errors* err;
  void* mem;
  struct progress* progress;
  void* client_data;
  int is_decompressor, global_state;
  void* src;
  unsigned image_width, image_height;
  int num_components, jpeg_color_space, out_color_space;
  unsigned scale_num, scale_denom;
  double output_gamma;
  int buffered_image, raw_data_out, dct_method, do_fancy_upsampling, do_block_smoothing, quantize_colors, dither_mode, two_pass;
  int desired_colors, enable_1pass, enable_external, enable_2pass;
  unsigned output_width, output_height;
  int out_color_components, output_components, rec_outbuf_height, actual_colors;
  void* colormap;
  unsigned output_scanline;
  int input_scan_number;
  char private_1[384 - 176];
  int saw_adobe_marker;
  char private_2[632 - 388];
};

struct errors {
  void (*error_exit)(struct decompress*);
  void (*emit_message)(struct decompress*, int);
  void (*output_message)(struct decompress*);
  void (*format_message)(struct decompress*, char*);
  void (*reset)(struct decompress*);
  int code;
  char parameters[80];
  int trace_level;
  long warnings;
  char private_1[168 - 136];
};

_Static_assert(sizeof(void*) != 8 || (sizeof(struct decompress) == 632 && offsetof(struct decompress, output_scanline) == 168 &&
    offsetof(struct decompress, dct_method) == 96 && sizeof(struct errors) == 168), "the interface's own layout");

static struct {
  struct errors* (*std_error)(struct errors*);
  void (*create)(struct decompress*, int, size_t);
  void (*destroy)(struct decompress*);
  void (*mem_src)(struct decompress*, const unsigned char*, unsigned long);
  int (*read_header)(struct decompress*, int);
  int (*start)(struct decompress*);
  void (*crop)(struct decompress*, unsigned*, unsigned*);
  unsigned (*skip)(struct decompress*, unsigned);
  unsigned (*read)(struct decompress*, unsigned char**, unsigned);
  int (*finish)(struct decompress*);
  void (*abort)(struct decompress*);
  int parts;
} lib;

struct decoder {
  struct decompress jpeg;
  struct errors errors;
  struct progress progress;
  jmp_buf failed;
  char message[MESSAGE];
  unsigned char* row;
  size_t row_bytes;
};

// The decoder begins with the structure that libjpeg hands back.
static struct decoder* of(struct decompress* jpeg) { return (struct decoder*)jpeg; }

static void fail(struct decompress* jpeg) {
  jpeg->err->format_message(jpeg, of(jpeg)->message);
  longjmp(of(jpeg)->failed, 1);
}

// Of all warnings these alone say that pixels are made up: the scan ended early, or its codes make no sense. The others (an unknown
// JFIF revision or Adobe transform, odd scan parameters, a broken colour profile, bytes too many) cost no pixel, and Pillow and
// TensorFlow decode such files.
static int loses_pixels(const char* message) {
  return strncmp(message, "Premature end", 13) == 0 ||
      (strncmp(message, "Corrupt JPEG data", 17) == 0 && strstr(message, "extraneous bytes") == NULL && strstr(message, "ICC") == NULL);
}

static void emit(struct decompress* jpeg, int level) {
  if (level >= 0) return;
  jpeg->err->format_message(jpeg, of(jpeg)->message);
  if (loses_pixels(of(jpeg)->message)) longjmp(of(jpeg)->failed, 1);
}

static void silent(struct decompress* jpeg) { (void)jpeg; }

static void watch(struct decompress* jpeg) {
  if (jpeg->input_scan_number <= MOST_SCANS) return;
  snprintf(of(jpeg)->message, MESSAGE, "more than %d scans", MOST_SCANS);
  longjmp(of(jpeg)->failed, 1);
}

// Opens the library. 0, or -1 with the reason. To be called by one thread, once.
int hvd_jpeg_load(const char* name, char* message, size_t size) {
  void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    snprintf(message, size, "%s", dlerror());
    return -1;
  }
  const struct { const char* name; void* place; } functions[] = {
      {"jpeg_std_error", &lib.std_error},         {"jpeg_CreateDecompress", &lib.create},
      {"jpeg_destroy_decompress", &lib.destroy},  {"jpeg_mem_src", &lib.mem_src},
      {"jpeg_read_header", &lib.read_header},     {"jpeg_start_decompress", &lib.start},
      {"jpeg_crop_scanline", &lib.crop},          {"jpeg_skip_scanlines", &lib.skip},
      {"jpeg_read_scanlines", &lib.read},         {"jpeg_finish_decompress", &lib.finish},
      {"jpeg_abort_decompress", &lib.abort},
  };
  for (size_t at = 0; at < sizeof functions / sizeof *functions; at++) {
    void* function = dlsym(handle, functions[at].name);
    if (function == NULL) {
      snprintf(message, size, "it has no %s: it is not libjpeg-turbo 1.5 or newer", functions[at].name);
      return -1;
    }
    memcpy(functions[at].place, &function, sizeof function);
  }
  // Version 3 is known by its functions for 12 bits.
  lib.parts = dlsym(handle, "jpeg12_read_scanlines") != NULL;
  return 0;
}

// Whether a part is the same as that part of the whole: before version 3 some of its pixels are left over from the image before.
int hvd_jpeg_parts(void) { return lib.parts; }

static int create(struct decoder* decoder) {
  if (setjmp(decoder->failed)) return -1;
  lib.create(&decoder->jpeg, VERSION, sizeof(struct decompress));
  return 0;
}

// A decoder for one thread. NULL with the reason where the library is another one than it seems.
void* hvd_jpeg_new(char* message, size_t size) {
  struct decoder* decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) {
    snprintf(message, size, "there is no memory");
    return NULL;
  }
  decoder->jpeg.err = lib.std_error(&decoder->errors);
  decoder->errors.error_exit = fail;
  decoder->errors.emit_message = emit;
  decoder->errors.output_message = silent;
  if (create(decoder) != 0) {
    snprintf(message, size, "%s", decoder->message);
    free(decoder);
    return NULL;
  }
  decoder->progress.monitor = watch;
  decoder->jpeg.progress = &decoder->progress;
  return decoder;
}

void hvd_jpeg_free(void* handle) {
  struct decoder* decoder = handle;
  lib.destroy(&decoder->jpeg);
  free(decoder->row);
  free(decoder);
}

// Print colours to screen colours. Adobe's programs write the complements.
static void to_rgb(const unsigned char* from, unsigned char* to, unsigned width, int complements) {
  for (unsigned x = 0; x < width; x++, from += 4, to += 3)
    for (int channel = 0; channel < 3; channel++) {
      const int ink = complements ? from[channel] : 255 - from[channel], black = complements ? from[3] : 255 - from[3];
      to[channel] = (unsigned char)(ink * black / 255);
    }
}

struct request {
  const unsigned char* bytes;
  size_t length;
  int dct, fancy_upsampling;
  // The image is made this many times smaller: 1, 2, 4 or 8.
  unsigned denominator;
  // What is wanted of it, in its own (smaller) pixels: x and width grow to whole blocks.
  unsigned x, y, width, height;
  unsigned char* out;
  size_t capacity;
};

// Decodes a part of an image, three bytes a pixel, row by row. 0, or -1 with the reason. `request` then has the part that came.
int hvd_jpeg_decode(void* handle, struct request* request, char* message, size_t size) {
  struct decoder* const decoder = handle;
  struct decompress* const jpeg = &decoder->jpeg;
  if (setjmp(decoder->failed)) {
    snprintf(message, size, "%s", decoder->message);
    lib.abort(jpeg);
    return -1;
  }
  lib.mem_src(jpeg, request->bytes, request->length);
  lib.read_header(jpeg, 1);
  const int print = jpeg->jpeg_color_space == CMYK || jpeg->jpeg_color_space == YCCK;
  jpeg->out_color_space = print ? CMYK : RGB;
  jpeg->dct_method = request->dct;
  jpeg->do_fancy_upsampling = request->fancy_upsampling;
  jpeg->scale_num = 1;
  jpeg->scale_denom = request->denominator;
  lib.start(jpeg);
  const int whole = request->width == jpeg->output_width && request->height == jpeg->output_height;
  const char* wrong = NULL;
  if (request->x > jpeg->output_width || request->width > jpeg->output_width - request->x || request->width == 0 ||
      request->y > jpeg->output_height || request->height > jpeg->output_height - request->y || request->height == 0)
    wrong = "the part that was asked for is not inside the image";
  else if (request->width != jpeg->output_width)
    lib.crop(jpeg, &request->x, &request->width);
  const size_t row = 3 * (size_t)jpeg->output_width;
  if (wrong == NULL && row * request->height > request->capacity) wrong = "there is no room for it";
  if (wrong == NULL && print && decoder->row_bytes < 4 * (size_t)jpeg->output_width) {
    free(decoder->row);
    decoder->row_bytes = 4 * (size_t)jpeg->output_width;
    decoder->row = malloc(decoder->row_bytes);
    if (decoder->row == NULL) {
      decoder->row_bytes = 0;
      wrong = "there is no memory";
    }
  }
  if (wrong != NULL) {
    snprintf(message, size, "%s", wrong);
    lib.abort(jpeg);
    return -1;
  }
  if (request->y > 0) lib.skip(jpeg, request->y);
  const unsigned end = request->y + request->height;
  while (jpeg->output_scanline < end) {
    unsigned char* to = request->out + row * (jpeg->output_scanline - request->y);
    if (print) {
      lib.read(jpeg, &decoder->row, 1);
      to_rgb(decoder->row, to, jpeg->output_width, jpeg->saw_adobe_marker);
    } else {
      unsigned char* rows[4] = {to, to + row, to + 2 * row, to + 3 * row};
      lib.read(jpeg, rows, end - jpeg->output_scanline < 4 ? end - jpeg->output_scanline : 4);
    }
  }
  request->width = jpeg->output_width;
  // The end of the file is looked at where all of it was wanted.
  if (whole) lib.finish(jpeg);
  else lib.abort(jpeg);
  return 0;
}
