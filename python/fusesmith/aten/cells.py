"""One step of recurrent networks, in the operations that torch makes of it on a CPU."""

from .moves import part_of
from .table import lowers


def gates(g, given, x, hidden):
    """The linear of the input, and that of the hidden state."""
    return tuple(g.op("linear", value, weight, *([bias] if bias is not None else []))
                 for value, weight, bias in ((x, given.w_ih, given.b_ih), (hidden, given.w_hh, given.b_hh)))


def parts(g, x, count):
    size = g.shape_of(x)[1] // count
    return [part_of(g, x, 1, i * size, (i + 1) * size) for i in range(count)]


@lowers("lstm_cell")
def lstm_cell(g, given):
    hidden, cell = given.hx
    made = g.op("add", *gates(g, given, given.input, hidden))
    entering, forgotten, new, shown = parts(g, made, 4)
    kept = g.op("mul", g.op("sigmoid", forgotten), cell)
    cell = g.op("add", kept, g.op("mul", g.op("sigmoid", entering), g.op("tanh", new)))
    return g.op("mul", g.op("sigmoid", shown), g.op("tanh", cell)), cell


@lowers("gru_cell")
def gru_cell(g, given):
    inputs, states = (parts(g, made, 3) for made in gates(g, given, given.input, given.hx))
    reset, update = (g.op("sigmoid", g.op("add", states[i], inputs[i])) for i in (0, 1))
    new = g.op("tanh", g.op("add", inputs[2], g.op("mul", states[2], reset)))
    return g.op("add", g.op("mul", g.op("sub", given.hx, new), update), new)


@lowers("rnn_tanh_cell", "rnn_relu_cell")
def rnn_cell(g, given):
    made = g.op("add", *gates(g, given, given.input, given.hx))
    return g.op("tanh" if g.called == "rnn_tanh_cell" else "relu", made)
