"""Memory that is asked for before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _fetch_ahead(_typing: Any, array: Any, place: Any) -> Any:
    """Have the processor bring the line of memory that holds a number of an array, and go on without waiting.

    Nothing is read, so any place will do.

    Args:
        array: A contiguous array.
        place: Which of its numbers, counted through all its dimensions.
    """

    def built(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        # To be read, in the nearest cache, data.
        builder.call(prefetch, [address, *(ir.Constant(number, one) for one in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, place), built


fetch_ahead: Any = intrinsic(_fetch_ahead)
