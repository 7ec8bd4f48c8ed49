begun = []


def initialize_infer_state(args):
    start, end = map(int, args.sage_blocks_range.split("-"))
    begun.append((args.use_sageattn, end - start, args.enable_torch_compile, args.use_fp8_gemm, args.use_vae_parallel))
