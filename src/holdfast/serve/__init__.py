"""The surfaces: each verb is defined once (verbs.py), and JSON-RPC, HTTP and MCP are made from that definition."""
