"""What joins hosts: who hears whom, which cage reaches which, and which rails that makes."""
