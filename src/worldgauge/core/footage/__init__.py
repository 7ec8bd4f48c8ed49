"""How frames of video files and folders of images are shown: when, and which side up."""
