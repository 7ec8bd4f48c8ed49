class WanDiffusionWrapper:
    def __init__(self, model_config, is_causal=False):
        assert is_causal
        self.states = None

    def load_state_dict(self, states):
        self.states = states
