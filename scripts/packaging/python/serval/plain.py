"""Values without numpy: lists and buffers in, memoryviews and lists out."""

import array as arrays_of
import ctypes

from serval import arrays, engine, texts
from serval.errors import invalid

# The formats of memoryview and array.array, by datatype.
FORMATS = {
    "BOOL": "?",
    "UINT8": "B",
    "UINT16": "H",
    "UINT32": "I",
    "UINT64": "Q",
    "INT8": "b",
    "INT16": "h",
    "INT32": "i",
    "INT64": "q",
    "FP32": "f",
    "FP64": "d",
}


def fill(tensor, where, value, info, is_table):
    """Fills a Tensor; returns objects to keep while it is used."""
    dtype = info.dtype if info is not None else "ANY"
    if not isinstance(value, (bytes, bytearray)):
        try:
            view = memoryview(value)
        except TypeError:
            view = None
        if view is not None:
            return _fill_view(tensor, where, view, None if is_table else dtype)
    shape, flat = _flat(where, value)
    if is_table and shape == []:
        shape = [1]
    missing = [arrays.is_missing(one) for one in flat]
    kept = [arrays.set_shape(tensor, shape)]
    if any(missing):
        if not is_table or len(shape) != 1:
            raise invalid(f"{where}: element {missing.index(True)}: expected a value, got None")
        mask = (ctypes.c_ubyte * len(flat))(*missing)
        tensor.missing = ctypes.addressof(mask)
        kept.append(mask)
    present = [one for one, gone in zip(flat, missing) if not gone]
    if dtype in engine.TEXTS or any(isinstance(one, (str, bytes)) for one in present):
        own = dtype if dtype in engine.TEXTS else ("STRING" if is_table else "BYTES")
        given = [None if gone else one for one, gone in zip(flat, missing)]
        return [kept, arrays.set_texts(tensor, where, given, own)]
    zero = present[0] if present else 0
    numbers = [zero if gone else one for one, gone in zip(flat, missing)]
    whole = all(isinstance(one, int) for one in numbers)
    if dtype not in FORMATS or (is_table and whole == dtype.startswith("FP")):
        dtype = "INT64" if whole else "FP64"
    if numbers and all(isinstance(one, bool) for one in numbers):
        dtype = "BOOL"
    return [kept, _set_numbers(tensor, where, numbers, dtype)]


def _flat(where, value):
    """Returns the shape and the elements of nested lists."""
    shape = []
    level = [value]
    while level and all(isinstance(one, (list, tuple)) for one in level):
        size = len(level[0])
        if any(len(one) != size for one in level):
            raise invalid(f"{where}: dimension {len(shape)}: expected lists of one length")
        shape.append(size)
        level = [one for each in level for one in each]
    if any(isinstance(one, (list, tuple)) for one in level):
        raise invalid(f"{where}: dimension {len(shape)}: expected only lists or no lists")
    return shape, level


def _set_numbers(tensor, where, numbers, dtype):
    if dtype == "BOOL":
        for index, one in enumerate(numbers):
            if one not in (0, 1):
                raise invalid(f"{where}: element {index}: expected a truth value, got {one!r}")
        made = arrays_of.array("B", map(int, numbers))
    else:
        try:
            made = arrays_of.array(FORMATS[dtype], numbers)
        except (TypeError, OverflowError) as error:
            raise invalid(f"{where}: expected values of {dtype}: {error}") from None
    address, count = made.buffer_info()
    tensor.dtype = engine.DTYPES[dtype]
    tensor.data = address
    tensor.bytes = count * made.itemsize
    return made


def _fill_view(tensor, where, view, dtype):
    found = {form: name for name, form in FORMATS.items()}
    found["l"] = "INT64"  # the same 8 bytes on Linux
    found["L"] = "UINT64"
    own = found.get(view.format)
    if own is None or (dtype is not None and own != dtype):
        raise invalid(f"{where}: expected a buffer of {dtype}, got the format {view.format!r}")
    if not view.c_contiguous:
        raise invalid(f"{where}: expected a buffer in C's order")
    flat = view.cast("B") if view.nbytes else view
    block = ctypes.c_ubyte * view.nbytes
    data = block.from_buffer_copy(flat) if view.readonly else block.from_buffer(flat)
    tensor.dtype = engine.DTYPES[own]
    tensor.data = ctypes.addressof(data)
    tensor.bytes = view.nbytes
    return [view, data, arrays.set_shape(tensor, view.shape)]


def value_of(result, tensor, shape, dtype):
    """Returns an output: a memoryview of the result's memory; a list if it has texts, missing
    values (None), or lists of different lengths."""
    if dtype in engine.TEXTS:
        flat = texts.list_of(tensor)
    elif dtype not in FORMATS:
        raise invalid(f"output '{tensor.name.decode()}': {dtype} needs numpy")
    elif tensor.bytes == 0:
        flat = memoryview(b"").cast(FORMATS[dtype])
    else:
        flat = memoryview(result.memory(tensor.data, tensor.bytes)).cast("B").cast(FORMATS[dtype])
    if tensor.lengths:
        return _uneven(tensor, list(flat), shape[0])
    if dtype in engine.TEXTS or tensor.missing:
        return _nested(_without_missing(tensor, list(flat), shape), list(shape))
    if tensor.bytes == 0 or not shape:
        return flat if shape else flat[0]
    return flat.cast("B").cast(FORMATS[dtype], list(shape))


def _without_missing(tensor, flat, shape):
    if not tensor.missing:
        return flat
    gone = (ctypes.c_ubyte * shape[0]).from_address(tensor.missing)
    width = len(flat) // shape[0] if shape[0] else 1
    return [None if gone[index // width] else one for index, one in enumerate(flat)]


def _uneven(tensor, flat, rows):
    lengths = (ctypes.c_uint32 * rows).from_address(tensor.lengths)
    gone = (ctypes.c_ubyte * rows).from_address(tensor.missing) if tensor.missing else [0] * rows
    cells = []
    at = 0
    for row in range(rows):
        cells.append(None if gone[row] else flat[at : at + lengths[row]])
        at += lengths[row]
    return cells


def _nested(flat, shape):
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return flat
    size = len(flat) // shape[0] if shape[0] else 0
    return [_nested(flat[row * size : (row + 1) * size], shape[1:]) for row in range(shape[0])]
