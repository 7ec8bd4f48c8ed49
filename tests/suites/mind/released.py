"""What the released scorer computes, written out in plain NumPy: frames at 720p, pairs of frames, steps of a camera."""

import numpy as np
from scipy.ndimage import correlate1d
from scipy.spatial.transform import Rotation


def at_720p(frame, height=720, width=1280):
    """Bilinear about pixel centres, no antialiasing: a frame of the same shape enlarged, in [0, 1]."""
    sides = ((frame.shape[0], height), (frame.shape[1], width))
    rows, columns = (np.stack([_linear(each, n, to) for each in np.eye(n)]) for n, to in sides)
    return np.asarray(np.einsum("ir,jc,ijk->rck", rows, columns, frame / 255, optimize=True))


def _linear(values, n, to):
    return np.interp((np.arange(to) + 0.5) * n / to - 0.5, np.arange(n), values)


def ssim(x, y):
    """Of frames in [0, 1]: Gaussian window of 11, mirrored borders, the whole map."""
    taps = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)

    def blurred(image):
        return correlate1d(correlate1d(image, taps / taps.sum(), 0, mode="mirror"), taps / taps.sum(), 1, mode="mirror")

    mx, my = blurred(x), blurred(y)
    vx, vy = (np.maximum(blurred(a * a) - m * m, 0) for a, m in ((x, mx), (y, my)))
    cov = blurred(x * y) - mx * my
    top = (2 * mx * my + 0.01**2) * (2 * cov + 0.03**2)
    return float((top / ((mx**2 + my**2 + 0.01**2) * (vx + vy + 0.03**2))).mean())


def images_txt(path):
    """Camera-to-world poses in the order of names: every second line is one, as the release reads them."""
    lines = [line for line in path.read_text().split("\n") if not line.startswith("#")][::2]
    rows = sorted((line.split() for line in lines if line.strip()), key=lambda row: row[9])
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    for pose, row in zip(poses, rows, strict=True):
        w, *rest = map(float, row[1:8])
        pose[:3, :3] = Rotation.from_quat([*rest[:3], w]).as_matrix().T
        pose[:3, 3] = -pose[:3, :3] @ rest[3:]
    return poses


def label(codes):
    names = (("forward", "backward"), ("left", "right"), ("look_up", "look_down"), ("look_left", "look_right"))
    return "+".join(pair[code - 1] for pair, code in zip(names, codes, strict=True) if code) or "no_op"


def relative_errors(truth, generated):
    """Of each step, after the similarity alignment of the centres of `generated` to those of `truth`."""
    x, y = generated[:, :3, 3], truth[:, :3, 3]
    mx, my = x.mean(0), y.mean(0)
    u, d, vt = np.linalg.svd((y - my).T @ (x - mx) / len(x))
    sign = np.diag([1, 1, np.sign(np.linalg.det(u) * np.linalg.det(vt))])
    turn = u @ sign @ vt
    scale = np.trace(np.diag(d) @ sign) / ((x - mx) ** 2).sum(1).mean()
    moved = generated.copy()
    moved[:, :3, :3] = turn @ generated[:, :3, :3]
    moved[:, :3, 3] = scale * x @ turn.T + my - scale * turn @ mx
    inverse = np.linalg.inv
    errors = [
        inverse(inverse(q) @ q_next) @ (inverse(p) @ p_next)
        for q, q_next, p, p_next in zip(truth, truth[1:], moved, moved[1:], strict=False)
    ]
    cosines = [(np.trace(e[:3, :3]) - 1) / 2 for e in errors]
    return np.array([np.linalg.norm(e[:3, 3]) for e in errors]), np.degrees(np.arccos(np.clip(cosines, -1, 1)))
