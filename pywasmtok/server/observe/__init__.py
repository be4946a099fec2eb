"""What a server says about itself: access log, metrics, traces, usage."""
