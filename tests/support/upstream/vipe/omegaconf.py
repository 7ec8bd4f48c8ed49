class _Config(dict):
    __getattr__ = dict.__getitem__


class OmegaConf:
    @staticmethod
    def create(given):
        return _Config({name: OmegaConf.create(one) if isinstance(one, dict) else one for name, one in given.items()})
