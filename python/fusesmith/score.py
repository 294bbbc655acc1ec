"""How right a kernel is, as one number: for tuners, and for loops in which a model writes kernels (docs/tensors.md)."""

import sys
from dataclasses import dataclass, field

from .check import check_each
from .errors import Error
from .tensors import is_torch

FEWEST_DRAWS = 2  # else a kernel may return what an earlier call computed


@dataclass
class Score:
    """`value` is 0 where a call fails, or returns what is wrong; else the share of the calls whose results are right.
    The others are inconclusive: their bounds are too large to decide. `sentence` says of the first call that is not
    right why. `verdicts` has one for each call, and is empty where a call fails."""

    value: float
    sentence: str
    verdicts: list = field(default_factory=list, repr=False)

    def __float__(self):
        return self.value

    def __str__(self):
        return f"{self.value:g}: {self.sentence}"


def score(kernel, what, draws, *, in_place=False, **arguments):
    """The Score of `kernel`, which is called once for each of `draws` and returns a tensor or a list of them.

    what: what it has to compute, as for `check`, whose arguments are taken, too.
    draws: two or more lists of inputs, of the same types. All calls get their data at the same addresses, so that a
        kernel that returns what an earlier call computed is wrong. Numbers, and arrays of jax, are passed as they are.
    in_place: whether the kernel may write to its inputs; else a call that does is wrong.

    The kernel runs in this process, before any result is judged: nothing that it could copy exists while it runs.
    """
    if not callable(kernel):
        raise Error(f"kernel: expected a function, got {type(kernel).__name__}")
    draws = lists_of_inputs(draws)
    buffers = [copied(value) for value in draws[0]]
    calls = []
    for i, draw in enumerate(draws):
        inputs = [filled(buffer, value, f"draw {i}, input {k}")
                  for k, (buffer, value) in enumerate(zip_equal(buffers, draw, i))]
        try:
            results = kernel(*inputs)
            wait_for_devices(inputs)
            results = [copied(one) for one in (results if isinstance(results, (list, tuple)) else [results])]
            changed = [k for k, (now, before) in enumerate(zip(inputs, draw, strict=True)) if differs(now, before)]
        except (Exception, SystemExit) as error:  # whatever code of others raises
            return Score(0.0, f"call {i}: {type(error).__name__}: {str(error).partition(chr(10))[0]}")
        if changed and not in_place:
            return Score(0.0, f"call {i}: the kernel wrote to its input {changed[0]}")
        calls.append((draw, results))
    try:
        verdicts = check_each(what, calls, **arguments)
    except Error as error:
        if "output" not in str(error):
            raise
        return Score(0.0, str(error))
    return of_verdicts(verdicts)


def lists_of_inputs(draws):
    try:
        draws = [list(draw) if isinstance(draw, (list, tuple)) else [draw] for draw in draws]
    except TypeError:
        raise Error(f"draws: expected lists of inputs, got {type(draws).__name__}") from None
    if len(draws) < FEWEST_DRAWS:
        raise Error(f"draws: expected at least {FEWEST_DRAWS} lists of inputs, got {len(draws)}")
    for i, draw in enumerate(draws):
        if any(isinstance(value, dict) for value in draw):
            raise Error(f"draw {i}: expected a list of inputs, got a dict")
    return draws


def of_verdicts(verdicts):
    right = sum(verdict.ok for verdict in verdicts)
    for i, verdict in sorted(enumerate(verdicts), key=lambda one: not one[1].finding):
        if not verdict.ok:
            return Score(0.0 if verdict.finding else right / len(verdicts), f"call {i}: {verdict}", verdicts)
    return Score(1.0, str(verdicts[0]), verdicts)


def zip_equal(buffers, draw, number):
    if len(draw) != len(buffers):
        raise Error(f"draw {number}: expected {len(buffers)} inputs, as draw 0 has, got {len(draw)}")
    return zip(buffers, draw, strict=True)


def is_numpy(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def copied(value):
    """One in other memory, with the same strides where these leave no gaps. What is no tensor, or cannot be written to,
    is returned as it is."""
    if is_torch(value):
        return value.detach().clone()
    return value.copy(order="K") if is_numpy(value) else value


def filled(buffer, value, name):
    """The buffer, with the data of `value`."""
    if not is_torch(value) and not is_numpy(value):
        return value
    if type(buffer) is not type(value) or buffer.shape != value.shape or buffer.dtype != value.dtype:
        raise Error(f"{name}: expected a tensor of the type that draw 0 has")
    if is_torch(value):
        buffer.copy_(value.detach())
    else:
        buffer[...] = value
    return buffer


def wait_for_devices(tensors):
    """Until kernels that were started on the GPUs of these tensors have ended, on whatever stream."""
    for device in {tensor.device for tensor in tensors if is_torch(tensor) and tensor.is_cuda}:
        sys.modules["torch"].cuda.synchronize(device)


def differs(now, before):
    """Whether a bit of a tensor is another one."""
    if is_torch(now):
        torch = sys.modules["torch"]
        bits = [tensor.detach().contiguous().reshape(-1).view(torch.uint8) for tensor in (now, before)]
        return not torch.equal(bits[0], bits[1].to(bits[0].device))
    return is_numpy(now) and now.tobytes() != before.tobytes()
