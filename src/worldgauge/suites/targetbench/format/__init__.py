"""Target-Bench's published format: one folder per scenario, with a path, frames, words and metadata.

On disk: dataset/Benchmark/<s>/<s>_trajectory.csv and its siblings; <s> is <scene>_custom_segment_<start>_<end>
Paths are in the frame of the current pose, metres, +y ahead, +x to the right.
"""
