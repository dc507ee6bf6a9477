"""Hosts: their hooks (hook.py), their configuration (hosts.py), and the socket between hooks and servers."""
