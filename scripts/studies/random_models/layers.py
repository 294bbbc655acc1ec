"""Models of torch.nn alone, as tutorials and older code have them."""

import torch
from torch import nn


def images():
    return (torch.randn(2, 3, 16, 16),)


def rows():
    return (torch.randn(4, 32),)


def sequences():
    return (torch.randn(2, 10, 32),)


def transformer():
    return nn.Transformer(32, 4, 2, 2, 64, batch_first=True), (torch.randn(2, 10, 32), torch.randn(2, 7, 32))


def transformer_encoder():
    layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), sequences()


def convolutions():
    """A classifier in the way of LeNet and VGG."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, padding=1, groups=2), nn.GroupNorm(4, 16), nn.LeakyReLU(0.1), nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(16, 10), nn.LogSoftmax(-1)), images()


def upsampling():
    """A decoder of images in the way of autoencoders."""
    return nn.Sequential(nn.Conv2d(3, 8, 4, stride=4), nn.ELU(), nn.Upsample(scale_factor=2),
                         nn.Conv2d(8, 8, 3, padding=1), nn.InstanceNorm2d(8, affine=True), nn.SiLU(),
                         nn.ConvTranspose2d(8, 3, 2, stride=2), nn.Tanh()), images()


def activations():
    """Every activation of one operand, one after the other."""
    found = [nn.ReLU6(), nn.Hardtanh(), nn.Hardswish(), nn.Hardsigmoid(), nn.ELU(), nn.CELU(0.5), nn.SELU(), nn.GELU(),
             nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Softplus(), nn.Softsign(), nn.Tanh(), nn.Sigmoid(),
             nn.LogSigmoid(), nn.LeakyReLU(), nn.PReLU(), nn.Tanhshrink(), nn.Softmax(-1), nn.LogSoftmax(-1),
             nn.Softmin(-1)]
    return nn.Sequential(*(layer for activation in found for layer in (nn.Linear(32, 32), activation))), rows()


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell, self.head = kind(32, 32), nn.Linear(32, 10)

    def forward(self, x):
        state = None
        for step in x.unbind(1):
            state = self.cell(step, state)
        return self.head(state[0] if isinstance(state, tuple) else state)


class Convolved(nn.Module):
    """A temporal network: dilated and depthwise convolutions of sequences, with gates."""

    def __init__(self):
        super().__init__()
        self.first, self.wide = nn.Conv1d(32, 32, 3, padding=2, dilation=2), nn.Conv1d(32, 64, 1)
        self.depthwise, self.norm = nn.Conv1d(32, 32, 4, groups=32, padding=3), nn.BatchNorm1d(32)

    def forward(self, x):
        x = x.transpose(1, 2)
        x = self.norm(self.depthwise(self.first(x))[..., : x.shape[-1]])
        return nn.functional.glu(self.wide(x), dim=1).mean(-1)


class Mixture(nn.Module):
    """Experts that all compute, weighted by the gates of the best two."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(32, 4), nn.ModuleList(nn.Linear(32, 32) for _ in range(4))

    def forward(self, x):
        scores = self.gate(x)
        best = scores.topk(2, dim=-1).values[..., -1:]
        weights = scores.masked_fill(scores < best, float("-inf")).softmax(-1)
        return (torch.stack([expert(x) for expert in self.experts], -1) * weights.unsqueeze(-2)).sum(-1)


class Losses(nn.Module):
    def forward(self, x, target, labels):
        f = nn.functional
        return (f.mse_loss(x, target), f.l1_loss(x, target), f.smooth_l1_loss(x, target), f.huber_loss(x, target),
                f.cross_entropy(x, labels), f.kl_div(x.log_softmax(-1), target.softmax(-1), reduction="batchmean"),
                f.binary_cross_entropy_with_logits(x, target.sigmoid()), f.cosine_similarity(x, target))


MODELS = {
    "nn_transformer": transformer, "nn_transformer_encoder": transformer_encoder, "nn_convolutions": convolutions,
    "nn_upsampling": upsampling, "nn_activations": activations,
    "nn_lstm_cell": lambda: (Recurrent(nn.LSTMCell), sequences()),
    "nn_gru_cell": lambda: (Recurrent(nn.GRUCell), sequences()),
    "nn_rnn_cell": lambda: (Recurrent(nn.RNNCell), sequences()),
    "nn_temporal": lambda: (Convolved(), sequences()), "nn_mixture": lambda: (Mixture(), sequences()),
    "nn_losses": lambda: (Losses(), (*rows(), *rows(), torch.arange(4))),
}
