WAN_CONFIGS = {"ti2v-5B": {"vae_stride": (4, 16, 16), "patch_size": (1, 2, 2)}}
