"""World-in-World: does a world model help an agent succeed?"""
