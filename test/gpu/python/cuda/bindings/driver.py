"""The same of the driver's library, SERVAL_TEST_LIBCUDA. Source: CUDA Driver API."""
import ctypes
import os

_library = ctypes.CDLL(os.environ.get("SERVAL_TEST_LIBCUDA", "libcuda.so.1"))


class CUresult(int):
    pass


CUresult.CUDA_SUCCESS = CUresult(0)


def cuGetErrorString(error):
    return CUresult.CUDA_SUCCESS, f"CUresult {int(error)}".encode()


def cuDeviceGet(index):
    device = ctypes.c_int()
    return CUresult(_library.cuDeviceGet(ctypes.byref(device), int(index))), device.value


def cuDevicePrimaryCtxGetState(device):
    flags, active = ctypes.c_uint(), ctypes.c_int()
    code = _library.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
    return CUresult(code), flags.value, active.value


def cuMemGetAddressRange(pointer):
    base, size = ctypes.c_void_p(), ctypes.c_size_t()
    code = _library.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size),
                                            ctypes.c_void_p(pointer))
    return CUresult(code), base.value, size.value
