WAN_CONFIGS = {"i2v-A14B": "the settings of the 14 B"}
