"""An update of packages and firmware: order, gates, proof, report.

The record of one that is open is `host.update_record`, for every look reads it.
"""
