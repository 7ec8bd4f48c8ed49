"""Config."""

from three_calls import Config


def get_config() -> Config:
    return Config()
