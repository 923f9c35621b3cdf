"""The time servers that this host's own service asks, where the setting ntp names any."""

from sparkrig.deploys.spark import alone
from sparkrig.deploys.step import of_files
from sparkrig.resources.time import TIME

apply = of_files(TIME)
alone(__name__, apply)
