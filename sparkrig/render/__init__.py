"""What people look at: terminal drawings, SVG, HTML. From data to text; no host is asked."""
