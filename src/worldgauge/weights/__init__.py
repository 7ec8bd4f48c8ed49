"""Weights of published networks: the catalogue, their place on this machine, and reading them without running code.

    folder = weights.opened("lpips-alex").folder     # AbsentWeightsError names the command that downloads them
    tensors = read_tensors(folder / "alex.pth")
    heads = expect(tensors, {"lin0.model.1.weight": (1, 64, 1, 1)}, folder / "alex.pth")

None come with worldgauge: each has its own owner and licence (`worldgauge list weights`).
"""

from worldgauge.weights.catalogue import WeightFile as WeightFile
from worldgauge.weights.catalogue import WeightSet as WeightSet
from worldgauge.weights.catalogue import catalogue as catalogue
from worldgauge.weights.download import Pulled as Pulled
from worldgauge.weights.download import PullError as PullError
from worldgauge.weights.download import pull as pull
from worldgauge.weights.download import sets_for as sets_for
from worldgauge.weights.reading import expect as expect
from worldgauge.weights.reading import known_program as known_program
from worldgauge.weights.reading import read_tensors as read_tensors
from worldgauge.weights.store import AbsentWeightsError as AbsentWeightsError
from worldgauge.weights.store import AdoptedFile as AdoptedFile
from worldgauge.weights.store import Adoption as Adoption
from worldgauge.weights.store import Opened as Opened
from worldgauge.weights.store import WeightSetStatus as WeightSetStatus
from worldgauge.weights.store import adopt as adopt
from worldgauge.weights.store import digest_of as digest_of
from worldgauge.weights.store import opened as opened
from worldgauge.weights.store import standing as standing
from worldgauge.weights.store import store_folder as store_folder
from worldgauge.weights.store import verify as verify
