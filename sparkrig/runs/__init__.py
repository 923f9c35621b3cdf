"""What a run of a deploy keeps on its hosts: lock, journal, files; and how it is taken back."""
