/* The C interface of Serval's engine: models in the caller's process, without a server, Node or
 * Python. Plain C99; libserval.so exports exactly these functions.
 *
 * Ownership. Every object is made by this library and freed by its own call: serval_close(),
 * serval_result_free(), serval_error_free(). A text or array that a call returns belongs to the
 * object that it was asked of. Memory that the caller passes is only read during the call.
 *
 * Threads. Any thread may call anything, several at a time; serval_infer() takes no lock while the
 * model runs. Two exceptions: an object must not be used once its freeing call has begun, and a
 * process that forks must load models after the fork.
 *
 * CPU. The library for x86-64 is compiled for AVX2, FMA and BMI2 (x86-64-v3): a CPU without them
 * ends the process while it loads. Check before, as Python's serval.load() does.
 *
 * Errors. A call that can fail returns NULL, or an error that the caller frees. There is no global
 * state. Invalid arguments (null pointers, unknown names, other datatypes, sizes that do not fit)
 * are errors that name the argument, what was expected and what was given. No exception leaves the
 * library.
 *
 *   serval_model* model;
 *   serval_error* error = serval_open("model.onnx", NULL, &model);
 *   if (error != NULL) { puts(serval_error_message(error)); serval_error_free(error); return 1; }
 */
#ifndef SERVAL_H
#define SERVAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SERVAL_API __attribute__((visibility("default")))

/* The version of this interface. It changes whenever a program must be compiled again. */
#define SERVAL_ABI_VERSION 1

/* Returns SERVAL_ABI_VERSION of the library; a program that loads it at run time compares. */
SERVAL_API uint32_t serval_abi_version(void);

/* The codes of errors. Each has a paragraph in docs/reference/errors.md. */
typedef enum serval_code {
  SERVAL_OK = 0,
  SERVAL_INVALID_ARGUMENT = 1,
  SERVAL_SIGNATURE_NOT_FOUND = 5,
  SERVAL_BODY_TOO_LARGE = 8,       /* a limit on rows, elements or texts */
  SERVAL_UNIMPLEMENTED = 11,       /* the library cannot do this */
  SERVAL_MODEL_INVALID = 15,       /* the model's file is missing, corrupt or not supported */
  SERVAL_RUNTIME_UNAVAILABLE = 16, /* ONNX Runtime is missing */
  SERVAL_BACKEND_FAILED = 17,      /* the model ran and failed */
  SERVAL_INTERNAL = 18,            /* a bug in Serval */
  SERVAL_MEMORY_FULL = 19
} serval_code;

typedef struct serval_error serval_error;
SERVAL_API serval_code serval_error_code(const serval_error* error);
/* A sentence in UTF-8, NUL-terminated; lives as long as the error. */
SERVAL_API const char* serval_error_message(const serval_error* error);
/* NULL is allowed. */
SERVAL_API void serval_error_free(serval_error* error);

/* Elements are little-endian. The last three occur in tabular models (Spark, MLeap, PMML) only. */
typedef enum serval_dtype {
  SERVAL_BOOL = 1, /* bytes 0 and 1 */
  SERVAL_UINT8 = 2,
  SERVAL_UINT16 = 3,
  SERVAL_UINT32 = 4,
  SERVAL_UINT64 = 5,
  SERVAL_INT8 = 6,
  SERVAL_INT16 = 7,
  SERVAL_INT32 = 8,
  SERVAL_INT64 = 9,
  SERVAL_FP16 = 10,
  SERVAL_FP32 = 11,
  SERVAL_FP64 = 12,
  SERVAL_BYTES = 13, /* texts of any bytes */
  SERVAL_BF16 = 14,
  SERVAL_STRING = 15,   /* texts in UTF-8 */
  SERVAL_DATE = 16,     /* texts "2024-12-31" */
  SERVAL_TIMESTAMP = 17 /* texts "31/12/2024 23:59:59", or of ISO 8601 */
} serval_dtype;

/* The V2 protocol's name, such as "FP32"; NULL for a number that is no datatype. */
SERVAL_API const char* serval_dtype_name(int32_t dtype);

typedef struct serval_model serval_model;

typedef struct serval_options {
  size_t size;                     /* sizeof(serval_options) */
  const char* onnxruntime_library; /* NULL: $SERVAL_ORT_LIBRARY, else libonnxruntime.so.1 in the
                                      folder of libserval.so */
  int32_t threads;                 /* of the model's own pool; 0 = a pool that all models share,
                                      with a thread per core */
} serval_options;

/* Loads a model: an ONNX file, or a folder that `serval compile` wrote. `options` may be NULL.
 * *model is set only on success. Errors: SERVAL_MODEL_INVALID, SERVAL_RUNTIME_UNAVAILABLE,
 * SERVAL_INVALID_ARGUMENT, SERVAL_UNIMPLEMENTED (settings that need a server). */
SERVAL_API serval_error* serval_open(const char* path, const serval_options* options,
                                     serval_model** model);
/* Frees the model; no call may be using it. Results stay valid. NULL is allowed. */
SERVAL_API void serval_close(serval_model* model);

/* A model has one signature or more; TensorFlow's models may have several. The first one is the
 * default. An index is below the count. */
SERVAL_API size_t serval_signature_count(const serval_model* model);
/* NULL for an index beyond the count. */
SERVAL_API const char* serval_signature_name(const serval_model* model, size_t signature);
/* Whether it is a tabular model: inputs are columns of rows, whose values may be missing. */
SERVAL_API int32_t serval_is_tabular(const serval_model* model);

typedef struct serval_tensor_info {
  const char* name;
  int32_t dtype;        /* a serval_dtype; 0: a field of a tabular model that takes any */
  int32_t rank;         /* number of dims; -1: any */
  const int64_t* shape; /* `rank` dims; -1: any size */
  int32_t optional;     /* inputs: may be omitted; outputs: only returned if it is requested */
} serval_tensor_info;

/* 0 for a signature beyond the count. */
SERVAL_API size_t serval_input_count(const serval_model* model, size_t signature);
SERVAL_API size_t serval_output_count(const serval_model* model, size_t signature);
/* Describes one input or output. Errors: SERVAL_INVALID_ARGUMENT (an index), with *info unset. */
SERVAL_API serval_error* serval_input(const serval_model* model, size_t signature, size_t index,
                                      serval_tensor_info* info);
SERVAL_API serval_error* serval_output(const serval_model* model, size_t signature, size_t index,
                                       serval_tensor_info* info);

/* An input or an output. Elements are row-major. Texts (BYTES, STRING, DATE, TIMESTAMP) are one
 * block: text i is data[offsets[i]] up to data[offsets[i + 1]], so `offsets` has one more entry
 * than there are elements, ascending, the last one at most `bytes`.
 * Tabular models: a column has the shape [rows]; of vectors or lists, [rows, size], or [rows, -1]
 * with the number of elements of each row in `lengths`. `missing` has a byte for each row, 1 if it
 * has no value (its elements in `data` are then ignored; with `lengths`, it has none); NULL: all
 * rows have one. A model of trees from XGBoost, LightGBM, CatBoost or scikit-learn also takes all
 * its columns as one matrix [rows, columns], in their order, whose name is that of no column. */
typedef struct serval_tensor {
  const char* name;
  int32_t dtype;
  int32_t rank;
  const int64_t* shape; /* `rank` dims; may be NULL if rank is 0 */
  const void* data;     /* may be NULL if bytes is 0 */
  size_t bytes;
  const uint64_t* offsets; /* texts only, else NULL */
  const uint32_t* lengths; /* shape [rows, -1] only, else NULL */
  const uint8_t* missing;  /* tabular models only, else NULL */
} serval_tensor;

typedef struct serval_result serval_result;

/* Runs the model once, on the calling thread and the pool. Numbers of inputs are not copied if they
 * are aligned to their size. `outputs`: names of the wanted outputs; NULL with output_count 0: all
 * but the optional ones. *result is set only on success. Errors: SERVAL_INVALID_ARGUMENT naming the
 * input, SERVAL_SIGNATURE_NOT_FOUND, SERVAL_BACKEND_FAILED, SERVAL_BODY_TOO_LARGE,
 * SERVAL_MEMORY_FULL. */
SERVAL_API serval_error* serval_infer(serval_model* model, size_t signature,
                                      const serval_tensor* inputs, size_t input_count,
                                      const char* const* outputs, size_t output_count,
                                      serval_result** result);

SERVAL_API size_t serval_result_count(const serval_result* result);
/* Describes output `index`, in the order of the request or the model. Its memory belongs to the
 * result, and may be written. Errors: SERVAL_INVALID_ARGUMENT (an index). */
SERVAL_API serval_error* serval_result_output(const serval_result* result, size_t index,
                                              serval_tensor* output);
/* Frees the result and what its outputs point to. NULL is allowed. */
SERVAL_API void serval_result_free(serval_result* result);

#ifdef __cplusplus
}
#endif

#endif /* SERVAL_H */
