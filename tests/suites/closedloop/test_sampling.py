"""Which home finds which episode."""

from collections import Counter

from worldgauge.suites.closedloop.navigation.episodes import BANDS, NavigationSampler, bands
from worldgauge.suites.closedloop.recognition.episodes import RecognitionSampler, wishes
from worldgauge.suites.closedloop.sampling import home_shares
from worldgauge.worlds.indoor.homes import LABELS

PUBLISHED = {"scenes": 60, "recognition": 551, "navigation": 144, "questions": 184, "split": "test", "seed": 42}


def test_published_counts_spread_evenly_over_sixty_homes() -> None:
    found = list(home_shares(PUBLISHED))
    assert [one.scene for one in found[:2]] == ["home-test-0000", "home-test-0001"]
    assert len({one.scene for one in found}) == 60
    for kind, least in (("recognition", 9), ("navigation", 2)):
        numbers = sorted(number for one in found for number in one.numbers(kind))
        assert numbers == list(range(PUBLISHED[kind]))
        assert {len(one.numbers(kind)) for one in found} == {least, least + 1}


def test_labels_and_difficulties_are_balanced() -> None:
    asked = [wish for one in home_shares(PUBLISHED) for wish in wishes(one)]
    assert len(asked) == 551
    labels = Counter(wish.category for wish in asked)
    assert set(labels) == set(LABELS)
    assert max(labels.values()) - min(labels.values()) <= 1
    levels = Counter(wish.difficulty for wish in asked)
    assert max(levels.values()) - min(levels.values()) <= 2
    for one in home_shares(PUBLISHED):
        assert {wish.difficulty for wish in wishes(one)} == {0, 1, 2}


def test_all_lengths_are_equally_often() -> None:
    quarters = Counter(band for one in home_shares(PUBLISHED) for band in bands(one))
    assert set(quarters) == set(range(BANDS))
    assert max(quarters.values()) - min(quarters.values()) <= 12


def test_more_episodes_do_not_change_those_that_are_there() -> None:
    few = list(home_shares({**PUBLISHED, "recognition": 90, "navigation": 70}))
    for less, more in zip(few, home_shares(PUBLISHED), strict=True):
        assert list(wishes(more))[: less.counts["recognition"]] == list(wishes(less))
        assert bands(more)[: less.counts["navigation"]] == bands(less)
        assert list(less.numbers("navigation")) == list(more.numbers("navigation"))[: less.counts["navigation"]]


def test_few_episodes_need_few_homes() -> None:
    few = list(home_shares({**PUBLISHED, "recognition": 4, "navigation": 1, "questions": 0}))
    assert [dict(one.counts) for one in few] == [{"recognition": 1, "navigation": int(home == 0)} for home in range(4)]


def test_seed_split_home_and_kind_all_change_the_dice() -> None:
    first = next(home_shares(PUBLISHED))
    second = list(home_shares(PUBLISHED))[1]
    others = [next(home_shares({**PUBLISHED, **change})) for change in ({"seed": 1}, {"split": "val"})]
    drawn = [share.rng("recognition").random() for share in (first, second, *others)]
    assert len({*drawn, first.rng("navigation").random()}) == 5
    assert first.rng("recognition").random() == drawn[0]


def test_names() -> None:
    assert [sampler.id_of({"number": 7}) for sampler in (RecognitionSampler(), NavigationSampler())] == [
        "7",
        "goal-0007",
    ]
