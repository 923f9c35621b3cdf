"""The networks of one host: links, NetworkManager's profiles, netplan's files, and what a deploy changes."""
