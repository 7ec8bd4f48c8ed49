import torch


def preprocess_image(img_tensor, mode="crop", target_size=518):
    rows = round(img_tensor.shape[2] * (target_size / img_tensor.shape[3]) / 14) * 14
    out = torch.nn.functional.interpolate(img_tensor, (rows, target_size), mode="bicubic").clamp(0, 255)
    top = max(0, (rows - target_size) // 2)
    return out[:, :, top : top + target_size]
