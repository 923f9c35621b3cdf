"""What all drawings share: signs, names, pages, bars.

What a feature draws stands in its own room.
"""
