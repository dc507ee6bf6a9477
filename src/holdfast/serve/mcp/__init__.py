"""The MCP server: tools made from the verbs, resources, a prompt; on stdio (run_mcp.py) and over HTTP (http.py)."""
