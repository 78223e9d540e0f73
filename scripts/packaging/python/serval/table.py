"""Columns of tabular models as the engine's tensors, with numpy: missing values, lists of different
lengths."""

import ctypes
import datetime

import numpy

from serval import arrays, engine
from serval.errors import invalid


def fill(tensor, where, value, info):
    """Fills a Tensor from a column; returns objects to keep while it is used."""
    dtype = info.dtype if info is not None else "ANY"
    if isinstance(value, numpy.ma.MaskedArray):
        return _fill_masked(tensor, where, value, dtype)
    if hasattr(value, "__array__"):
        array = numpy.asarray(value)
        if array.ndim > 0 and array.dtype.kind in "biuf":
            return arrays.set_numbers(tensor, where, array, None)
        value = list(array) if array.ndim > 0 else [array.item()]
    elif isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        value = [value]
    return _fill_cells(tensor, where, list(value), dtype)


def _fill_masked(tensor, where, value, dtype):
    if value.dtype.kind not in "biuf" or value.ndim != 1:
        cells = [None if cell is numpy.ma.masked else cell for cell in value]
        return _fill_cells(tensor, where, cells, dtype)
    kept = arrays.set_numbers(tensor, where, value.data, None)
    mask = numpy.ma.getmaskarray(value).astype("uint8")
    tensor.missing = mask.ctypes.data
    return [kept, mask]


def _fill_cells(tensor, where, cells, dtype):
    missing = [arrays.is_missing(cell) for cell in cells]
    kept = []
    if any(missing):
        mask = numpy.array(missing, "uint8")
        tensor.missing = mask.ctypes.data
        kept.append(mask)
    present = [cell for cell, none in zip(cells, missing) if not none]
    if any(_is_list(cell) for cell in present):
        return [kept, _fill_lists(tensor, where, cells, missing, dtype)]
    if any(isinstance(cell, (str, bytes, datetime.date)) for cell in present):
        own = dtype if dtype in engine.TEXTS else "STRING"
        plain = [None if none else cell for cell, none in zip(cells, missing)]
        kept.append(arrays.set_texts(tensor, where, [_time_text(cell) for cell in plain], own))
    else:
        kept.append(_set_numbers(tensor, where, cells, missing, dtype))
    kept.append(arrays.set_shape(tensor, [len(cells)]))
    return kept


def _time_text(cell):
    return str(cell) if isinstance(cell, numpy.datetime64) else cell


def _is_list(cell):
    return hasattr(cell, "__iter__") and not isinstance(cell, (str, bytes, dict))


def _set_numbers(tensor, where, cells, missing, dtype):
    """Points the Tensor at numbers; a missing one is 0."""
    if not all(missing):
        first = cells[missing.index(False)]
        if isinstance(first, (numpy.datetime64, numpy.str_)):
            own = dtype if dtype in engine.TEXTS else "STRING"
            return arrays.set_texts(tensor, where, [None if is_none else str(cell) for cell, is_none in zip(cells, missing)], own)
    present = [0 if none else cell for cell, none in zip(cells, missing)]
    try:
        array = numpy.array(present)
    except (ValueError, OverflowError) as error:
        raise invalid(f"{where}: {error}") from None
    if array.dtype.kind == "b" or array.size == 0 or all(missing):
        own = dtype if dtype in arrays.NUMPY else "FP64"
        if array.size == 0 or all(missing):
            if dtype in engine.TEXTS:
                return arrays.set_texts(tensor, where, [None] * len(cells), dtype)
            array = numpy.zeros(len(cells), arrays.NUMPY[own])
    return arrays.set_numbers(tensor, where, array, None)


def _fill_lists(tensor, where, cells, missing, dtype):
    """Cells that are vectors or lists: [rows, size], or [rows, -1] with lengths."""
    rows = [[] if none else list(cell) for cell, none in zip(cells, missing)]
    flat = [one for row in rows for one in row]
    kept = []
    if any(isinstance(one, (str, bytes)) for one in flat):
        kept.append(arrays.set_texts(tensor, where, flat, dtype if dtype in engine.TEXTS else "STRING"))
    else:
        array = numpy.array(flat, dtype=None if flat else arrays.NUMPY.get(dtype, "float64"))
        kept.append(arrays.set_numbers(tensor, where, array, None))
    sizes = {len(row) for row in rows}
    if len(sizes) == 1:
        return [kept, arrays.set_shape(tensor, [len(rows), sizes.pop()])]
    lengths = numpy.array([len(row) for row in rows], "uint32")
    tensor.lengths = lengths.ctypes.data
    return [kept, lengths, arrays.set_shape(tensor, [len(rows), -1])]


def value_of(result, tensor, flat, shape):
    """Returns an output with missing values or with lists of different lengths."""
    rows = shape[0]
    missing = None
    if tensor.missing:
        buffer = (ctypes.c_ubyte * rows).from_address(tensor.missing)
        missing = numpy.array(buffer, "uint8").astype(bool)
    if tensor.lengths:
        lengths = (ctypes.c_uint32 * rows).from_address(tensor.lengths)
        cells = numpy.empty(rows, dtype=object)
        at = 0
        for row in range(rows):
            gone = missing is not None and missing[row]
            cells[row] = None if gone else flat[at : at + lengths[row]]
            at += lengths[row]
        return cells
    if isinstance(flat, list):
        texts = numpy.empty(len(flat), dtype=object)
        width = len(flat) // rows if rows else 1
        texts[:] = [None if missing[index // width] else one for index, one in enumerate(flat)]
        return texts.reshape(shape)
    values = flat.reshape(shape)
    mask = numpy.broadcast_to(missing.reshape((rows,) + (1,) * (len(shape) - 1)), shape)
    return numpy.ma.MaskedArray(values, mask)
