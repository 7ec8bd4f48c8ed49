"""MIND's published format: clips of walks driven by keys, in first and third person, and mirrored paths from images.

On disk: 1st_data and 3rd_data with train/<clip>/, test/mem_test/<clip>/, test/action_space_test/<clip>/ (action.json,
video.mp4, images.txt) and test/mirror_test/ (start images and paths). Files are in the
engine's left-handed frame, centimetres and degrees; episodes are in ours.
"""
