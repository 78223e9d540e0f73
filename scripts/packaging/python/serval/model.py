"""A model in this process."""

import collections
import ctypes
import os
import threading

from serval import arrays, compiled, engine
from serval.errors import ServalError, invalid

#: An input or output: its datatype by the V2 protocol's name ("FP32"; "ANY" for a column that takes
#: any), the shape with -1 for a free dimension (None: any rank), and whether it may be left out.
TensorInfo = collections.namedtuple("TensorInfo", ["name", "dtype", "shape", "optional"])


def load(path, *, name=None, version=None, signature=None, threads=0, cache=None, **settings):
    """Loads a model of any format that Serval serves: a file or a folder.

    An ONNX file is read as it is. Any other model is compiled once, by the program in this package,
    into a folder below `cache` (default: ~/.cache/serval/compiled) that is named by the model's
    content. `name` and `version` choose one of a repository; `signature` is the one that infer()
    calls by default; `threads` are the model's own (0: all models share a pool). `settings` are
    settings of `serval compile`, such as saved_model_tags="serve".

    Raises ServalError: ModelInvalid, RuntimeUnavailable, InvalidArgument.
    """
    choice = {"model": name, "model-version": version, "signature": signature}
    choice.update((key.replace("_", "-"), value) for key, value in settings.items())
    flags = {key: str(value) for key, value in choice.items() if value is not None}
    return Model(compiled.folder_of(os.fspath(path), flags, cache), threads)


def _count(value, what):
    if isinstance(value, int) and 0 <= value < 2**31:
        return value
    raise invalid(f"{what}: expected a whole number of 0 or more, got {value!r}")


class Model:
    """A loaded model. infer() may be called by several threads at a time."""

    def __init__(self, path, threads=0):
        self._calls = engine.library()
        self._handle = None
        self._lock = threading.Lock()
        self._running = 0
        self._closed = False
        options = engine.Options(ctypes.sizeof(engine.Options), None, _count(threads, "threads"))
        handle = ctypes.c_void_p()
        engine.check(
            self._calls.serval_open(
                os.fsencode(path), ctypes.byref(options), ctypes.byref(handle)
            )
        )
        self._handle = handle.value
        #: Whether it is a tabular model: its inputs are columns.
        self.is_table = bool(self._calls.serval_is_tabular(self._handle))
        count = self._calls.serval_signature_count(self._handle)
        #: The names of its signatures; infer() calls the first one unless told otherwise.
        self.signatures = [
            self._calls.serval_signature_name(self._handle, index).decode()
            for index in range(count)
        ]
        self._inputs = [self._infos(index, True) for index in range(count)]
        self._outputs = [self._infos(index, False) for index in range(count)]

    @property
    def inputs(self):
        """The inputs of the first signature."""
        return list(self._inputs[0].values())

    @property
    def outputs(self):
        """The outputs of the first signature."""
        return list(self._outputs[0].values())

    def inputs_of(self, signature):
        """The inputs of a signature."""
        return list(self._inputs[self._index(signature)].values())

    def outputs_of(self, signature):
        """The outputs of a signature."""
        return list(self._outputs[self._index(signature)].values())

    def infer(self, inputs, outputs=None, signature=None):
        """Runs the model once and returns its outputs by name.

        `inputs`: arrays by name, or a table by column (such as a pandas DataFrame); for a tabular
        model also a list of rows, each a dict. A numpy array of the input's datatype is read in
        place; lists are converted if no value changes. Outputs are numpy arrays that view the
        result's memory; texts are objects (str, or bytes that are no UTF-8); a tabular model's
        missing values are masked. Without numpy, inputs are lists or buffers, and outputs
        memoryviews or lists.

        Raises ServalError: InvalidArgument naming the input, SignatureNotFound, BackendFailed.
        """
        index = self._index(signature)
        columns = arrays.columns_of(inputs, self.is_table)
        tensors = (engine.Tensor * len(columns))()
        kept = []  # what the tensors point to
        for place, (name, value) in enumerate(columns.items()):
            info = self._inputs[index].get(name)
            kept.append(arrays.fill(tensors[place], name, value, info, self.is_table))
        wanted = [] if outputs is None else [_text(name, "outputs") for name in outputs]
        names = (ctypes.c_char_p * len(wanted))(*wanted)
        if outputs is not None and not wanted:
            raise invalid("outputs: expected one name or more, or None for all")
        handle = ctypes.c_void_p()
        model = self._begin()
        try:
            error = self._calls.serval_infer(
                model, index, tensors, len(tensors), names, len(wanted), ctypes.byref(handle)
            )
        finally:
            self._end()
        engine.check(error)
        result = engine.Result(handle.value)
        return {one.name.decode(): arrays.value_of(result, one) for one in result.outputs()}

    def close(self):
        """Frees the model, once running calls have ended. Results stay valid."""
        with self._lock:
            self._closed = True
            handle = self._take_idle()
        if handle is not None:
            self._calls.serval_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __repr__(self):
        def texts(infos):
            return ", ".join(f"{one.name}: {one.dtype}{_dims(one.shape)}" for one in infos)

        return f"<serval.Model ({texts(self.inputs)}) -> ({texts(self.outputs)})>"

    def _infos(self, signature, is_input):
        count = self._calls.serval_input_count if is_input else self._calls.serval_output_count
        call = self._calls.serval_input if is_input else self._calls.serval_output
        infos = {}
        for index in range(count(self._handle, signature)):
            info = engine.Info()
            engine.check(call(self._handle, signature, index, ctypes.byref(info)))
            shape = None if info.rank < 0 else tuple(info.shape[: info.rank])
            name = info.name.decode()
            dtype = engine.NAMES.get(info.dtype, "ANY")
            infos[name] = TensorInfo(name, dtype, shape, bool(info.optional))
        return infos

    def _index(self, signature):
        if signature is None:
            return 0
        if signature in self.signatures:
            return self.signatures.index(signature)
        known = ", ".join(repr(name) for name in self.signatures)
        raise ServalError(
            "SignatureNotFound", f"signature: expected one of {known}, got {signature!r}"
        )

    def _begin(self):
        with self._lock:
            if self._closed:
                raise ServalError("ShuttingDown", "the model is closed")
            self._running += 1
            return self._handle

    def _end(self):
        with self._lock:
            self._running -= 1
            handle = self._take_idle() if self._closed else None
        if handle is not None:
            self._calls.serval_close(handle)

    def _take_idle(self):
        """Under the lock: the handle, if nothing uses it any more."""
        if self._running > 0:
            return None
        handle, self._handle = self._handle, None
        return handle


def _dims(shape):
    if shape is None:
        return "[...]"
    return "[" + ",".join("?" if size < 0 else str(size) for size in shape) + "]"


def _text(name, where):
    if isinstance(name, str):
        return name.encode()
    raise invalid(f"{where}: expected names, got {name!r}")
