"""One Spark on its own. Edit the address and the user, then: pyinfra inventories/solo.py deploys/cluster.py"""

from sparkrig.inventory import checked as _checked

sparks = _checked(
    [
        (
            "spark-a",
            {
                "ssh_hostname": "spark-a.local",  # its name or address alone; never a fabric address
                "ssh_user": "nvidia",
                "watch": True,  # a black box keeps the minutes before a hang
                "watch_guard": True,  # and stops the model before the memory ends
                # each of these changes a way in, or how the Spark starts: read about it first (docs/settings.md)
                # "hostname": "spark-a",  # what reaches it by its old name no longer does
                # "login_passwords": False,  # keys alone; add the Spark to NVIDIA Sync before
                # "firewall_allow": ["ssh", "serve"],  # all else that listens is closed, docker's ports too
                # "docker_users": ["nvidia"],  # as good as root
                # "headless": True,  # no desktop on its screen
                # "swap_gib": 0, "oom": "earlyoom",  # what fills the memory ends, and the Spark does not hang
            },
        ),
    ],
    __file__,
)
