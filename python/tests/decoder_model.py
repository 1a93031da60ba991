"""What the bytes of a profile's struct type mean, written a second time and slowly, to compare decoders with.

It reads the leaves and constants of a type and knows nothing of how the library's decoders are built: codes are cut out
of whole numbers bit by bit, tiles are placed index by index, values are computed one after another where that is the
clearest. One operation of docs/decoding.md is one numpy operation in float32.
"""

import itertools
import math
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

FLOATS = {
    "FLOAT": np.float32,
    "DOUBLE": np.float64,
    "FLOAT16": np.float16,
    "BFLOAT16": ml_dtypes.bfloat16,
    "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn,
    "FLOAT8E5M2": ml_dtypes.float8_e5m2,
    "FLOAT8E8M0": ml_dtypes.float8_e8m0fnu,
    "FLOAT4E2M1": ml_dtypes.float4_e2m1fn,
}
# TensorProto.DataType, as far as profiles store codes in them.
NUMBERS = {
    1: ("FLOAT", 32),
    2: ("UINT8", 8),
    3: ("INT8", 8),
    4: ("UINT16", 16),
    5: ("INT16", 16),
    6: ("INT32", 32),
    7: ("INT64", 64),
    10: ("FLOAT16", 16),
    11: ("DOUBLE", 64),
    12: ("UINT32", 32),
    13: ("UINT64", 64),
    16: ("BFLOAT16", 16),
    17: ("FLOAT8E4M3FN", 8),
    19: ("FLOAT8E5M2", 8),
    21: ("UINT4", 4),
    22: ("INT4", 4),
    23: ("FLOAT4E2M1", 4),
    24: ("FLOAT8E8M0", 8),
    25: ("UINT2", 2),
    26: ("INT2", 2),
}


@dataclass
class Level:
    """Where a declaration stands: its leaves' prefix, and what its values are."""

    prefix: str
    batch: int
    shape: list[int]
    order: list[int]
    depth: int = 0  # of the arrays around it: so many dimensions of its leaves are not their own
    in_tile: bool = False
    tiling: "Level | None" = None
    root: "Level | None" = None
    grid: list[int] = field(default_factory=list)

    @property
    def values(self) -> int:
        return math.prod(self.shape)

    @property
    def memory(self) -> list[int]:
        return [self.shape[axis] for axis in self.order]


def bits_of(data: bytes, start: int, count: int) -> int:
    return (int.from_bytes(data, "little") >> start) & ((1 << count) - 1)


def unpack(rows: np.ndarray, bits: int, count: int) -> np.ndarray:
    """[n, bytes] -> [n, count] Python integers, from the least significant bit up."""
    out = np.empty((rows.shape[0], count), dtype=object)
    for i, row in enumerate(rows):
        number = int.from_bytes(row.astype(np.uint8).tobytes(), "little")
        for j in range(count):
            out[i, j] = (number >> (bits * j)) & ((1 << bits) - 1)
    return out


def as_element(code: int, name: str, bits: int):
    """What an unsigned code means as an element of that type."""
    if name in FLOATS:
        width = np.dtype(FLOATS[name]).itemsize * 8
        raw = np.array([code], dtype=f"u{max(width, 8) // 8}")
        return np.float64(raw.view(FLOATS[name])[0])
    if name.startswith("INT") and code >> (bits - 1):
        return code - (1 << bits)
    return code


def float_value(sign: int, exponent: int, mantissa: int, c: dict) -> float:
    """The value of a code of a floating_point profile, as IEEE 754 has it."""
    m, e = c["mantissa_bits"], c["exponent_bits"]
    top, all_ones = exponent == (1 << e) - 1, mantissa == (1 << m) - 1
    special = None
    if c["has_inf"] and c["has_nan"]:
        special = (math.inf if mantissa == 0 else math.nan) if top else None
    elif top and all_ones and (c["has_inf"] or c["has_nan"]):
        special = math.inf if c["has_inf"] else math.nan
    if special is None:
        if exponent == 0:
            special = math.ldexp(mantissa, 1 - c["exponent_bias"] - m)
        else:
            special = math.ldexp(mantissa + (1 << m), exponent - c["exponent_bias"] - m)
    return -special if sign else special


class Model:
    def __init__(self, type_, payload: bytes, wide: bool = False):
        view = type_.view(np.frombuffer(payload, dtype=np.uint8))
        self.c = np.float64 if wide else np.float32
        self.leaves = {leaf.path: leaf for leaf in type_.leaves}
        self.arrays = {path: view[path].numpy() for path in view}
        self.paths = list(self.arrays)

    # ---- leaves

    def has(self, level: Level, name: str) -> bool:
        return level.prefix + name in self.arrays

    def constant(self, level: Level, name: str, default=None):
        if not self.has(level, name):
            return default
        array = self.arrays[level.prefix + name]
        return array.tolist() if array.ndim else array.item()

    def rows(self, level: Level, name: str) -> np.ndarray:
        array = self.arrays[level.prefix + name]
        return array.reshape(level.batch, -1 if array.size else 0)

    def codes_path(self, level: Level) -> str:
        """The first part of the declaration that is neither a parameter, padding nor a constant."""
        for path in self.paths:
            if not path.startswith(level.prefix) or self.leaves[path].constant is not None:
                continue
            name = path[len(level.prefix) :].split(".")[0]
            if name not in ("scale", "zero_point") and not name.startswith("padding"):
                return name
        raise AssertionError(f"no codes below {level.prefix!r}")

    def numbers(self, array: np.ndarray) -> np.ndarray:
        return array.astype(self.c)

    def codes(self, level: Level, name: str, type_name: str, bits: int, count: int) -> np.ndarray:
        path = level.prefix + name
        if path not in self.arrays:
            path += "." + name
        leaf = self.leaves[path]
        array = self.arrays[path].reshape(level.batch, -1)
        if leaf.element_type == type_name and leaf.bits == bits:
            return self.numbers(array)
        values = array.astype(object) if leaf.bits == bits else unpack(array, bits, count)
        out = [[as_element(int(v), type_name, bits) for v in row] for row in values]
        return np.array(out, dtype=object).reshape(level.batch, count).astype(self.c)

    # ---- parameters

    def stored(self, level: Level, name: str, axis: int) -> np.ndarray | None:
        """The parameter in the shape [batch, memory...], or None where there is none."""
        ones = [1] * len(level.memory)
        owner = None
        candidates = [level]
        if level.in_tile:
            candidates += [level.tiling, level.root]
        for candidate in candidates:
            paths = [
                p for p in self.paths if p == candidate.prefix + name or p.startswith(candidate.prefix + name + ".")
            ]
            if paths:
                owner = candidate
                break
        if owner is None:
            return None
        direct = owner.prefix + name in self.arrays
        if direct:
            leaf = self.leaves[owner.prefix + name]
            if leaf.constant is not None:
                return None
            values = self.numbers(self.arrays[owner.prefix + name]).reshape(owner.batch, -1)
        else:
            if owner is level:
                shape = [level.shape[axis]] if 0 <= axis < len(level.shape) else [1]
            elif owner is level.tiling:
                shape = list(level.grid)
            else:
                shape = [1]
            nested = Level(owner.prefix + name + ".", owner.batch, shape, list(range(len(shape))), owner.depth)
            values = self.decode(nested).reshape(owner.batch, -1)
        if owner is level:
            if values.shape[1] == 1:
                return values.reshape([level.batch, *ones])
            dims = list(ones)
            dims[level.order.index(axis)] = values.shape[1]
            return values.reshape([level.batch, *dims])
        if values.size == level.batch:
            return values.reshape([level.batch, *ones])
        return np.repeat(values.reshape(-1), level.batch // values.size).reshape([level.batch, *ones])

    def scaled(self, level: Level, values: np.ndarray) -> np.ndarray:
        axis = self.constant(level, "axis", 0)
        shaped = values.reshape([level.batch, *level.memory])
        scale = self.constant(level, "scale") if self.is_constant(level, "scale") else None
        if scale is not None:
            if self.leaves[level.prefix + "scale"].element_type == "INT32":
                factor = self.c(math.ldexp(1.0, scale))
            else:
                factor = self.c(scale)
            return (shaped * factor).reshape(values.shape)
        factor = self.stored(level, "scale", axis)
        return values if factor is None else (shaped * factor).reshape(values.shape)

    def is_constant(self, level: Level, name: str) -> bool:
        leaf = self.leaves.get(level.prefix + name)
        return leaf is not None and leaf.constant is not None

    # ---- families

    def decode(self, level: Level) -> np.ndarray:
        """[batch, values] in memory order, in the compute type."""
        bare = level.prefix[:-1] in self.arrays and level.prefix != ""
        if bare or (level.prefix == "" and self.paths == ["values"]):
            name = level.prefix[:-1] if bare else "values"
            return self.numbers(self.arrays[name].reshape(level.batch, -1))
        values = self.family(level)(level)
        for name, pre in (("pre_rotation", True), ("post_rotation", False)):
            if self.has(level, name + "_type"):
                values = self.rotated(level, values, name, pre)
        return values

    def family(self, level: Level):
        def has(name):
            return self.has(level, name)

        if has("tile_shape"):
            return self.tiling
        if has("outlier_threshold"):
            return self.sparse
        inner = level.prefix + self.codes_path(level) + "."
        if has("storage_order") or (inner + "field_roles" in self.arrays and not has("storage_type")):
            return self.blocks
        if has("exponent_bias") or inner + "exponent_bias" in self.arrays:
            return self.floating_point
        if has("num_codebooks"):
            return self.codebook
        if has("base") and has("has_sign"):
            return self.log
        if has("symmetric"):
            return self.linear
        return self.cast

    def cast(self, level: Level) -> np.ndarray:
        return self.numbers(self.rows(level, self.codes_path(level)))

    def linear(self, level: Level) -> np.ndarray:
        values = self.linear_codes(level)
        if self.is_constant(level, "zero_point"):
            zero = self.constant(level, "zero_point")
            values = values - self.c(zero)
        else:
            zero = self.stored(level, "zero_point", self.constant(level, "axis", 0))
            shaped = values.reshape([level.batch, *level.memory])
            values = (shaped - zero).reshape(values.shape)
        return self.scaled(level, values)

    def linear_codes(self, level: Level) -> np.ndarray:
        name, _ = NUMBERS[self.constant(level, "storage_type")]
        return self.codes(level, self.codes_path(level), name, self.constant(level, "bits"), level.values)

    def codebook(self, level: Level) -> np.ndarray:
        return self.scaled(level, self.codebook_sum(level))

    def codebook_sum(self, level: Level) -> np.ndarray:
        size, vector = self.constant(level, "codebook_size"), self.constant(level, "vector_size")
        number, bits = self.constant(level, "num_codebooks"), self.constant(level, "index_bits")
        per_group = self.constant(level, "packed_count", 0)
        books = next(
            self.arrays[p]
            for p in self.paths
            if p.startswith(level.prefix)
            and "." not in p[len(level.prefix) :]
            and self.leaves[p].constant is not None
            and self.leaves[p].element_type == "FLOAT"
            and self.arrays[p].ndim
            and not p.endswith(("scales", "_rotation"))
        ).reshape(number, size, vector)
        count = level.values // vector * number
        rows = self.rows(level, self.codes_path(level))
        if per_group:
            groups = -(-count // per_group)
            rows = rows.reshape(level.batch * groups, -1)
            if bits:
                indices = unpack(rows, bits, per_group)
            else:
                indices = np.empty((len(rows), per_group), dtype=object)
                for i, row in enumerate(rows):
                    rest = int.from_bytes(row.tobytes(), "little")
                    for j in range(per_group):
                        rest, indices[i, j] = divmod(rest, size)
            indices = indices.reshape(level.batch, -1)[:, :count]
        else:
            indices = unpack(rows, bits, count)
        indices = indices.reshape(level.batch, -1, number)
        out = np.empty((level.batch, level.values // vector, vector), dtype=self.c)
        for b, v in itertools.product(range(level.batch), range(level.values // vector)):
            total = books[0][indices[b, v, 0]].astype(self.c)
            for k in range(1, number):
                total = total + books[k][indices[b, v, k]].astype(self.c)
            out[b, v] = total
        return out.reshape(level.batch, level.values)

    def floating_point(self, level: Level) -> np.ndarray:
        path = self.codes_path(level)
        inner = level
        if level.prefix + path + ".exponent_bias" in self.arrays:
            any_leaf = next(
                p for p in self.paths if p.startswith(level.prefix + path + ".") and not self.leaves[p].constant
            )
            dims = self.leaves[any_leaf].shape
            inner = Level(level.prefix + path + ".", level.batch * dims[level.depth], level.shape, level.order)
        c = {n: self.constant(inner, n) for n in ("exponent_bias", "has_inf", "has_nan")}
        if self.has(level, "sign_bits"):
            c |= {n: self.constant(level, n) for n in ("sign_bits", "exponent_bits", "mantissa_bits", "packed_count")}
            leaf = self.leaves[level.prefix + path]
            rows = self.rows(level, path)
            if leaf.element_type != "UINT8":
                return self.scaled(level, self.numbers(rows))
            bits = c["sign_bits"] + c["exponent_bits"] + c["mantissa_bits"]
            if c["packed_count"]:
                groups = -(-level.values // c["packed_count"])
                codes = unpack(rows.reshape(level.batch * groups, -1), bits, c["packed_count"])
                codes = codes.reshape(level.batch, -1)[:, : level.values]
            else:
                codes = unpack(rows, bits, level.values)
            m, e = c["mantissa_bits"], c["exponent_bits"]
            values = [
                float_value(v >> (m + e), (v >> m) & ((1 << e) - 1), v & ((1 << m) - 1), c) for v in codes.reshape(-1)
            ]
        else:
            name = self.codes_path(inner)
            split = inner.prefix + "sign_exponent.exponent" in self.arrays

            def part(path):
                full = inner.prefix + path
                return self.arrays[full].reshape(-1).astype(object) if full in self.arrays else None

            sign, exponent = part(name + ".sign"), part(name + ".exponent")
            if split:
                mantissa_path = "mantissa" if inner.prefix + "mantissa" in self.arrays else "mantissa.mantissa"
            else:
                mantissa_path = name + ".mantissa"
            mantissa = part(mantissa_path)
            c["exponent_bits"] = self.leaves[inner.prefix + name + ".exponent"].bits
            c["mantissa_bits"] = self.leaves[inner.prefix + mantissa_path].bits if mantissa is not None else 0
            values = [
                float_value(
                    int(sign[i]) if sign is not None else 0,
                    int(exponent[i]),
                    int(mantissa[i]) if mantissa is not None else 0,
                    c,
                )
                for i in range(len(exponent))
            ]
        array = np.array(values, dtype=np.float64).astype(self.c).reshape(level.batch, -1)[:, : level.values]
        return self.scaled(level, array)

    def sparse(self, level: Level) -> np.ndarray:
        base = Level(**{**level.__dict__, "prefix": level.prefix + self.codes_path(level) + "."})
        values = self.decode(base).copy()
        positions = self.rows(level, "outlier_indices")
        outliers = self.numbers(self.rows(level, "outlier_values"))
        for b in range(level.batch):
            for at, value in zip(positions[b], outliers[b], strict=True):
                values[b, at] = value
        return values

    def log(self, level: Level) -> np.ndarray:
        bits = self.constant(level, "bits")
        base, offset = self.constant(level, "base"), self.constant(level, "offset")
        codes = self.codes(level, self.codes_path(level), "UNDEFINED", bits, level.values)
        values = np.array([base ** float(c + self.c(offset)) for c in codes.reshape(-1).tolist()]).astype(self.c)
        values = values.reshape(codes.shape)
        if self.constant(level, "has_sign"):
            signs = unpack(self.rows(level, "signs"), 1, level.values)
            values = np.where(signs == 1, -values, values)
        return values.astype(self.c)

    def tiling(self, level: Level) -> np.ndarray:
        tile_shape = self.constant(level, "tile_shape")
        axes, perm = self.constant(level, "axes", []), self.constant(level, "perm", [])
        out = np.empty((level.batch, level.values), dtype=self.c)
        # The place of each value of each tile: [tiles, values of a tile] -> position in the level's memory order.
        strides = {}
        step = 1
        for axis in reversed(level.order):
            strides[axis] = step
            step *= level.shape[axis]
        if not axes:
            tile = tile_shape[0] or level.values
            shape, order, grid = [tile], [0], [level.values // tile if tile else 1]
            flatten = perm or level.order
            index = [
                sum(i * strides[a] for i, a in zip(where, flatten, strict=True))
                for where in itertools.product(*[range(level.shape[a]) for a in flatten])
            ]
            places = np.array(index, dtype=np.int64).reshape(-1, tile)
        else:
            shape = list(level.shape)
            for axis, size in zip(axes, tile_shape, strict=True):
                shape[axis] = size or level.shape[axis]
            order = perm or level.order
            counts = [n // t if t else 1 for n, t in zip(level.shape, shape, strict=True)]
            grid = [counts[a] for a in order if a in axes]
            if math.prod(grid) == 1:
                grid = [1]
            places = np.array(
                [
                    [
                        sum((g[k] * shape[a] + i[k]) * strides[a] for k, a in enumerate(order))
                        for i in itertools.product(*[range(shape[a]) for a in order])
                    ]
                    for g in itertools.product(*[range(counts[a]) for a in order])
                ],
                dtype=np.int64,
            )
        count, size = places.shape
        tile_level = {
            "shape": shape,
            "order": list(order) if axes else [0],
            "in_tile": True,
            "tiling": level,
            "root": level.root if level.in_tile else level,
            "grid": grid,
        }

        def tiles(prefix, batch, depth):
            return self.decode(Level(prefix, batch, depth=depth, **tile_level))

        path = self.codes_path(level)
        entries = self.constant(level, "elem_quant_count", 0)
        if level.prefix + path in self.arrays and not self.bare_tiles(level, path):
            inner = Level(level.prefix, level.batch * count, **tile_level)
            merged = self.codebook_sum(inner) if self.has(level, "num_codebooks") else self.linear_codes(inner)
            merged = merged.reshape(level.batch, count, size)
            if self.has(level, "zero_points"):
                merged = merged - self.arrays[level.prefix + "zero_points"].astype(self.c).reshape(1, -1, 1)
            if self.has(level, "scales"):
                scales = self.arrays[level.prefix + "scales"]
                if scales.dtype == np.int32:
                    scales = np.ldexp(np.float64(1), scales)
                merged = merged * scales.astype(self.c).reshape(1, -1, 1)
            values = merged
        elif entries and entries == count:
            values = self.runs(level.prefix, level.batch, level.depth, tiles)
        elif entries:
            cycles = count // entries
            values = self.runs(f"{level.prefix}{path}.", level.batch * cycles, level.depth + 1, tiles)
            values = values.reshape(level.batch, cycles * entries, size)
            if count % entries:
                tail = self.runs(level.prefix + "tail.", level.batch, level.depth, tiles)
                values = np.concatenate([values, tail.reshape(level.batch, -1, size)], axis=1)
        else:
            values = tiles(f"{level.prefix}{path}.", level.batch * count, level.depth + len(grid))
        values = values.reshape(level.batch, count, size)
        for b in range(level.batch):
            out[b, places.reshape(-1)] = values[b].reshape(-1)
        return out

    def bare_tiles(self, level: Level, path: str) -> bool:
        """True if the tiles are a bare array: no constants beside them describe codes."""
        return not self.has(level, "num_codebooks") and not self.has(level, "symmetric")

    def runs(self, prefix: str, batch: int, depth: int, tiles) -> np.ndarray:
        names = []
        for path in self.paths:
            if path.startswith(prefix) and self.leaves[path].constant is None:
                name = path[len(prefix) :].split(".")[0]
                if name not in names and not name.startswith("padding"):
                    names.append(name)
        parts = []
        for name in names:
            leaf = next(
                p for p in self.paths if (p + ".").startswith(f"{prefix}{name}.") and not self.leaves[p].constant
            )
            run = self.leaves[leaf].shape[depth]
            part = tiles(f"{prefix}{name}.", batch * run, depth + 1)
            parts.append(part.reshape(batch, run, -1))
        return np.concatenate(parts, axis=1)

    def blocks(self, level: Level) -> np.ndarray:
        sequential = self.has(level, "storage_order")
        place = level.prefix if sequential else level.prefix + self.codes_path(level) + "."
        size = self.arrays[place + "block_size"].item()
        n = level.batch * (level.values // size)
        inner = Level(place, n, level.shape, level.order)
        roles = ["values", "sign", "scale", "zero_point", "bias", "exponent", "code", "mask"]
        order = [roles[r] for r in self.arrays[place + "field_roles"].tolist()]

        def numbers(role):
            at = inner
            if sequential and place + role not in self.arrays and place + f"{role}.{role}" in self.arrays:
                leaf = self.leaves[place + f"{role}.{role}"]
                if not leaf.component or len(leaf.shape) > 1:
                    at = Level(place + role + ".", n, level.shape, level.order)
            path = at.prefix + role
            if path not in self.arrays:
                path += "." + role
            leaf = self.leaves[path]
            bits = self.constant(inner, role + "_bit_width", leaf.bits)
            array = self.arrays[path].reshape(n, -1)
            if bits != leaf.bits:
                return unpack(array, bits, self.constant(inner, role + "_count")).astype(self.c)
            return self.numbers(array)

        used = []
        if self.has(level, "codebook_vector_size"):
            books = self.paths[self.paths.index(level.prefix + "codebook_vector_size") - 1]
            vector = self.constant(level, "codebook_vector_size")
            index = 0
            for r, factor in zip(
                self.constant(level, "index_fields"), self.constant(level, "index_multipliers"), strict=True
            ):
                used.append(roles[r])
                index = index + numbers(roles[r]).astype(np.int64) * factor
            words = self.arrays[books][index].astype(self.c)
            values = np.empty((n, size), dtype=self.c)
            if self.has(level, "scatter_group_size"):
                group, stride = self.constant(level, "scatter_group_size"), self.constant(level, "scatter_stride")
                lanes = group // vector
                for g in range(size // vector):
                    for p in range(vector):
                        values[:, group * (g // lanes) + g % lanes + stride * p] = words[:, g, p]
            else:
                values = words.reshape(n, size)
        else:
            used.append("values")
            values = numbers("values")

        def run(role):
            if role in used or role not in order:
                return None
            field = numbers(role)
            return np.repeat(field, size // field.shape[1], axis=1)

        if (zero := run("zero_point")) is not None:
            values = values - zero
        if (sign := run("sign")) is not None:
            values = np.where(sign == 1, -values, values)
        if (scale := run("scale")) is not None:
            values = values * scale
        if (exponent := run("exponent")) is not None:
            with np.errstate(over="ignore", under="ignore"):
                values = values * np.ldexp(np.float64(1), exponent.astype(np.int32)).astype(self.c)
        if (bias := run("bias")) is not None:
            values = values + bias
        if (mask := run("mask")) is not None:
            values = np.where(mask == 0, self.c(0), values)
        values = values.reshape(level.batch, level.values)
        axis = self.constant(level, "axis")
        if axis is None:
            return values
        axes = [a for a in level.order if a != axis] + [axis]
        array = values.reshape([level.batch] + [level.shape[a] for a in axes])
        array = array.transpose([0] + [1 + axes.index(a) for a in level.order])
        return array.reshape(level.batch, level.values)

    def rotated(self, level: Level, values: np.ndarray, name: str, pre: bool) -> np.ndarray:
        rank = len(level.shape)
        logical = values.reshape([level.batch, *level.memory])
        logical = logical.transpose([0] + [1 + level.order.index(a) for a in range(rank)])
        axis = rank if pre else 1
        moved = np.moveaxis(logical, axis, -1)
        if self.constant(level, name + "_type") == 1:
            matrix = self.arrays[level.prefix + name].astype(self.c)
            moved = moved * matrix if matrix.ndim == 1 else moved @ matrix if pre else moved @ matrix.T
        else:
            size = self.constant(level, name + "_dims")[-1]
            blocks = moved.reshape(-1, size).copy()
            half = 1
            while half < size:
                for start in range(0, size, 2 * half):
                    for i in range(start, start + half):
                        a, b = blocks[:, i].copy(), blocks[:, i + half].copy()
                        blocks[:, i], blocks[:, i + half] = a + b, a - b
                half *= 2
            moved = (blocks * self.c(np.float32(1 / math.sqrt(size)))).reshape(moved.shape)
        logical = np.moveaxis(moved, -1, axis)
        return logical.transpose([0] + [1 + a for a in level.order]).reshape(values.shape)


def decode(type_, payload: bytes, shape: list[int], wide: bool = False) -> np.ndarray:
    """The tensor in float32 (float64 if `wide`), before the last cast to the profile's data_type."""
    model = Model(type_, payload, wide)
    with np.errstate(all="ignore"):
        values = model.decode(Level("", 1, list(shape), list(range(len(shape)))))
    return values.reshape(shape)
