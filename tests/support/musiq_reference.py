"""MUSIQ in plain numpy float64, written from its description: padded and masked, one step after the other."""

import math

import numpy as np

GRID, PATCH = 10, 32


def tiny_tensors(seed=0, stem=32, block=64, width=128, inner=96, layers=2):
    """Random tensors under the published names, of a narrower network."""
    rng = np.random.default_rng(seed)
    made = {}

    def add(name, *shape, scale=None):
        scale = 1 / math.sqrt(np.prod(shape[1:]) or 1) if scale is None else scale
        made[name] = rng.normal(0, scale, shape).astype(np.float32)

    def norm(name, channels):
        made[f"{name}.weight"] = rng.uniform(0.5, 1.5, channels).astype(np.float32)
        add(f"{name}.bias", channels, scale=0.3)

    def linear(name, out, into):
        add(f"{name}.weight", out, into)
        add(f"{name}.bias", out, scale=0.3)

    add("conv_root.weight", stem, 3, 7, 7)
    norm("gn_root", stem)
    for name, out, into, side in (("1", stem, stem, 1), ("2", stem, stem, 3), ("3", block, stem, 1)):
        add(f"block1.conv{name}.weight", out, into, side, side)
        norm(f"block1.gn{name}", out)
    add("block1.conv_proj.weight", block, stem, 1, 1)
    norm("block1.gn_proj", block)
    linear("embedding", width, block * 64)
    encoder = "transformer_encoder"
    add(f"{encoder}.posembed_input.position_emb", 1, GRID * GRID, width, scale=1)
    add(f"{encoder}.scaleembed_input.scale_emb", 3, width, scale=1)
    add(f"{encoder}.cls", 1, 1, width, scale=1)
    norm(f"{encoder}.encoder_norm", width)
    for i in range(layers):
        layer = f"{encoder}.transformer.encoderblock_{i}"
        norm(f"{layer}.norm1", width)
        norm(f"{layer}.norm2", width)
        for part in ("query", "key", "value", "out"):
            linear(f"{layer}.attention.{part}", width, width)
        linear(f"{layer}.mlp.fc1", inner, width)
        linear(f"{layer}.mlp.fc2", width, inner)
    linear("head", 1, width)
    return made


def score(tensors, frame, layers=2):
    """The score of a frame (H, W, 3) in [-1, 1]."""
    t = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    patches, cells, scales, mask = tokens(frame.astype(np.float64))
    x = np.stack([embedding(t, patch) for patch in patches])
    x = x + t["transformer_encoder.posembed_input.position_emb"][0, cells]
    x = x + t["transformer_encoder.scaleembed_input.scale_emb"][scales]
    x = np.concatenate([t["transformer_encoder.cls"][0], x])
    mask = np.concatenate([[True], mask])
    for i in range(layers):
        x = layer(t, f"transformer_encoder.transformer.encoderblock_{i}", x, mask)
    x = layer_norm(x, t["transformer_encoder.encoder_norm.weight"], t["transformer_encoder.encoder_norm.bias"])
    return float(x[0] @ t["head.weight"][0] + t["head.bias"][0])


def tokens(frame):
    """Patches (n, 32, 32, 3), cells, scales and mask (n,) of the three sizes; the first two filled up."""
    found = []
    for scale, longer in enumerate((224, 384, None)):
        image, due = frame, None
        if longer:
            ratio = longer / max(frame.shape[:2])
            image = bicubic(frame, *(round(side * ratio) for side in frame.shape[:2]))
            due = math.ceil(longer / PATCH) ** 2
        cut, cells = cut_up(image)
        empty = 0 if due is None else due - len(cut)
        found.append(
            (
                np.concatenate([cut, np.zeros((empty, PATCH, PATCH, 3))]),
                np.concatenate([cells, np.zeros(empty, int)]),
                np.concatenate([np.full(len(cut), scale), np.zeros(empty, int)]),
                np.arange(len(cut) + empty) < len(cut),
            )
        )
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))


def cut_up(image):
    """Patches of an image, zeros around it, and the cell of each."""
    rows, columns = (math.ceil(side / PATCH) for side in image.shape[:2])
    spare = [count * PATCH - side for count, side in zip((rows, columns), image.shape[:2], strict=True)]
    whole = np.zeros((rows * PATCH, columns * PATCH, 3))
    top, left = (side // 2 for side in spare)
    whole[top : top + image.shape[0], left : left + image.shape[1]] = image
    patches, cells = [], []
    for row in range(rows):
        for column in range(columns):
            patches.append(whole[row * PATCH :, column * PATCH :][:PATCH, :PATCH])
            cells.append(GRID * row // rows * GRID + GRID * column // columns)
    return np.stack(patches), np.array(cells)


def bicubic(image, rows, columns):
    """Cubic convolution with a = -0.75 between pixel centres, the border repeated, nothing smoothed."""
    for axis, size in enumerate((rows, columns)):
        image = np.moveaxis(image, axis, 0)
        at = (np.arange(size) + 0.5) * len(image) / size - 0.5
        first = np.floor(at).astype(int)
        total = np.zeros((size, *image.shape[1:]))
        for step in (-1, 0, 1, 2):
            weight = np.array([cubic(abs(a - f - step)) for a, f in zip(at, first, strict=True)])
            total += weight[:, None, None] * image[np.clip(first + step, 0, len(image) - 1)]
        image = np.moveaxis(total, 0, axis)
    return image


def cubic(d, a=-0.75):
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def embedding(t, patch):
    """The token of a patch (32, 32, 3)."""
    x = convolution(patch, t["conv_root.weight"], 2)
    x = np.maximum(group_norm(x, t, "gn_root", 1e-6), 0)
    # Zeros after the last row and column do not change a maximum of what is not negative.
    x = np.pad(x, ((0, 1), (0, 1), (0, 0)))
    x = np.array([[x[2 * i : 2 * i + 3, 2 * j : 2 * j + 3].max((0, 1)) for j in range(8)] for i in range(8)])
    shortcut = group_norm(convolution(x, t["block1.conv_proj.weight"]), t, "block1.gn_proj")
    for name in "123":
        x = group_norm(convolution(x, t[f"block1.conv{name}.weight"]), t, f"block1.gn{name}")
        x = np.maximum(x if name < "3" else x + shortcut, 0)
    return t["embedding.weight"] @ x.reshape(-1) + t["embedding.bias"]


def convolution(x, weight, stride=1):
    """(h, w, c) with standardised weights, zeros around so that ceil(h / stride) rows come out."""
    flat = weight.reshape(len(weight), -1)
    flat = (flat - flat.mean(1, keepdims=True)) / (flat.std(1, ddof=1, keepdims=True) + 1e-5)
    kernel = flat.reshape(weight.shape)
    side, out = weight.shape[-1], math.ceil(len(x) / stride)
    spare = (out - 1) * stride + side - len(x)
    x = np.pad(x, ((spare // 2, spare - spare // 2),) * 2 + ((0, 0),))
    windows = np.lib.stride_tricks.sliding_window_view(x, (side, side), (0, 1))[::stride, ::stride]
    return np.einsum("ijcab,ocab->ijo", windows, kernel)


def group_norm(x, t, name, epsilon=1e-4):
    grouped = x.reshape(-1, 32, x.shape[-1] // 32)
    mean, variance = grouped.mean((0, 2), keepdims=True), grouped.var((0, 2), keepdims=True)
    normed = ((grouped - mean) / np.sqrt(variance + epsilon)).reshape(x.shape)
    return normed * t[f"{name}.weight"] + t[f"{name}.bias"]


def layer(t, name, x, mask):
    """One layer of the transformer; pairs of tokens of which one is masked get -1000."""

    def linear(y, part):
        return y @ t[f"{name}.{part}.weight"].T + t[f"{name}.{part}.bias"]

    normed = layer_norm(x, t[f"{name}.norm1.weight"], t[f"{name}.norm1.bias"])
    query, key, value = (linear(normed, f"attention.{part}") for part in ("query", "key", "value"))
    mixed = []
    for head in range(x.shape[1] // 64):
        part = slice(64 * head, 64 * head + 64)
        logits = query[:, part] @ key[:, part].T / 8
        logits[~np.logical_and.outer(mask, mask)] = -1e3
        weights = np.exp(logits - logits.max(1, keepdims=True))
        mixed.append(weights / weights.sum(1, keepdims=True) @ value[:, part])
    x = x + linear(np.concatenate(mixed, 1), "attention.out")
    inner = linear(layer_norm(x, t[f"{name}.norm2.weight"], t[f"{name}.norm2.bias"]), "mlp.fc1")
    inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
    return x + linear(inner, "mlp.fc2")


def layer_norm(x, weight, bias):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-6) * weight + bias
