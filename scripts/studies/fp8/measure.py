"""The whole measurement of one unit: probes with and without fast accumulation, then random products."""

import time

import numpy as np
from fp8 import probes, products, scales
from fp8 import report as texts
from fp8.partition import Prober

PAIRINGS = ("block:1:128", "block:128:1", "block:1:1")  # blocks of A and of B


class Measurement:
    def __init__(self, unit, arrays, report, flags):
        self.unit, self.arrays, self.report, self.flags = unit, arrays, report, flags
        self.probers, self.found = {}, {}  # by use_fast_accum
        self.equal = {}  # label -> whether every product was equal

    def run(self):
        self.report.say(f"fp8_products: {self.unit.device_name}, results in {'f32' if self.unit.f32 else 'bf16'}"
                        f"{getattr(self.unit, 'version', '')}")
        self.deadline = time.time() + self.flags.budget
        for fast in (False, True):
            self.probe(fast)
        for fast in (False, True):
            name = f"emulation, use_fast_accum = {fast}, K = 16 ... {self.flags.kmax}"
            self.report.section(name, self.emulate, fast)
        self.report.section("block scales, use_fast_accum = False", self.emulate_blocks)
        self.report.say(f"\ndone in {self.report.seconds():.0f} s")

    def probe(self, fast):
        prober, found = Prober(self.unit, self.report, "tensor", fast), {}
        self.probers[fast], self.found[fast] = prober, found
        longest = max(self.flags.kmax, 1024)
        lengths = [length for length in (512, 1024, 2048, 4096) if length <= longest]
        shapes = (128,) if self.flags.simulate else (128, 64, 1024)
        name, section = f"use_fast_accum = {fast}", self.report.section
        section(f"{name}: groups (g)", probes.measure_groups, prober, found)
        section(f"{name}: where terms are cut (F: last j kept)", probes.measure_cuts, prober, found)
        section(f"{name}: fraction bits of the accumulator (Fo)", probes.measure_accumulator, prober, found)
        section(f"{name}: promotion to f32", probes.measure_promotion, prober, found, lengths, shapes)
        self.report.say(f"  -> F = {found.get('F')} ({found.get('term')}), g = {found.get('g')}, "
                        f"Fo = {found.get('Fo')} ({found.get('out')}), promote every {found.get('P') or 'never'}, "
                        f"product exponent {found.get('pexp')}, subnormal {found.get('sub')}")

    def prober_of(self, mode, fast):
        prober = Prober(self.unit, self.report, mode, fast)
        prober.pattern = self.probers[fast].pattern
        return prober

    def compare(self, prober, label, count, sizes, lengths, scaled, seed):
        found = self.found[prober.fast]
        self.equal[label, prober.fast] = self.report.attempt(
            f"{label}: ", products.compare, prober, found, self.arrays, label, count, sizes, lengths, scaled,
            self.deadline, seed)

    def emulate(self, fast):
        count = max(self.flags.products * 2 // 5, 1) if fast else self.flags.products
        sizes = [self.flags.size] if self.flags.size else [64, 128]
        lengths = np.arange(16, self.flags.kmax + 1, 16)
        tensor, row = self.probers[fast], self.prober_of("row", fast)
        self.compare(tensor, "scales 1           ", count // 2, sizes, lengths, False, 1)
        self.compare(tensor, "scales per tensor  ", count - count // 2, sizes, lengths, True, 2)
        self.compare(row, "scales per row     ", max(count * 2 // 5, 1), sizes, lengths, True, 3)

    def emulate_blocks(self):
        # cuBLAS pads the scales of other K.
        lengths = [512, 1024, 2048] if self.flags.kmax >= 2048 else [512]
        for mode in PAIRINGS:
            of_a, of_b = scales.block_rows(mode)
            label, prober = f"A {of_a}x128, B {of_b}x128", self.prober_of(mode, False)
            order = self.report.attempt(f"{label}: ", prober.blocks, 1024, 128)
            if order:
                self.report.say(f"  {label}, K = 1024: {texts.accumulators_text(*order)}")
                count = max(self.flags.products // 6, 2)
                self.compare(prober, f"{label} random scales", count, [128], lengths, True, 4)
