"""Measuring a served model: what is asked, what answers come to, and what others measured. Pure."""
