"""Habits of train homes: counted by hand, and those that are shipped."""

import numpy as np

from suites.worldinworld.questions.test_forms import HOME, thing
from worldgauge.suites.worldinworld.questions.habits import categories_of, rooms_of
from worldgauge.worlds.indoor.homes import build_home
from worldgauge_lab.question_habits import count_habits


def test_blind_answers_are_what_is_most_often_right():
    homes = [HOME, HOME, [thing(1, "sofa", "living room", "red")]]
    table = count_habits(homes)
    assert table["answers"]["colour"]["sofa"] in ("teal", "red")
    assert table["answers"]["sleepers"][""] == "two"
    assert table["rooms"]["stool"] == {"living room": 0.5, "kitchen": 0.5}
    assert table["categories"]["living room"]["sofa"] == 1.0
    assert table["categories"]["kitchen"]["fridge"] == 1.0
    assert count_habits(reversed(homes)) == table, "the order of the homes changes nothing"


def test_habits_in_the_package_are_those_of_train_homes():
    """A change of the homes that moves these shares needs a new table."""
    homes = [build_home(1_000_000 + n).objects for n in range(6)]
    fresh = count_habits(homes)["categories"]
    for room in ("kitchen", "bathroom", "living room"):
        for category, share in fresh[room].items():
            if share == 1.0:
                assert categories_of(room).get(category, 0.0) > 0.4, (room, category)
    assert np.mean([rooms_of("fridge")["kitchen"], rooms_of("toilet")["bathroom"]]) > 0.9
