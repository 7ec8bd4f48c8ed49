"""Studies of trained world models: what memory, denoising, distillation and data are worth, on tasks of any suite."""
