"""Columns of tabular models as the engine's tensors, with numpy: missing values, lists of different
lengths."""

import ctypes
import datetime

import numpy

from serval import arrays, engine
from serval.errors import invalid

_TEXTS = (str, bytes, datetime.date, numpy.datetime64)


def fill(tensor, where, value, info):
    """Fills a Tensor from a column; returns objects to keep while it is used."""
    dtype = info.dtype if info is not None else "ANY"
    if isinstance(value, numpy.ma.MaskedArray):
        return _fill_masked(tensor, where, value, dtype)
    if hasattr(value, "__array__"):
        array = numpy.asarray(value)
        if array.ndim > 0 and array.dtype.kind in "biuf":
            return arrays.set_numbers(tensor, where, array, None)
        value = list(array) if array.ndim > 0 else [array[()]]
    elif isinstance(value, _TEXTS) or not hasattr(value, "__iter__"):
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


def _is_missing(cell):
    return arrays.is_missing(cell) or (isinstance(cell, numpy.datetime64) and numpy.isnat(cell))


def _fill_cells(tensor, where, cells, dtype):
    """Cells of any kind; those without a value become `missing`."""
    missing = [_is_missing(cell) for cell in cells]
    present = [cell for cell, gone in zip(cells, missing) if not gone]
    kept = []
    if any(missing):
        mask = numpy.array(missing, "uint8")
        tensor.missing = mask.ctypes.data
        kept.append(mask)
    if any(_is_list(cell) for cell in present):
        return [kept, _fill_lists(tensor, where, cells, missing, dtype)]
    is_text = isinstance(present[0], _TEXTS) if present else dtype in engine.TEXTS
    if is_text:
        own = dtype if dtype in engine.TEXTS else "STRING"
        texts = [
            None if gone else _time_text(cell, dtype) for cell, gone in zip(cells, missing)
        ]
        kept.append(arrays.set_texts(tensor, where, texts, own))
    else:
        zero = present[0] if present else 0  # of the others' kind
        numbers = [zero if gone else cell for cell, gone in zip(cells, missing)]
        kept.append(_set_numbers(tensor, where, numbers, dtype))
    kept.append(arrays.set_shape(tensor, [len(cells)]))
    return kept


def _time_text(cell, dtype):
    """A time of numpy as text of ISO 8601."""
    if not isinstance(cell, numpy.datetime64):
        return cell
    day = cell.astype("datetime64[D]")
    if dtype == "DATE" and day == cell:
        return str(day)
    micros = cell.astype("datetime64[us]")
    return str(micros if micros == cell else cell)


def _is_list(cell):
    return hasattr(cell, "__iter__") and not isinstance(cell, (*_TEXTS, dict))


def _set_numbers(tensor, where, values, dtype):
    own = arrays.NUMPY.get(dtype, "float64")
    try:
        array = numpy.array(values) if values else numpy.empty(0, own)
    except (ValueError, OverflowError) as error:
        raise invalid(f"{where}: {error}") from None
    if array.dtype.kind in "iu" and dtype.startswith(("INT", "UINT")):
        array = arrays.converted(where, array, dtype)
    return arrays.set_numbers(tensor, where, array, None)


def _fill_lists(tensor, where, cells, missing, dtype):
    """Cells that are vectors or lists: [rows, size], or [rows, -1] with lengths."""
    for index, (cell, gone) in enumerate(zip(cells, missing)):
        if not gone and not _is_list(cell):
            raise invalid(f"{where}: row {index}: expected a list as in other rows, got {cell!r}")
    rows = [[] if gone else list(cell) for cell, gone in zip(cells, missing)]
    flat = [one for row in rows for one in row]
    if any(isinstance(one, _TEXTS) for one in flat):
        own = dtype if dtype in engine.TEXTS else "STRING"
        kept = [arrays.set_texts(tensor, where, flat, own)]
    else:
        kept = [_set_numbers(tensor, where, flat, dtype)]
    sizes = {len(row) for row in rows}
    if len(sizes) == 1:
        return [kept, arrays.set_shape(tensor, [len(rows), sizes.pop()])]
    lengths = numpy.array([len(row) for row in rows], "uint32")
    tensor.lengths = lengths.ctypes.data
    return [kept, lengths, arrays.set_shape(tensor, [len(rows), -1])]


def value_of(result, tensor, flat, shape):
    """Returns an output with missing values or with lists of different lengths. `flat`: its
    elements, a list of texts or an array that views the result's memory."""
    rows = shape[0]
    missing = numpy.zeros(rows, bool)
    if tensor.missing:
        missing = numpy.array((ctypes.c_ubyte * rows).from_address(tensor.missing)).astype(bool)
    if tensor.lengths:
        lengths = list((ctypes.c_uint32 * rows).from_address(tensor.lengths))
        cells = numpy.empty(rows, dtype=object)
        at = 0
        for row in range(rows):
            cells[row] = None if missing[row] else flat[at : at + lengths[row]]
            at += lengths[row]
        return cells
    if isinstance(flat, list):
        width = len(flat) // rows if rows else 1
        texts = numpy.empty(len(flat), dtype=object)
        texts[:] = [None if missing[index // width] else one for index, one in enumerate(flat)]
        return texts.reshape(shape)
    values = flat.reshape(shape)
    mask = numpy.broadcast_to(missing.reshape((rows,) + (1,) * (len(shape) - 1)), shape)
    return numpy.ma.MaskedArray(values, mask)
