"""Training of world models from recorded walks: what is read, cached and drawn from them, and the loop.

What needs torch is imported when training begins (extra `train`).
"""
