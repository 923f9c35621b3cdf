"""One Spark on its own. Edit the address and the user, then: pyinfra inventories/solo.py deploys/cluster.py"""

from sparkrig.inventory import checked as _checked

sparks = _checked(
    [
        (
            "spark-a",
            {
                "ssh_hostname": "spark-a.local",  # as you would type it after ssh; never a fabric address
                "ssh_user": "nvidia",
            },
        ),
    ],
    __file__,
)
