from types import SimpleNamespace

from omegaconf import OmegaConf


def parse_typed_config(config_name="default", hydra_args=()):
    given = dict(one.split("=") for one in hydra_args)
    parts = {"init": {}, "slam": {"name": given["pipeline"]}, "post": {}}
    output = {"path": given["pipeline.output.path"], "save_artifacts": given["pipeline.output.save_artifacts"]}
    made = {name: OmegaConf.create(part) for name, part in {**parts, "output": output}.items()}
    return SimpleNamespace(pipeline={"instance": "vipe.pipeline.default.DefaultAnnotationPipeline", **made})
