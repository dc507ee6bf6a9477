"""The HTTP API: every verb under /v1, behind one guard; the inspector and MCP hang in the same server."""
