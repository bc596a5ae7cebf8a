# SPDX-License-Identifier: Apache-2.0
"""SoftNeuro from Python, as far as measuring needs it: the C API through ctypes.

Structs and functions mirror include/softneuro/c_api.h.
"""

from __future__ import annotations

import ctypes
import pathlib
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int32, c_int64, c_size_t, c_void_p

import numpy as np

MAX_RANK = 8
VERIFY_FULL, VERIFY_STRUCTURE = 0, 1
DATA_TYPES = {
    1: np.float32,
    2: np.float16,
    4: np.float64,
    5: np.int8,
    6: np.uint8,
    7: np.int16,
    8: np.uint16,
    9: np.int32,
    10: np.uint32,
    11: np.int64,
    12: np.uint64,
    13: np.bool_,
}
TYPE_CODES = {np.dtype(kind): code for code, kind in DATA_TYPES.items()}


class Tensor(Structure):
    """sn_tensor."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("data_type", c_int32),
        ("rank", c_int32),
        ("dims", c_int64 * MAX_RANK),
        ("data", c_void_p),
        ("bytes", c_size_t),
        ("device", c_char * 16),
    ]


class TensorPlace(Structure):
    """sn_tensor_place."""

    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("device", c_char_p)]


class SessionOptions(Structure):
    """sn_session_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("allocator", c_void_p),
        ("extra_outputs", c_void_p),
        ("extra_output_count", c_size_t),
        ("cancel", c_void_p),
        ("places", POINTER(TensorPlace)),
        ("place_count", c_size_t),
    ]


class TensorInfo(Structure):
    """sn_tensor_info."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("data_type", c_int32),
        ("rank", c_int32),
        ("dims", c_int64 * MAX_RANK),
        ("symbols", c_char_p * MAX_RANK),
    ]


class Shape(Structure):
    """sn_shape."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("rank", c_int32),
        ("dims", c_int64 * MAX_RANK),
    ]


class NetOptions(Structure):
    """The members of sn_net_options that are set here; the rest counts as zero."""

    _fields_ = [("struct_size", c_size_t), ("threads", c_int32), ("verify", c_int32)]


class SoftNeuroError(RuntimeError):
    """A call of the library failed; the message is its own."""


class Library:
    """The two shared libraries of a build folder (its lib/)."""

    def __init__(self, folder: pathlib.Path) -> None:
        core = ctypes.CDLL(str(folder / "libsoftneuro.so"), mode=ctypes.RTLD_GLOBAL)
        self.core = core
        self.importer = ctypes.CDLL(str(folder / "libsoftneuro_import.so"))
        core.sn_last_error.restype = c_char_p
        core.sn_version.restype = c_char_p
        core.sn_session_input_count.restype = c_size_t
        core.sn_session_output_count.restype = c_size_t
        core.sn_session_input_count.argtypes = core.sn_session_output_count.argtypes = [c_void_p]
        core.sn_net_output_count.restype = c_size_t
        core.sn_net_output_count.argtypes = [c_void_p]
        core.sn_net_output_info.argtypes = [c_void_p, c_size_t, POINTER(TensorInfo)]
        core.sn_net_free.argtypes = core.sn_session_free.argtypes = [c_void_p]
        core.sn_session_create.argtypes = [
            c_void_p,
            POINTER(Shape),
            c_size_t,
            c_void_p,
            POINTER(c_void_p),
        ]
        core.sn_session_input_info.argtypes = [c_void_p, c_size_t, POINTER(TensorInfo)]
        core.sn_session_run.argtypes = [
            c_void_p,
            POINTER(Tensor),
            c_size_t,
            POINTER(Tensor),
            c_size_t,
            c_void_p,
        ]

    def check(self, status: int) -> None:
        if status != 0:
            raise SoftNeuroError(self.core.sn_last_error().decode())

    def version(self) -> str:
        return self.core.sn_version().decode()


class Session:
    """A net (.dnn or model file), planned for the shapes of `inputs`, which it reads in place.

    on_gpu: addresses of the inputs that are on the GPU as well; they are read there then, and all
    outputs stay there, which `outputs` cannot give.
    """

    def __init__(
        self,
        library: Library,
        path: pathlib.Path,
        threads: int,
        inputs: dict[str, np.ndarray],
        verify: int = VERIFY_STRUCTURE,
        on_gpu: dict[str, int] | None = None,
    ) -> None:
        self._library = library
        core = library.core
        options = NetOptions(ctypes.sizeof(NetOptions), threads, verify)
        self._net, self._session = c_void_p(), c_void_p()
        load = core.sn_net_load if path.suffix == ".dnn" else library.importer.sn_net_import
        library.check(load(str(path).encode(), byref(options), byref(self._net)))
        self._arrays = {name: np.ascontiguousarray(value) for name, value in inputs.items()}
        shapes = (Shape * len(inputs))()
        for shape, (name, value) in zip(shapes, self._arrays.items(), strict=True):
            shape.struct_size = ctypes.sizeof(Shape)
            shape.name, shape.rank = name.encode(), value.ndim
            shape.dims[: value.ndim] = value.shape
        self._on_gpu = on_gpu or {}
        options = self._options()
        library.check(
            core.sn_session_create(
                self._net, shapes, len(shapes), byref(options), byref(self._session)
            )
        )
        self._inputs = (Tensor * core.sn_session_input_count(self._session))()
        for index, tensor in enumerate(self._inputs):
            self._bind(index, tensor)
        self._outputs = (Tensor * core.sn_session_output_count(self._session))()

    def _options(self) -> SessionOptions:
        core, names = self._library.core, list(self._on_gpu)
        if names:
            for index in range(core.sn_net_output_count(self._net)):
                info = TensorInfo(ctypes.sizeof(TensorInfo))
                self._library.check(core.sn_net_output_info(self._net, index, byref(info)))
                names.append(info.name.decode())
        self._places = (TensorPlace * len(names))()
        for place, name in zip(self._places, names, strict=True):
            place.struct_size = ctypes.sizeof(TensorPlace)
            place.name, place.device = name.encode(), b"cuda"
        options = SessionOptions(ctypes.sizeof(SessionOptions))
        if names:
            options.places, options.place_count = self._places, len(names)
        return options

    def _bind(self, index: int, tensor: Tensor) -> None:
        info = TensorInfo(ctypes.sizeof(TensorInfo))
        self._library.check(
            self._library.core.sn_session_input_info(self._session, index, byref(info))
        )
        value = self._arrays[info.name.decode()]
        tensor.struct_size = ctypes.sizeof(Tensor)
        tensor.data_type = TYPE_CODES[value.dtype]
        tensor.rank = value.ndim
        tensor.dims[: value.ndim] = value.shape
        address = self._on_gpu.get(info.name.decode())
        tensor.device = b"" if address is None else b"cuda"
        tensor.data, tensor.bytes = address or value.ctypes.data, value.nbytes

    def run(self) -> None:
        for tensor in self._outputs:  # ask for views of the session's memory
            tensor.struct_size, tensor.data = ctypes.sizeof(Tensor), None
        self._library.check(
            self._library.core.sn_session_run(
                self._session,
                self._inputs,
                len(self._inputs),
                self._outputs,
                len(self._outputs),
                None,
            )
        )

    def outputs(self) -> list[np.ndarray]:
        """Copies of the last run's outputs, in the net's order."""
        arrays = []
        for tensor in self._outputs:
            kind = np.dtype(DATA_TYPES[tensor.data_type])
            data = ctypes.string_at(tensor.data, tensor.bytes)
            arrays.append(np.frombuffer(data, kind).reshape(tensor.dims[: tensor.rank]).copy())
        return arrays

    def close(self) -> None:
        self._library.core.sn_session_free(self._session)
        self._library.core.sn_net_free(self._net)
        self._session, self._net = c_void_p(), c_void_p()
