"""Texts as the engine's blocks: bytes, and the offset of each text."""

import ctypes
import datetime

from serval.errors import invalid


def block_of(where, values):
    """Returns the bytes of all texts and their offsets. None is an empty text."""
    pieces = []
    ends = [0]
    end = 0
    for index, value in enumerate(values):
        if isinstance(value, str):
            try:
                piece = value.encode()
            except UnicodeEncodeError:
                raise invalid(f"{where}: element {index}: expected text in Unicode, got {value!r}")
        elif isinstance(value, (bytes, bytearray)):
            piece = bytes(value)
        elif value is None:
            piece = b""
        elif isinstance(value, (datetime.date, datetime.datetime)):
            piece = value.isoformat().encode()
        else:
            raise invalid(f"{where}: element {index}: expected str or bytes, got {value!r}")
        end += len(piece)
        pieces.append(piece)
        ends.append(end)
    return b"".join(pieces), ends


def list_of(tensor):
    """Returns an output's texts: str, or bytes that are not UTF-8."""
    count = 1
    for size in tensor.shape[: tensor.rank]:
        count *= size
    if tensor.lengths:
        lengths = (ctypes.c_uint32 * tensor.shape[0]).from_address(tensor.lengths)
        count = sum(lengths)
    offsets = (ctypes.c_uint64 * (count + 1)).from_address(tensor.offsets)
    data = ctypes.string_at(tensor.data, tensor.bytes) if tensor.bytes else b""
    return [_text(data[offsets[index] : offsets[index + 1]]) for index in range(count)]


def _text(piece):
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return piece
