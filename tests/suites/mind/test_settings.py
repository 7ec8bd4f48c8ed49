"""Options of MIND: what is refused, and what parity means."""

from dataclasses import asdict, fields

import pytest

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.suites.mind.settings import RELEASED, MindSettings
from worldgauge.suites.mind.suite import Mind


def test_defaults_are_right_not_released():
    settings = asdict(MindSettings.of({}))
    assert all(settings[name] != value for name, value in RELEASED.items())
    assert settings["parity"] is None


def test_parity_sets_every_switch_at_once():
    settings = asdict(MindSettings.of({"parity": "released"}))
    assert {name: settings[name] for name in RELEASED} == RELEASED
    assert MindSettings.of({"parity": "released", "window": "released"}).window == "released"


def test_a_switch_cannot_contradict_parity():
    with pytest.raises(UsageError, match="parity=released means window=released"):
        MindSettings.of({"parity": "released", "window": "all"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"window": "some"}, "'window' must be one of all, released"),
        ({"parity": "yes"}, "'parity' must be one of released"),
        ({"tests": "mem,loops"}, "'tests' must be some of mem,action_space,mirror"),
        ({"tests": ""}, "'tests'"),
        ({"tests": ["mem"]}, "'tests'"),
        ({"perspectives": "1st,1st"}, "'perspectives'"),
        ({"mirror_folders": "scene_a"}, "'mirror_folders' must be folders such as 1st_data/scene_a"),
        ({"mirror_folders": "1st_data/a,2nd_data/b"}, "'mirror_folders'"),
        ({"mirror_folders": "1st_data/../b"}, "'mirror_folders'"),
        ({"mirror_folders": ""}, "'mirror_folders'"),
        ({"horizon": 1}, "'horizon' must be a whole number of at least 2"),
        ({"horizon": 2.5}, "'horizon'"),
        ({"horizon_s": 0}, "'horizon_s' must be a number of more than 0"),
        ({"horizon_s": -2.5}, "'horizon_s'"),
        ({"horizon_s": float("nan")}, "'horizon_s'"),
        ({"horizon_s": float("inf")}, "'horizon_s'"),
        ({"horizon_s": 0.01}, "'horizon_s' must be at least two frames"),
        ({"horizon_s": 2, "horizon": 48}, "give one of them"),
        ({"context": 0}, "'context'"),
        ({"action_frames": True}, "'action_frames'"),
        ({"poses": None}, "'poses' must be a name, a file"),
        ({"poses": ""}, "'poses' must be a name, a file"),
        ({"dino": 3}, "'dino' must be a name"),
        ({"truth_poses": None}, "'truth_poses'"),
        ({"dino": "nonsense"}, "mind setting 'dino': no network for dino 'nonsense'"),
        ({"dino": "nonsense.pth"}, "'nonsense.pth' is neither a network nor a server"),
        ({"lpips": "nowhere.pth"}, "nowhere.pth: no such weight file"),
        ({"poses": "klt-vo?nonsense=1"}, "'poses': decoder 'klt-vo' has no setting 'nonsense'"),
    ],
)
def test_values_that_are_not_allowed_are_refused(options, words):
    with pytest.raises((UsageError, UnknownNameError), match=words):
        MindSettings.of(options)


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(UnknownNameError, match="horizon"):
        MindSettings.of({"horizont": 24})


def test_an_unknown_decoder_is_refused_before_anything_is_asked():
    with pytest.raises(UsageError, match=r"mind setting 'poses': no decoder 'klt-voo'\. Did you mean 'klt-vo'\? Known"):
        MindSettings.of({"poses": "klt-voo"})


def test_an_edited_weight_file_is_another_setting(tmp_path):
    file = tmp_path / "lpips.npz"
    digests = []
    for content in (b"one", b"two"):
        file.write_bytes(content)
        digests.append(MindSettings.of({"lpips": str(file)}).networks_digest)
    assert digests[0] != digests[1]
    assert None not in digests


def test_order_of_names_does_not_matter():
    settings = MindSettings.of({"tests": "mirror,mem", "perspectives": "3rd"})
    assert (settings.parts, settings.views) == (("mem", "mirror"), ("3rd",))


def test_what_only_scoring_reads_is_said():
    asked = {"tests", "perspectives", "horizon", "horizon_s", "context", "resample", "mirror_set", "mirror_folders"}
    assert {field.name for field in fields(MindSettings)} - Mind.scoring_settings == asked
