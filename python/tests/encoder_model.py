"""What encoders make of values, written a second time and slowly: profiles as Python objects that give their own text
and their own bytes, one number after the other.

It knows nothing of how the library's encoders are built, nor of its types: bytes are the declarations of
docs/profiles.md one behind the other, floats are rounded by comparing exact fractions with every number of the format.
One operation of docs/decoding.md is one numpy operation.
"""

import bisect
import math
from dataclasses import dataclass, field
from fractions import Fraction

import ml_dtypes
import numpy as np

INTEGERS = {f"{sign}INT{bits}": (bits, sign == "") for sign in ("", "U") for bits in (2, 4, 8, 16, 32, 64)}
WIDE_FLOATS = {"FLOAT": np.float32, "FLOAT16": np.float16, "BFLOAT16": ml_dtypes.bfloat16, "DOUBLE": np.float64}


@dataclass(frozen=True)
class Format:
    """A small float format: sign, exponent and mantissa bits, bias, and which special values it has."""

    sign: int
    exponent: int
    mantissa: int
    bias: int
    inf: bool = False
    nan: bool = False

    @property
    def bits(self) -> int:
        return self.sign + self.exponent + self.mantissa

    def finite(self) -> list[Fraction]:
        """The magnitudes of codes 0, 1, ... without a sign."""
        one = 1 << self.mantissa
        count = one << self.exponent
        if self.inf and self.nan:
            count -= one
        elif self.inf or self.nan:
            count -= 1
        values = []
        for code in range(count):
            exponent, mantissa = divmod(code, one)
            significand = mantissa + (one if exponent else 0)
            values.append(Fraction(significand) * Fraction(2) ** (max(exponent, 1) - self.bias - self.mantissa))
        return values


NARROW_FLOATS = {
    "FLOAT4E2M1": Format(1, 2, 1, 1),
    "FLOAT8E4M3FN": Format(1, 4, 3, 7, nan=True),
    "FLOAT8E5M2": Format(1, 5, 2, 15, inf=True, nan=True),
}
_MAGNITUDES: dict[Format, list[Fraction]] = {}


def magnitudes(format_: Format) -> list[Fraction]:
    if format_ not in _MAGNITUDES:
        _MAGNITUDES[format_] = format_.finite()
    return _MAGNITUDES[format_]


def code_of_float(format_: Format, x: float) -> int:
    """The nearest number, ties to the even code; beyond the largest, that one; infinity and NaN where there are any."""
    numbers = magnitudes(format_)
    largest = len(numbers) - 1
    if math.isnan(x):
        if not format_.nan:
            return largest
        if not format_.inf:
            return largest + 1
        return largest + 1 + (1 << (format_.mantissa - 1))
    negative = math.copysign(1, x) < 0
    if negative and not format_.sign:
        return 0
    if math.isinf(x):
        code = largest + 1 if format_.inf else largest
    else:
        a = abs(Fraction(x))
        above = bisect.bisect_left(numbers, a)
        if above > largest:
            code = largest
        elif above == 0 or numbers[above] == a:
            code = above
        else:
            low, high = a - numbers[above - 1], numbers[above] - a
            code = above if high < low or (high == low and above % 2 == 0) else above - 1
    return code | (int(negative) << (format_.exponent + format_.mantissa))


def float_of_code(format_: Format, code: int) -> float:
    shift = format_.exponent + format_.mantissa
    value = float(magnitudes(format_)[code & ((1 << shift) - 1)])
    return -value if code >> shift else value


def power_code(x: float, up: bool) -> int:
    """FLOAT8E8M0: a power of two from x on, or up to it."""
    if math.isnan(x) or x < 0:
        return 255
    if x == 0:
        return 0
    if math.isinf(x):
        return 254
    mantissa, exponent = math.frexp(x)
    power = exponent - 1 + (1 if up and mantissa != 0.5 else 0)
    return min(max(power + 127, 0), 254)


def integer_code(x: float, zero_point: int, bits: int, signed: bool) -> int:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if math.isinf(x):
        return (high if x > 0 else low) & ((1 << bits) - 1)
    whole = 0 if math.isnan(x) else round(Fraction(x))  # half to even
    code = min(max(whole + zero_point, low), high)
    return code & ((1 << bits) - 1)


def width_of(type_: str) -> int:
    if type_ in INTEGERS:
        return INTEGERS[type_][0]
    if type_ in WIDE_FLOATS:
        return np.dtype(WIDE_FLOATS[type_]).itemsize * 8
    return NARROW_FLOATS[type_].bits if type_ in NARROW_FLOATS else 8


def code_of_type(type_: str, x: float, saturate: bool, up: bool) -> int:
    """A number as an element of an ONNX type. `saturate`: finite numbers never become infinity."""
    if type_ == "BOOL":
        return int(x != 0)
    if type_ in INTEGERS:
        return integer_code(x, 0, *INTEGERS[type_])
    if type_ == "FLOAT8E8M0":
        return power_code(x, up)
    if type_ in NARROW_FLOATS:
        return code_of_float(NARROW_FLOATS[type_], x)
    dtype = np.dtype(WIDE_FLOATS[type_])
    if math.isnan(x):
        x = math.nan  # without a sign
    with np.errstate(over="ignore"):
        value = np.asarray(x).astype(dtype)
    if saturate and math.isfinite(x) and not math.isfinite(float(value)):
        value = np.asarray(math.copysign(float(ml_dtypes.finfo(dtype).max), x)).astype(dtype)
    return int(value.view(f"u{dtype.itemsize}"))


def number_of_type(type_: str, code: int) -> float:
    if type_ in INTEGERS:
        bits, signed = INTEGERS[type_]
        return float(code - (1 << bits) if signed and code >> (bits - 1) else code)
    if type_ == "FLOAT8E8M0":
        return math.ldexp(1.0, code - 127)
    if type_ in NARROW_FLOATS:
        return float_of_code(NARROW_FLOATS[type_], code)
    dtype = np.dtype(WIDE_FLOATS[type_])
    return float(np.array(code, dtype=f"u{dtype.itemsize}").view(dtype))


class Bits:
    """A bit string from the least significant bit of byte 0 up."""

    def __init__(self) -> None:
        self.number = 0
        self.count = 0

    def put(self, code: int, bits: int) -> None:
        assert 0 <= code < 1 << bits, (code, bits)
        self.number |= code << self.count
        self.count += bits

    def add(self, other: "Bits") -> None:
        self.put(other.number, other.count)

    def pad(self, to: int = 8) -> None:
        self.count = -(-self.count // to) * to

    def bytes(self) -> bytes:
        assert self.count % 8 == 0
        return self.number.to_bytes(self.count // 8, "little")


def memory(values: np.ndarray, order: list[int]) -> np.ndarray:
    return values.transpose(order).reshape(-1) if values.ndim else values.reshape(-1)


@dataclass
class Stored:
    """A scale in the payload: of an element type, or quantized by a profile."""

    type: "str | Profile"
    per: str = "tile"
    at: str = "before"

    def text(self) -> str:
        type_ = self.type if isinstance(self.type, str) else self.type.text()
        return f"scale: stored({type_}, per={self.per}, at={self.at})"

    def wanted(self, values: np.ndarray, largest: float):
        """In the values' own type: the largest magnitude, of which NaN has none, over that of codes."""
        c = values.dtype.type
        sizes = np.abs(values[~np.isnan(values)])
        magnitude = min(c(sizes.max()), np.finfo(c).max) if sizes.size else c(0)
        if self.type == "FLOAT8E8M0":
            largest = math.ldexp(1.0, math.frexp(largest)[1] - 1)
        with np.errstate(all="ignore"):
            return magnitude / c(largest)

    def code(self, wanted) -> tuple[int, int, float]:
        """The code, its width, and what it means."""
        assert isinstance(self.type, str)
        code = code_of_type(self.type, float(wanted), saturate=True, up=False)
        return code, width_of(self.type), number_of_type(self.type, code)


def quotients(values: np.ndarray, scale) -> np.ndarray:
    """values / scale, and 0 where the scale is 0 or no number; NaN stays."""
    c = values.dtype.type
    with np.errstate(all="ignore"):
        scale = c(scale)
        if scale == 0 or not np.isfinite(scale):
            return np.where(np.isnan(values), values, c(0))
        return values / scale


@dataclass
class Profile:
    """A family. `scale` is a number, an exponent of two as a one-tuple, a Stored, or None."""

    scale: "float | tuple[int] | Stored | None" = field(default=None, kw_only=True)
    pre: "list | int | None" = field(default=None, kw_only=True)  # Hadamard's size, or a diagonal
    post: "list | int | None" = field(default=None, kw_only=True)

    def body(self) -> str:
        raise NotImplementedError

    def text(self, data_type: str = "") -> str:
        parts = [f"data_type: {data_type}"] if data_type else []
        for name in ("pre", "post"):
            rotation = getattr(self, name)
            if isinstance(rotation, int):
                parts.append(f"{name}_rotation: RotationProto {{ matrix_type: HADAMARD dims: [{rotation}] }}")
            elif rotation is not None:
                matrix = f"dims: [{len(rotation)}] matrix: {rotation}"
                parts.append(f"{name}_rotation: RotationProto {{ matrix_type: PLAIN {matrix} }}")
        return f"QuantizationProto {{ {' '.join(parts)} {self.body()} }}"

    def scale_text(self) -> str:
        if self.scale is None:
            return ""
        if isinstance(self.scale, tuple):
            return f"scale_int: {self.scale[0]}"
        return self.scale.text() if isinstance(self.scale, Stored) else f"scale_float: {self.scale!r}"

    # ---- encoding

    def unrotated(self, values: np.ndarray) -> np.ndarray:
        for rotation, axis in ((self.post, 0), (self.pre, -1)):
            if rotation is None:
                continue
            moved = np.moveaxis(values, axis, -1)
            with np.errstate(all="ignore"):
                if isinstance(rotation, int):
                    moved = hadamard(moved, rotation)
                else:
                    factors = np.array(rotation, np.float32).astype(values.dtype)
                    moved = np.where(factors == 0, values.dtype.type(0), moved / np.where(factors == 0, 1, factors))
            values = np.moveaxis(moved, -1, axis)
        return values

    def encode(self, values: np.ndarray, order: list[int], given: float | None = None) -> Bits:
        """`values` in the logical shape and the type that is computed in; `given` is a scale from further out."""
        values = self.unrotated(values)
        out = Bits()
        if not isinstance(self.scale, Stored) or given is not None:
            scale = given
            if given is None:
                scale = math.ldexp(1.0, self.scale[0]) if isinstance(self.scale, tuple) else self.scale
            flat = memory(values, order)
            out.add(
                self.codes(flat if scale is None else quotients(flat, np.float32(scale) if given is None else scale))
            )
            return out
        scaled, stored = self.with_own_scale(values)
        codes = self.codes(memory(scaled, order))
        out.add(stored if self.scale.at == "before" else codes)
        out.add(codes if self.scale.at == "before" else stored)
        return out

    def with_own_scale(self, values: np.ndarray) -> tuple[np.ndarray, Bits]:
        stored = Bits()
        if self.scale.per != "channel":
            groups = [values]
        else:
            axis = getattr(self, "axis", 0)
            groups = [np.take(values, [i], axis) for i in range(values.shape[axis])]
        wanted = [self.scale.wanted(group, self.largest()) for group in groups]
        if isinstance(self.scale.type, str):
            meanings = []
            for number in wanted:
                code, bits, meaning = self.scale.code(number)
                stored.put(code, bits)
                meanings.append(meaning)
        else:
            tensor = np.array(wanted, values.dtype)
            stored = self.scale.type.encode(tensor, [0])
            meanings = self.scale.type.decode(tensor, [0])
        scaled = [quotients(group, meaning) for group, meaning in zip(groups, meanings, strict=True)]
        return (scaled[0] if len(scaled) == 1 else np.concatenate(scaled, getattr(self, "axis", 0))), stored

    def codes(self, numbers: np.ndarray) -> Bits:
        raise NotImplementedError

    def largest(self) -> float:
        raise NotImplementedError

    def decode(self, values: np.ndarray, order: list[int]) -> list[float]:
        """What the bytes of `values` mean. Only for profiles that quantize scales."""
        raise NotImplementedError


def hadamard(values: np.ndarray, size: int) -> np.ndarray:
    out = values.copy()
    c = values.dtype.type
    for where in np.ndindex(values.shape[:-1]):
        line = list(values[where])
        for block in range(0, len(line), size):
            half = 1
            while half < size:
                for i in range(block, block + size):
                    if not (i - block) & half:
                        line[i], line[i + half] = line[i] + line[i + half], line[i] - line[i + half]
                half *= 2
        out[where] = [x * c(np.float32(1 / math.sqrt(size))) for x in line]
    return out


@dataclass
class Linear(Profile):
    type: str
    bits: int
    zero_point: int = 0
    axis: int = -1

    def body(self) -> str:
        zero = f"zero_point: {self.zero_point}" if self.zero_point else ""
        return (
            f"linear: LinearUniformProto {{ storage_type: {self.type} bits: {self.bits} axis: {self.axis} {zero} "
            f"{self.scale_text()} }}"
        )

    def range(self) -> tuple[int, int]:
        signed = INTEGERS[self.type][1]
        return (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) if signed else (0, (1 << self.bits) - 1)

    def largest(self) -> float:
        if self.type not in INTEGERS:
            return number_of_type(self.type, code_of_type(self.type, 1e300, saturate=True, up=True))
        low, high = self.range()
        above, below = high - self.zero_point, self.zero_point - low
        return float(min(above, below) if above > 0 and below > 0 else max(above, below))

    def code(self, x) -> int:
        if self.type in INTEGERS:
            return integer_code(float(x), self.zero_point, self.bits, INTEGERS[self.type][1])
        if self.zero_point:
            x = x + type(x)(self.zero_point)
        return code_of_type(self.type, float(x), saturate=True, up=True)

    def codes(self, numbers: np.ndarray) -> Bits:
        out = Bits()
        for x in numbers:
            out.put(self.code(x), self.bits)
        out.pad()
        return out

    def decode(self, values: np.ndarray, order: list[int]) -> list[float]:
        flat = memory(values, order)
        c = values.dtype.type
        scale = self.scale
        if isinstance(scale, Stored):
            _, _, scale = scale.code(scale.wanted(values, self.largest()))
        numbers = flat if scale is None else quotients(flat, scale)
        meant = [c(number_of_type(self.type, self.full(self.code(x)))) - c(self.zero_point) for x in numbers]
        return [x if scale is None else x * c(scale) for x in meant]

    def full(self, code: int) -> int:
        """The code in all bits of its type."""
        width = width_of(self.type)
        if self.type in INTEGERS and INTEGERS[self.type][1] and code >> (self.bits - 1):
            return code | (((1 << width) - 1) ^ ((1 << self.bits) - 1))
        return code


@dataclass
class Cast(Profile):
    type: str

    def body(self) -> str:
        return f"cast: CastUniformProto {{ storage_type: {self.type} }}"

    def codes(self, numbers: np.ndarray) -> Bits:
        out = Bits()
        for x in numbers:
            out.put(code_of_type(self.type, float(x), saturate=width_of(self.type) < 16, up=True), width_of(self.type))
        out.pad()
        return out


@dataclass
class Floats(Profile):
    format: Format
    split: bool = False
    per_group: int = 0
    group_bytes: int = 0

    def body(self) -> str:
        f = self.format
        return (
            f"floating_point: FloatingPointUniformProto {{ sign_bits: {f.sign} exponent_bits: {f.exponent} "
            f"mantissa_bits: {f.mantissa} exponent_bias: {f.bias} has_inf: {str(f.inf).lower()} "
            f"has_nan: {str(f.nan).lower()} split_storage: {str(self.split).lower()} packed_count: {self.per_group} "
            f"packed_bytes: {self.group_bytes} {self.scale_text()} }}"
        )

    def largest(self) -> float:
        return float(magnitudes(self.format)[-1])

    def codes(self, numbers: np.ndarray) -> Bits:
        f = self.format
        all_codes = [code_of_float(f, float(x)) for x in numbers]
        size = self.per_group or max(1, len(all_codes))
        all_codes += [0] * (-len(all_codes) % size)
        out = Bits()
        for group in batches(all_codes, size):
            part = Bits()
            if self.split:
                for code in group:
                    part.put(code >> f.mantissa, f.bits - f.mantissa)
                for code in group:
                    part.put(code & ((1 << f.mantissa) - 1), f.mantissa)
            else:
                for code in group:
                    part.put(code, f.bits)
            part.pad(8 * self.group_bytes if self.per_group else 1)
            out.add(part)
        out.pad()
        return out

    def decode(self, values: np.ndarray, order: list[int]) -> list[float]:
        flat = memory(values, order)
        c = values.dtype.type
        scale = self.scale
        if isinstance(scale, Stored):
            _, _, scale = scale.code(scale.wanted(values, self.largest()))
        numbers = flat if scale is None else quotients(flat, scale)
        meant = [c(float_of_code(self.format, code_of_float(self.format, float(x)))) for x in numbers]
        return [x if scale is None else x * c(scale) for x in meant]


def batches(values: list, size: int):
    return (values[i : i + size] for i in range(0, len(values), size))


@dataclass
class Log(Profile):
    bits: int
    base: float
    offset: float = 0.0
    signed: bool = True

    def body(self) -> str:
        return (
            f"log: LogUniformProto {{ bits: {self.bits} base: {self.base!r} offset: {self.offset!r} "
            f"has_sign: {str(self.signed).lower()} }}"
        )

    def code(self, a: float) -> int:
        """The code on whose side of the middles a magnitude is; on a middle, the even one."""
        base, offset = float(np.float32(self.base)), float(np.float32(self.offset))
        last = (1 << self.bits) - 1
        code = 0
        while code < last:
            middle = math.pow(base, code + 0.5 + offset)
            beyond = a > middle if base > 1 else a < middle
            if not (beyond or (a == middle and code % 2)):
                break
            code += 1
        return code

    def codes(self, numbers: np.ndarray) -> Bits:
        out, signs = Bits(), Bits()
        for x in numbers:
            x = 0.0 if math.isnan(x) else float(x)
            out.put(self.code(abs(x) if self.signed else max(x, 0.0)), self.bits)
            signs.put(int(math.copysign(1, x) < 0), 1)
        out.pad()
        signs.pad()
        if self.signed:
            out.add(signs)
        return out


@dataclass
class Codebook(Profile):
    entries: list[float]
    vector: int = 1
    bits: int = 0
    per_group: int = 0
    group_bytes: int = 0

    @property
    def size(self) -> int:
        return len(self.entries) // self.vector

    def body(self) -> str:
        return (
            f"codebook: CodebookProto {{ codebook_data: {self.entries} vector_size: {self.vector} "
            f"index_bits: {self.bits} packed_count: {self.per_group} packed_bytes: {self.group_bytes} "
            f"{self.scale_text()} }}"
        )

    def largest(self) -> float:
        return max(abs(float(np.float32(x))) for x in self.entries)

    def nearest(self, vector: np.ndarray) -> int:
        book = np.array(self.entries, np.float32).reshape(self.size, self.vector)
        vector = np.where(np.isnan(vector), vector.dtype.type(0), vector)
        if self.vector > 1:
            distances = []
            for row in book.astype(vector.dtype):
                with np.errstate(all="ignore"):
                    squares = (vector - row) * (vector - row)
                total = squares[0]
                for square in squares[1:]:
                    total = total + square
                distances.append(total)
            return distances.index(min(distances))
        (x,) = vector
        if math.isinf(x):
            numbers = [float(row[0]) for row in book]
            return numbers.index(max(numbers) if x > 0 else min(numbers))
        exact = [abs(Fraction(float(x)) - Fraction(float(row[0]))) for row in book]
        return exact.index(min(exact))

    def codes(self, numbers: np.ndarray) -> Bits:
        indices = [self.nearest(vector) for vector in numbers.reshape(-1, self.vector)]
        out = Bits()
        if not self.per_group:
            for index in indices:
                out.put(index, self.bits)
        for group in batches(indices, self.per_group) if self.per_group else []:
            part = Bits()
            if self.bits:
                for index in group:
                    part.put(index, self.bits)
            else:
                part.put(sum(index * self.size**i for i, index in enumerate(group)), 8 * self.group_bytes)
            part.pad(8 * self.group_bytes)
            out.add(part)
        out.pad()
        return out


@dataclass
class Tiling(Profile):
    tile: list[int]
    elements: list[Profile]
    axes: list[int] = field(default_factory=list)
    perm: list[int] = field(default_factory=list)

    def body(self) -> str:
        axes = f"axes: {self.axes}" if self.axes else ""
        perm = f"perm: {self.perm}" if self.perm else ""
        elements = ", ".join(element.text() for element in self.elements)
        return f"tiling: TilingQuantizationProto {{ tile_shape: {self.tile} {axes} {perm} elem_quant: [{elements}] }}"

    def tiles(self, values: np.ndarray, order: list[int]) -> tuple[list[np.ndarray], list[int], list[int]]:
        """The tiles one behind the other, the order of axes inside of them, and the grid in memory order."""
        order = self.perm or order
        if not self.axes:
            flat = memory(values, order)
            return list(flat.reshape(-1, self.tile[0])), [0], [flat.size // self.tile[0]]
        sizes = list(values.shape)
        for axis, size in zip(self.axes, self.tile, strict=True):
            sizes[axis] = size or values.shape[axis]
        grid = [values.shape[axis] // sizes[axis] for axis in order]
        tiles = []
        for at in np.ndindex(*grid):
            where = [slice(None)] * values.ndim
            for axis, i in zip(order, at, strict=True):
                where[axis] = slice(i * sizes[axis], (i + 1) * sizes[axis])
            tiles.append(values[tuple(where)])
        return tiles, order, grid

    def encode(self, values: np.ndarray, order: list[int], given: float | None = None) -> Bits:
        values = self.unrotated(values)
        tiles, inner, grid = self.tiles(values, order)
        (first, *_) = self.elements
        scale = first.scale
        outward = Bits()
        scales: list = [None] * len(tiles)
        if isinstance(scale, Stored) and scale.per == "tensor":
            code, bits, meaning = scale.code(scale.wanted(first.unrotated(values), first.largest()))
            outward.put(code, bits)
            scales = [meaning] * len(tiles)
        elif isinstance(scale, Stored) and not isinstance(scale.type, str):
            wanted = np.array([scale.wanted(tile, first.largest()) for tile in tiles], values.dtype).reshape(grid)
            outward = scale.type.encode(wanted, list(range(len(grid))))
            scales = scale.type.decode(wanted, list(range(len(grid))))
        body = Bits()
        for i, tile in enumerate(tiles):
            body.add(self.elements[i % len(self.elements)].encode(tile, inner, scales[i]))
        out = Bits()
        before = not isinstance(scale, Stored) or scale.at == "before"
        out.add(outward if before else body)
        out.add(body if before else outward)
        return out

    def decode(self, values: np.ndarray, order: list[int]) -> list[float]:
        tiles, inner, _ = self.tiles(values, order)
        assert not self.axes and not self.perm  # one tile behind the other
        meant = [self.elements[i % len(self.elements)].decode(tile, inner) for i, tile in enumerate(tiles)]
        return [x for tile in meant for x in tile]


def encode(profile: Profile, values: np.ndarray, wide: bool) -> bytes:
    """The bytes of a tensor."""
    c = np.float64 if wide else np.float32
    return profile.encode(values.astype(c), list(range(values.ndim))).bytes()
