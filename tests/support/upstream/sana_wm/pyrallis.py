import json


def parse(config_class=None, config_path=None, args=None):
    assert args == []
    with open(config_path) as file:  # JSON is YAML too
        return config_class(**json.load(file))
