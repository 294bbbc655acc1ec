"""The unit that is measured: torch._scaled_mm."""

import numpy as np
from fp8 import scales


class Device:
    """Results are f32, or bf16 where f32 is refused."""

    def __init__(self, torch, device, report):
        self.torch, self.device = torch, device
        self.device_name = torch.cuda.get_device_name(0) if device == "cuda" else device
        self.version = f", torch {torch.__version__}, CUDA {torch.version.cuda}"
        self.out = torch.float32
        ones = np.ones((64, 64))
        try:
            self.product(ones, ones, 1.0, 1.0, "tensor", False)
        except RuntimeError as error:
            report.say("f32 results refused, bf16 used:", str(error).splitlines()[0][:150])
            self.out = torch.bfloat16
            self.product(ones, ones, 1.0, 1.0, "tensor", False)
        self.f32 = self.out == torch.float32

    def codes(self, x):
        x = self.torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
        return x.to(self.device).to(self.torch.float8_e4m3fn)

    def scale(self, x):
        return self.torch.from_numpy(np.array(x, dtype=np.float32, copy=True)).to(self.device)

    def scaled_mm(self, A, B, sa, sb, mode, fast):
        a, b = self.codes(A), self.codes(B.T).t()  # B is stored by columns, as _scaled_mm demands
        if scales.is_blockwise(mode):
            of_a, of_b = scales.block_rows(mode)
            sa, sb = self.scale(sa), self.scale(np.asarray(sb).T)
            # Scales of 1x128 blocks are stored along the rows, those of 128x128 blocks along K.
            sa = sa.t().contiguous().t() if of_a == 1 else sa.contiguous()
            sb = (sb.t().contiguous().t() if of_b == 1 else sb.contiguous()).t()
        else:
            sa, sb = self.scale(sa), self.scale(sb)
        return self.torch._scaled_mm(a, b, scale_a=sa, scale_b=sb, out_dtype=self.out, use_fast_accum=fast)

    def product(self, A, B, sa, sb, mode, fast):
        return self.scaled_mm(A, B, sa, sb, mode, fast).float().cpu().numpy()

    def dots(self, A, B, K, mode, fast, shape):
        """For each row of A and the same row of B, their product: the diagonal of products of `shape` rows."""
        found = []
        sa, sb = (np.ones(s) for s in scales.shapes(mode, shape, shape, K))
        for i in range(0, len(A), shape):
            a, b = A[i:i + shape], B[i:i + shape]
            missing = np.zeros((shape - len(a), K))
            full = self.scaled_mm(np.vstack([a, missing]), np.vstack([b, missing]).T, sa, sb, mode, fast)
            found.append(full.diagonal().float().cpu().numpy()[:len(a)])
        return np.concatenate(found).astype(np.float64)
