"""The firewall of this host, where the setting firewall_allow says what it lets in."""

from sparkrig.deploys.spark import alone
from sparkrig.deploys.step import of_files
from sparkrig.resources.firewall import FIREWALL

apply = of_files(FIREWALL)
alone(__name__, apply)
