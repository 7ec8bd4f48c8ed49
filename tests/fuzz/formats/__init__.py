"""Every format that is fuzzed, by name."""

from fuzz.format import Format
from fuzz.formats import answers, blocks, checkpoints, data_sets, pictures, runs, scans, weights, wire

MODULES = (data_sets, blocks, scans, pictures, wire, answers, runs, weights, checkpoints)
FORMATS: dict[str, Format] = {form.name: form for module in MODULES for form in module.FORMATS}
