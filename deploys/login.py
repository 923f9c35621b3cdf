"""Who logs in to this host by ssh, where login_keys or login_passwords say so."""

from sparkrig.deploys.spark import alone
from sparkrig.deploys.step import of_files
from sparkrig.resources.login import LOGIN

apply = of_files(LOGIN)
alone(__name__, apply)
