"""Which verbs only look, and the words by which each is tried on the pair."""

from __future__ import annotations

from tests.lab.commands import CLUSTER, LAB

LOOKS = {
    "deploy --dry": ("pyinfra", "--dry", LAB, CLUSTER),
    "deploy --dry --diff": ("pyinfra", "--dry", "--diff", LAB, CLUSTER),
    "plan": ("sparkrig", "plan", LAB),
    "topology": ("sparkrig", "topology", LAB),
    "status": ("sparkrig", "status", LAB),
    "undo --dry": ("sparkrig", "undo", LAB, "--dry"),
    "drift": ("sparkrig", "drift", LAB),
    "doctor": ("sparkrig", "doctor", LAB),
    "startup": ("sparkrig", "startup", LAB, "--once"),
    "storage": ("sparkrig", "storage", LAB),
    "update --check": ("sparkrig", "update", LAB, "--check"),
    "blackbox": ("sparkrig", "blackbox", LAB),
    "support": ("sparkrig", "support", LAB, "--yes", "--output", "FOLDER/sent.tar.gz"),
}
# the other verbs: one changes what plan shows, one loads the link and says so, one frees a lock, one sets a host
# up, one loads what is served; two start others of these; the rest ask no host
NOT_LOOKS = {"apply", "bandwidth", "unlock", "onboard", "bench", "serve"} | {
    *("accept", "completion", "docs", "explain", "init", "lab", "mcp", "models", "lint", "schedule")
}
