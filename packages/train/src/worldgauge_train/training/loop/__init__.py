"""The loop of training, in torch: stages, state on disk, logs. Imported when training begins (extra `train`)."""
