begun = []


def initialize_parallel_state(sp: int = 1):
    begun.append(sp)
