import cv2


class RawMp4Stream:
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        video = cv2.VideoCapture(str(self.path))
        assert video.get(cv2.CAP_PROP_FPS) == 30
        while True:
            there, frame = video.read()
            if not there:
                return
            yield frame[..., ::-1]
