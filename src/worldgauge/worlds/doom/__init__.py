"""Levels of Freedoom, walked and drawn by the engine of ViZDoom (extra `doom`), with exact depth, labels and poses."""
