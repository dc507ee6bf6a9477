"""From rules, turns and memories to the text a model reads: what goes in, in which order, and how it is framed."""
