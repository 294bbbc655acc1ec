"""Tensors of numpy, torch and jax as DLPack describes them, for libfusesmith."""

import array
import ctypes
import math
import sys

from .errors import Error
from .vocabulary import DTYPES, QUANTIZED

LARGEST_INDEX = 2**31 - 1
# How libraries name dtypes -> ours. Codes of quantized dtypes may also be int8 or uint8, which are none by themselves.
NAMES = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int32": "i32", "int64": "i64", "bool": "bool",
    "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0", "float4_e2m1fn": "f4e2m1",
    "int4": "s4", "int8": "s8", "uint8": "u8",
}
CODES = {"f32": (2, 32), "f16": (2, 16), "bf16": (4, 16), "i32": (0, 32), "bool": (6, 8), "s8": (0, 8), "s4": (0, 8)}


class DLTensor(ctypes.Structure):
    """DLPack's, of versions 0.2 to 1.x."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Given:
    """A tensor in memory of the host: `dtype` (ours, or u8 for bytes), `shape`, `strides` in elements, `pointer`."""

    def __init__(self, owner, dtype, shape, strides, pointer):
        self.owner, self.dtype, self.shape, self.strides, self.pointer = owner, dtype, shape, strides, pointer

    @property
    def type(self):
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    def described(self):
        """The DLTensor, which is valid as long as this object is."""
        code, bits = CODES.get(self.dtype, (1, 8))
        rank = len(self.shape)
        self.numbers = (ctypes.c_int64 * rank)(*self.shape), (ctypes.c_int64 * rank)(*self.strides)
        return DLTensor(self.pointer, 1, 0, rank, code, bits, 1, *self.numbers, 0)

    def literal(self):
        """The hexadecimal digits of all elements of an i32 tensor, as a fill of the kind `literal` has them."""
        values = array.array("i", self.owner.reshape(-1).tolist())
        if sys.byteorder == "little":
            values.byteswap()
        return values.tobytes().hex()


def is_torch(tensor):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(tensor, torch.Tensor)


def given(tensor, name):
    """The tensor as it is in memory; one on a device is copied to the host. int64 becomes i32."""
    made = given_torch(tensor, name) if is_torch(tensor) else given_array(tensor, name)
    if made.dtype == "i64":
        return given_i32(made, name)
    return made


def dtype_of(text, name):
    dtype = NAMES.get(text)
    if dtype is None:
        expected = ", ".join(NAMES)
        raise Error(f"{name}: expected a tensor of one of {expected}, got {text}")
    return dtype


def given_torch(tensor, name):
    tensor = tensor.detach()
    if tensor.device.type not in ("cpu", "meta"):
        tensor = tensor.cpu()
    if tensor.is_sparse or tensor.is_quantized:
        raise Error(f"{name}: expected a dense tensor")
    dtype = dtype_of(str(tensor.dtype).removeprefix("torch."), name)
    if tensor.device.type != "cpu":
        raise Error(f"{name}: expected a tensor with data")
    tensor = tensor.resolve_neg()  # a view that is negated when it is read
    return Given(tensor, dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.data_ptr())


def given_array(tensor, name):
    try:
        import numpy
    except ImportError:
        raise Error(f"{name}: a tensor that is not torch's needs numpy: pip install numpy") from None
    try:
        tensor = numpy.asarray(tensor)
    except Exception as error:  # whatever an object of others raises
        raise Error(f"{name}: expected a tensor of torch, or what numpy.asarray takes: {error}") from None
    dtype = dtype_of(tensor.dtype.name, name)
    size = tensor.dtype.itemsize
    if any(stride % size for stride in tensor.strides) or not tensor.dtype.isnative:
        tensor = numpy.ascontiguousarray(tensor, tensor.dtype.newbyteorder("="))
    strides = tuple(stride // size for stride in tensor.strides)
    return Given(tensor, dtype, tensor.shape, strides, tensor.ctypes.data)


def given_i32(wide, name):
    """Indices are i32 in graphs."""
    values = wide.owner
    if math.prod(wide.shape) and max(-int(values.min()), int(values.max())) > LARGEST_INDEX:
        raise Error(f"{name}: an int64 that is no int32")
    if is_torch(values):
        return given_torch(values.to(sys.modules["torch"].int32), name)
    return given_array(values.astype("int32"), name)


def check_fits(made, dtype, name):
    """Bytes are codes of a quantized dtype."""
    if made.dtype != dtype and not (dtype in QUANTIZED and made.dtype in ("s8", "u8") and DTYPES[dtype]["bytes"] == 1):
        raise Error(f"{name}: expected {dtype}, got {made.dtype}")
