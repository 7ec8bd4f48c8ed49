"""What the studies compare with what."""

import pytest

from worldgauge.core.errors import UsageError
from worldgauge_train.study_findings import counts_of, denoising_arms, memory_arms, pair_arms, with_setting


def test_a_model_is_shown_more_and_more() -> None:
    models = {"a": "memory", "b": "trained:ckpt/b"}
    arms, said = memory_arms(models, [8, 1, None], {"a": None, "b": 8})
    assert [(arm.label, arm.model, arm.at, arm.base) for arm in arms] == [
        ("a at 1", "memory?context_frames=1", 1.0, None),
        ("a at 8", "memory?context_frames=8", 8.0, "a at 1"),
        ("a at all", "memory", 24.0, "a at 1"),
        ("b at 1", "trained:ckpt/b?context_frames=1", 1.0, None),
        ("b at 8", "trained:ckpt/b", 8.0, "b at 1"),
    ]
    assert [arm.tick for arm in arms] == ["", "", "all", "", ""]
    assert said == ["b takes no more than 8 frames, so it is not evaluated with 8."]


def test_steps_and_pairs() -> None:
    arms = denoising_arms({"a": "trained?folder=a"}, [4, 1])
    assert [(arm.label, arm.model, arm.base) for arm in arms] == [
        ("a in 1", "trained?folder=a&steps=1", None),
        ("a in 4", "trained?folder=a&steps=4", "a in 1"),
    ]
    assert [arm.base for arm in pair_arms({"a": "x", "b": "y", "c": "z"})] == [None, "a", "a"]


def test_what_is_swept_is_not_given_too() -> None:
    assert with_setting("trained:a", "steps", 2) == "trained:a?steps=2"
    with pytest.raises(UsageError, match="sweeps 'steps'"):
        with_setting("trained?folder=a&steps=4", "steps", 2)
    assert counts_of("1, 8,all", "--context") == [1, 8, None]
    for wrong in ("1,x", "", "-1", "1.5"):
        with pytest.raises(UsageError, match="--context takes numbers"):
            counts_of(wrong, "--context")
