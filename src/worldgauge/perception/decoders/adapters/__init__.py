"""Single files that run in the environments of published decoders; `worldgauge adapters` hands them out."""
