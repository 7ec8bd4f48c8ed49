"""Kinds of pipelines, a file each: transformer, autoencoder, where the embedding is made, how frame 0 enters, text."""
