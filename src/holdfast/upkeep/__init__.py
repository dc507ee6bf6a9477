"""Looking after what is kept: moving it, copying it, bringing it back."""
