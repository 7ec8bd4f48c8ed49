def load_file(path):
    with open(path, "rb") as file:
        return {"net": file.read()}
