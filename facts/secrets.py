"""The variables that only root may read: names and digests, never a value."""

from sparkrig.facts.noun import of_resource
from sparkrig.resources.secrets import SECRETS

Secrets = of_resource(SECRETS)
