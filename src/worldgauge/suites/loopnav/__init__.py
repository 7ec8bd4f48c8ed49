"""LoopNav: does the model redraw the same place on the way back?"""
