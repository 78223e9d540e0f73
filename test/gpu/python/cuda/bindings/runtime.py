"""What tritonclient.utils.cuda_shared_memory uses of NVIDIA's package of this name, over the CUDA
runtime library that SERVAL_TEST_CUDART names: the real one, or test/e2e/gpu/fakes/fake_cudart.cc.
Each call returns a tuple that begins with its status. Test time only. Source: CUDA Runtime API."""
import ctypes
import enum
import os

_library = ctypes.CDLL(os.environ.get("SERVAL_TEST_CUDART", "libcudart.so.13"))
_library.cudaGetErrorString.restype = ctypes.c_char_p

CUDA_IPC_HANDLE_SIZE = 64


class cudaError_t(int):
    pass


cudaError_t.cudaSuccess = cudaError_t(0)


class cudaMemcpyKind(enum.IntEnum):
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2
    cudaMemcpyDefault = 4


class cudaDeviceAttr(enum.IntEnum):
    cudaDevAttrUnifiedAddressing = 41


class _Handle(ctypes.Structure):
    """As it is passed by value."""
    _fields_ = [("reserved", ctypes.c_ubyte * CUDA_IPC_HANDLE_SIZE)]


class cudaIpcMemHandle_t:
    def __init__(self, reserved=bytes(CUDA_IPC_HANDLE_SIZE)):
        self.bytes = (ctypes.c_char * CUDA_IPC_HANDLE_SIZE)(*reserved)

    @property
    def reserved(self):
        return bytes(self.bytes)

    def getPtr(self):
        return ctypes.addressof(self.bytes)


class Stream:
    def __init__(self, pointer):
        self.pointer = pointer

    def getPtr(self):
        return self.pointer


def _status(code):
    return cudaError_t(code)


def _address(place):
    """Of memory: a number, bytes, or a ctypes object."""
    if isinstance(place, int):
        return ctypes.c_void_p(place)
    if isinstance(place, bytes):
        return ctypes.cast(ctypes.c_char_p(place), ctypes.c_void_p)
    return ctypes.c_void_p(ctypes.addressof(place))


def cudaGetErrorString(error):
    return cudaError_t.cudaSuccess, _library.cudaGetErrorString(int(error))


def cudaGetDevice():
    device = ctypes.c_int()
    return _status(_library.cudaGetDevice(ctypes.byref(device))), device.value


def cudaSetDevice(device):
    return (_status(_library.cudaSetDevice(int(device))),)


def cudaMalloc(size):
    pointer = ctypes.c_void_p()
    code = _library.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size))
    return _status(code), pointer.value


def cudaFree(pointer):
    return (_status(_library.cudaFree(ctypes.c_void_p(pointer))),)


def cudaIpcGetMemHandle(pointer):
    handle = cudaIpcMemHandle_t()
    code = _library.cudaIpcGetMemHandle(handle.bytes, ctypes.c_void_p(pointer))
    return _status(code), handle


def cudaIpcOpenMemHandle(handle, flags):
    pointer = ctypes.c_void_p()
    code = _library.cudaIpcOpenMemHandle(ctypes.byref(pointer),
                                         _Handle.from_buffer(handle.bytes), ctypes.c_uint(flags))
    return _status(code), pointer.value


def cudaIpcCloseMemHandle(pointer):
    return (_status(_library.cudaIpcCloseMemHandle(ctypes.c_void_p(pointer))),)


def cudaMemcpyAsync(to, source, size, kind, stream):
    code = _library.cudaMemcpyAsync(_address(to), _address(source), ctypes.c_size_t(size),
                                    int(kind), ctypes.c_void_p(stream.pointer))
    return (_status(code),)


def cudaStreamCreate():
    pointer = ctypes.c_void_p()
    code = _library.cudaStreamCreateWithFlags(ctypes.byref(pointer), 0)
    return _status(code), Stream(pointer.value)


def cudaStreamSynchronize(stream):
    return (_status(_library.cudaStreamSynchronize(ctypes.c_void_p(stream.pointer))),)


def cudaStreamDestroy(stream):
    return (_status(_library.cudaStreamDestroy(ctypes.c_void_p(stream.pointer))),)


def cudaDeviceGetAttribute(attribute, device):
    value = ctypes.c_int()
    code = _library.cudaDeviceGetAttribute(ctypes.byref(value), int(attribute), int(device))
    return _status(code), value.value
