"""StreamingVideoGenerator: a reset, then a block of frames for a block of controls."""

import numpy as np

from fastvideo import CALLS, VideoGenerator, _frames, _image, _kept, _refuse


class StreamingVideoGenerator(VideoGenerator):
    """Latents come in blocks of three: 9 frames, then 12 at a time."""

    batch = None

    def reset(self, prompt="A gameplay video of a cyberpunk city", image_path=None, num_frames=120, **kwargs):
        given = {**kwargs, "image_path": image_path, "num_frames": num_frames, "fps": 25}
        _refuse(prompt, given)
        assert ((num_frames - 1) // 4 + 1) % 3 == 0
        assert given["keyboard_cond"].shape[1] == num_frames, "rows are written into these"
        self.batch, self.image, self.at, self.turned = given, _image(given), 0, 0.0
        CALLS.append({"reset": True, "prompt": prompt, **{name: _kept(value) for name, value in given.items()}})

    def step(self, keyboard_cond, mouse_cond):
        if self.batch is None:
            raise RuntimeError("Call reset() before step()")
        if self.at >= self.batch["num_frames"]:
            return [], None
        rows = 9 if self.at == 0 else 12
        assert keyboard_cond.shape == (1, rows, 4), "rows of the next block would be written over"
        assert mouse_cond.shape == (1, rows, 2)
        CALLS.append({"keyboard_cond": _kept(keyboard_cond), "mouse_cond": _kept(mouse_cond)})
        turned = self.turned + 40 * np.cumsum(_kept(mouse_cond)[0, :, 1]) + 3 * np.cumsum(_kept(keyboard_cond)[0, :, 0])
        shifts = np.concatenate([[self.turned], turned[:-1]])
        self.turned, first = float(turned[-1]), self.at == 0
        self.at += rows
        frames = _frames(self.image, rows, shifts, self.batch)
        return frames if first else [np.array(frame) for frame in frames], None
