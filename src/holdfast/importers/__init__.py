"""Importers: chat exports, agents' transcripts and other products' memories, one module per family of formats."""
