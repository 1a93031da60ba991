"""Quantized tensors as structured views over bytes, inside ONNX models.

    model = tessera.load("model.onnx")             # weights stay in the file, memory-mapped
    model.tensors["w"].numpy()                     # a NumPy view of the mapped bytes
    model.structs["w.q4"]["blocks.scale"].numpy()  # one leaf of a struct value
    tessera.check("model.onnx")                    # everything that is wrong with a file

A `StructType` says what each bit of a value is; `StructType.parse` reads one from text, and `str` writes it.
A `Profile` says how a tensor is quantized; `Profile.struct_type` gives its `StructType` for a shape.
A `Format` is a layout with a name: `tessera.formats()` lists them, `Format("int4_b32").quantize(array)` makes a value.
Arrays that `numpy()` returns are read-only. They keep the file they look into mapped, so nothing else has to be kept.

Objects may be used from several threads. Everything that fails raises `TesseraError`.
"""

from tessera._errors import FileAccessError, NotFoundError, TesseraError
from tessera._tessera import (
    Format,
    Leaf,
    LeafView,
    Limits,
    Model,
    Problem,
    Profile,
    SaveReport,
    Segment,
    StructType,
    StructValue,
    StructView,
    Tensor,
    __version__,
    check,
    formats,
    inspect,
    load,
    parse_profiles,
    parse_types,
    register_operator,
    to_form,
    unregister_operator,
)

__all__ = [
    "FileAccessError",
    "Format",
    "Leaf",
    "LeafView",
    "Limits",
    "Model",
    "NotFoundError",
    "Problem",
    "Profile",
    "SaveReport",
    "Segment",
    "StructType",
    "StructValue",
    "StructView",
    "Tensor",
    "TesseraError",
    "__version__",
    "check",
    "formats",
    "inspect",
    "load",
    "parse_profiles",
    "parse_types",
    "register_operator",
    "to_form",
    "unregister_operator",
]
