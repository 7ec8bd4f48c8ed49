import cv2


class RawMp4Stream:
    def __init__(self, path):
        self.path = path

    def fps(self):
        return cv2.VideoCapture(str(self.path)).get(cv2.CAP_PROP_FPS)

    def __iter__(self):
        video = cv2.VideoCapture(str(self.path))
        while True:
            there, frame = video.read()
            if not there:
                return
            yield frame[..., ::-1]
