"""FastVideo's two entry points, as of August 2026: what they refuse, and the frames that come back."""

import json
import os

import numpy as np
import torch
from PIL import Image

FIELDS = {  # of SamplingParam, as far as an adapter may want them
    *("image_path", "pil_image", "video_path", "mouse_cond", "keyboard_cond", "grid_sizes", "pose", "camera_states"),
    *("camera_trajectory", "action_list", "action_speed_list", "c2ws_plucker_emb", "action_path", "num_cond_frames"),
    *("prompt", "negative_prompt", "output_path", "seed", "num_frames", "height", "width", "fps"),
    *("num_inference_steps", "guidance_scale", "trajectory_type", "movement_distance", "camera_rotation"),
    *("ltx2_images", "ltx2_image_crf", "save_video", "return_frames", "num_iterations"),
}
CALLS: list[dict] = []
LOADED: list[tuple] = []


class VideoGenerator:
    """Draws the start image, shifted to the left by what the control turns to the right."""

    def __init__(self, model_path):
        self.model_path = model_path

    @classmethod
    def from_pretrained(cls, model_path=None, **kwargs):
        LOADED.append((model_path, kwargs))
        return cls(model_path)

    def generate_video(
        self, prompt=None, sampling_param=None, mouse_cond=None, keyboard_cond=None, grid_sizes=None, **kwargs
    ):
        given = {**kwargs, "mouse_cond": mouse_cond, "keyboard_cond": keyboard_cond, "grid_sizes": grid_sizes}
        given = {name: value for name, value in given.items() if value is not None}
        _refuse(prompt, given)
        os.makedirs(given["output_path"], exist_ok=True)
        CALLS.append({"prompt": prompt, **{name: _kept(value) for name, value in given.items()}})
        count, shifts = _answered(self.model_path, given)
        frames = _frames(_image(given), count, shifts, {**given, "prompt": prompt})
        return {"prompts": prompt, "samples": None, "frames": frames, "size": (given["height"], given["width"], count)}


def _refuse(prompt, given):
    if unknown := sorted(set(given) - FIELDS):
        raise ValueError(f"SamplingParam.update() received unknown field(s): {unknown}")
    if not isinstance(prompt, str):
        raise ValueError("Either prompt or prompt_txt must be provided")
    if given["height"] % 8 or given["width"] % 8:
        raise ValueError("Height and width must be divisible by 8")
    if not isinstance(given["seed"], int) or given["seed"] < 0 or not isinstance(given["fps"], int):
        raise ValueError("seed and fps are whole numbers")
    mouse, keyboard = given.get("mouse_cond"), given.get("keyboard_cond")
    if mouse is not None and (mouse.dim() != 3 or mouse.shape[-1] != 2):
        raise ValueError(f"mouse_cond must have shape (B, T, 2), but got {mouse.shape}")
    if keyboard is not None and keyboard.dim() != 3:
        raise ValueError("keyboard_cond must have 3 dimensions (B, T, K)")
    for name in ("mouse_cond", "keyboard_cond"):
        if given.get(name) is not None and given[name].dtype != torch.float32:
            raise ValueError(f"{name} is float32, as its examples make it, not {given[name].dtype}")
    if given["num_frames"] % 4 != 1:
        raise ValueError(f"num_frames {given['num_frames']} would be rounded to 4n + 1")


def _answered(model, given):
    """Number of frames, and columns that each is shifted by: what each family asks of its conditions."""
    count, name = given["num_frames"], model.lower()
    latents, height, width = (count - 1) // 4 + 1, given["height"], given["width"]
    still = np.zeros(count)
    if "matrix-game-2" in name:
        assert latents % 3 == 0, "num_frames must be divisible by num_frame_per_block for causal denoising"
        assert given["grid_sizes"].numpy().tolist() == [latents, height // 8, width // 8]
        return 4 * (latents - 1) + 1, _shifts(given, count, 2 if "gta" in name else 4)
    if "matrix-game-3" in name:
        count = 57 + max(0, (count - 57 + 39) // 40) * 40
        assert height % 32 == 0, "cropped to patches of 32 pixels"
        return count, _shifts(given, count, 6)
    if "worldplay" in name:
        with open(given["pose"]) as file:
            poses = json.load(file)
        assert len(poses) == latents, f"pose corresponds to {len(poses) * 4 - 3} frames"
        for pose in poses.values():
            assert np.array(pose["extrinsic"]).shape == (4, 4)
            assert np.array(pose["K"]).shape == (3, 3)
        CALLS[-1]["poses"] = np.array([pose["extrinsic"] for pose in poses.values()])
        CALLS[-1]["K"] = np.array(poses["0"]["K"])
        return count, _turned(CALLS[-1]["poses"])[(np.arange(count) + 3) // 4]
    if "lingbot-world-v2" in name:
        poses = np.load(os.path.join(given["action_path"], "poses.npy"))
        inner = np.load(os.path.join(given["action_path"], "intrinsics.npy"))
        assert poses.shape == (count, 4, 4)
        assert inner.shape == (count, 4)
        assert poses.dtype == inner.dtype == np.float32
        CALLS[-1].update(poses=poses, K=inner)
        return 4 * (latents - latents % 4 - 1) + 1, _turned(poses)
    if "lingbot" in name:
        assert given["c2ws_plucker_emb"].shape == (1, 384, latents, height // 8, width // 8)
        assert given["c2ws_plucker_emb"].dtype == torch.float32
        ahead = given["c2ws_plucker_emb"].numpy()[0, :2, :, 0, 0]
        return count, 40 * np.arctan2(*ahead)[(np.arange(count) + 3) // 4]
    elif "gamecraft" in name:
        assert given["camera_states"].shape == (1, count, 6, height, width)
        assert given["camera_states"].dtype == torch.bfloat16
        ahead = given["camera_states"].float().numpy()[0, :, 3:, height // 2, width // 2]
        return count, 40 * np.arctan2(ahead[:, 0], ahead[:, 2])
    elif "dreamx" in name:
        assert len(given["action_list"]) == len(given["action_speed_list"])
        assert set("".join(given["action_list"])) <= set("wsadjlik")
        pairs = zip(given["action_list"], given["action_speed_list"], strict=True)
        turns = [speed * (("l" in held) - ("j" in held)) for held, speed in pairs]
        return count, 40 * np.cumsum(np.repeat(turns, -(-count // len(turns)))[:count]) / count
    elif "gen3c" in name:
        assert given["trajectory_type"] in ("left", "right", "up", "down", "zoom_in", "zoom_out", "none")
    return count, still


def _turned(poses):
    """Columns that a camera (n, 4, 4) which turns to the right moves the picture by."""
    return 40 * np.arctan2(poses[:, 0, 2], poses[:, 2, 2])


def _shifts(given, count, columns):
    keyboard, mouse = given["keyboard_cond"], given["mouse_cond"]
    assert keyboard.shape == (1, count, columns), keyboard.shape
    assert mouse.shape == (1, count, 2), mouse.shape
    assert set(np.unique(keyboard.numpy())) <= {0.0, 1.0}
    turned = 40 * np.cumsum(mouse.numpy()[0, :, 1]) + 3 * np.cumsum(keyboard.numpy()[0, :, 0])
    return np.concatenate([[0], turned[:-1]])


def _image(given):
    (path,) = [given["image_path"]] if "image_path" in given else [one[0] for one in given["ltx2_images"]]
    return np.asarray(Image.open(path).convert("RGB").resize((given["width"], given["height"])))


def _frames(image, count, shifts, given):
    drawn_by = [given["seed"], *given.get("prompt", "").encode()]
    salt = np.random.default_rng(drawn_by).integers(0, 2, image.shape[:2], dtype=np.uint8)[..., None]
    drawn = [np.roll(image, -int(shift), axis=1) ^ (salt if t else 0) for t, shift in enumerate(shifts)]
    return drawn[:count]


def _kept(value):
    return np.array(value.float().numpy()) if hasattr(value, "dim") else value
