"""The networks of the semantic view: encoder f, teacher decoder g_T, student decoder g_S.

Blocks end in a LayerNorm, as those of the text encoder do: the decoders can only give vectors that look like a normal
word's. A vector that does not, such as one max-pooled over the many subwords of gibberish, cannot be reconstructed
however well they are trained, which keeps full width safe (a narrow bottleneck is worse than chance on gibberish).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from difa.config import SemanticConfig

_FAR = -1e4  # added to the attention scores of padding


class Block(nn.Module):
    """A Transformer block with LayerNorm behind each half."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attend = nn.Linear(width, 3 * width)
        self.attended = nn.Linear(width, width)
        self.first_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, width)
        self.narrow = nn.Linear(width, width)
        self.last_norm = nn.LayerNorm(width)
        _start_near_identity(self.attended, self.narrow)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:  # (B, T, d), (B, 1, 1, T)
        batch, length, width = x.shape
        parts = self.attend(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]  # (B, heads, T, d/heads)
        scores = query @ key.transpose(-1, -2) / math.sqrt(width / self.heads) + bias
        mixed = (scores.softmax(dim=-1) @ value).transpose(1, 2).reshape(batch, length, width)
        x = self.first_norm(x + self.attended(mixed))
        return self.last_norm(x + self.narrow(torch.relu(self.widen(x))))  # type: ignore[no-any-return]


def _start_near_identity(*layers: nn.Linear) -> None:
    """Let what is added to a word be little at first: a network that had to learn the identity could not from few words."""
    for layer in layers:
        nn.init.normal_(layer.weight, std=0.02)
        nn.init.zeros_(layer.bias)


class Student(nn.Module):
    """g_S: an MLP, so that it sees each word's code alone; the second half of a teacher's block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.widen = nn.Linear(width, width)
        self.narrow = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        _start_near_identity(self.narrow)

    def forward(self, z: Tensor) -> Tensor:
        return self.norm(z + self.narrow(torch.relu(self.widen(z))))  # type: ignore[no-any-return]


class SemanticNetwork(nn.Module):
    """f, g_T and g_S on standardised vectors, and the two distances of the score.

    `mean` and `scale` are one centre and one global scale: the vectors keep their shape.
    """

    def __init__(self, mean: Tensor, scale: float, config: SemanticConfig) -> None:
        super().__init__()
        width = len(mean)
        heads = max(h for h in range(1, config.heads + 1) if width % h == 0)
        self.distance_weight = config.distance_weight
        self.encoder = nn.ModuleList(Block(width, heads) for _ in range(config.layers))
        self.teacher = nn.ModuleList(Block(width, heads) for _ in range(config.layers))
        self.student = Student(width)
        self.register_buffer("normal_mean", mean)
        self.register_buffer("normal_scale", torch.tensor(scale))
        self.register_buffer("position_signals", sinusoids(config.window, width))

    def standardise(self, vectors: Tensor) -> Tensor:
        return (vectors - self.normal_mean) / self.normal_scale  # type: ignore[operator]

    def encode(self, x: Tensor, bias: Tensor) -> Tensor:
        """Z = f(H)."""
        z = x + self.position_signals[: x.shape[1]]  # type: ignore[index]
        for block in self.encoder:
            z = block(z, bias)
        return z

    def decode(self, z: Tensor, bias: Tensor) -> Tensor:
        """Ĥ_T = g_T(Z)."""
        for block in self.teacher:
            z = block(z, bias)
        return z

    def distance(self, a: Tensor, b: Tensor) -> Tensor:
        """‖a−b‖² + λ(1−cos(a,b)) per word, in vectors scaled to mean square norm 1."""
        cosine = (a * b).sum(-1) / ((a * a).sum(-1) * (b * b).sum(-1)).clamp_min(1e-12).sqrt()
        return ((a - b) ** 2).mean(-1) + self.distance_weight * (1 - cosine)

    def forward(self, vectors: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Reconstruction error and teacher–student discrepancy, (B, T) each."""
        x, bias = self.standardise(vectors), attention_bias(mask)
        z = self.encode(x, bias)
        teacher, student = self.decode(z, bias), self.student(z)
        return self.distance(teacher, x), self.distance(student, teacher)


def attention_bias(mask: Tensor) -> Tensor:
    """(B, T) of ones and zeros -> (B, 1, 1, T), far below zero at padding."""
    return ((1.0 - mask.to(torch.float32)) * _FAR)[:, None, None, :]


def sinusoids(length: int, width: int) -> Tensor:
    """Weak position signals, (length, width): words are told apart by content first."""
    angles = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
    return 0.1 * torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(length, -1)[:, :width]
