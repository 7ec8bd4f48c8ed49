"""Every format that is fuzzed, by name."""

from importlib.util import find_spec

from fuzz.format import Format
from fuzz.formats import answers, blocks, data_sets, pictures, runs, scans, tables, weights, wire

MODULES = [data_sets, blocks, scans, pictures, wire, answers, runs, tables, weights]
if find_spec("worldgauge_train"):
    from fuzz.formats import training

    MODULES.append(training)
FORMATS: dict[str, Format] = {form.name: form for module in MODULES for form in module.FORMATS}
