import json
from types import SimpleNamespace


class OmegaConf:
    @staticmethod
    def load(path):
        with open(path) as file:  # JSON is YAML too
            return json.load(file, object_hook=lambda given: SimpleNamespace(**given))
