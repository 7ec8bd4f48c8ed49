"""Networks of world models, in torch: levels of noise, conditioning on actions, architectures, checkpoints.

Everything here needs the extra `train`. Other rooms import from here only where they use it.
"""
