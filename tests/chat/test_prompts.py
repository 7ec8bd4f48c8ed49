"""Templates: ours are whole, a user's replace them or are refused with a reason."""

from pathlib import Path

import numpy as np
import pytest

from worldgauge.chat.prompts import Prompts
from worldgauge.core.errors import UnknownNameError, UsageError

IMAGE = np.zeros((4, 5, 3), np.uint8)
JUDGE = {"question": "q?", "reference": "r", "extra": "none", "prediction": "p"}


@pytest.mark.parametrize("name", Prompts("worldgauge.suites.worldinworld").names())
def test_ours_are_versioned_and_take_their_fields(name: str) -> None:
    template = Prompts("worldgauge.suites.worldinworld")[name]
    assert template.version.isdigit()
    assert template.label.startswith(f"{name}/{template.version}@")
    messages = template.messages(**dict.fromkeys(template.places, "THIS"))
    assert [message.role for message in messages] == ["system", "user"]
    text = "".join(str(part) for message in messages for part in message.parts)
    assert text.count("THIS") >= len(template.places)
    assert "$" not in text
    assert not text.isspace()


def test_templates_are_filled_and_replaced_by_files(tmp_path: Path) -> None:
    text = "version: 7\nBefore $question and\n${reference}$extra after $$5 $prediction"
    (tmp_path / "judge.txt").write_text(text)
    template = Prompts("worldgauge.suites.worldinworld", tmp_path)["judge"]
    fields = JUDGE | {"reference": IMAGE, "extra": ["words", IMAGE]}
    (message,) = template.messages(**fields)
    assert message.role == "user"
    kinds = [part if isinstance(part, str) else "picture" for part in message.parts]
    assert kinds == ["Before q? and", "picture", "words", "picture", "after $5 p"]
    assert (template.version, template.own) == ("7", True)
    (tmp_path / "judge.txt").write_text("$question $reference $extra $prediction")
    (tmp_path / ".hidden").write_text("")
    ours, own = Prompts("worldgauge.suites.worldinworld"), Prompts("worldgauge.suites.worldinworld", tmp_path)
    assert own["judge"].version == "own"
    assert own["judge"].digest != ours["judge"].digest
    assert own["navigation-stop"] == ours["navigation-stop"]
    assert own.digest != ours.digest == Prompts("worldgauge.suites.worldinworld").digest
    messages = Prompts("worldgauge.suites.worldinworld")["judge"].messages(
        **JUDGE | {"prediction": "$question ${reference} $$"}
    )
    assert "$question ${reference} $$" in messages[1].parts[0]


@pytest.mark.parametrize(
    ("name", "text", "error", "problem"),
    [
        ("juge.txt", "x", UnknownNameError, "no prompt file 'juge.txt'. Did you mean 'judge.txt'"),
        ("judge.md", "x", UnknownNameError, "Did you mean 'judge.txt'"),
        ("judge.txt", "$question $reference $extra", UsageError, r"judge.txt lacks \$prediction"),
        (
            "judge.txt",
            "$question $reference $extra $prediction $predictions",
            UnknownNameError,
            "judge.txt: place 'predictions'. Did you mean 'prediction'",
        ),
        ("judge.txt", "", UsageError, "must hold 1 to"),
        ("judge.txt", "x" * 50_001, UsageError, "must hold 1 to 50000"),
    ],
)
def test_wrong_files_are_refused(name: str, text: str, error: type[Exception], problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(error, match=problem):
        Prompts("worldgauge.suites.worldinworld", tmp_path)


def test_what_is_no_text_or_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "judge.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        Prompts("worldgauge.suites.worldinworld", tmp_path)
    (tmp_path / "judge.txt").unlink()
    (tmp_path / "judge.txt").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        Prompts("worldgauge.suites.worldinworld", tmp_path)
    with pytest.raises(UsageError, match="is no folder"):
        Prompts("worldgauge.suites.worldinworld", tmp_path / "absent")


def test_names_fields_and_line_ends(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'judge'"):
        Prompts("worldgauge.suites.worldinworld")["jugde"]
    with pytest.raises(UsageError, match=r"prompt 'judge' takes \$extra, .* got \$question"):
        Prompts("worldgauge.suites.worldinworld")["judge"].messages(question="q")
    text = "version: 2\n[system]\na\n[user]\n$question $reference $extra $prediction\n"
    (tmp_path / "judge.txt").write_bytes(text.encode())
    unix = Prompts("worldgauge.suites.worldinworld", tmp_path)["judge"]
    (tmp_path / "judge.txt").write_bytes(text.replace("\n", "\r\n").encode())
    assert Prompts("worldgauge.suites.worldinworld", tmp_path)["judge"] == unix
    assert len(unix.messages(**JUDGE)) == 2
