import numpy as np

NAMES = (
    *("use", "attack", "forward", "back", "left", "right", "jump", "sneak", "sprint"),
    *("drop", "swapHands", "pickItem", "inventory", "ESC", *(f"hotbar.{k}" for k in range(1, 10))),
)
PAIRS = (("forward", "back"), ("left", "right"), ("sprint", "sneak"), ("use", "attack"))


class MCDataset:
    """Eleven tokens an action: begin, pitch, yaw, hotbar, four pairs of buttons, jump, drop or pick, end."""

    def get_action_index_from_actiondict(self, action_dict, action_vocab_offset=0):
        begin, null, end = (len(NAMES) + 42 + k for k in range(3))
        camera = action_dict["camera"]
        assert isinstance(camera, np.ndarray)
        pitch, yaw = (_bin(angle) for angle in camera)

        def pressed(*names):
            held = [name for name in names if action_dict[name] == 1]
            return NAMES.index(held[0]) if len(held) == 1 else null

        tokens = [begin, len(NAMES) + pitch, len(NAMES) + 21 + yaw]
        tokens += [pressed(*(f"hotbar.{k}" for k in range(1, 10))), *(pressed(*pair) for pair in PAIRS)]
        tokens += [pressed("jump"), pressed("drop", "pickItem"), end]
        return [token + action_vocab_offset for token in tokens]


def _bin(angle):
    share = min(max(angle / 90, -1), 1)
    bent = np.sign(share) * np.log(1 + 11.4887 * abs(share)) / np.log(1 + 11.4887)
    return int(np.round((bent * 90 + 90) / 9))
