import importlib


def make_pipeline(config):
    module, name = config.pop("instance").rsplit(".", 1)
    return getattr(importlib.import_module(module), name)(**config)
