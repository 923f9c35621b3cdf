"""Drift and plan for people and machines: terminal, HTML, JUnit, Prometheus."""
