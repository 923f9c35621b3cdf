"""The archive that an owner sends.

What is taken out of it is `redaction`.
"""
