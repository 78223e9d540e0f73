"""Python's values as the engine's tensors, and back. Numbers of numpy arrays are not copied."""

import ctypes

from serval import engine, texts
from serval.errors import invalid

try:
    import numpy
except ImportError:  # lists and buffers work without it
    numpy = None

bfloat16 = None
if numpy is not None:
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        pass

# The datatypes of numbers by numpy's names. BF16 without ml_dtypes: its bits.
NUMPY = {
    "BOOL": "bool",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "FP16": "float16",
    "FP32": "float32",
    "FP64": "float64",
    "BF16": bfloat16 or "uint16",
}


def columns_of(inputs, is_table):
    """Returns the inputs by name. Rows, a list of dicts, become columns."""
    if hasattr(inputs, "items"):
        columns = dict(inputs.items())
    elif is_table and isinstance(inputs, (list, tuple)) and inputs:
        columns = _turned(inputs)
    else:
        kinds = "a dict by input name" + (" or a list of rows, each a dict" if is_table else "")
        raise invalid(f"infer: expected {kinds}, got {type(inputs).__name__}")
    for name in columns:
        if not isinstance(name, str) or "\0" in name:
            raise invalid(f"infer: expected names of inputs, got {name!r}")
    return columns


def _turned(rows):
    names = {}
    for index, row in enumerate(rows):
        if not hasattr(row, "keys"):
            raise invalid(f"row {index}: expected a dict by field, got {type(row).__name__}")
        names.update(dict.fromkeys(row.keys()))
    return {name: [row.get(name) for row in rows] for name in names}


def is_missing(value):
    """None, and pandas' NA and NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def fill(tensor, name, value, info, is_table):
    """Fills a Tensor; returns objects to keep while it is used. `info`: the model's, or None."""
    where = f"input '{name}'"
    tensor.name = name.encode()
    if numpy is None:
        from serval import plain

        return plain.fill(tensor, where, value, info, is_table)
    if is_table:
        from serval import table

        return table.fill(tensor, where, value, info)
    return _fill_tensor(tensor, where, value, info)


def set_array(tensor, array, dtype):
    """Points a Tensor at a C-contiguous array of numbers."""
    tensor.dtype = engine.DTYPES[dtype]
    tensor.data = array.ctypes.data
    tensor.bytes = array.nbytes
    return [array, set_shape(tensor, array.shape)]


def set_shape(tensor, shape):
    dims = (ctypes.c_int64 * len(shape))(*shape)
    tensor.rank = len(shape)
    tensor.shape = dims
    return dims


def set_texts(tensor, where, values, dtype):
    """Points a Tensor at texts, one of str or bytes for each element; missing ones are empty."""
    data, ends = texts.block_of(where, values)
    tensor.dtype = engine.DTYPES[dtype]
    buffer = ctypes.c_char_p(data)
    tensor.data = ctypes.cast(buffer, ctypes.c_void_p).value
    tensor.bytes = len(data)
    offsets = (ctypes.c_uint64 * len(ends))(*ends)
    tensor.offsets = ctypes.addressof(offsets)
    return [data, buffer, offsets]


def _fill_tensor(tensor, where, value, info):
    dtype = info.dtype if info is not None else None
    array = numpy.asarray(value)
    if dtype in engine.TEXTS or (dtype is None and array.dtype.kind in "USO"):
        if array.dtype.kind not in "USOT":
            raise invalid(f"{where}: expected texts, got {array.dtype}")
        return [
            set_texts(tensor, where, array.ravel().tolist(), dtype or "BYTES"),
            set_shape(tensor, array.shape),
        ]
    if not hasattr(value, "__array__") and not isinstance(value, memoryview):
        array = converted(where, array, dtype)
    return set_numbers(tensor, where, array, dtype)


def set_numbers(tensor, where, array, dtype):
    """Points a Tensor at an array, which must have the datatype; None: the array's own."""
    if dtype is not None and numpy.dtype(NUMPY[dtype]) != array.dtype:
        raise invalid(f"{where}: expected {numpy.dtype(NUMPY[dtype])}, got {array.dtype}")
    found = name_of(where, array.dtype)
    # Not always: it makes scalars rank 1.
    if not array.flags.c_contiguous:
        array = numpy.ascontiguousarray(array)
    return set_array(tensor, array, dtype or found)


def name_of(where, dtype):
    """The datatype's V2 name. Raises ServalError."""
    for name, known in NUMPY.items():
        if numpy.dtype(known) == dtype:
            return name
    raise invalid(f"{where}: expected numbers or truth values, got {dtype}")


def converted(where, array, dtype):
    """Converts a list's values to the datatype. Raises ServalError if one would change, except by
    the rounding of floats."""
    if dtype is None or array.size == 0 and array.dtype.kind == "f":
        return array.astype(NUMPY[dtype]) if dtype else array
    wanted = numpy.dtype(NUMPY[dtype])
    if array.dtype == wanted:
        return array
    if array.dtype.kind == "O":
        raise invalid(f"{where}: expected values of {wanted}, got other objects or uneven lists")
    is_float = dtype in ("FP16", "BF16", "FP32", "FP64")
    if array.dtype.kind not in ("biuf" if is_float else "biu"):
        raise invalid(f"{where}: expected values of {wanted}, got {array.dtype}")
    with numpy.errstate(all="ignore"):
        made = array.astype(wanted)
        if is_float:
            changed = numpy.isinf(made.astype("float64")) & ~numpy.isinf(array.astype("float64"))
        else:
            changed = made.astype("O") != array.astype("O")
    if changed.any():
        index = int(numpy.argmax(changed.ravel()))
        got = array.ravel()[index]
        raise invalid(f"{where}: element {index}: expected a value of {wanted}, got {got}")
    return made


def value_of(result, tensor):
    """Returns an output. Numbers view the result's memory."""
    shape = tuple(tensor.shape[: tensor.rank])
    dtype = engine.NAMES[tensor.dtype]
    if numpy is None:
        from serval import plain

        return plain.value_of(result, tensor, shape, dtype)
    if dtype in engine.TEXTS:
        flat = texts.list_of(tensor)
    else:
        flat = _view(result, tensor.data, tensor.bytes, numpy.dtype(NUMPY[dtype]))
    if tensor.lengths or tensor.missing:
        from serval import table

        return table.value_of(result, tensor, flat, shape)
    if dtype in engine.TEXTS:
        array = numpy.empty(len(flat), dtype=object)
        array[:] = flat
        flat = array
    return flat.reshape(shape)


def _view(result, address, size, dtype):
    if size == 0:
        return numpy.empty(0, dtype)
    return numpy.frombuffer(result.memory(address, size), dtype)
