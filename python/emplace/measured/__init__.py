"""Times that others measured on GPUs, as costs and device kinds: `emplace costs --from`."""
