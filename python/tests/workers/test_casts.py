#!/usr/bin/env python3
"""Every cast to and from the quantized dtypes, as the backend cpu computes it.

Usage: python/tests/workers/test_casts.py      (with ml_dtypes; PyTorch's conversions are compared if it is there)
The inputs are every f16, bf16 and quantized number, and f32 numbers at and beside every number of the dtype and every
middle between two of them. The results are held against a search among the numbers of the dtype, in f64, and against
the conversions of ml_dtypes and PyTorch. NaN is NaN; results that the op leaves open are not compared: those of NaN
in f4e2m1, s8 and s4, and of numbers up to 0 in f8e8m0.
"""

import importlib.util
import json
import os
import subprocess
import tempfile
import unittest

import workers  # noqa: F401 (finds the modules of the workers)

# isort: split
import numpy as np
from client import to_f64
from fusesmith.vocabulary import DTYPES, FLOATS, QUANTIZED
from protocol import read_frame, unpack_tensors
from recorded_cases import program

HOWS = [(overflow, rounding) for overflow in ("special", "saturate") for rounding in ("nearest", "down", "up")]
NO_NAN = ("f4e2m1", "s8", "s4")
MISSING = None if importlib.util.find_spec("ml_dtypes") else "no ml_dtypes"
if not MISSING:
    import numpy_dtypes


def every_code(dtype):
    """The bits of every number of a dtype of 8 or 16 bits."""
    if dtype in ("f16", "bf16"):
        return np.arange(1 << 16, dtype=np.uint16)
    return np.arange(16 if dtype in ("f4e2m1", "s4") else 256, dtype=np.uint8)


def numbers_of(dtype, bits):
    if dtype in FLOATS and dtype != "bf16":
        return bits.view({"f32": np.float32, "f16": np.float16}[dtype]).astype(np.float64)
    return to_f64(bits.view(np.int8) if dtype == "s8" else bits, dtype)


def finite_numbers(dtype):
    """In order, and with one zero."""
    numbers = numbers_of(dtype, every_code(dtype))
    return np.unique(numbers[np.isfinite(numbers)] + 0.0)


def f32_bits(dtype):
    """Numbers of the dtype, the middles between them, what lies beyond its range, and the f32 numbers beside all."""
    table = finite_numbers(dtype)
    largest = table[-1] + (table[-1] - table[-2]) * np.array([0.5, 1, 1.5, 2, 3])
    beyond = [*largest, *-largest, 1e30, -1e30, np.inf, -np.inf, np.nan, 0.0, -0.0, 2.0 ** -126, 1e-45, -1e-45]
    with np.errstate(over="ignore"):
        values = np.concatenate([table, (table[1:] + table[:-1]) / 2, beyond]).astype(np.float32)
        beside = [np.nextafter(values, np.float32(end)) for end in (-np.inf, np.inf)]
    return np.concatenate([values, *beside]).view(np.uint32)


def i32_bits():
    powers = np.concatenate([[0], 2 ** np.arange(31), 3 * 2 ** np.arange(29), np.arange(260), [2 ** 31 - 1]])
    near = np.concatenate([powers - 1, powers, powers + 1])
    return np.concatenate([near, -near]).clip(-(2 ** 31), 2 ** 31 - 1).astype(np.int32).view(np.uint32)


def sources_of(dtype):
    """Dtype -> the bits of the inputs."""
    return {"f32": f32_bits(dtype), "i32": i32_bits(), "bool": np.array([0, 1], np.uint8),
            **{source: every_code(source) for source in ("f16", "bf16", *QUANTIZED)}}


def value_of(source, bits):
    if source == "i32":
        return bits.view(np.int32).astype(np.float64)
    return bits.astype(np.float64) if source == "bool" else numbers_of(source, bits)


def searched(dtype, x, overflow, rounding):
    """The numbers of the dtype that x becomes; the table goes on to the first number beyond the largest one."""
    table = finite_numbers(dtype)
    row = DTYPES[dtype]
    saturates = overflow == "saturate" or dtype in NO_NAN
    step = table[-1] if dtype == "f8e8m0" else table[-1] - table[-2]
    ends = [] if dtype in NO_NAN else [table[-1] + step]
    table = np.concatenate([[-end for end in ends if row["lowest"] < 0], table, ends])
    inside = np.clip(x, row["lowest"], row["max_finite"]) if dtype in NO_NAN else np.clip(x, table[0], table[-1])
    inside = np.where(np.isnan(x), table[0], inside)
    above = np.searchsorted(table, inside)  # the first number that is not below
    below = np.where(table[above] == inside, above, np.maximum(above, 1) - 1)
    to_lower, to_upper = inside - table[below], table[above] - inside
    # Of two neighbours one is even: that whose last digit in its own step is 0; f8e8m0 has no last digit.
    is_even = np.ones(len(table), bool) if dtype == "f8e8m0" else evens(table)
    goes_up = (to_upper < to_lower) | ((to_upper == to_lower) & is_even[above])
    chosen = {"down": below, "up": above, "nearest": np.where(goes_up, above, below)}[rounding]
    y = np.where(np.isnan(x), np.nan, table[chosen])
    y = np.where((y == 0) & np.signbit(x), -0.0, y)
    if saturates:
        return np.where(np.isnan(y), y, np.clip(y, row["lowest"], row["max_finite"]))
    special = np.copysign(np.inf, x) if dtype == "f8e5m2" else np.nan
    return np.where(np.isinf(x) | (abs(y) > row["max_finite"]), special, y)


def evens(table):
    """Every second number, counted from 0."""
    return (np.arange(len(table)) - int(np.searchsorted(table, 0))) % 2 == 0


def is_open(dtype, x):
    """Whether the op leaves the result open."""
    return np.isnan(x) if dtype in NO_NAN else (x <= 0) if dtype == "f8e8m0" else np.zeros(x.shape, bool)


def differs_in_libraries(dtype, x):
    """ml_dtypes 0.6, PyTorch 2.11 and JAX round these numbers, which are nearer to 2^-127, to 2^-126."""
    return (x > 2.0 ** -127) & (x < 1.5 * 2.0 ** -127) if dtype == "f8e8m0" else np.zeros(x.shape, bool)


def of_ml_dtypes(dtype, x, overflow):
    row = DTYPES[dtype]
    if dtype in ("s8", "s4"):
        return np.clip(np.rint(x), row["lowest"], row["max_finite"])
    if overflow == "saturate":
        x = np.clip(x, row["lowest"], row["max_finite"])
    with np.errstate(over="ignore"):
        return x.astype(np.float32).astype(numpy_dtypes.DTYPES[dtype]).astype(np.float64)


def of_torch(torch, dtype, source, bits):
    """PyTorch's own conversion from this dtype."""
    import torch_tensors

    target = torch_tensors.DTYPES[dtype]
    storage = np.dtype({"f32": np.float32, "f16": np.float16}.get(source, bits.dtype))
    x = torch_tensors.from_array(bits.view(storage).copy(), source)
    return x.to(target).to(torch.float32).numpy().astype(np.float64)


def agree(a, b, has_signed_zero):
    return (np.isnan(a) & np.isnan(b)) | ((a == b) & ((np.signbit(a) == np.signbit(b)) | (not has_signed_zero)))


@unittest.skipIf(MISSING, MISSING)
class Casts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.isfile(program()):
            raise unittest.SkipTest(f"no {program()}")
        cls.compared = dict.fromkeys(("search", "ml_dtypes", "torch"), 0)
        np.seterr(invalid="ignore")  # NaN that is converted; compared with NaN, or left out

    @classmethod
    def tearDownClass(cls):
        print("values compared:", ", ".join(f"{count:,} with {what}" for what, count in cls.compared.items()))

    def computed(self, cases):
        """[(source, bits, casts)] -> for each case, name of a cast -> its bits. A cast: (dtype, overflow, rounding)."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, (source, bits, casts) in enumerate(cases):
                digits = bits.astype(bits.dtype.newbyteorder(">")).tobytes().hex()
                given = {"name": "x", "type": f"{source}[{len(bits)}]", "fill": {"literal": {"bits": digits}}}
                nodes = [{"name": "-".join(cast), "op": "cast", "inputs": ["x"],
                          **dict(zip(("dtype", "overflow", "rounding"), cast, strict=True))} for cast in casts]
                case = {"fusesmith": 1, "seed": 1, "steps": 1,
                        "graph": {"inputs": [given], "nodes": nodes, "outputs": [node["name"] for node in nodes]}}
                paths.append(os.path.join(folder, f"{number:03}.json"))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    json.dump(case, file)
            values = os.path.join(folder, "values")
            done = subprocess.run([program(), "replay", "--baseline=cpu", "--candidate=cpu", f"--values={values}",
                                   *paths], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
            return self.frames(values, len(cases))

    def frames(self, path, count):
        found = []
        with open(path, "rb") as file:
            for _ in range(count):
                header, payload = read_frame(file)
                found.append(unpack_tensors(header, payload))
        return found

    def check(self, what, dtype, x, got, expected, left_out):
        agrees = agree(got, expected, dtype not in ("s8", "s4")) | left_out
        self.compared[what] += int((~left_out).sum())
        places = np.flatnonzero(~agrees)
        shown = [(x[i], got[i], expected[i]) for i in places[:5]]
        self.assertEqual(len(places), 0, f"(x, cpu, {what}): {shown}")

    def test_to_quantized(self):
        torch = __import__("torch") if importlib.util.find_spec("torch") else None
        cases = [(source, bits, [(dtype, *how) for how in HOWS])
                 for dtype in QUANTIZED for source, bits in sources_of(dtype).items()]
        for (source, bits, casts), results in zip(cases, self.computed(cases), strict=True):
            x = value_of(source, bits)
            for dtype, overflow, rounding in casts:
                with self.subTest(source=source, dtype=dtype, overflow=overflow, rounding=rounding):
                    got = to_f64(results[f"{dtype}-{overflow}-{rounding}"], dtype)
                    left_out = is_open(dtype, x)
                    self.check("search", dtype, x, got, searched(dtype, x, overflow, rounding), left_out)
                    if rounding != "nearest" or source == "i32":  # the libraries convert an i32 to f32 first
                        continue
                    left_out |= differs_in_libraries(dtype, x)
                    self.check("ml_dtypes", dtype, x, got, of_ml_dtypes(dtype, x, overflow), left_out)
                    if torch and overflow == "special" and dtype[:2] == "f8" and source in FLOATS:
                        self.check("torch", dtype, x, got, of_torch(torch, dtype, source, bits), left_out)

    def test_from_quantized(self):
        torch = __import__("torch") if importlib.util.find_spec("torch") else None
        cases = [(source, every_code(source), [(dtype, "special", "nearest") for dtype in FLOATS])
                 for source in QUANTIZED]
        for (source, bits, casts), results in zip(cases, self.computed(cases), strict=True):
            x = numbers_of(source, bits)
            for dtype, *_ in casts:
                with self.subTest(source=source, dtype=dtype):
                    got = to_f64(results[f"{dtype}-special-nearest"], dtype)
                    storage = numpy_dtypes.DTYPES.get(dtype, {"f32": np.float32, "f16": np.float16}.get(dtype))
                    with np.errstate(over="ignore"):
                        expected = x.astype(np.float32).astype(storage).astype(np.float64)
                    self.check("ml_dtypes", source, x, got, expected, np.zeros(x.shape, bool))
                    if torch and source[:2] == "f8":
                        made = of_torch(torch, dtype, source, bits)
                        self.check("torch", source, x, got, made, np.zeros(x.shape, bool))


if __name__ == "__main__":
    unittest.main()
