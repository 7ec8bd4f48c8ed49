"""LoopNav: loops that are walked out and back, where the model redraws the way back."""
