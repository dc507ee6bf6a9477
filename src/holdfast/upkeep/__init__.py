"""Maintenance of stores: janitor, doctor, erase, backup and transfer."""
